"""Judging the test parts of a log, fold by fold as results come, and the chance in figures once all are there."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from podium.clicks.comparing.folds import LogFolds, LogPart, counted, relevance
from podium.clicks.comparing.metrics import LogMetric, described
from podium.clicks.estimators import Estimate, estimate, unseen_share
from podium.clicks.judging import require_seen
from podium.clicks.judgment import ESTIMATORS, standard_error
from podium.clicks.logged import Logged
from podium.data.queries import Queries
from podium.experiments.result.inference import Inference
from podium.experiments.run.outcomes import Result, TestPart
from podium.experiments.run.store import Store

PRODUCTION = "production"
"""The row of the rankings that were shown."""


class LogJudging:
    """What judges rankings of the test parts of a log's folds by the clicks there."""

    def __init__(self, folds: LogFolds, metrics: Sequence[LogMetric], interval: str) -> None:
        self.folds, self.metrics, self.interval = folds, metrics, interval

    @property
    def convention(self) -> str:
        """The estimator, as tables name it."""
        return described(self.folds.estimator)

    @property
    def words(self) -> Mapping[str, str]:
        """What is said of figures, intervals and tests."""
        estimator, unit = self.folds.estimator, self.interval
        per_unit = " of the metric per unit of relevance" * (estimator == "snips")
        return {
            "estimator": estimator,
            "how": f"Estimated from clicks by {ESTIMATORS[estimator]} ({estimator}); bias: {self.folds.bias.words}",
            "figures": f"mean{per_unit} over the sessions",
            "interval": f"95 % interval by {unit}",
            "test": f"paired t-test by {unit}",
            "external": "The rankings that were shown, each document where it was",
        }

    def judge(
        self, method: str, fold: str, part: TestPart, scores: np.ndarray
    ) -> tuple[dict[str, np.ndarray], TestPart]:
        """Return the metrics of each test query, and the part with the sessions of its queries.

        Raises
        ------
        ValueError
            If documents that the log never showed hold more of a metric's weight than may be unknown.
        """
        found = self.folds.part(fold, "test")
        weights = {metric.name: self._weights(metric, method, found, scores) for metric in self.metrics}
        require_seen({name: unseen_share(found.logged, weight) for name, weight in weights.items()})
        told = relevance(found, self.folds.estimator, self.folds.clip)
        sessions = counted(found, self.folds.estimator, self.folds.clip)
        query, n = found.logged.queries.query_of_document, len(sessions)
        values = {
            name: np.where(sessions > 0.0, np.bincount(query, weight * told, n), np.nan)
            for name, weight in weights.items()
        }
        return values, replace(part, weights=sessions)

    def conclude(self, results: Sequence[Result], store: Store) -> tuple[Inference, Sequence[str]]:
        """Return standard errors over all test parts together, and what readers must know of the log."""
        parts = [self.folds.part(fold, "test") for fold in self.folds.folds]
        together, guess = _together([part.logged for part in parts]), np.concatenate([part.guess for part in parts])
        rankings = self._rankings(results, store)
        inference, unseen = Inference({}, {}, {}, {}), dict[str, float]()
        for metric in self.metrics:
            influences: dict[str, np.ndarray] = {}
            errors, sizes, differences = inference.of_metric(metric.name)
            for method, seeds in rankings.items():
                weights = [self._all_weights(metric, method, parts, scores) for scores in seeds]
                found = [self._estimate(together, weight, guess) for weight in weights]
                influences[method] = np.mean([one.influence for one in found], axis=0)
                inference.freedom[metric.name] = found[0].freedom
                errors[method] = standard_error(influences[method])
                sizes[method] = float(np.mean([one.effective_size for one in found]))
                share = max(unseen_share(together, weight) for weight in weights)
                unseen[metric.name] = max(unseen.get(metric.name, 0.0), share)
            for one, other in combinations(influences, 2):
                error = standard_error(influences[one] - influences[other])
                differences.setdefault(one, {})[other] = error
        return inference, [*self._notes(together, parts, unseen)]

    def _estimate(self, logged: Logged, weights: np.ndarray, guess: np.ndarray) -> Estimate:
        return estimate(logged, weights, self.folds.estimator, self.interval, self.folds.clip, guess)

    def _rankings(self, results: Sequence[Result], store: Store) -> dict[str, list[list[np.ndarray]]]:
        """Return the scores of all test parts, by method and then by seed; without methods that failed."""
        found: dict[str, dict[int, dict[str, np.ndarray]]] = {}
        for result in results:
            arrays = store.arrays(result) if result.error is None else None
            if arrays is not None:
                found.setdefault(result.method, {}).setdefault(result.seed, {})[result.fold] = arrays.scores
        failed = {result.method for result in results if result.error is not None}
        return {
            method: [[scores[fold] for fold in self.folds.folds] for scores in seeds.values()]
            for method, seeds in found.items()
            if method not in failed
        }

    def _all_weights(
        self, metric: LogMetric, method: str, parts: Sequence[LogPart], scores: Sequence[np.ndarray]
    ) -> np.ndarray:
        both = zip(parts, scores, strict=True)
        return np.concatenate([self._weights(metric, method, part, own) for part, own in both])

    def _weights(self, metric: LogMetric, method: str, part: LogPart, scores: np.ndarray) -> np.ndarray:
        """Return what each document of a part weighs when ranked by these scores, or where it was shown."""
        if method == PRODUCTION:
            return part.as_shown(metric.rank_weight)
        return metric.rank_weight.of_documents(scores, part.logged.queries.offsets)

    def _notes(self, logged: Logged, parts: Sequence[LogPart], unseen: Mapping[str, float]) -> Iterator[str]:
        for name, share in unseen.items():
            if share > 0.0:
                fate = "what the regression says" if self.folds.estimator == "dr" else "nothing"
                held = f"documents never shown hold up to {100 * share:.2g} % of the weight of {name}"
                yield f"{held}, and count as {fate}"
        if self.folds.clip is not None:
            share = float(np.mean((logged.inverse(None) > self.folds.clip)[logged.shown]))
            yield f"weights above {self.folds.clip:g} clipped: those of {100 * share:.2g} % of the documents shown"
        if self.interval == "sessions" and self.folds.clicks.session is None:
            yield "the log has no sessions: impressions are taken to be independent"
        sessions = np.concatenate([counted(part, self.folds.estimator, self.folds.clip) for part in parts])
        if without := int(((logged.sessions > 0) & (sessions == 0)).sum()):
            yield f"{without} queries without clicks left out"
        yield from self.folds.warnings
        if left_out := self.folds.n_left_out:
            yield f"{left_out} queries of the log have no candidates and are left out"


def _together(parts: Sequence[Logged]) -> Logged:
    """Return what the log says of the documents of all parts."""
    sizes = np.concatenate([part.queries.sizes for part in parts])
    n_documents = np.cumsum([0, *(part.queries.n_documents for part in parts)])
    n_units = np.cumsum([0, *(part.n_units for part in parts)])
    joined = {
        name: np.concatenate([getattr(part, name) for part in parts])
        for name in ("sessions", "exposure", "gained", "squares", "residual")
    }
    return Logged(
        Queries(np.empty((int(sizes.sum()), 0)), sizes=sizes),
        document=np.concatenate([part.document + start for part, start in zip(parts, n_documents, strict=False)]),
        unit=np.concatenate([part.unit + start for part, start in zip(parts, n_units, strict=False)]),
        n_units=int(n_units[-1]),
        **joined,
    )
