"""Validation over the whole catalogue: are the held-out items among the first that a user has not seen?"""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from podium.metrics.definition import Metric
from podium.metrics.definition import metric as find_metric
from podium.ratings.data import Ratings
from podium.ratings.factors.model import FactorModel
from podium.ratings.factors.top import top_items
from podium.training.base import Validation, mean_of_defined


@dataclass(frozen=True, slots=True)
class CatalogueValidation(Validation):
    """Held-out items, which are relevant among all that their user has not seen in training; all others are not.

    ``queries`` are (the ratings known, the ratings held out), with the same users and items.
    """

    @classmethod
    def over(cls, asked: str | Metric, known: Ratings, held_out: Ratings) -> Self:
        """Return what judges by this metric, which must have a cutoff: only the first items are looked at."""
        measure = find_metric(asked)
        if measure.cutoff is None:
            raise ValueError(
                f"{measure.name} looks at whole lists; choose a metric of the first items, such as ndcg@10"
            )
        users = (held_out.sizes > 0) & (known.user_numbers.numbers(held_out.user_ids) >= 0)
        return cls((known, held_out.take_users(users)), measure)

    def judge(self, model: Any) -> float:
        assert isinstance(model, FactorModel)
        known, held_out = self.queries
        depth = min(self.metric.cutoff or known.n_items, known.n_items)
        users = known.user_numbers.numbers(held_out.user_ids)
        seen = known.take_users(users)
        matrices = np.ascontiguousarray(model.user_factors[users]), model.item_factors, model.item_bias
        first, scores = top_items(matrices, seen.ascending, seen.offsets, depth)
        pairs = held_out.user * known.n_items + held_out.item
        shown = np.arange(len(users))[:, None] * known.n_items + first
        found = (first >= 0) & np.isin(shown, pairs)
        # A list has the first items and then, as not retrieved, the relevant ones that are not among these.
        offsets = np.concatenate(([0], np.cumsum(depth + held_out.sizes - found.sum(axis=1))))
        is_first = np.arange(offsets[-1]) - np.repeat(offsets[:-1], np.diff(offsets)) < depth
        labels, ranked = np.ones(offsets[-1]), np.full(offsets[-1], -np.inf)
        labels[is_first], ranked[is_first] = found.ravel(), scores.ravel()
        return mean_of_defined(self.metric.per_query(ranked, labels, offsets))
