"""What a ranking would be worth, estimated from clicks on other rankings."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from podium.clicks.estimators import estimate, unseen_share
from podium.clicks.guessing import guessed_relevance
from podium.clicks.judgment import ESTIMATORS, LogEvaluation
from podium.clicks.logged import Logged, coefficients, read_log
from podium.clicks.rank_weights import rank_weights
from podium.core.parameters import require_choice, require_count, require_number
from podium.core.random_state import RandomState
from podium.data.clicks import Clicks
from podium.data.queries import Queries
from podium.metrics.definition import Metric

__all__ = ["evaluate"]

MOST_UNSEEN = 0.05
"""The largest share of a metric's weight that documents may have of which the log says nothing."""


def evaluate(
    clicks: Clicks,
    scores: Any,
    candidates: Queries | None = None,
    metrics: str | Metric | Sequence[str | Metric] = ("dcg@10",),
    *,
    bias: Any,
    estimator: str = "ips",
    interval: str = "queries",
    clip: float | None = None,
    level: float = 0.95,
    n_folds: int = 5,
    random_state: RandomState = 0,
) -> LogEvaluation:
    """Estimate from a log of clicks what a ranking would be worth that was not shown.

    A metric is the mean over sessions of Σ λ(rank) γ over documents: γ is the probability that a document is clicked
    if it is seen, and λ the metric's weight of ranks. With c a click at place k, α_k and β_k the bias (a click has the
    probability α_k γ + β_k) and ρ the mean of α over all sessions of the query, 0 where the document was not shown:

    - ``"ips"``: the mean over sessions of Σ λ (c − β_k)/ρ over the documents shown;
    - ``"snips"``: per query Σ λ w / Σ w with w = (c − β_k)/ρ, the metric per unit of relevance, between the lowest and
      the highest λ where β is 0. Queries without clicks have no value and are left out;
    - ``"dr"``: Σ λ [γ̂ + (c − β_k − α_k γ̂)/ρ], the correction 0 where the document was not shown, with γ̂ from a
      regression on the features, fitted on the other folds of queries. Since ρ is measured in the log itself, this
      is what ``"ips"`` says of documents that were shown, unless weights are clipped; γ̂ speaks for the others.

    Parameters
    ----------
    clicks : Clicks
        The log.
    scores : (n_documents,) array or ranker
        The ranking to be judged: one number per row of ``clicks.queries``, or of ``candidates``; higher is better.
        Tied documents share the mean of their ranks' weights; −∞ marks documents that are not retrieved. Or a fitted
        ranker, which scores them.
    candidates : Queries, optional
        The documents that are ranked, with ids, by which they are found in the log (compared as text). They may be
        others than those of the log. Queries without sessions do not count.
    metrics : str or Metric, or several
        ``dcg@k`` and ``dcg``, ``p@k``, ``rbp`` (as ``rbp.95``) and ``rbp@k``, or ``arp``, the sum of the ranks of
        relevant documents, with ``"snips"`` their average (lower is better). Normalized metrics are no such sums.
    bias : object or (n_places,) array
        What places do to clicks: a fitted bias that depends on the place alone, such as
        :class:`podium.clicks.PositionBias`, the truth of a simulated log, or propensities. Intervals take it to be
        known.
    estimator : {"ips", "snips", "dr"}
        See above.
    interval : {"queries", "sessions"}
        What is random: queries, of which others could have been asked; or, for these queries, the sessions. Without
        sessions in the log, impressions are taken to be independent of each other.
    clip : float, optional
        The highest 1/ρ. Less variance, but documents that were seldom seen are taken to be worth less than they are
        (with ``"dr"``: closer to γ̂).
    level : float
        Coverage of intervals.
    n_folds : int
        Folds of queries for ``"dr"``.
    random_state : int, generator or None
        How they are drawn.

    Returns
    -------
    LogEvaluation
        ``mean``, ``interval`` and ``effective_size`` by metric, values per query, and
        :meth:`~podium.clicks.LogEvaluation.compare` for the difference to another ranking.

    Raises
    ------
    ValueError
        If documents that the log never showed hold more than 5 % of a metric's weight: nothing is known of these.

    Examples
    --------
    >>> import podium
    >>> queries = podium.make_queries(n_queries=50, n_documents=8, random_state=0)
    >>> log = podium.clicks.simulate(queries, queries.features[:, 0], sessions=5000, random_state=0)
    >>> by_first, by_second = (
    ...     podium.clicks.evaluate(log, log.queries.features[:, j], metrics=["dcg@5", "p@1"], bias=log.truth)
    ...     for j in (0, 1)
    ... )
    >>> print(by_first)
    from clicks by inverse propensity weights (ips): 5000 sessions of 50 queries
    mean and 95 % interval by queries
    dcg@5  1.1017  [0.9185, 1.2848]  effective size 3486.7
    p@1    0.3438  [0.2514, 0.4361]  effective size 1350.3
    >>> print(by_second.compare(by_first, "dcg@5"))
    dcg@5: +0.0177 [-0.1240, +0.1594], p = 0.8 (ips, by queries)
    """
    require_choice("estimator", estimator, tuple(ESTIMATORS))
    require_choice("interval", interval, ("queries", "sessions"))
    if clip is not None:
        require_number("clip", clip, at_least=1.0)
    require_number("level", level, above=0.0, below=1.0)
    require_count("n_folds", n_folds, at_least=2)
    if not isinstance(clicks, Clicks):
        raise TypeError(f"clicks must be a podium.Clicks; got {type(clicks).__name__}")
    asked = rank_weights(metrics)
    alpha, beta = coefficients(bias, clicks.n_places)
    logged = read_log(clicks, candidates, alpha, beta)
    if not logged.sessions.any():
        raise ValueError("none of the candidates' queries is in the log; ids are compared as text")
    given = scores_of(scores, logged.queries)
    weights = {name: weight.of_documents(given, logged.queries.offsets) for name, weight in asked.items()}
    unseen = {name: unseen_share(logged, weight) for name, weight in weights.items()}
    require_seen(unseen)
    guess = np.zeros(len(given))
    if estimator == "dr":
        guess = guessed_relevance(logged, n_folds, random_state)
    estimates = {name: estimate(logged, weight, estimator, interval, clip, guess) for name, weight in weights.items()}
    return LogEvaluation(
        estimator,
        interval,
        logged.queries.qids,
        logged.sessions,
        unseen,
        _notes(clicks, logged, estimator, interval, clip, unseen, next(iter(estimates.values())).per_query),
        estimates,
        (estimator, interval, clip, id(candidates), alpha.tobytes(), beta.tobytes()),
        clicks,
        level,
    )


