"""Lists to learn from made of clicks, alone or beside judged queries.

A list is a query with all documents that were shown at least once. A loss whose gradient is linear in the labels learns
from what the clicks are worth, which is unbiased; all others learn from labels drawn with the documents' estimated
attractiveness (:class:`podium.losses.DrawnLabels`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from sklearn.base import clone

from podium.core.parameters import require_number
from podium.data.bias import KnownBias, WeightlessError, as_bias, impressions_of
from podium.data.clicks import Clicks
from podium.data.queries import Queries
from podium.data.remote import concatenated
from podium.losses.base import Loss
from podium.losses.lambdarank import LambdaRankLoss
from podium.metrics.telling import watched_metric
from podium.rankers.debiased import Debiasing, LearnedBias
from podium.rankers.inputs import Drawing, as_validation_queries, check_features, query_weights
from podium.training.base import mean_of_defined

if TYPE_CHECKING:
    from podium.rankers.estimator import BaseRanker

    Ranker = TypeVar("Ranker", bound=BaseRanker)

SHARES = (0.0, 0.25, 0.5, 0.75, 0.9, 1.0)
"""Shares of clicked queries in the loss that validation queries choose from."""


@dataclass(frozen=True)
class ClickedLists:
    """What a ranker learns from."""

    queries: Queries
    query_weight: np.ndarray | None
    drawing: Drawing | Debiasing | None
    """None: the labels are what clicks are worth."""

    def weights(self, sample_weight: Any) -> np.ndarray | None:
        """Return the weights of the queries, times those that the user gave."""
        given = query_weights(sample_weight, self.queries)
        if given is None or self.query_weight is None:
            return self.query_weight if given is None else given
        return given * self.query_weight

    def keep_bias(self, ranker: BaseRanker) -> None:
        """Let a fitted ranker have the bias that it learned."""
        if isinstance(self.drawing, Debiasing):
            debias = ranker._loss().debias  # type: ignore[union-attr]
            ranker.bias_ = LearnedBias.of(debias, ranker.loss_parameters_)
            ranker.loss_parameters_ = np.empty(0)


def is_mixed(X: Any) -> bool:
    """Return whether these are judged queries and clicks."""
    parts = _parts(X)
    return parts is not None and parts[0] is not None


def _parts(X: Any) -> tuple[Queries | None, Clicks] | None:
    """Return the judged queries, if any, and the clicks that ``fit`` was given; None if there are no clicks."""
    if isinstance(X, Clicks):
        return None, X
    if not isinstance(X, list | tuple) or not any(isinstance(part, Clicks) for part in X):
        return None
    judged = [part for part in X if isinstance(part, Queries)]
    clicks = [part for part in X if isinstance(part, Clicks)]
    if len(judged) > 1 or len(clicks) > 1 or len(judged) + len(clicks) < len(X):
        kinds = ", ".join(type(part).__name__ for part in X)
        raise ValueError(f"give Clicks, or [Queries, Clicks] with judged queries, one of each kind; got {kinds}")
    return judged[0] if judged else None, clicks[0]


def clicked_lists(ranker: BaseRanker, X: Any, bias: Any, share: float | None) -> ClickedLists | None:
    """Return the lists that a ranker learns from; None if it was given no clicks."""
    parts = _parts(X)
    if parts is None or (parts[0] is None and share is not None):
        if parts is not None or bias is not None or share is not None:
            name = "click_share" if bias is None or parts is not None else "bias"
            raise ValueError(f"{name} goes with {'[Queries, Clicks]' if name == 'click_share' else 'Clicks'} only")
        return None
    judged, clicks = parts
    loss = ranker._loss()
    if isinstance(loss, LambdaRankLoss) and loss.debias is not None:
        return _debiased_lists(ranker, loss, parts, bias)
    known = as_bias(bias)
    if loss is None:
        raise ValueError(
            f"{type(ranker).__name__} is not trained on a loss, and cannot learn from clicks; rankers with a loss can, "
            "such as podium.ListNet(), podium.PMOP() or podium.LambdaMART()"
        )
    _require_content(clicks)
    highest = 1.0
    if judged is not None:
        _require_same_features(judged, clicks.queries)
        highest = max(float(judged.labels.max(initial=0.0)), 0.0) or 1.0  # raises, saying so, without grades
    labels, weight, is_drawn = _labels(loss, known, clicks)
    labels = labels if is_drawn or loss.linear_in == "shares" else highest * labels
    queries = clicks.queries.with_labels(labels)
    if judged is None:
        return ClickedLists(queries, weight, Drawing(highest, 0) if is_drawn else None)
    require_number("click_share", share, at_least=0, at_most=1)
    weight = np.ones(len(queries)) if weight is None else weight
    assert share is not None
    shares = np.full(len(judged), (1 - share) / max(len(judged), 1)), share * weight / weight.sum()
    drawing = Drawing(highest, len(judged)) if is_drawn else None
    return ClickedLists(concatenated([judged, queries]), np.concatenate(shares), drawing)


def chances_of_clicks(bias: Any, clicks: Clicks) -> np.ndarray:
    """Return the probabilities with which the labels of the log's documents are drawn."""
    _require_clicks(clicks)
    return _chances(as_bias(bias), clicks)


