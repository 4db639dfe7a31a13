"""A log dealt into folds by query: clicks to learn from, and lists whose labels are what clicks tell of relevance."""

import hashlib
import json
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from podium.clicks.attraction import Attraction
from podium.clicks.comparing.biases import FoldBias, GivenBias
from podium.clicks.estimators import estimated_relevance
from podium.clicks.logged import Logged, read_log
from podium.clicks.rank_weights import RankWeight
from podium.data.clicked import ClickedQueries
from podium.data.clicks import Clicks
from podium.data.joining import found_rows
from podium.data.queries import Queries
from podium.experiments.plan.protocol import Average, KFold, TimeSplit
from podium.experiments.plan.sources import Parts, fingerprint


@dataclass(frozen=True)
class LogPart:
    """What the clicks on some queries say of their documents."""

    clicks: Clicks
    logged: Logged
    guess: np.ndarray
    """Relevance that features tell; 0 unless the estimator is doubly robust."""

    def as_shown(self, weight: RankWeight) -> np.ndarray:
        """Return what each document weighed where it was shown: the mean over sessions of the weight of its place."""
        clicks, queries = self.clicks, self.logged.queries
        row = clicks.row if queries is clicks.queries else found_rows(clicks.queries, queries, "candidates")[clicks.row]
        kept = row >= 0
        held = clicks.impressions * weight.at(clicks.position)
        sessions = np.maximum(self.logged.sessions_of_document, 1.0)
        return np.bincount(row[kept], held[kept], queries.n_documents) / sessions


class LogFolds:
    """The folds of a log.

    Parameters
    ----------
    clicks : Clicks
        With features, and document ids.
    bias : GivenBias
        What to learn and to judge with.
    estimator : {"ips", "snips", "dr"}
        How.
    clip : float, optional
        The highest weight.
    protocol : KFold or TimeSplit
        How queries are dealt; of the latter, their order is that of their first appearance.
    random_state : int
        Seeds it.
    candidates : Queries, optional
        What is ranked in validation and test parts, instead of what was shown.
    name : str
        What the log is called.
    """

    average: Average = "queries"

    def __init__(
        self,
        clicks: Clicks,
        bias: GivenBias,
        estimator: str,
        clip: float | None,
        protocol: KFold | TimeSplit,
        random_state: int,
        candidates: Queries | None,
        name: str,
    ) -> None:
        self.clicks, self.bias, self.estimator, self.clip = clicks, bias, estimator, clip
        self.protocol, self.candidates, self.name = protocol, candidates, name
        self._ranked = _numbers_among(clicks.queries, candidates)
        self._used = np.flatnonzero(self._ranked >= 0)
        """Queries of the log that have candidates."""
        self._parts = protocol.parts(len(self._used), None, random_state)
        self.folds = list(self._parts)
        n = int(clicks.n_sessions[self._used].sum())
        self.description = (
            f"{n:,} sessions of {len(self._used):,} queries, {clicks.queries.n_documents:,} documents, "
            f"{clicks.n_places} places, {clicks.queries.n_features} features, {protocol.describe()}"
        )
        self.fingerprint = _fingerprint(self)
        self.part = lru_cache(maxsize=None)(self._part)
        self.bias_of = lru_cache(maxsize=None)(self._bias_of)
        self._warnings: dict[str, list[str]] = {}

    @property
    def n_left_out(self) -> int:
        """How many queries of the log have no candidates."""
        return len(self.clicks.queries) - len(self._used)

    def load(self, fold: str) -> Parts:
        """Return the log to learn from, lists to choose settings by, and lists to judge the chosen ones by.

        Labels of the first are the documents' attractiveness, those of the last their relevance; and those of the lists
        to choose by are such that a plain mean over queries is the mean over sessions.
        """
        train, bias = self._train(fold), self.bias_of(fold)
        if not train.clicks.any():
            raise ValueError(f"{fold}: the training part has no clicks to learn from")
        learned = ClickedQueries.of_log(train, bias.known.attractiveness(train), bias.known.weights(train))
        valid, test = self.part(fold, "validation"), self.part(fold, "test")
        weights = counted(valid, self.estimator, self.clip)
        share = weights * len(weights) / max(weights.sum(), 1.0)
        chosen_by = valid.logged.queries
        labels = relevance(valid, self.estimator, self.clip) * np.repeat(share, chosen_by.sizes)
        judged_by = relevance(test, self.estimator, self.clip)
        return learned, chosen_by.with_labels(labels), test.logged.queries.with_labels(judged_by)

    def _train(self, fold: str) -> Clicks:
        return self.clicks.take(self._used[self._parts[fold][0]])

    def _bias_of(self, fold: str) -> FoldBias:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = self.bias.of(self._train(fold), self.clicks.n_places)
        self._warnings[fold] = [str(warning.message) for warning in caught]
        return found

    @property
    def warnings(self) -> list[str]:
        """What was said of the estimated biases, where the log hardly tells them."""
        for fold in self.folds:
            self.bias_of(fold)
        return [f"{fold}, bias: {text}" for fold in self.folds for text in self._warnings[fold]]

    def _part(self, fold: str, which: str) -> LogPart:
        """Return a validation or test part."""
        numbers = self._used[self._parts[fold][("train", "validation", "test").index(which)]]
        bias, part = self.bias_of(fold), self.clicks.take(numbers)
        listed = None if self.candidates is None else self.candidates.take(self._ranked[numbers])
        logged = read_log(part, listed, bias.alpha, bias.beta)
        guess = np.zeros(logged.queries.n_documents)
        if self.estimator == "dr":
            known = read_log(self._train(fold), None, bias.alpha, bias.beta)
            seen = known.shown
            prior = Attraction.fit(known.queries.features[seen], known.gained[seen], known.exposure[seen])
            guess = prior.means(logged.queries.features)
        return LogPart(part, logged, guess)


