"""Metrics of one ranking of many queries, and the difference of two."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from podium.core.later import polars
from podium.core.parameters import require_choice
from podium.core.showing.frames import as_kind
from podium.metrics.definition import Metric, metric, names_its_convention
from podium.metrics.significance import bootstrap_interval, paired_t_test, randomization_test

__all__ = ["Difference", "Evaluation"]


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation:
    """Metrics of one ranking of many queries.

    Printing it gives a table, notebooks show one with intervals, and :meth:`plot` draws it.

    A query that has no value (NaN) for a metric is left out of that metric's mean; printing says how many were.

    Parameters
    ----------
    metrics : dict of str to Metric
        What was computed, by the names asked for.
    per_query : dict of str to array
        (n_queries,) values by metric, queries in order of first appearance.
    qids : (n_queries,) array
        Ids of the queries.
    notes : tuple of str
        Facts that the reader of the figures must know; printed below them.
    limit : int, optional
        The highest number of documents of a group that were shown, where lists were collapsed.

    Examples
    --------
    >>> import podium
    >>> labels, qid = [0, 2, 1, 1, 0], ["a", "a", "a", "b", "b"]
    >>> e = podium.evaluate(labels, [0.1, 0.2, 0.3, 2.0, 1.0], qid=qid, metrics=["mrr", "ndcg@2"])
    >>> e.qids.tolist(), e.per_query["ndcg@2"].round(4).tolist(), round(e.mean["ndcg@2"], 4)
    (['a', 'b'], [0.7967, 1.0], 0.8984)
    >>> print(e.table())
    standard convention, 2 queries, mean and 95 % bootstrap interval
    mrr     1.0000  [1.0000, 1.0000]
    ndcg@2  0.8984  [0.7967, 1.0000]
    """

    metrics: dict[str, Metric]
    per_query: dict[str, np.ndarray]
    qids: np.ndarray
    notes: tuple[str, ...] = ()
    limit: int | None = None

    @property
    def convention(self) -> str:
        """Name of the convention; of several, with commas, if the metrics do not share one."""
        return ", ".join(dict.fromkeys(m.convention for m in self.metrics.values()))

    @cached_property
    def mean(self) -> dict[str, float]:
        """Mean over the queries that have a value; NaN if none has."""
        return {name: _mean(values) for name, values in self.per_query.items()}

    @cached_property
    def left_out(self) -> dict[str, int]:
        """How many queries have no value."""
        return {name: int(np.isnan(values).sum()) for name, values in self.per_query.items()}

    def interval(
        self, name: str | Metric, level: float = 0.95, n_resamples: int = 10_000, random_state: Any = 0
    ) -> tuple[float, float]:
        """Return the bootstrap interval of a metric's mean; see :func:`podium.metrics.bootstrap_interval`.

        Parameters
        ----------
        name : str or Metric
            One of the metrics computed.
        level : float
            Coverage.
        n_resamples : int
            Resamples of the queries.
        random_state : int or numpy.random.Generator
            What they are drawn with.

        Returns
        -------
        tuple of float
            Lower and upper end.
        """
        return bootstrap_interval(self.per_query[self._key(name)], level, n_resamples, random_state)

    def compare(
        self,
        other: Evaluation,
        metric: str | Metric,
        test: str = "randomization",
        n_resamples: int = 10_000,
        random_state: Any = 0,
    ) -> Difference:
        """Return how this differs from another evaluation of the same queries, paired by query id.

        Parameters
        ----------
        other : Evaluation
            What is subtracted.
        metric : str or Metric
            One that both have, under the same convention.
        test : {"randomization", "t"}
            See :func:`podium.metrics.randomization_test` and :func:`podium.metrics.paired_t_test`.
        n_resamples, random_state : int
            Those of the interval and of the randomization test.

        Returns
        -------
        Difference
            Mean, interval and p-value.
        """
        require_choice("test", test, ("randomization", "t"))
        mine, theirs = self._key(metric), other._key(metric)
        if self.metrics[mine] != other.metrics[theirs]:
            raise ValueError(f"{self.metrics[mine]} cannot be compared with {other.metrics[theirs]}")
        if self.metrics[mine].kind.of_all_lists:
            raise ValueError(f"{mine} is one figure for all lists together: there is nothing to pair and test")
        if self.limit != other.limit:
            raise ValueError("evaluations of lists collapsed to different limits cannot be compared")
        a = self.per_query[mine]
        b = other.per_query[theirs][_where(self.qids, other.qids)]
        p_value = paired_t_test(a, b) if test == "t" else randomization_test(a, b, n_resamples, random_state)
        return Difference(
            self.metrics[mine],
            _mean(a - b),
            bootstrap_interval(a - b, 0.95, n_resamples, random_state),
            p_value,
            test,
            int((~np.isnan(a - b)).sum()),
        )

    def table(self, level: float = 0.95) -> str:
        """Return the means with their bootstrap intervals, as text.

        Parameters
        ----------
        level : float
            Coverage of the intervals.

        Returns
        -------
        str
            One line per metric, below one that names the convention.
        """
        intervals = {name: self.interval(name, level) for name in self.per_query}
        shown = {name: f"[{low:.4f}, {high:.4f}]" for name, (low, high) in intervals.items()}
        return self._render(f", mean and {100 * level:g} % bootstrap interval", shown)

    def to_frame(self, kind: str = "pandas") -> Any:
        """Return the values of each query as a frame.

        Parameters
        ----------
        kind : {"polars", "pandas", "pyarrow"}
            The package, which must be installed; pandas does not need pyarrow.

        Returns
        -------
        polars.DataFrame, pandas.DataFrame or pyarrow.Table
            One row per query: ``qid``, and one column per metric.

        Examples
        --------
        >>> import podium
        >>> podium.evaluate([0, 2, 1, 0], [2.0, 1.0, 2.0, 1.0], sizes=[2, 2], metrics=["mrr"]).to_frame()
           qid  mrr
        0    0  0.5
        1    1  1.0
        """
        return as_kind(polars.DataFrame({"qid": self.qids, **self.per_query}), kind)

    def plot(self, metric: str | Metric | None = None, ax: Any = None) -> Any:
        """Draw the means of all metrics with their intervals; of one metric, a histogram of the queries' values.

        Parameters
        ----------
        metric : str or Metric, optional
            The one whose values are drawn; all means if None.
        ax : matplotlib Axes, optional
            Where to draw; by default in a new figure. Needs the extra ``report``.

        Returns
        -------
        matplotlib Axes
            What was drawn in.
        """
        from podium.metrics.notebook import plot

        return plot(self, None if metric is None else self._key(metric), ax)

    def _repr_html_(self) -> str:
        from podium.metrics.notebook import html

        return html(self)

    def __repr__(self) -> str:
        means = ", ".join(f"{self.metrics[name]} {value:.4f}" for name, value in self.mean.items())
        return f"Evaluation({len(self.qids)} queries: {means})"

    def __str__(self) -> str:
        return self._render("", {})

    def _render(self, heading: str, more: dict[str, str]) -> str:
        several = len({m.convention for m in self.metrics.values()}) > 1
        labels = {name: str(m) if several else name for name, m in self.metrics.items()}
        width = max(map(len, labels.values()), default=0)
        noun = "convention" if not several else "conventions"
        lines = [f"{self.convention} {noun}, {len(self.qids)} {'query' if len(self.qids) == 1 else 'queries'}{heading}"]
        for name, value in self.mean.items():
            out = self.left_out[name]
            note = f"({out} without a value left out)" if out else ""
            lines.append("  ".join(filter(None, (f"{labels[name]:{width}}", f"{value:.4f}", more.get(name), note))))
        return "\n".join([*lines, *self.notes])

    def _key(self, name: str | Metric) -> str:
        """Return the name by which a metric was asked for, given any of its names."""
        if name in self.metrics:
            return str(name)
        wanted = name if isinstance(name, Metric) else metric(name)
        strict = names_its_convention(name)
        for key, m in self.metrics.items():
            if m == wanted or (not strict and m.name == wanted.name):
                return key
        raise KeyError(f"{name} was not computed; there are {', '.join(self.metrics)}")


@dataclass(frozen=True)
class Difference:
    """One evaluation minus another, on the same queries, as :meth:`podium.metrics.Evaluation.compare` returns it.

    Parameters
    ----------
    metric : Metric
        What is compared.
    mean : float
        Mean difference over the queries.
    interval : tuple of float
        95 % bootstrap interval of the mean.
    p_value : float
        Two-sided p-value.
    test : {"randomization", "t"}
        The test that it is from.
    n_queries : int
        Queries that have a value in both.

    Examples
    --------
    >>> import podium
    >>> labels, sizes = [1, 0, 1, 0], [2, 2]
    >>> right = podium.evaluate(labels, [2, 1, 2, 1], sizes=sizes, metrics="mrr")
    >>> wrong = podium.evaluate(labels, [1, 2, 2, 1], sizes=sizes, metrics="mrr")
    >>> print(right.compare(wrong, "mrr"))
    mrr (standard): +0.2500 [+0.0000, +0.5000], p = 1 (randomization test, 2 queries)
    """

    metric: Metric
    mean: float
    interval: tuple[float, float]
    p_value: float
    test: str
    n_queries: int

    def __str__(self) -> str:
        low, high = self.interval
        return (
            f"{self.metric}: {self.mean:+.4f} [{low:+.4f}, {high:+.4f}], p = {self.p_value:.2g} "
            f"({self.test} test, {self.n_queries} queries)"
        )


def _mean(values: np.ndarray) -> float:
    present = values[~np.isnan(values)]
    # One after the other, as the LETOR tool adds: then all 15 digits it prints agree.
    return float(np.cumsum(present)[-1] / len(present)) if len(present) else float("nan")


def _where(qids: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Return where each of ``qids`` is among ``others``, which must be the same ids in any order."""
    position = {qid: i for i, qid in enumerate(others.tolist())}
    missing = [qid for qid in qids.tolist() if qid not in position]
    if missing or len(qids) != len(others):
        example = f", for instance {missing[0]!r}" if missing else ""
        raise ValueError(f"the two evaluations are not of the same queries{example}")
    return np.array([position[qid] for qid in qids.tolist()])
