"""StructRank: a cumulative distribution network on kernel regression."""

from __future__ import annotations

import math
from typing import Any

from podium.losses.base import Loss
from podium.losses.structrank.loss import StructRankLoss
from podium.rankers.estimator import BaseRanker
from podium.rankers.presets.listwise import seed_of
from podium.scorers.kernel_regression import Kernel
from podium.training.base import Trainer
from podium.training.feasible import Feasible


class StructRank(BaseRanker):
    """StructRank: the joint probability of all preferences of a list, by kernel regression on the training grades.

    Huang & Frey: Structured ranking learning using cumulative distribution networks. NIPS 2008.

    The defaults are the paper's: per-query gradient steps at a rate of 0.5 that falls by 1/√2 after each of ten
    epochs, all parameters (widths, w1, w2) non-negative and inside an L1 ball, three random starts judged on the
    validation queries, features scaled to [0, 1] within each query. ``Ranker(StructRankLoss(), scorer=…)`` puts the
    loss on any other scorer.

    Parameters
    ----------
    topology : {"full", "none", "random"}
        Which pairs of preferences are connected, see :class:`podium.losses.StructRankLoss`.
    radius : float, optional
        Of the L1 ball; the paper chooses it on validation queries. None: no ball.
    n_landmarks : int, optional
        Training documents regressed on, drawn at random; None takes all. The cost of a score is proportional to it.
    epochs, learning_rate, decay, restarts, keep
        See :class:`podium.training.Feasible`.
    normalize : {"minmax", "zscore", "standard", None}
    random_state, verbose
        See :class:`podium.Ranker`.
    """

    def __init__(
        self,
        topology: str = "full",
        radius: float | None = 10.0,
        n_landmarks: int | None = None,
        epochs: int = 10,
        learning_rate: float = 0.5,
        decay: float = math.sqrt(0.5),
        restarts: int = 3,
        keep: str = "shrink",
        normalize: str | None = "minmax",
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.topology = topology
        self.radius = radius
        self.n_landmarks = n_landmarks
        self.epochs = epochs
        self.learning_rate = learning_rate
        self.decay = decay
        self.restarts = restarts
        self.keep = keep
        self.normalize = normalize
        self.random_state = random_state
        self.verbose = verbose

    def _loss(self) -> Loss:
        return StructRankLoss(self.topology, random_state=seed_of(self.random_state))

    def _scorer(self) -> Kernel:
        return Kernel(self.n_landmarks)

    def _trainer(self) -> Trainer:
        return Feasible(
            radius=self.radius,
            epochs=self.epochs,
            learning_rate=self.learning_rate,
            decay=self.decay,
            restarts=self.restarts,
            keep=self.keep,
        )
