"""Which documents raters should judge next: those whose relevance would tell most, and is least known."""

from __future__ import annotations

from typing import Any

import numpy as np

from podium.clicks.judged import gains_of
from podium.clicks.judging import scores_of
from podium.clicks.logged import coefficients, read_log
from podium.clicks.questions import Questions
from podium.clicks.rank_weights import rank_weights
from podium.clicks.relevance import relevance
from podium.core.parameters import require_count
from podium.data.clicks import Clicks
from podium.data.queries import Queries
from podium.metrics.definition import Metric

__all__ = ["ask"]


def ask(
    model: Any,
    clicks: Clicks,
    n: int = 100,
    *,
    bias: Any,
    against: Any = None,
    candidates: Queries | None = None,
    metric: str | Metric = "dcg@10",
    judged: Queries | None = None,
    highest: float | None = None,
) -> Questions:
    """Choose the documents whose judgment would tell most about which of two rankings is better, or about one.

    What a ranking is worth is M = Σ_q w_q Σ_i λ(rank_i) γ_i with w_q the share of the query's sessions, λ the metric's
    weight of ranks, and γ_i the document's attractiveness, of which clicks tell the mean and the deviation σ_i: given
    its clicks and expected looks, and how attractive documents are of which a regression on features says the same,
    which is all that is known of documents never shown. A judgment makes γ_i known. Of two rankings it takes

        w_q² (λ(rank_i of one) − λ(rank_i of the other))² σ_i²

    off the variance of M₁ − M₂, of one ranking w_q² λ(rank_i)² σ_i² off that of M. Deviations are taken to be
    independent, so that the ``n`` documents with the largest such shares are the best ``n`` together: no other choice
    makes it less likely that the wrong ranking is taken for the better one.

    Parameters
    ----------
    model : ranker or (n_documents,) array
        A fitted ranker, or its scores, one per row of ``clicks.queries``, or of ``candidates``.
    clicks : Clicks
        The log.
    n : int
        How many to choose. There may be fewer that matter.
    bias : object or (n_places,) array
        What places do to clicks, as for :func:`podium.clicks.evaluate`.
    against : ranker or (n_documents,) array, optional
        The other ranking.
    candidates : Queries, optional
        The documents that are ranked, with ids, if they are others than those that the log shows.
    metric : str or Metric
        ``dcg@k``, ``p@k``, ``rbp``, …: one that :func:`podium.clicks.evaluate` knows.
    judged : Queries, optional
        Documents that were judged before, with ids. They are not asked for again; what they say of the difference, and
        of documents like them, is taken into account.
    highest : float, optional
        The grade of a perfect document; by default the highest of ``judged``.

    Returns
    -------
    Questions
        The documents, the most telling first, and what is known by now. It prints, and saves a file for raters.

    Examples
    --------
    >>> import podium
    >>> queries = podium.make_queries(n_queries=50, n_documents=8, random_state=0)
    >>> log = podium.clicks.simulate(queries, queries.features[:, 0], sessions=2000, random_state=0)
    >>> one, other = (log.queries.features[:, j] for j in (1, 2))
    >>> print(podium.clicks.ask(one, log, n=2, against=other, bias=log.truth))
    difference of dcg@10, by clicks: -0.0767 ± 0.0136; the first ranking is better with probability 0.00
    with 2 more judgments: ± 0.0126
    query  document  rank  against  relevance    worth
    21     180       11    1        0.23 ± 0.16  6.97 %
    28     227       1     3        0.50 ± 0.24  6.29 %
    """
    require_count("n", n)
    if not isinstance(clicks, Clicks):
        raise TypeError(f"clicks must be a podium.Clicks; got {type(clicks).__name__}")
    ((name, weight),) = rank_weights([metric]).items()
    logged = read_log(clicks, candidates, *coefficients(bias, clicks.n_places))
    queries = logged.queries
    if queries.document_ids is None:
        raise ValueError("the documents have no ids, by which raters could be asked for them")
    if not logged.sessions.any():
        raise ValueError("none of the candidates' queries is in the log; ids are compared as text")
    known = relevance(logged, None if judged is None else gains_of(queries, judged, highest))
    if judged is not None and not known.judged.any():
        raise ValueError("none of the judged documents is among those that are ranked; ids are compared as text")
    share = (logged.sessions / logged.sessions.sum())[queries.query_of_document]
    rankings = [scores_of(ranking, queries) for ranking in ([model] if against is None else [model, against])]
    lambdas = [weight.of_documents(scores, queries.offsets) for scores in rankings]
    slope = share * (lambdas[0] if against is None else lambdas[0] - lambdas[1])
    worth = np.square(slope * known.deviation)
    order = np.argsort(-worth, kind="stable")[: min(n, int(np.count_nonzero(worth)))]
    mean, left = float(slope @ known.mean), float(worth.sum())
    return Questions(
        qids=queries.qids[queries.query_of_document[order]],
        documents=queries.document_ids[order],
        ranks=np.column_stack([_ranks(scores, queries)[order] for scores in rankings]),
        relevance=known.mean[order],
        deviation=known.deviation[order],
        worth=worth[order] / left if left else worth[order],
        metric=name,
        mean=mean,
        error=left**0.5,
        error_after=max(left - float(worth[order].sum()), 0.0) ** 0.5,
        n_judged=int(known.judged.sum()),
    )


def _ranks(scores: np.ndarray, queries: Queries) -> np.ndarray:
    """Return the rank of each document in its query, from 1; tied ones in the order of their rows."""
    query = queries.query_of_document
    order = np.lexsort((-scores, query))
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.arange(1, len(order) + 1) - queries.offsets[query]
    return ranks
