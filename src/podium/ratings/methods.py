"""Rankers of ratings by name, each with the small grid of settings that a comparison searches on validation ratings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from podium.losses import DavidsonLoss, ListMLELoss, ListNetLoss, Loss, PMOPLoss, RankNetLoss, RaoKupperLoss
from podium.rankers.methods import Method
from podium.rankers.spaces import LogUniform
from podium.ratings.rankers.cofirank import CoFiRank
from podium.ratings.rankers.factors import FactorRanker
from podium.ratings.rankers.floors import GlobalRanking, ItemMean
from podium.ratings.rankers.pmf import PMF

FLOORS = ("item-mean", "popularity")
"""Methods that every table has: the same ranking for everybody."""

_COFIRANK = "Weimer et al., NIPS 2007"


_SUMMED: dict[str, Sequence[Any]] = {"regularization": LogUniform(1.0, 3.0, 10.0)}
"""For losses that add up over a user's list, as likelihoods do."""
_AVERAGED: dict[str, Sequence[Any]] = {"regularization": LogUniform(0.01, 0.03, 0.1)}
"""For losses that are means over it."""


def _factors(loss: Loss) -> Callable[..., FactorRanker]:
    return partial(FactorRanker, loss)


def _methods() -> list[Method]:
    return [
        Method(
            "pmop-factors",
            _factors(PMOPLoss()),
            "factors under the likelihood of ordered partitions, ties and all",
            "Truyen et al., SDM 2011",
            "factors",
            _SUMMED,
        ),
        Method(
            "pmop-mix",
            partial(FactorRanker, PMOPLoss(), n_factors=0, biases=False, priors="standard"),
            "ordered partitions on a mix of item means, popularity, least squares and taste",
            "Podium, docs/methods/factors.md",
            "factors",
        ),
        Method(
            "plackett-luce-factors",
            _factors(ListMLELoss("random")),
            "factors under the Plackett-Luce likelihood, ties broken at random",
            "baseline of Truyen et al., SDM 2011",
            "factors",
            _SUMMED,
        ),
        *(
            Method(
                f"{name}-factors", _factors(loss), f"factors under {words}", reference, "factors", grid, variant=True
            )
            for name, loss, words, reference, grid in (
                ("listnet", ListNetLoss(), "ListNet's loss", "Cao et al., ICML 2007", _AVERAGED),
                ("ranknet", RankNetLoss(), "RankNet's loss", "Burges et al., ICML 2005", _AVERAGED),
                ("rao-kupper", RaoKupperLoss(), "Rao and Kupper's pairs with ties", "JASA 1967", _AVERAGED),
                ("davidson", DavidsonLoss(), "Davidson's pairs with ties", "JASA 1970", _AVERAGED),
            )
        ),
        Method(
            "cofirank",
            CoFiRank,
            "factors under a convex bound on NDCG",
            _COFIRANK,
            "factors",
            {"regularization": LogUniform(3.0, 10.0, 30.0)},
        ),
        Method(
            "cofirank-bare",
            partial(CoFiRank, biases=False),
            "the same without biases, as in the paper",
            _COFIRANK,
            "factors",
            {"regularization": LogUniform(1.0, 3.0, 10.0)},
            variant=True,
        ),
        *(
            Method(
                f"cofirank-{loss}",
                partial(CoFiRank, loss=loss),
                f"the same with the {words}",
                _COFIRANK,
                "factors",
                {"regularization": LogUniform(*strengths)},
                variant=True,
            )
            for loss, words, strengths in (
                ("ordinal", "hinge loss on pairs", (0.3, 1.0, 3.0)),
                ("regression", "squared error", (5.0, 10.0, 20.0)),
            )
        ),
        Method(
            "pmf",
            PMF,
            "least squares on the ratings, with biases",
            "Salakhutdinov & Mnih, NIPS 2007",
            "factors",
            {"l2": LogUniform(5.0, 10.0, 20.0)},
        ),
        Method("item-mean", ItemMean, "the items' damped mean rating", "floor", "floor"),
        Method("popularity", GlobalRanking, "how many rated an item", "floor", "floor"),
    ]


RATING_METHODS: Mapping[str, Method] = {method.name: method for method in _methods()}