def scores_of(scores: Any, queries: Queries) -> np.ndarray:
    """Return one score per document, in the grouped order."""
    given = scores.predict(queries) if hasattr(scores, "predict") else scores
    values = np.asarray(given, np.float64)
    if values.shape != (queries.n_documents,):
        raise ValueError(
            f"scores must be one number for each of the {queries.n_documents} documents; got shape {values.shape}"
        )
    if np.isnan(values).any():
        raise ValueError(f"the score of row {int(np.isnan(values).argmax())} (from 0) is NaN")
    return queries.group(values)


def require_seen(unseen: dict[str, float]) -> None:
    """Raise if documents of which the log says nothing hold too large a share of a metric's weight."""
    name, share = max(unseen.items(), key=lambda item: item[1])
    if share > MOST_UNSEEN:
        raise ValueError(
            f"documents that the log never showed hold {100 * share:.1f} % of the weight of {name} (at most "
            f"{100 * MOST_UNSEEN:g} % may be unknown): clicks cannot tell what this ranking is worth. Take a smaller "
            "cutoff, rank only documents that were shown, or log sessions in which these are shown, too"
        )


def _notes(
    clicks: Clicks,
    logged: Logged,
    estimator: str,
    interval: str,
    clip: float | None,
    unseen: dict[str, float],
    per_query: np.ndarray,
) -> tuple[str, ...]:
    notes = []
    for name, share in unseen.items():
        if share > 0.0:
            fate = "are worth what the regression says" if estimator == "dr" else "count as worth nothing"
            notes.append(f"documents never shown, with {100 * share:.2g} % of the weight of {name}, {fate}")
    if clip is not None:
        clipped = logged.inverse(None) > clip
        share = np.mean(clipped[logged.shown])
        notes.append(f"weights above {clip:g} clipped: those of {100 * share:.2g} % of the documents shown")
    if interval == "sessions" and clicks.session is None:
        notes.append("the log has no sessions: impressions are taken to be independent")
    without = int(((logged.sessions > 0) & np.isnan(per_query)).sum())
    if without:
        notes.append(f"{without} queries without clicks left out")
    idle = int((logged.sessions == 0).sum())
    if idle:
        notes.append(f"{idle} queries without sessions do not count")
    return tuple(notes)
