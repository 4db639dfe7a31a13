"""LambdaRank: gradients weighted by what they are worth in NDCG."""

from __future__ import annotations

from typing import Any

from podium.losses import LambdaRankLoss
from podium.losses.base import Loss
from podium.rankers.estimator import BaseRanker
from podium.scorers.linear.scorer import Linear
from podium.training.base import Trainer
from podium.training.stochastic import Stochastic


class LambdaRank(BaseRanker):
    """LambdaRank: RankNet's gradient of each pair, times the change in NDCG that swapping the pair would make.

    Burges, Ragno, Le: Learning to rank with nonsmooth cost functions. NIPS 2006. The scorer here is linear.

    These directions are not the gradient of any function, so training takes stochastic steps, and stops early where
    there are validation queries.

    Parameters
    ----------
    truncation : int
        Pairs count only if one of the two is among the first so many.
    l2 : float
        Penalty on the weights of the normalised features, see :class:`podium.scorers.Linear`.
    epochs, learning_rate, patience, restarts
        See :class:`podium.training.Stochastic`; the optimiser is Adam.
    normalize : {"standard", "minmax", "zscore", None}
    random_state : int, optional
    verbose : int
    """

    def __init__(
        self,
        truncation: int = 30,
        l2: float = 1e-3,
        epochs: int = 100,
        learning_rate: float = 0.01,
        patience: int | None = 10,
        restarts: int = 1,
        normalize: str | None = "standard",
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.truncation = truncation
        self.l2 = l2
        self.epochs = epochs
        self.learning_rate = learning_rate
        self.patience = patience
        self.restarts = restarts
        self.normalize = normalize
        self.random_state = random_state
        self.verbose = verbose

    def _loss(self) -> Loss:
        return LambdaRankLoss(truncation=self.truncation)

    def _scorer(self) -> Linear:
        return Linear(l2=self.l2)

    def _trainer(self) -> Trainer:
        return Stochastic(
            epochs=self.epochs,
            learning_rate=self.learning_rate,
            patience=self.patience,
            restarts=self.restarts,
        )
