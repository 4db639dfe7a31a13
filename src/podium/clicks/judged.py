"""A bias beside judgments: documents that were judged are as relevant as raters said, whatever was clicked."""

from __future__ import annotations

from typing import Any

import numpy as np

from podium.clicks.logged import coefficients, read_log
from podium.clicks.relevance import relevance
from podium.core.parameters import require_number
from podium.data.bias import as_bias, impressions_of
from podium.data.clicks import Clicks
from podium.data.joining import found_rows
from podium.data.queries import Queries

__all__ = ["WithJudgments"]


class WithJudgments:
    """A bias for ``fit`` that knows judgments of some of the documents, too.

    In lists of clicked documents, those that were judged get the attractiveness of their grade. Every other document is
    taken for one of the grades, as its clicks and its features say; how attractive a grade is, is learned from the
    clicks on all documents. This is for judgments of a few documents of many queries, such as
    :func:`podium.clicks.ask` asks for; where whole lists were judged, ``fit([queries, clicks])`` learns from their
    order.

    Parameters
    ----------
    bias : object
        What places do to clicks, one that depends on the place alone.
    judged : Queries
        Judged documents with ids, by which they are found in a log (compared as text), such as
        ``podium.join_judgments(clicks.queries, "pairs.csv").queries``.
    highest : float, optional
        The grade of a perfect document; by default the highest that was given.

    Examples
    --------
    >>> import podium
    >>> queries = podium.make_queries(n_queries=20, n_documents=10)
    >>> c = podium.clicks.simulate(queries, queries.features[:, 0], top=5, sessions=1000, aggregate=True)
    >>> judged = c.queries.with_labels(queries.labels[c.truth.rows]).take(range(5))
    >>> known = podium.clicks.WithJudgments(c.truth, judged)
    >>> bool(abs(known.attractiveness(c) - c.truth.attractiveness).mean() < 0.2)
    True
    >>> ranker = podium.ListNet().fit(c, bias=known)
    """

    def __init__(self, bias: Any, judged: Queries, *, highest: float | None = None) -> None:
        self.bias, self.judged, self.highest = bias, judged, highest

    def attractiveness(self, clicks: Clicks) -> np.ndarray:
        """Return how likely each document is clicked if it is looked at, one number per row of ``clicks.queries``."""
        logged = read_log(clicks, None, *coefficients(self.bias, clicks.n_places))
        return relevance(logged, gains_of(logged.queries, self.judged, self.highest)).mean

    def weights(self, clicks: Clicks) -> np.ndarray:
        """Return what the clicks of each document are worth; of judged ones, their impressions times attractiveness."""
        judged = ~np.isnan(gains_of(clicks.queries, self.judged, self.highest))
        given = as_bias(self.bias).weights(clicks)
        return np.where(judged, self.attractiveness(clicks) * impressions_of(clicks), given)


def gains_of(queries: Queries, judged: Queries, highest: float | None = None) -> np.ndarray:
    """Return (2^y − 1) / (2^highest − 1) of each document with a grade y, NaN for those that were not judged."""
    if not isinstance(judged, Queries):
        raise TypeError(
            f"judged must be podium.Queries with labels and document ids; got {type(judged).__name__}. "
            "podium.join_judgments(queries, path).queries reads them from a file"
        )
    grades = judged.labels
    if np.isnan(grades).any():
        raise ValueError("judged holds documents without a grade")
    highest = float(grades.max(initial=0.0)) if highest is None else highest
    if highest <= 0.0:
        raise ValueError("no document was judged relevant: say by highest= which grade a perfect document would have")
    require_number("highest", highest, at_least=float(grades.max(initial=0.0)))
    row = found_rows(queries, judged, "judged documents")
    gains = np.expm1(np.log(2.0) * np.maximum(grades, 0.0)) / np.expm1(np.log(2.0) * highest)
    return np.where(row >= 0, gains[row], np.nan) if len(gains) else np.full(len(row), np.nan)
