"""What a log says of a ranking, and of the difference between two."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from podium.clicks.estimators import Estimate
from podium.data.clicks import Clicks
from podium.metrics.significance import student_interval, student_p_value

__all__ = ["LogDifference", "LogEvaluation"]

ESTIMATORS = {
    "ips": "inverse propensity weights",
    "snips": "self-normalized inverse propensity weights",
    "dr": "a doubly robust estimate",
}


@dataclass(frozen=True, eq=False, repr=False)
class LogEvaluation:
    """Metrics of a ranking, estimated from clicks on others, as :func:`podium.clicks.evaluate` returns them.

    Printing it gives a table that names the estimator.

    Parameters
    ----------
    estimator : {"ips", "snips", "dr"}
        What estimated them.
    unit : {"queries", "sessions"}
        What intervals take to be random.
    qids : (n_queries,) array
        Ids of the queries that were ranked.
    sessions : (n_queries,) array
        How many sessions the log has of each.
    unseen : dict of str to float
        By metric: the share of its weight that documents have which the log never showed.
    notes : tuple of str
        Facts that the reader of the figures must know; printed below them.
    estimates : dict of str to Estimate
        By metric.
    settings : tuple
        What must be the same for two evaluations to be compared.
    log : Clicks
        The log.
    level : float
        Coverage of the intervals.

    Examples
    --------
    >>> import podium
    >>> shown = podium.Clicks(None, [1, 0, 0, 1], qid=[7] * 4, position=[1, 2, 1, 2], document=["x", "y", "y", "x"])
    >>> e = podium.clicks.evaluate(shown, [2.0, 1.0], metrics=["dcg@10", "p@1"], bias=[1.0, 0.5], interval="sessions")
    >>> {name: round(value, 4) for name, value in e.mean.items()}  # x: 2 clicks in 1 + ½ looks; y: none
    {'dcg@10': 1.3333, 'p@1': 1.3333}
    >>> e.effective_size["dcg@10"]
    2.0
    """

    estimator: str
    unit: str
    qids: np.ndarray
    sessions: np.ndarray
    unseen: dict[str, float]
    notes: tuple[str, ...]
    estimates: dict[str, Estimate] = field(repr=False)
    settings: tuple[object, ...] = field(repr=False)
    log: Clicks = field(repr=False)
    level: float = 0.95

    @cached_property
    def mean(self) -> dict[str, float]:
        """By metric: the mean over sessions; of ``snips``, over sessions of queries that have a value."""
        return {name: found.mean for name, found in self.estimates.items()}

    @cached_property
    def interval(self) -> dict[str, tuple[float, float]]:
        """By metric: lower and upper end of the interval."""
        return {
            name: student_interval(found.mean, standard_error(found.influence), found.freedom, self.level)
            for name, found in self.estimates.items()
        }

    @cached_property
    def effective_size(self) -> dict[str, float]:
        """By metric: (Σw)² / Σw² over the weights of the clicks that it counts, as if so many had equal weights."""
        return {name: found.effective_size for name, found in self.estimates.items()}

    @cached_property
    def per_query(self) -> dict[str, np.ndarray]:
        """By metric: (n_queries,) values; NaN for queries that have none."""
        return {name: found.per_query for name, found in self.estimates.items()}

    def compare(self, other: LogEvaluation, metric: str) -> LogDifference:
        """Return how this ranking differs from another one that was judged from the same log in the same way.

        Parameters
        ----------
        other : LogEvaluation
            What is subtracted.
        metric : str
            One that both have.

        Returns
        -------
        LogDifference
            Mean, interval and p-value, paired by query or by session.
        """
        for name, evaluation in (("this", self), ("the other", other)):
            if metric not in evaluation.estimates:
                raise KeyError(f"{name} evaluation has no {metric}; it has {', '.join(evaluation.estimates)}")
        if self.log is not other.log or self.settings != other.settings or len(self.qids) != len(other.qids):
            raise ValueError(
                "both rankings must be judged from the same log, with the same candidates, bias, estimator, interval "
                "and clip"
            )
        a, b = self.estimates[metric], other.estimates[metric]
        if not np.array_equal(np.isnan(a.per_query), np.isnan(b.per_query)):
            raise ValueError(f"the two rankings have values of {metric} for different queries")
        error, freedom = standard_error(a.influence - b.influence), min(a.freedom, b.freedom)
        mean = a.mean - b.mean
        return LogDifference(
            self.label(metric),
            mean,
            student_interval(mean, error, freedom, self.level),
            student_p_value(mean, error, freedom),
            self.estimator,
            self.unit,
        )

    def label(self, metric: str) -> str:
        """Return what a metric is to be called: with ``snips`` it is not the metric, but its share per relevance."""
        return f"{metric} per unit of relevance" if self.estimator == "snips" else metric

    def __repr__(self) -> str:
        means = ", ".join(f"{self.label(name)} {value:.4f}" for name, value in self.mean.items())
        return f"LogEvaluation({self.estimator}, {len(self.qids)} queries: {means})"

    def __str__(self) -> str:
        asked = f"{int(self.sessions.sum())} sessions of {int((self.sessions > 0).sum())} queries"
        lines = [
            f"from clicks by {ESTIMATORS[self.estimator]} ({self.estimator}): {asked}",
            f"mean and {100 * self.level:g} % interval by {self.unit}",
        ]
        labels = {name: self.label(name) for name in self.mean}
        width = max(map(len, labels.values()))
        for name, label in labels.items():
            low, high = self.interval[name]
            size = f"effective size {self.effective_size[name]:.1f}"
            lines.append(f"{label:{width}}  {self.mean[name]:.4f}  [{low:.4f}, {high:.4f}]  {size}")
        return "\n".join([*lines, *self.notes])


@dataclass(frozen=True)
class LogDifference:
    """One ranking minus another, as :meth:`podium.clicks.LogEvaluation.compare` estimates it from a log.

    Parameters
    ----------
    metric : str
        What is compared.
    mean : float
        Difference of the means.
    interval : tuple of float
        Its interval, paired by query or session.
    p_value : float
        Two-sided p-value of no difference.
    estimator : {"ips", "snips", "dr"}
        What estimated it.
    unit : {"queries", "sessions"}
        What the interval takes to be random.

    Examples
    --------
    >>> import podium
    >>> log = podium.Clicks(
    ...     None, [1, 0, 0, 1, 0, 1], qid=[7] * 6, position=[1, 2, 1, 2, 1, 2], document=["x", "y", "y", "x", "x", "y"]
    ... )
    >>> a, b = (
    ...     podium.clicks.evaluate(log, scores, bias=[1.0, 0.5], interval="sessions") for scores in ([2, 1], [1, 2])
    ... )
    >>> print(a.compare(b, "dcg@10"))
    dcg@10: +0.1107 [-1.1056, +1.3270], p = 0.73 (ips, by sessions)
    """

    metric: str
    mean: float
    interval: tuple[float, float]
    p_value: float
    estimator: str
    unit: str

    def __str__(self) -> str:
        low, high = self.interval
        figures = f"{self.mean:+.4f} [{low:+.4f}, {high:+.4f}], p = {self.p_value:.2g}"
        return f"{self.metric}: {figures} ({self.estimator}, by {self.unit})"


def standard_error(influence: np.ndarray) -> float:
    """Return the standard error that these influences of units add up to."""
    return float(np.sqrt(np.square(influence).sum()))
