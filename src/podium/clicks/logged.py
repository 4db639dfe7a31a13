"""What a log says of documents that a new ranking ranks: how much each was exposed, and what its clicks are worth.

With ρ_i the mean of α over all sessions of the query (0 where the document was not shown), (c − β)/ρ_i of a session
estimates a document's relevance, whatever ranking was shown. Since ρ is measured in the log itself, the mean of these
over sessions is Σ (c − β) / Σ α: no average over rankings is needed for it to be right.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from podium.data.clicks import Clicks
from podium.data.joining import found_rows
from podium.data.queries import Queries

_ALL = 1.0 - 1e-9
"""An impression with this share of its document's exposure is the only one."""


@dataclass(frozen=True)
class Logged:
    """Sums over a log, for each document to be ranked, and what is random in them.

    Arrays per document have (n_documents,) entries, in the grouped order of ``queries``; those per row one entry for
    each row of the log whose document is among these.
    """

    queries: Queries
    sessions: np.ndarray
    """(n_queries,) sessions of each query."""
    exposure: np.ndarray
    """Per document: Σ α over its impressions."""
    gained: np.ndarray
    """Per document: Σ (c − β)."""
    squares: np.ndarray
    """Per document: Σ (c − β)²."""
    document: np.ndarray
    """Per row."""
    residual: np.ndarray
    """Per row: c − β − α γ, with γ from all rows of the document: what of the clicks is chance."""
    unit: np.ndarray
    """Per row: number of its session, or of the row itself where the log knows no sessions."""
    n_units: int

    @property
    def shown(self) -> np.ndarray:
        """Per document: can its clicks tell anything?"""
        return self.exposure > 0.0

    @property
    def sessions_of_document(self) -> np.ndarray:
        """Per document: sessions of its query."""
        return np.repeat(self.sessions, self.queries.sizes)

    @property
    def rate(self) -> np.ndarray:
        """Per document: Σ (c − β) / Σ α, the relevance that its clicks tell; 0 where they tell nothing."""
        return _ratio(self.gained, self.exposure)

    def inverse(self, clip: float | None) -> np.ndarray:
        """Return 1/ρ per document, at most ``clip``; 0 for documents that were not shown."""
        inverse = _ratio(self.sessions_of_document, self.exposure)
        return inverse if clip is None else np.minimum(inverse, clip)


def read_log(clicks: Clicks, queries: Queries | None, alpha: np.ndarray, beta: np.ndarray) -> Logged:
    """Return what the log says of the documents of ``queries``; None: of its own."""
    if queries is None:
        queries, row, sessions = clicks.queries, clicks.row, clicks.n_sessions.astype(np.float64)
    else:
        row = found_rows(clicks.queries, queries, "candidates")[clicks.row]
        sessions = _sessions(clicks, queries)
    kept = np.flatnonzero(row >= 0)
    row = row[kept]
    shown, clicked = clicks.impressions[kept], clicks.clicks[kept]
    a, b = alpha[clicks.position[kept] - 1], beta[clicks.position[kept] - 1]
    n = queries.n_documents
    exposure, gained = np.bincount(row, shown * a, n), np.bincount(row, clicked - shown * b, n)
    squares = np.bincount(row, clicked * (1.0 - b) ** 2 + (shown - clicked) * b**2, n)
    # γ from the clicks themselves makes residuals too small, by 1 − share if a click's variance is its probability.
    # A document that was shown once has no residual: there, all of the click counts as chance.
    share = _ratio(a, exposure[row])
    alone = share > _ALL
    expected = b + np.where(alone, 0.0, a * _ratio(gained, exposure)[row])
    scale = 1.0 / np.sqrt(np.where(alone, 1.0, 1.0 - share))
    if clicks.session is None:
        residual = np.sqrt(clicked * (1.0 - expected) ** 2 + (shown - clicked) * expected**2)
        unit, n_units = np.arange(len(row)), len(row)
    else:
        residual, unit = clicked - expected, clicks.session[kept]
        n_units = int(clicks.session.max()) + 1
    return Logged(queries, sessions, exposure, gained, squares, row, residual * scale, unit, n_units)


def _sessions(clicks: Clicks, queries: Queries) -> np.ndarray:
    """Return how many sessions the log has of each query; ids are compared as text."""
    known = dict(zip(map(str, clicks.queries.qids.tolist()), clicks.n_sessions.tolist(), strict=True))
    return np.array([known.get(str(qid), 0) for qid in queries.qids.tolist()], np.float64)


def coefficients(bias: Any, n_places: int) -> tuple[np.ndarray, np.ndarray]:
    """Return α and β of the first places: a document of attractiveness γ is clicked with probability α γ + β.

    ``bias`` is an object that has them, or an array of propensities, which are α where β is 0.
    """
    if hasattr(bias, "propensities_") or hasattr(bias, "propensities"):
        found = [getattr(bias, f"{name}_", getattr(bias, name, None)) for name in ("alpha", "beta")]
        if any(values is None for values in found):
            raise ValueError(
                f"{type(bias).__name__} says no probability of being seen that depends on the place alone, which "
                "weighting clicks needs: use a position-based bias or one with trust"
            )
    else:
        found = [bias, np.zeros(np.shape(bias))]
    try:
        alpha, beta = (np.asarray(values, np.float64) for values in found)
    except (TypeError, ValueError):
        alpha = beta = np.empty(0)
    good = alpha.ndim == 1 and len(alpha) and alpha.shape == beta.shape
    if not good or not np.isfinite([alpha, beta]).all() or (alpha < 0.0).any():
        raise ValueError(f"bias must be fitted, or an array of propensities, one per place; got {bias!r}")
    if len(alpha) < n_places:
        raise ValueError(f"the log has {n_places} places, and the bias knows only {len(alpha)}: fit it on this log")
    return alpha[:n_places], beta[:n_places]


def _ratio(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return a / b, 0 where b is 0."""
    return np.divide(a, b, out=np.zeros(len(b)), where=b > 0.0)
