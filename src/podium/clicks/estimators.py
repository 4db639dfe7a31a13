"""Estimates of a metric from a log, and how much each session, or each query, sways them.

Estimates are means over sessions, so that a query counts as often as it was asked. An *influence* is what one unit adds
to an estimate's deviation from what it estimates; deviations of two estimates from the same units are paired, and the
standard error is the root of the sum of squares.
"""

from dataclasses import dataclass

import numpy as np

from podium.clicks.logged import Logged


@dataclass(frozen=True)
class Estimate:
    """One metric of one ranking."""

    mean: float
    per_query: np.ndarray
    """(n_queries,) values; NaN for queries that have none."""
    influence: np.ndarray
    """One entry per unit: per query, or per session within queries."""
    freedom: int
    """Units less what was estimated from them."""
    effective_size: float


def estimate(
    logged: Logged, weights: np.ndarray, estimator: str, interval: str, clip: float | None, guess: np.ndarray
) -> Estimate:
    """Return the estimate of Σ λ γ with these λ of documents, or of Σ λ γ / Σ γ per query for ``"snips"``.

    ``guess`` is the relevance of documents as known from elsewhere: 0, unless the estimator is doubly robust.
    """
    inverse = logged.inverse(clip)
    relevance = estimated_relevance(logged, clip, guess)
    values = _by_query(logged, weights * relevance)
    slopes = weights  # of the query's value, in the relevance of each document
    if estimator == "snips":
        total = _by_query(logged, relevance)
        known = total > 0.0
        values = np.divide(values, total, out=np.full(len(total), np.nan), where=known)
        by_document = np.repeat(np.where(known, total, np.inf), logged.queries.sizes)
        slopes = (weights - np.repeat(np.nan_to_num(values), logged.queries.sizes)) / by_document
    counted = np.where(np.isnan(values), 0.0, logged.sessions)
    n_sessions = counted.sum()
    if n_sessions == 0.0:
        nothing = np.zeros(len(values) if interval == "queries" else logged.n_units)
        return Estimate(np.nan, values, nothing, 0, 0.0)
    mean = float(np.nansum(counted * values) / n_sessions)
    n_queries = int((counted > 0.0).sum())
    if interval == "queries":
        correction = np.sqrt(n_queries / max(n_queries - 1, 1))
        influence = correction * counted * np.nan_to_num(values - mean) / n_sessions
        freedom = n_queries - 1
    else:
        by_row = (slopes * inverse)[logged.document] * logged.residual / n_sessions
        influence = np.bincount(logged.unit, by_row, logged.n_units)
        freedom = int(n_sessions) - n_queries
    return Estimate(mean, values, influence, freedom, _effective_size(logged, inverse * (weights != 0.0)))


def estimated_relevance(logged: Logged, clip: float | None, guess: np.ndarray) -> np.ndarray:
    """Return what the log says of the relevance of each document, corrected from ``guess``."""
    per_session = 1.0 / np.maximum(logged.sessions_of_document, 1.0)
    return guess + (logged.gained - logged.exposure * guess) * logged.inverse(clip) * per_session


def unseen_share(logged: Logged, weights: np.ndarray) -> float:
    """Return the share of the metric's weight that documents have of which the log says nothing."""
    held = np.abs(weights) * logged.sessions_of_document
    return float(held[~logged.shown].sum() / total) if (total := held.sum()) > 0.0 else 0.0


def _by_query(logged: Logged, values: np.ndarray) -> np.ndarray:
    queries = logged.queries
    return np.bincount(queries.query_of_document, values, len(queries))


def _effective_size(logged: Logged, inverse: np.ndarray) -> float:
    """Return (Σw)² / Σw² of the weights w = (c − β)/ρ: how many clicks of equal weight would say as much."""
    squares = float((logged.squares * inverse**2).sum())
    return float((logged.gained * inverse).sum() ** 2 / squares) if squares > 0.0 else 0.0
