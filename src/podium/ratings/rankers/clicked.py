"""Rankers of ratings that learn from clicks: a query is a user, a document an item, its attractiveness the rating.

Labels are drawn for every loss, also for those that could learn from weighted clicks: what one user's clicks on an item
are worth is mostly chance, and factors, unlike functions of features, have nothing to average it with.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from podium.core.arrays import Arrays
from podium.data.clicks import Clicks
from podium.data.grouping import number_by_first_appearance
from podium.losses.base import Loss
from podium.rankers.clicked import chances_of_clicks
from podium.rankers.inputs import Drawing
from podium.ratings.data import Ratings
from podium.ratings.estimator import RatingData
from podium.ratings.rankers.sides import SidedRatingRanker


class ClickedRatingRanker(SidedRatingRanker):
    """A ranker of ratings trained on a loss, which learns from logs of clicks as rankers of documents do."""

    draws_labels_: bool = False
    """Whether values are probabilities of labels to be drawn; so are those of users who are folded in."""

    def _as_ratings(self, given: RatingData | Clicks, bias: Any) -> Ratings:
        self.draws_labels_ = isinstance(given, Clicks)
        if not isinstance(given, Clicks):
            if isinstance(given, list | tuple) and any(isinstance(part, Clicks) for part in given):
                raise ValueError("factors learn from clicks alone: give Clicks, without other data beside them")
            return super()._as_ratings(given, bias)
        documents, queries = _shared_items(given), given.queries
        chances = chances_of_clicks(bias, given)
        item, first = number_by_first_appearance(documents)
        ids = {"user_ids": queries.qids, "item_ids": documents[first]}
        return Ratings.from_numbers(queries.query_of_document, item, chances, **ids)

    def _drawn(self, loss: Loss) -> Loss:
        """Return the loss of the values: if they are probabilities, its mean over labels drawn with them."""
        return Drawing(1.0, 0).around(loss, self.random_state) if self.draws_labels_ else loss

    def _stored_fit(self) -> tuple[dict[str, Any], Arrays]:
        fitted, arrays = super()._stored_fit()
        return fitted | ({"draws_labels": True} if self.draws_labels_ else {}), arrays

    def _restore_fit(self, fitted: dict[str, Any], arrays: Arrays) -> None:
        super()._restore_fit(fitted, arrays)
        self.draws_labels_ = bool(fitted.get("draws_labels", False))


def _shared_items(clicks: Clicks) -> np.ndarray:
    """Return the ids of documents; raise unless one was shown to several users."""
    ids = clicks.queries.document_ids
    if ids is None:
        raise ValueError("the documents of the log have no ids, which stand for items here: give document=")
    if len(clicks.queries) > 1 and len(number_by_first_appearance(ids)[1]) == len(ids):
        raise ValueError(
            f"each of the {len(ids)} documents of the log was shown for one query only: factors learn from items that "
            "several users see; the ids of queries are the users, those of documents the items"
        )
    return ids