def relevance(part: LogPart, estimator: str, clip: float | None) -> np.ndarray:
    """Return the estimated relevance of each document; with ``"snips"`` its share of the query's, 0 without any."""
    found = estimated_relevance(part.logged, clip, part.guess)
    if estimator != "snips":
        return found
    total = np.repeat(_totals(part, found), part.logged.queries.sizes)
    return np.divide(found, total, out=np.zeros(len(found)), where=total > 0.0)


def counted(part: LogPart, estimator: str, clip: float | None) -> np.ndarray:
    """Return how many sessions of each query count: with ``"snips"``, none of queries without relevance."""
    if estimator != "snips":
        return part.logged.sessions
    known = _totals(part, estimated_relevance(part.logged, clip, part.guess)) > 0.0
    return np.where(known, part.logged.sessions, 0.0)


def _totals(part: LogPart, relevance: np.ndarray) -> np.ndarray:
    queries = part.logged.queries
    return np.bincount(queries.query_of_document, relevance, len(queries))


def _numbers_among(queries: Queries, candidates: Queries | None) -> np.ndarray:
    """Return the number of each query among those that have candidates, -1 for none; ids are compared as text."""
    if candidates is None:
        return np.arange(len(queries))
    known = {str(qid): number for number, qid in enumerate(candidates.qids.tolist())}
    found = np.array([known.get(str(qid), -1) for qid in queries.qids.tolist()], np.int64)
    if (found < 0).all():
        raise ValueError("none of the candidates' queries is in the log; ids are compared as text")
    return found


def _fingerprint(folds: LogFolds) -> str:
    """Return a digest of all that determines the parts, but for how queries are dealt."""
    clicks, digest = folds.clicks, hashlib.blake2b(digest_size=12)
    session = clicks.session if clicks.session is not None else np.empty(0)
    for array in (clicks.row, clicks.position, clicks.clicks, clicks.impressions, session, clicks.n_sessions):
        digest.update(np.ascontiguousarray(array).tobytes())
    for text in _facts(folds):
        digest.update(text.encode())
    return digest.hexdigest()


def _facts(folds: LogFolds) -> Iterator[str]:
    for queries in filter(None, (folds.clicks.queries, folds.candidates)):
        yield fingerprint(queries.with_labels(np.zeros(queries.n_documents)))
        yield "\n".join(map(str, [] if queries.document_ids is None else queries.document_ids.tolist()))
    known: Any = [folds.bias.identity(folds.clicks.n_places), folds.estimator, folds.clip]
    yield json.dumps(known, sort_keys=True, default=repr)
