"""Evaluation of rankers of ratings: every user is a query, the items they rated are its documents."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from podium.metrics import Convention, Evaluation, Metric, evaluate, metric
from podium.ratings.data import Ratings
from podium.ratings.estimator import RatingRanker

__all__ = ["evaluate_ratings"]

METRICS = ("ndcg@1", "ndcg@5", "ndcg@10", "err")


class Predicts(Protocol):
    """Anything that predicts scores for parallel arrays of user and item ids."""

    def predict(self, users: Any, items: Any) -> np.ndarray: ...


def evaluate_ratings(
    ranker: Predicts,
    test: Ratings,
    *,
    given: Ratings | None = None,
    metrics: str | Metric | Sequence[str | Metric] = METRICS,
    convention: str | Convention = "standard",
    scale: tuple[float, float] | None = None,
) -> Evaluation:
    """Evaluate how a fitted ranker orders the items that users rated, user by user.

    NDCG takes the ratings as they are: five stars gain 2^5 − 1. ERR counts from the lowest rating (one to five stars
    are grades 0 to 4), since its probability to stop, (2^grade − 1) / 2^highest, assumes grades from 0; its convention
    says so: ``standard+max_grade=5+min_grade=1``. Metrics of binary relevance need a convention that says from which
    rating on an item is relevant, such as ``"standard+relevant_from=4"``.

    Parameters
    ----------
    ranker : RatingRanker
        Or anything that predicts scores for user and item ids.
    test : Ratings
        Users without ratings are left out.
    given : Ratings, optional
        Known ratings of test users that the ranker was fitted without: these users are folded in first.
    metrics, convention : str, Metric or Convention
        As for :func:`podium.evaluate`.
    scale : (lowest, highest), optional
        The range of possible ratings, for ERR; by default that of the training and test ratings.

    Returns
    -------
    Evaluation
        As returned by :func:`podium.evaluate`, the users' ids being the query ids.

    Examples
    --------
    >>> import podium
    >>> split = podium.given_n(podium.make_ratings(40, 50, 1200), 10, min_test=5)
    >>> ranker = podium.ItemMean().fit(split.train)
    >>> evaluation = podium.evaluate_ratings(ranker, split.test, metrics=["ndcg@5", "err"])
    >>> evaluation.convention, evaluation.mean["ndcg@5"] > 0.6
    ('standard, standard+max_grade=5+min_grade=1', True)
    """
    if given is not None:
        ranker = ranker.with_users(given)  # type: ignore[attr-defined]
    test = test.take_users(test.sizes > 0)
    scores = ranker.predict(test.users, test.items)
    values = np.concatenate((test.values, ranker.seen_.values)) if hasattr(ranker, "seen_") else test.values
    lowest, highest = scale or (float(values.min()), float(values.max()))
    names = [metrics] if isinstance(metrics, str | Metric) else metrics
    measures = [on_scale(metric(name, convention), lowest, highest) for name in names]
    return replace(evaluate(test.values, scores, sizes=test.sizes, metrics=measures), qids=test.user_ids)


def on_scale(measure: Metric, lowest: float, highest: float) -> Metric:
    """Return the metric for ratings from ``lowest`` to ``highest``: ERR counts grades from the lowest rating."""
    if not measure.needs_max_grade or measure.rules.min_grade != 0.0:
        return measure
    return replace(measure, rules=replace(measure.rules, min_grade=lowest, max_grade=highest))


def log_likelihoods(ranker: RatingRanker, test: Ratings) -> np.ndarray:
    """(n_users,) log-probability of each user's test ratings under the ranker's loss.

    For rankers whose loss is a likelihood, such as PMOP's or Plackett and Luce's. A likelihood of ordered partitions
    (PMOP) and one of orders (Plackett-Luce, with ties broken at random) are about different events: compare them as
    the literature does, or not at all.
    """
    loss = ranker._loss()
    likelihood = None if loss is None else loss.likelihood()
    if likelihood is None:
        raise ValueError(f"the loss of {ranker!r} is not a likelihood: it assigns no probability to lists")
    scores = ranker.predict(test.users, test.items)
    return -likelihood.bind(test.values, test.offsets).per_query(scores, parameters=ranker.loss_parameters_)
