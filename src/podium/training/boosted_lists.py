"""Boosting next to the data: the loss on the queries of one process, and the trees that are grown there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from podium.data.queries import Queries
from podium.losses.bound import BoundLoss, LossValue
from podium.metrics.definition import Metric
from podium.scorers.base import Model
from podium.scorers.growing import Growable, GrowthStart
from podium.training.base import per_query


@dataclass(frozen=True, slots=True)
class BoostedLoss:
    """The loss of some queries, and what the scale of the first step is computed from."""

    value: float
    size: float
    """Sum of curvatures; of squared gradients where the loss has none."""
    n_sized: int
    """Documents that are not 0 there, such as those outside the bag."""
    d_parameters: np.ndarray = field(default_factory=lambda: np.empty(0))
    """Derivatives with respect to the loss's own parameters."""

    def __add__(self, other: BoostedLoss) -> BoostedLoss:
        sizes = self.size + other.size, self.n_sized + other.n_sized
        return BoostedLoss(self.value + other.value, *sizes, self.d_parameters + other.d_parameters)


class BoostedLists:
    """The queries of one process, in parts. In a fit on one machine there is one part; on a cluster, as many as came.

    On a cluster each worker has one of these, and what they return is added up.
    """

    def __init__(
        self, parts: Sequence[Queries], bounds: Sequence[BoundLoss], newton: bool, others: Sequence[Queries] = ()
    ) -> None:
        self.parts, self.bounds, self.newton, self._others = parts, bounds, newton, others
        self._rows = list(pairwise(np.cumsum([0, *(part.n_documents for part in parts)]).tolist()))
        self._validation: Sequence[Queries] = ()
        self.growth: Any = None
        """A :class:`podium.scorers.growing.Growth`, once there is one."""

    def slope(self, constant: float, parameters: np.ndarray) -> float:
        """Return the derivative of the loss by a constant added to all scores, where all are ``constant``."""
        total = 0.0
        for part, bound in zip(self.parts, self.bounds, strict=True):
            scores = np.full(part.n_documents, constant, np.float32)
            total += float(bound.value_and_gradient(scores, parameters=parameters).d_scores.sum(dtype=np.float64))
        return total

    def grow(self, validation: Sequence[Queries], start: GrowthStart, scorer: Growable) -> None:
        """Start without trees. Validation queries that this process had before, ``others``, come first."""
        self._validation = [*self._others, *validation]
        self.growth = scorer.grow(self.parts, self._validation, start)

    def loss(self, parameters: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the loss of all queries at the scores so far, and its derivatives by the loss's own parameters."""
        results = [
            bound.value_and_gradient(self.growth.scores[first:stop], parameters=parameters)
            for bound, (first, stop) in zip(self.bounds, self._rows, strict=True)
        ]
        return sum(r.value for r in results), np.sum([r.d_parameters for r in results], axis=0)

    def evaluate(
        self,
        bags: Sequence[np.ndarray] | None,
        epoch: int,
        parameters: np.ndarray,
        scores: np.ndarray | None = None,
    ) -> BoostedLoss:
        """Compute the loss and what the next tree is grown on, at the scores so far, or at those given.

        ``bags`` are the queries that it is grown on, by their numbers in each part; None for all. At the scores so far,
        what the scale of the first step is computed from is 0 after the first epoch.
        """
        self.gradient = self.curvature = np.empty(0, np.float32)  # those of the last tree make room for the next
        results = []
        all_scores = self.growth.scores if scores is None else scores
        for number, (bound, (first, stop)) in enumerate(zip(self.bounds, self._rows, strict=True)):
            bound.start_epoch(epoch)
            bag = None if bags is None else bags[number]
            result = bound.value_and_gradient(
                all_scores[first:stop], parameters=parameters, curvature=self.newton, queries=bag
            )
            _require_finite(result, self.parts[number], bound, epoch)
            results.append(result)
        self.gradient = _joined([result.d_scores for result in results])
        value = sum(result.value for result in results)
        own = np.sum([result.d_parameters for result in results], axis=0)
        if self.newton:
            self.curvature = _joined([result.d2_scores for result in results])  # type: ignore[misc]
        else:
            self.curvature = np.ones_like(self.gradient)
            for part, bag, (first, _) in zip(self.parts, bags or (), self._rows, strict=False):
                outside = ~np.repeat(np.isin(np.arange(len(part)), bag), part.sizes)
                self.curvature[first : first + part.n_documents][outside] = 0.0
        if epoch > 0 and scores is None:
            return BoostedLoss(value, 0.0, 0, own)
        size = self.curvature.astype(np.float64) if self.newton else np.square(self.gradient, dtype=np.float64)
        return BoostedLoss(value, float(size.sum()), int(np.count_nonzero(size)), own)

    def step(
        self, bags: Sequence[np.ndarray] | None, scale: float, epoch: int, parameters: np.ndarray
    ) -> tuple[bool, BoostedLoss]:
        """Grow a tree and evaluate there: on a cluster, one round trip in place of two."""
        return self.add_tree(scale), self.evaluate(bags, epoch, parameters)

    def weigh(self, factors: np.ndarray) -> None:
        """Multiply what was evaluated by one factor per document, such as how often its query was drawn."""
        self.gradient *= factors.astype(np.float32)
        self.curvature *= factors.astype(np.float32)

    def add_tree(self, scale: float) -> bool:
        """Grow a tree on what was evaluated, multiplied by ``scale``; return False if there was nothing to split."""
        self.gradient *= np.float32(scale)
        if self.newton:
            self.curvature *= np.float32(scale)
        return bool(self.growth.add_tree(self.gradient, self.curvature))

    def judge(self, metric: Metric) -> list[np.ndarray]:
        """Return the metric of each query of each validation part."""
        ends = np.cumsum([part.n_documents for part in self._validation])[:-1]
        scores = np.split(self.growth.validation_scores, ends) if self._validation else []
        return [per_query(part, own, metric) for part, own in zip(self._validation, scores, strict=True)]

    def model(self, n_trees: int) -> Model:
        """Return the sum of the first trees."""
        return self.growth.model(n_trees)

    def close(self) -> None:
        """Leave the network."""
        if self.growth is not None:
            self.growth.close()


def _require_finite(result: LossValue, part: Queries, bound: BoundLoss, n_trees: int) -> None:
    for what, values in (("gradient", result.d_scores), ("second derivative", result.d2_scores)):
        if values is not None and not np.isfinite(values).all():
            row = int(np.flatnonzero(~np.isfinite(values))[0])
            raise ValueError(
                f"after {n_trees} trees the {what} of {bound.loss} is {values[row]} for a document of query "
                f"{part.qids[part.query_of_document[row]]}: lower learning_rate, or rescale the labels"
            )


def _joined(arrays: Sequence[np.ndarray]) -> np.ndarray:
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)
