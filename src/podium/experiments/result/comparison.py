"""The outcome of a study: means with intervals, tests against the best, and the per-query values behind them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from podium.experiments.plan.configuration import Configuration
from podium.experiments.plan.external import EXTERNAL
from podium.experiments.plan.rehearsal import REHEARSAL, pick
from podium.experiments.report.page import page
from podium.experiments.result import averaging, frames, next_command, notebook, statistics
from podium.experiments.result.inference import Inference
from podium.experiments.result.latex import latex
from podium.experiments.result.published import PublishedTable, for_comparison
from podium.experiments.result.rows import method_rows
from podium.experiments.result.runs import write_runs
from podium.experiments.result.summary import MethodSummary, one_per_fold
from podium.experiments.result.table import markdown, plain_text
from podium.experiments.run.outcomes import Result, ResultArrays
from podium.experiments.run.store import Store
from podium.metrics.telling import cannot_tell

if TYPE_CHECKING:
    from podium.experiments.plan.study import Study

__all__ = ["Comparison"]


@dataclass(eq=False, repr=False)
class Comparison:
    """Methods compared on the same folds.

    :func:`podium.compare` returns one. ``print(comparison)`` shows the table, :meth:`table` returns it as a frame,
    :attr:`per_query` the values behind it, and :attr:`rows` everything.

    Parameters
    ----------
    configuration : Configuration
        What was compared and how: data, methods, metrics, protocol, search and seeds.
    results : sequence of Result
        One per method, fold and seed.
    folder : path, optional
        The folder of the run, if it has one.
    seconds : float
        Wall time, over several calls if the run was interrupted.
    store : Store, optional
        Holds the arrays behind the results.
    rehearsal : Comparison, optional
        The same methods judged without the test parts, if requested.
    study : Study, optional
        What was compared, if that was in this process.
    more_notes : sequence of str
        What did not fit in runs that were made elsewhere.
    run_facts : dict
        Versions, machine and status as the run recorded them, if the comparison was loaded from its folder.
    frame_kind : {"polars", "pandas", "pyarrow"}
        The package of its frames: that of the frame that the data came from, if they came from one.
    inference : Inference, optional
        Standard errors of figures that are estimated, rather than means of metrics of judgments.

    Examples
    --------
    >>> import podium
    >>> queries = podium.make_queries(n_queries=30, n_documents=8, n_features=5)
    >>> comparison = podium.compare(queries, {"listnet": podium.ListNet(l2=0.1)}, folds=3, jobs=1)
    >>> comparison.best, comparison.per_query.height  # 30 queries, with best-feature and random
    ('listnet', 90)
    >>> low, high = comparison.rows[0].estimates["ndcg@10"].low, comparison.rows[0].estimates["ndcg@10"].high
    >>> low < comparison.figure("listnet", "ndcg@10") < high
    True
    """

    configuration: Configuration
    results: Sequence[Result]
    _: KW_ONLY
    folder: Path | None = None
    seconds: float = 0.0
    store: Store | None = None
    rehearsal: Comparison | None = None
    study: Study | None = None
    more_notes: Sequence[str] = ()
    run_facts: dict[str, Any] = field(default_factory=dict)
    frame_kind: str = "polars"
    inference: Inference | None = None

    def __post_init__(self) -> None:
        configuration = self.configuration
        self.metrics, self.convention = configuration.metrics, configuration.convention
        self.primary = configuration.primary
        """The metric that selected hyper-parameters on the validation parts, orders the table and is tested."""
        self.methods, self.folds = list(configuration.methods), configuration.data.folds
        self.seeds = configuration.seeds
        """The seeds with which methods that depend on one were repeated."""
        self.averages_folds = configuration.average == "folds"
        """Is a figure the mean of the folds' means, as in the LETOR tables, rather than the mean over all queries?"""
        self._repeats = configuration.average == "repeats"
        """Is a query tested several times, by models trained on different parts?"""
        place, fold = self.methods.index, self.folds.index
        self.results = tuple(sorted(self.results, key=lambda r: (place(r.method), fold(r.fold), r.seed)))

    @classmethod
    def load(cls, folder: str | Path) -> Comparison:
        """Return the comparison stored in the folder of a run; nothing is computed again.

        A result that is missing because the run was stopped counts as failed.
        """
        folder = Path(folder)
        store = Store.open(folder)
        last = store.last_study()
        results = store.results()
        if last is None or all(result.error for result in results):
            raise ValueError(f"{folder} has no finished result of its last study")
        configuration, run_facts = last
        return cls(
            *(configuration, results),
            folder=folder,
            seconds=float(run_facts.get("total_seconds") or 0.0),
            store=store,
            rehearsal=cls.load(folder / REHEARSAL) if run_facts.get("rehearsed") else None,
            more_notes=run_facts.get("notes") or (),
            run_facts=run_facts,
            inference=Inference.of(run_facts.get("inference")),
        )

    def arrays(self, result: Result) -> ResultArrays | None:
        """Return the arrays behind a result: test queries and scores, curve, what the model learned."""
        return None if self.store is None else self.store.arrays(result)

    @property
    def qids(self) -> list[str]:
        """The test queries, in the order of :meth:`values`."""
        results = next((rs for rs in map(self.results_of, self.methods) if all(r.error is None for r in rs)), [])
        found = [qid for result in one_per_fold(results) for qid in result.qids]
        return list(dict.fromkeys(found)) if self._repeats else found

    @property
    def n_queries(self) -> int:
        """The number of test queries of all folds together."""
        return len(self.qids)

    @property
    def failed(self) -> list[str]:
        """The methods that failed on a fold."""
        return [row.method for row in self.rows if row.failures]

    @property
    def best(self) -> str | None:
        """The method with the highest mean of the primary metric."""
        return self.rows[0].method if self.rows and not self.rows[0].failures else None

    @cached_property
    def rows(self) -> list[MethodSummary]:
        """One per method, best first, failed ones last."""
        return method_rows(self)

    @property
    def learners(self) -> list[MethodSummary]:
        """The rows of methods that finished, without floors and runs that were made elsewhere."""
        facts = self.configuration.methods
        able = (row for row in self.rows if row.estimates)
        return [row for row in able if not facts[row.method].is_floor and facts[row.method].family != EXTERNAL]

    def leads(self, row: MethodSummary, metric: str) -> bool:
        """Return whether this method has the highest mean of this metric, which means nothing if none can differ."""
        if metric in self.configuration.silent or metric in self.configuration.beside:
            return False
        means = [other.estimates[metric].mean for other in self.rows if other.estimates]
        return bool(row.estimates) and row.estimates[metric].mean == max(means)

    def values(self, method: str, metric: str, seed: int | None = None) -> np.ndarray:
        """Return a metric on each test query, fold after fold: the mean over seeds, or the value of one seed.

        Where the protocol tests a query several times, its value is the mean of all tests.
        """
        return self._by_query(method, lambda result: result.per_query[metric], seed)

    def curve(self, method: str) -> np.ndarray | None:
        """Return NDCG@k over k, averaged as in the table; None if it is not known."""
        arrays = {result.key: self.arrays(result) for result in self.results_of(method)}
        curves = {key: found.curve for key, found in arrays.items() if found is not None}
        if len(curves) < len(arrays):
            return None
        values = self._by_query(method, lambda result: curves[result.key])
        defined = ~np.isnan(values).any(axis=1)
        weights = averaging.relative_weights(self, method, defined)
        return np.average(values[defined], axis=0, weights=weights) if defined.any() else None

    def _by_query(self, method: str, values_of: Callable[[Result], Any], seed: int | None = None) -> np.ndarray:
        """Return values of each test query, given those of a result's queries; see :meth:`values`."""
        parts = []
        for fold in self.folds:
            results = [r for r in self.results_of(method) if r.fold == fold and seed in (None, r.seed)]
            parts.append(np.mean([np.asarray(values_of(r), float) for r in results], axis=0))
        joined = np.concatenate(parts)
        if not self._repeats:
            return joined
        qids = [qid for result in one_per_fold(self.results_of(method)) for qid in result.qids]
        _, first, query = np.unique(qids, return_index=True, return_inverse=True)
        sums = np.zeros((len(first), *joined.shape[1:]))
        np.add.at(sums, query, joined)
        return (sums.T / np.bincount(query)).T[np.argsort(first)]

    def fold_mean(self, method: str, metric: str, fold: str) -> float | None:
        """Return the mean of one fold; None if the method failed there."""
        return averaging.fold_mean(self, method, metric, fold)

    def figure(self, method: str, metric: str, seed: int | None = None) -> float:
        """Return the mean of a metric as the table shows it, or that of one seed."""
        return float(np.mean(self.weighted(method, metric, seed)))

    @property
    def notes(self) -> list[str]:
        """What the reader of the figures must know: metrics that tell nothing here, runs with unknown queries."""
        silent = [cannot_tell(metric, reason) for metric, reason in self.configuration.silent.items()]
        return [*silent, *self.more_notes]

    @property
    def pick(self) -> str | None:
        """The method chosen without test data.

        After a rehearsal, the one with the highest mean of all metrics there. Otherwise the one with the highest
        primary metric on the validation parts, which favors methods that selected among many trials there.
        """
        if self.rehearsal is not None:
            return pick(self.rehearsal)
        rows = [row for row in self.learners if not np.isnan(row.validation)]
        return max(rows, key=lambda row: row.validation).method if rows else None

    @property
    def train_command(self) -> str | None:
        """The command that trains the pick on all data; None if there is no pick, or if only a program has it."""
        return next_command.train_command(self)

    @property
    def reading(self) -> dict[str, Any]:
        """Where the data are and how they were read."""
        return dict(self.run_facts.get("reading") or (self.study.reading if self.study else {}))

    def train(self, method: str | None = None, **options: Any) -> Any:
        """Return a method, by default the pick, fitted on all data of the comparison.

        Its setting is the best over all folds together; what the validation parts decided within fits is carried over
        as :func:`podium.tune` does. ``blend`` has the mean of the shares it had on the folds. Settings
        that a Bayesian search tried on some folds only are tried on the others first.

        Parameters
        ----------
        method : str, optional
            One of the methods compared.
        **options : Any
            ``data``, a path or Queries: where the data are now, if they were moved or read from memory; they must be
            the same, by their digest. ``jobs``: processes for trials that are still missing, None for one per core.
            ``minutes``: time for missing trials and the final fit. ``progress``: as in :func:`podium.compare`.

        Returns
        -------
        ranker
            Fitted, with ``trials_`` and ``tuning_``.
        """
        from podium.experiments.from_run import train_from

        return train_from(self, method, **options)

    def against(self, reference: str | None = None, metric: str | None = None) -> dict[str, statistics.Paired]:
        """Compare each method with one (by default the best), query by query."""
        reference = reference or self.best
        if reference is None:
            return {}
        return averaging.against(self, self._all_values(metric), reference, metric or self.primary)

    def critical_difference(self, metric: str | None = None, level: float = 0.05) -> statistics.CriticalDifference:
        """Return the mean ranks of the methods over queries, and which methods do not differ significantly."""
        return statistics.critical_difference(self._all_values(metric), level)

    @cached_property
    def fold_weights(self) -> dict[str, np.ndarray]:
        """By fold: the weights of its test queries in means; empty if all count alike."""
        return averaging.weights_by_fold(self)

    @cached_property
    def published(self) -> list[PublishedTable]:
        """Published figures for exactly these data (``exact``), or for related data, as context; often none."""
        return for_comparison(self)

    def _all_values(self, metric: str | None) -> dict[str, np.ndarray]:
        return {row.method: self.values(row.method, metric or self.primary) for row in self.rows if row.estimates}

    def table(self) -> Any:
        """Return one row per method: mean and interval of each metric, p-value, times, selected parameters, error."""
        return self.to_frame("table", self.frame_kind)

    @property
    def per_query(self) -> Any:
        """One row per method and test query, one column per metric."""
        return self.to_frame("per_query", self.frame_kind)

    @property
    def trials(self) -> Any:
        """One row per trial of each search: parameters, seed, value on validation, seconds."""
        return self.to_frame("trials", self.frame_kind)

    def to_frame(self, what: str = "per_query", kind: str = "pandas") -> Any:
        """Return one of the frames above in another package's kind.

        Parameters
        ----------
        what : {"table", "per_query", "trials"}
            Which of them.
        kind : {"polars", "pandas", "pyarrow"}
            The package, which must be installed; pandas needs no pyarrow.
        """
        return frames.to_frame(self, what, kind)

    def to_dict(self) -> dict[str, Any]:
        """Return configuration and table as JSON-like values."""
        return frames.as_dict(self)

    def to_markdown(self, path: str | Path | None = None) -> str:
        """Return the table as Markdown, with its convention and protocol; also write it to ``path``."""
        return frames.written(markdown(self), path)

    def to_csv(self, path: str | Path | None = None) -> str:
        """Return the table as CSV; also write it to ``path``."""
        return frames.written(frames.table(self).write_csv(), path)

    def to_latex(self, path: str | Path | None = None) -> str:
        """Return the table as LaTeX (booktabs); also write it to ``path``."""
        return frames.written(latex(self), path)

    def to_html(self, path: str | Path | None = None) -> str:
        """Return the report, one self-contained page; also write it to ``path``."""
        return frames.written(page(self), path)

    def save(self, folder: str | Path) -> None:
        """Write tables, values of each query, trials, each method's scores as a TREC run, and the report."""
        folder = Path(folder)
        self.to_csv(folder / "results.csv")
        self.to_markdown(folder / "table.md")
        self.to_latex(folder / "table.tex")
        frames.written(frames.per_query(self).write_csv(), folder / "per_query.csv")
        frames.written(frames.trials(self).write_csv(), folder / "trials.csv")
        write_runs(self, folder / "runs")
        self.to_html(folder / "report.html")

    def plot(self, metric: str | None = None, ax: Any = None) -> Any:
        """Draw the mean of each method with its interval, the best at the top.

        Parameters
        ----------
        metric : str, optional
            By default the primary one.
        ax : matplotlib Axes, optional
            Where to draw; by default in a new figure. Needs the extra ``report``.

        Returns
        -------
        matplotlib Axes
            What was drawn in.
        """
        return notebook.plot(self, metric, ax)

    def _repr_html_(self) -> str:
        return notebook.html(self)

    def __str__(self) -> str:
        return plain_text(self)

    def __repr__(self) -> str:
        best = f", best by {self.primary} ({self.convention}): {self.best}" if self.best else ""
        return f"Comparison({len(self.methods)} methods, {len(self.folds)} folds{best})"

    def results_of(self, method: str) -> list[Result]:
        """Return the results of a method, by fold and seed."""
        return [result for result in self.results if result.method == method]

    def weighted(self, method: str, metric: str, seed: int | None = None) -> np.ndarray:
        """Return values whose plain mean is the figure; they are weighted where it is the mean of fold means."""
        return averaging.weighted(self, method, self.values(method, metric, seed))
