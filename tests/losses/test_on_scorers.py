"""Losses at work: each trains a line, a network and trees that rank far better than chance."""

from __future__ import annotations

from functools import cache

import pytest

import podium
from podium.losses import (
    ApproxMRRLoss,
    ApproxNDCGLoss,
    LambdaLoss,
    ListMLELoss,
    Loss,
    NeuralNDCGLoss,
    RankCosineLoss,
    SoftmaxLoss,
    StochasticRankLoss,
    UniqueSoftmaxLoss,
    XENDCGLoss,
    YetiRankLoss,
)
from podium.scorers import MLP, Linear, Scorer, Trees

LOSSES = [
    SoftmaxLoss(),
    UniqueSoftmaxLoss(),
    XENDCGLoss(),
    XENDCGLoss(newton=True),
    RankCosineLoss(),
    RankCosineLoss("exp2"),
    ListMLELoss(discount="log"),
    ListMLELoss(discount="lan"),
    ApproxNDCGLoss(),
    ApproxNDCGLoss(truncation=5),
    ApproxNDCGLoss(gumbel=4),
    ApproxMRRLoss(),
    LambdaLoss(),
    LambdaLoss("ndcg1"),
    LambdaLoss("ndcg2"),
    LambdaLoss("arp1"),
    LambdaLoss("arp2"),
    NeuralNDCGLoss(),
    YetiRankLoss(),
    StochasticRankLoss(),
]
SCORERS = [Linear(), MLP((4,)), Trees(40, 4)]


@cache
def queries() -> podium.Queries:
    return podium.make_queries(n_queries=60, n_documents=12, n_features=5, random_state=0)


@cache
def chance() -> float:
    return podium.RandomRanker(random_state=0).fit(queries()).score(queries())


@pytest.mark.parametrize("scorer", SCORERS, ids=lambda scorer: type(scorer).__name__)
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_it_learns(loss: Loss, scorer: Scorer) -> None:
    ranker = podium.Ranker(loss, scorer, random_state=0).fit(queries())
    assert ranker.score(queries()) > 0.5 * (1.0 + chance())  # at least half the way to perfection
