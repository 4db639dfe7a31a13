"""Debiasing inside a ranker: what places did to clicks, learned beside its trees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from podium.core.arrays import Arrays, require_array
from podium.data.clicks import Clicks
from podium.data.shown import ShownLists
from podium.losses.base import Loss
from podium.losses.lambdarank import LambdaRankLoss
from podium.losses.shown import ShownLambdas
from podium.training import Boosting

if TYPE_CHECKING:
    from podium.rankers.estimator import BaseRanker


@dataclass(frozen=True)
class LearnedBias:
    """What a ranker with ``debias`` has learned of places; arrays (n_places,), or None with the other kind."""

    propensities_: np.ndarray | None = None
    """With ``"pairwise"``: t⁺, which divides the losses of pairs whose click is at a place; the first is 1."""
    negative_propensities_: np.ndarray | None = None
    """With ``"pairwise"``: t⁻, the same for the place of the document that was not clicked; the first is 1."""
    additive_: np.ndarray | None = None
    """With ``"additive"``: what a place adds to the score, compared with the first, which has 0."""

    @classmethod
    def of(cls, debias: str | None, parameters: np.ndarray) -> LearnedBias:
        """Return what the loss's own parameters say."""
        first, second = np.split(parameters, 2)
        return cls(additive_=first - first[0]) if debias == "additive" else cls(first, second)

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Return the arrays that it has, for a model file."""
        return {name: value for name, value in vars(self).items() if value is not None}

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> LearnedBias:
        """Return what was stored; raise ValueError if that is not one array per field, all as long."""
        known = tuple(sorted(arrays)) in (("additive_",), ("negative_propensities_", "propensities_"))
        shape = np.shape(next(iter(arrays.values())))
        if not known or len(shape) != 1:
            raise ValueError("its learned bias is not one that a ranker stores")
        return cls(**{name: require_array(arrays, name, shape) for name in arrays})


@dataclass(frozen=True, slots=True)
class Debiasing:
    """Learning from the lists of a log, with the bias of places learned beside the ranker."""

    lists: ShownLists
    rate: float

    @classmethod
    def of(cls, ranker: BaseRanker, loss: LambdaRankLoss, clicks: Clicks) -> Debiasing:
        """Return it for a ranker with this loss; raise if the ranker cannot, or the log does not say enough."""
        if not isinstance(ranker._trainer(), Boosting):
            raise ValueError(
                f"debias={loss.debias!r} works beside boosted trees: give the ranker podium.scorers.Trees()"
            )
        if clicks.session is None:
            raise ValueError(
                f"debias={loss.debias!r} learns from lists that were shown, and this log does not say which rows were "
                "shown together: give session= with it, or estimate the bias before, as in "
                "fit(clicks, bias=podium.clicks.PositionBias().fit(clicks))"
            )
        lists = ShownLists.of(clicks, "debias=")
        if not len(lists.query):
            raise ValueError("no list of the log has both documents that were clicked and others, which are compared")
        return cls(lists, float(getattr(ranker._scorer(), "learning_rate", 1.0)))

    def around(self, loss: Loss, random_state: Any) -> Loss:
        """Return the loss on the lists that were shown."""
        assert isinstance(loss, LambdaRankLoss)
        return ShownLambdas.on(self.lists, loss, self.rate)

    def query_weights(self, n_queries: int) -> np.ndarray:
        """Return (n_queries,) weights in which sessions count the same."""
        return np.bincount(self.lists.query, self.lists.times, n_queries)