def _debiased_lists(
    ranker: BaseRanker, loss: LambdaRankLoss, parts: tuple[Queries | None, Clicks], bias: Any
) -> ClickedLists:
    judged, clicks = parts
    if bias is not None or judged is not None:
        given = "bias=" if judged is None else "judged queries"
        raise ValueError(f"debias={loss.debias!r} learns the bias itself, from clicks alone: leave out {given}")
    _require_content(clicks)
    debiasing = Debiasing.of(ranker, loss, clicks)
    # The labels are for those who look at them; the loss has the clicks of each list.
    queries = clicks.queries.with_labels(np.bincount(clicks.row, clicks.clicks > 0, clicks.queries.n_documents) > 0)
    return ClickedLists(queries, debiasing.query_weights(len(queries)), debiasing)


def _require_content(clicks: Clicks) -> None:
    if clicks.queries.n_features == 0:
        raise ValueError("the log has no features to learn from: clicks.with_features(queries) looks them up by id")
    _require_clicks(clicks)


def _require_clicks(clicks: Clicks) -> None:
    if not clicks.clicks.any():
        raise ValueError(f"none of the {clicks.queries.n_documents} documents of the log was clicked")


def _labels(loss: Loss, bias: KnownBias, clicks: Clicks) -> tuple[np.ndarray, np.ndarray | None, bool]:
    """Return labels, weights of the queries, and whether the labels are to be drawn."""
    if loss.linear_in is None:
        return _chances(bias, clicks), None, True
    # Per impression: a document must not count for more because it was shown more often.
    worth = _worth(bias, clicks)
    if loss.linear_in == "labels":
        return worth, None, False
    worth = np.maximum(worth, 0.0)
    sums = np.bincount(clicks.queries.query_of_document, worth, len(clicks.queries))
    if not sums.any():
        raise ValueError("the bias leaves no click that is worth anything: there are as many as places alone bring")
    return worth, sums * clicks.n_sessions, False


def _chances(bias: KnownBias, clicks: Clicks) -> np.ndarray:
    chances = _numbers(bias.attractiveness(clicks), clicks.queries.n_documents, "attractiveness")
    if (chances < 0).any() or (chances > 1).any():
        raise ValueError(
            f"the bias says that documents are clicked with probabilities from {chances.min():g} to "
            f"{chances.max():g}; they must be between 0 and 1"
        )
    return chances


def _worth(bias: KnownBias, clicks: Clicks) -> np.ndarray:
    try:
        weights = bias.weights(clicks)
    except WeightlessError:  # of users who read from the top
        return _chances(bias, clicks)
    return _numbers(weights, clicks.queries.n_documents, "weights") / impressions_of(clicks)


def _numbers(values: Any, n: int, what: str) -> np.ndarray:
    array = np.asarray(values, np.float64)
    if array.shape != (n,) or not np.isfinite(array).all():
        raise ValueError(f"{what} of the bias must be one finite number for each of the {n} documents of the log")
    return array


def _require_same_features(judged: Queries, clicked: Queries) -> None:
    try:
        check_features(clicked, judged.n_features, judged.feature_names, given=clicked, estimator="the judged part")
    except ValueError as error:
        error.add_note("judged queries and clicks must have the same features")
        raise


def fit_with_best_share(ranker: Ranker, parts: Any, how: dict[str, Any], watched: tuple[Any, Any, Any]) -> Ranker:
    """Fit a ranker with each of the shares of clicked queries, and keep the one that is best on validation queries.

    ``how`` are further arguments of ``fit``, and ``watched`` its ``eval_set``, ``eval_qid`` and ``eval_metric``.
    """
    if watched[0] is None:
        raise ValueError(
            "how much clicks should count beside judgments is chosen on validation queries: give eval_set=, or "
            "click_share=, the share of the clicked queries in the loss, such as 0.5"
        )
    valid = as_validation_queries(*watched[:2])
    judge = watched_metric(watched[2], valid)
    if judge is None:
        raise ValueError("the validation queries cannot choose how much clicks count: give click_share=")
    figures: dict[float, float] = {}
    best = ranker
    for share in SHARES:
        one = clone(ranker).fit(parts, click_share=share, eval_set=valid, eval_metric=judge, **how)
        values = judge.per_query(valid.group(one.predict(valid)), valid.labels, valid.offsets, valid.document_ids)
        figures[share] = mean_of_defined(values)
        if figures[share] > max((value for other, value in figures.items() if other != share), default=-np.inf):
            best = one
    ranker.__dict__.update({name: value for name, value in vars(best).items() if name.endswith("_")})
    ranker.click_shares_ = figures
    return ranker
