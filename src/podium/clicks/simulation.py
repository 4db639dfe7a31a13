"""Clicks of simulated users on judged lists, with a bias that is known.

The log of a simulation knows its truth: how attractive its documents are, and what places do to clicks. Methods that
estimate these are tested against it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from podium.clicks.bias import Bias
from podium.clicks.position_bias import PositionBias
from podium.clicks.trust_bias import TrustBias
from podium.core.parameters import require_choice, require_count, require_number
from podium.core.random_state import RandomState, as_generator
from podium.data.clicks import Clicks
from podium.data.queries import Queries

__all__ = ["Truth", "simulate"]

MODELS = ("position", "cascade", "dbn")
_VALUES_AT_A_TIME = 1 << 20
"""Documents of sessions that are ranked at a time."""


@dataclass(frozen=True)
class Truth:
    """What a simulation knows, and nobody else: what made the clicks of a log.

    Parameters
    ----------
    rows : (n_documents,) int64
        Where the documents of the log are in the queries that it was made from.
    attractiveness : (n_documents,) array
        Probability that a document that was looked at is clicked.
    satisfaction : (n_documents,) array
        Probability that nothing more is looked at after a click, in the model ``"dbn"``.
    propensities : (n_places,) array
        Share of sessions in which each place is looked at.
    alpha, beta : (n_places,) arrays or None
        Of the position-based models: a document of attractiveness γ is clicked with probability α γ + β.

    Examples
    --------
    >>> import podium
    >>> queries = podium.make_queries(n_queries=20, n_documents=10)
    >>> c = podium.clicks.simulate(queries, queries.labels, top=4, sessions=100)
    >>> c.truth.propensities.round(3).tolist()
    [1.0, 0.5, 0.333, 0.25]
    """

    rows: np.ndarray
    attractiveness: np.ndarray
    satisfaction: np.ndarray
    propensities: np.ndarray
    alpha: np.ndarray | None
    beta: np.ndarray | None

    def as_bias(self) -> Bias:
        """Return the bias that made the clicks, as estimates of it are; ``fit(clicks, bias=clicks.truth)`` takes it.

        Returns
        -------
        Bias
            With the propensities of the simulation, without intervals.
        """
        if self.alpha is None or self.beta is None:
            raise ValueError("these users read from the top: no probability of being seen depends on the place alone")
        bias = TrustBias(bootstrap=0) if self.beta.any() else PositionBias(bootstrap=0)
        bias.alpha_, bias.beta_ = self.alpha, self.beta
        bias.propensities_, bias.intervals_ = self.propensities, None
        return bias


def simulate(
    queries: Queries,
    scores: Any,
    *,
    model: str = "position",
    exponent: float = 1.0,
    noise: float = 0.1,
    trust: tuple[Any, Any] | None = None,
    shuffle: float = 0.5,
    top: int = 10,
    sessions: int = 100_000,
    random_state: RandomState = 0,
    persistence: float = 0.9,
    aggregate: bool = False,
) -> Clicks:
    """Simulate sessions in which users are shown the top of a ranking and click.

    Each session draws a query uniformly and shows the documents that are first by score plus noise. Of documents with
    grade y, a share of γ = noise + (1 − noise) (2^y − 1) / (2^y_max − 1) of those looked at is clicked; negative grades
    count as 0, and y_max is the highest grade of all queries.

    Parameters
    ----------
    queries : Queries
        Judged lists.
    scores : (n_documents,) array, ranker, or a list of these
        The ranking that is logged, in the queries' grouped order; of several, each session draws one. Scores are
        standardized within each query. Equal ones are ordered at random, once.
    model : {"position", "cascade", "dbn"}
        How users look at a list. ``"position"``: at place k with probability k^−exponent, independently.
        ``"cascade"``: from the top to the first click. ``"dbn"``: from the top; after a document, clicked or not, they
        go on with probability ``persistence``, unless a click satisfied them, which happens with probability
        (2^y − 1) / (2^y_max − 1).
    exponent : float
        How fast attention fades in the model ``"position"``.
    noise : float
        Attractiveness γ of documents with grade 0.
    trust : pair of numbers or of (top,) arrays, optional
        For the model ``"position"``: how often a relevant document that is looked at is clicked, and how often one that
        is not, per place. A document is clicked with probability θ_k (γ trust[0] + (1 − γ) trust[1]).
    shuffle : float
        Times standard Gumbel noise, added to the standardized scores. With 0, documents never move.
    top : int
        Documents shown.
    sessions : int
        How many.
    random_state : int, numpy.random.Generator or None
        The same number gives the same log.
    persistence : float
        Of the model ``"dbn"``.
    aggregate : bool
        Whether to return one row per query, document and place instead of one per impression with its session: faster,
        and enough for position-based models.

    Returns
    -------
    Clicks
        Document ids are those of the queries or, if these have none, numbers of rows. Its ``truth`` is a
        :class:`podium.clicks.Truth`.

    Examples
    --------
    >>> import podium
    >>> queries = podium.make_queries(n_queries=20, n_documents=10)
    >>> c = podium.clicks.simulate(queries, queries.labels, top=4, sessions=100)
    >>> len(c), c.n_places, int(c.n_sessions.sum())
    (400, 4, 100)
    """
    require_choice("model", model, MODELS)
    require_number("exponent", exponent, at_least=0)
    require_number("noise", noise, at_least=0, at_most=1)
    require_number("shuffle", shuffle, at_least=0)
    require_number("persistence", persistence, above=0, at_most=1)
    require_count("top", top)
    require_count("sessions", sessions)
    rng = as_generator(random_state)
    gain = gains(queries.labels)
    attraction = noise + (1 - noise) * gain
    alpha, beta = position_bias(exponent, top, trust)
    if model != "position" and trust is not None:
        raise ValueError(f"trust is part of the model 'position'; got model={model!r}")
    rankings = _rankings(queries, scores, shuffle, rng)
    looked, recorder = np.zeros(top), _Recorder(queries.n_documents, top, aggregate)
    for number, shown in _shown(queries, rankings, shuffle, top, sessions, rng):
        there = shown >= 0
        if model == "position":
            place = np.arange(shown.shape[1])
            clicked = rng.random(shown.shape) < alpha[place] * attraction[shown] + beta[place]
        else:
            stays, leaves = (1.0, np.ones_like(gain)) if model == "cascade" else (persistence, gain)
            clicked, seen = _from_the_top(attraction[shown], leaves[shown], there, stays, rng)
            looked[: shown.shape[1]] += seen.sum(axis=0)
        recorder.add(number, shown, clicked & there, there)
    was_shown = recorder.impressions.sum(axis=1) > 0
    clicks, rows = recorder.log(queries, was_shown), np.flatnonzero(was_shown)
    based = model == "position"
    propensities = np.arange(1.0, top + 1) ** -exponent if based else looked / sessions
    clicks.truth = Truth(
        rows,
        attraction[rows],
        gain[rows],
        propensities[: clicks.n_places],
        alpha[: clicks.n_places] if based else None,
        beta[: clicks.n_places] if based else None,
    )
    return clicks


def gains(labels: np.ndarray) -> np.ndarray:
    """Return (2^y − 1) / (2^y_max − 1), 0 for negative grades."""
    gain = np.exp2(np.maximum(labels, 0.0)) - 1
    return gain / (gain.max(initial=0.0) or 1.0)


def position_bias(exponent: float, n_places: int, trust: tuple[Any, Any] | None) -> tuple[np.ndarray, np.ndarray]:
    """Return α and β of each place: a document of attractiveness γ is clicked with probability α γ + β."""
    theta = np.arange(1.0, n_places + 1) ** -exponent
    if trust is None:
        return theta, np.zeros(n_places)
    relevant, irrelevant = (np.broadcast_to(np.asarray(share, float), (n_places,)) for share in trust)
    if not ((irrelevant >= 0) & (irrelevant <= relevant) & (relevant <= 1)).all():
        raise ValueError(
            "trust must be two shares of clicks between 0 and 1 per place, that of relevant documents not below that "
            f"of others; got {trust!r}"
        )
    return theta * (relevant - irrelevant), theta * irrelevant


def _rankings(queries: Queries, scores: Any, shuffle: float, rng: np.random.Generator) -> np.ndarray:
    """Return the scores of each ranking, (n_rankings, n_documents), standardized within queries.

    Without shuffling they are distinct ranks: equal scores are ordered at random, by no row order, and always alike.
    """
    several = isinstance(scores, Sequence) and len(scores) > 0 and (np.ndim(scores[0]) == 1 or _is_ranker(scores[0]))
    given = list(scores) if several or np.ndim(scores) == 2 else [scores]
    rows = [queries.group(one.predict(queries)) if _is_ranker(one) else np.asarray(one, float) for one in given]
    n, query = queries.n_documents, queries.query_of_document
    sizes = np.maximum(queries.sizes, 1)
    for i, row in enumerate(rows):
        if row.shape != (n,):
            raise ValueError(f"scores must have one number for each of the {n} documents; got shape {row.shape}")
        if not np.isfinite(row).all():
            raise ValueError(f"the score of document {np.flatnonzero(~np.isfinite(row))[0]} is not finite")
        if shuffle == 0:
            order = np.lexsort((rng.random(n), row, query))
            ranks = np.empty(n)
            ranks[order] = np.arange(n)
            rows[i] = ranks
            continue
        centered = row - (np.bincount(query, row, len(sizes)) / sizes)[query]
        deviation = np.sqrt(np.bincount(query, centered**2, len(sizes)) / sizes)
        small = deviation <= 1e-12 * np.maximum(1e-300, np.abs(row).max(initial=0.0))  # rounding of equal scores
        rows[i] = centered / np.where(small, np.inf, deviation)[query]
    return np.stack(rows)


def _is_ranker(value: Any) -> bool:
    return hasattr(value, "predict")


def _shown(
    queries: Queries, rankings: np.ndarray, shuffle: float, top: int, sessions: int, rng: np.random.Generator
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield numbers of sessions and the documents that they show, (n, places), -1 where a list is shorter.

    Sessions with lists of similar lengths come together, so that a block of them is a matrix.
    """
    filled = np.flatnonzero(queries.sizes > 0)
    if not len(filled):
        raise ValueError("there is no query with documents to show")
    query = filled[rng.integers(len(filled), size=sessions)]
    ranking = rng.integers(len(rankings), size=sessions) if len(rankings) > 1 else np.zeros(sessions, np.int64)
    order = np.argsort(queries.sizes[query], kind="stable")
    sizes = queries.sizes[query[order]]
    start = 0
    while start < sessions:
        longest = int(sizes[start]) * 3 // 2  # lists of a block differ in length by half at most
        fitting = int(np.searchsorted(sizes, longest, side="right"))
        number = order[start : min(fitting, start + max(1, _VALUES_AT_A_TIME // longest))]
        yield number, _top_of_lists(queries, rankings, query[number], ranking[number], shuffle, top, rng)
        start += len(number)


def _top_of_lists(
    queries: Queries,
    rankings: np.ndarray,
    query: np.ndarray,
    ranking: np.ndarray,
    shuffle: float,
    top: int,
    rng: np.random.Generator,
) -> np.ndarray:
    """Return the documents at the first places of one list per session, -1 behind its end."""
    sizes = queries.sizes[query][:, np.newaxis]
    column = np.arange(sizes.max())
    inside = column < sizes
    documents = np.where(inside, queries.offsets[query][:, np.newaxis] + column, 0)
    keys = rankings[ranking[:, np.newaxis], documents]
    if shuffle:
        keys = keys - shuffle * np.log(rng.standard_exponential(keys.shape))  # Gumbel noise
    keys = np.where(inside, -keys, np.inf)
    if top < keys.shape[1] // 2:
        first = np.argpartition(keys, top, axis=1)[:, :top]
        keys, documents, inside = (np.take_along_axis(x, first, axis=1) for x in (keys, documents, inside))
    order = np.argsort(keys, axis=1)[:, :top]
    return np.take_along_axis(np.where(inside, documents, -1), order, axis=1)


def _from_the_top(
    attraction: np.ndarray, satisfaction: np.ndarray, there: np.ndarray, persistence: float, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return what is clicked and what is looked at by users who read from the top, (n_sessions, places)."""
    clicked, seen = np.zeros_like(there), np.zeros_like(there)
    looking = np.ones(len(there), bool)
    for place in range(there.shape[1]):
        looking = looking & there[:, place]
        seen[:, place] = looking
        clicked[:, place] = looking & (rng.random(len(there)) < attraction[:, place])
        satisfied = clicked[:, place] & (rng.random(len(there)) < satisfaction[:, place])
        looking = looking & ~satisfied & (rng.random(len(there)) < persistence)
    return clicked, seen


class _Recorder:
    """Impressions and clicks of sessions, counted per document and place, and one by one unless that is enough."""

    def __init__(self, n_documents: int, n_places: int, aggregate: bool) -> None:
        self.shape = n_documents, n_places
        self.impressions, self.clicks = np.zeros(self.shape), np.zeros(self.shape)
        self.sessions: list[tuple[np.ndarray, ...]] | None = None if aggregate else []

    def add(self, number: np.ndarray, shown: np.ndarray, clicked: np.ndarray, there: np.ndarray) -> None:
        row, place = shown[there], np.broadcast_to(np.arange(shown.shape[1]), shown.shape)[there]
        cell, click = row * self.shape[1] + place, clicked[there]
        self.impressions += np.bincount(cell, minlength=self.impressions.size).reshape(self.shape)
        self.clicks += np.bincount(cell, click, self.clicks.size).reshape(self.shape)
        if self.sessions is not None:
            session = np.broadcast_to(number[:, np.newaxis], shown.shape)[there]
            self.sessions.append((row, place, click, session))

    def log(self, queries: Queries, shown: np.ndarray) -> Clicks:
        """Return the log of the documents that were shown; their queries have no labels."""
        if queries.document_ids is None:
            queries = queries.with_document_ids(np.arange(queries.n_documents))
        kept = queries.without_labels().only(shown)
        kept = kept.take(kept.sizes > 0)
        renumbered = np.cumsum(shown) - 1
        if self.sessions is None:
            row, place = np.nonzero(self.impressions)
            counts = (counts[row, place].astype(np.int64) for counts in (self.clicks, self.impressions))
            return Clicks.of_rows(kept, renumbered[row], place + 1, *counts)
        row, place, click, session = (np.concatenate(parts) for parts in zip(*self.sessions, strict=True))
        return Clicks.of_rows(
            kept, renumbered[row], place + 1, click.astype(np.int64), np.ones(len(row), np.int64), session
        )
