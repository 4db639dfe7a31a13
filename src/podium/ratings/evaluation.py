"""Evaluating rankers of ratings: every user is a query, the items they rated are its documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from podium.losses.base import Loss
from podium.metrics.conventions import Convention
from podium.metrics.definition import Metric, metric
from podium.metrics.evaluation import Evaluation, evaluate
from podium.ratings.data import Ratings

DEFAULT_METRICS = ("ndcg@1", "ndcg@5", "ndcg@10", "err")


def evaluate_ratings(
    ranker: Any,
    test: Ratings,
    *,
    given: Ratings | None = None,
    metrics: str | Metric | Sequence[str | Metric] = DEFAULT_METRICS,
    convention: str | Convention = "standard",
    scale: tuple[float, float] | None = None,
) -> Evaluation:
    """Evaluate how a fitted ranker orders the items that users rated, user by user.

    NDCG takes the ratings as they are: five stars gain 2^5 − 1. ERR takes them from 0 on (one to five stars as grades 0
    to 4), since the probability to stop, (2^grade − 1) / 2^highest, is made for grades that start there; its convention
    says so: ``standard+max_grade=5+min_grade=1``. Metrics of relevant and not relevant items need a convention that
    says from which rating on an item is relevant, such as ``"standard+relevant_from=4"``.

    Parameters
    ----------
    ranker : FactorRanker, CoFiRank, PMF, ItemMean, …
        Or anything that predicts scores for user and item ids.
    test : Ratings
        Users without ratings are left out.
    given : Ratings, optional
        What is known of the test users where the ranker was fitted without them: they are folded in first.
    scale : (lowest, highest), optional
        Of all possible ratings, for ERR; by default of those fitted on and of the test ratings.

    Returns
    -------
    Evaluation
        As of :func:`podium.evaluate`, the users' ids being the query ids.
    """
    if given is not None:
        ranker = ranker.with_users(given)
    test = test.take_users(test.sizes > 0)
    scores = ranker.predict(test.user_ids[test.user], test.item_ids[test.item])
    lowest, highest = scale or rating_scale(
        test.values, ranker.seen_.values if hasattr(ranker, "seen_") else test.values
    )
    names = [metrics] if isinstance(metrics, str | Metric) else metrics
    asked = [on_scale(metric(name, convention), lowest, highest) for name in names]
    found = evaluate(test.values, scores, sizes=test.sizes, metrics=asked)
    return replace(found, qids=test.user_ids)


def on_scale(measure: Metric, lowest: float, highest: float) -> Metric:
    """The metric for ratings from ``lowest`` to ``highest``: ERR counts grades from the lowest rating on."""
    if measure.family != "err" or measure.rules.min_grade != 0.0 or measure.rules.max_grade is not None:
        return measure
    return replace(measure, rules=replace(measure.rules, min_grade=lowest, max_grade=highest))


def log_likelihoods(ranker: Any, test: Ratings, *, given: Ratings | None = None) -> np.ndarray:
    """(n_users,) the logarithm of the probability that a ranker's loss gives to each user's test ratings.

    For rankers whose loss is a likelihood, such as PMOP's or Plackett and Luce's. A likelihood of ordered partitions
    (PMOP) and one of orders (Plackett-Luce, where ties are broken at random) speak of different events: compare them as
    the literature does, or not at all.
    """
    loss = ranker._loss() if hasattr(ranker, "_loss") else None
    likelihood = loss.likelihood() if isinstance(loss, Loss) else None
    if likelihood is None:
        raise ValueError(f"the loss of {ranker!r} is not a likelihood: it gives lists no probability")
    if given is not None:
        ranker = ranker.with_users(given)
    scores = ranker.predict(test.user_ids[test.user], test.item_ids[test.item])
    return -likelihood.bind(test.values, test.offsets).per_query(scores, parameters=ranker.loss_parameters_)


def rating_scale(*values: np.ndarray) -> tuple[float, float]:
    """The lowest and the highest of all ratings."""
    return float(min(v.min() for v in values)), float(max(v.max() for v in values))
