"""StructRank: a cumulative distribution network on kernel regression."""

import math
from collections.abc import Sequence
from functools import partial

from podium.core.random_state import RandomState, seed_of
from podium.losses import Loss, StructRankLoss
from podium.rankers.estimator import BaseRanker
from podium.rankers.methods import METHODS
from podium.rankers.presets.linear import L2
from podium.rankers.ranker import Ranker
from podium.scorers import Kernel, Linear
from podium.training import Feasible, Trainer

__all__ = ["StructRank"]


class StructRank(BaseRanker):
    """StructRank: the joint probability of all preferences of a list, by kernel regression on the training grades.

    Huang & Frey: Structured ranking learning using cumulative distribution networks. NIPS 2008.

    The defaults are the paper's: per-query gradient steps at a rate of 0.5 that falls by 1/√2 after each of ten
    epochs, all parameters (widths, w1, w2) non-negative and inside an L1 ball, three random starts judged on the
    validation queries (``eval_metric="map"`` judges as the paper does), features scaled to [0, 1] within each query.
    Labels may be :class:`podium.Preferences`; documents are then regressed on their shares of wins.
    ``Ranker(StructRankLoss(), scorer=…)`` puts the loss on any other scorer.

    Parameters
    ----------
    topology : {"full", "none", "random"}
        Which pairs of preferences are connected, see :class:`podium.losses.StructRankLoss`.
    radius : float, optional
        Radius of the L1 ball; the paper chooses it on validation queries. None: no ball.
    n_landmarks : int, optional
        Training documents regressed on, drawn at random; None takes all. The cost of a score is proportional to it.
    epochs : int
        Passes over the training queries.
    learning_rate, decay : float
        Step size, and the factor by which it changes after each epoch.
    restarts : int
        Random starts, of which the best on the validation queries is kept.
    leave_out : {"query", None}
        In training, hide a document's own query from the regression, or, as in the paper, nothing: see
        :class:`podium.scorers.Kernel`.
    summed : bool
        Add up the terms of a list, as printed in the paper, instead of averaging them. Steps are then larger by the
        number of terms, which is in the millions for lists of 150 documents under ``"full"``.
    functions, correlation : str or sequence of str, float
        The network's functions: ``"sigmoid"``, as in the paper, ``"gaussian"``, or several; see
        :class:`podium.losses.StructRankLoss`.
    keep : str
        How parameters stay in the ball, see :class:`podium.training.Feasible`.

    Examples
    --------
    >>> import podium
    >>> queries = podium.make_queries(n_queries=50, n_documents=10, n_features=5)
    >>> ranker = podium.StructRank(epochs=2, restarts=1, random_state=0).fit(queries)
    >>> ranker.predict(queries).shape == queries.labels.shape, ranker.loss_parameters_.shape  # w1 and w2
    (True, (2,))
    """

    topology: str = "full"
    radius: float | None = 10.0
    n_landmarks: int | None = None
    epochs: int = 10
    learning_rate: float = 0.5
    decay: float = math.sqrt(0.5)
    restarts: int = 3
    leave_out: str | None = "query"
    summed: bool = False
    functions: str | Sequence[str] = "sigmoid"
    correlation: float = 0.5
    keep: str = "shrink"
    normalize: str | None = "minmax"

    def _loss(self) -> Loss:
        return StructRankLoss(
            self.topology,
            normalize=not self.summed,
            random_state=seed_of(self.random_state),
            functions=self.functions,
            correlation=self.correlation,
        )

    def _scorer(self) -> Kernel:
        return Kernel(self.n_landmarks, self.leave_out)

    def _trainer(self) -> Trainer:
        steps = self.epochs, self.learning_rate, self.decay
        return Feasible(self.radius, *steps, restarts=self.restarts, keep=self.keep)


def _on_linear(
    topology: str = "full", l2: float = 1e-3, normalize: str | None = "robust", random_state: RandomState = None
) -> Ranker:
    loss = StructRankLoss(topology, learn_weights=False)
    return Ranker(loss=loss, scorer=Linear(l2=l2), normalize=normalize, random_state=random_state)


for _name, _topology, _summary in (
    ("structrank", "full", "all preferences of a list as one network, on kernel regression"),
    ("structrank-random", "random", "StructRank with the topology 'random'"),
    ("structrank-none", "none", "StructRank with the topology 'none'"),
):
    METHODS.add(
        _name,
        partial(StructRank, topology=_topology, n_landmarks=1000),  # ten times faster than all documents of OHSUMED
        _summary,
        "Huang & Frey, NIPS 2008",
        "listwise",
        {"radius": [0.3, 1.0, 2.5, 5.0, 10.0, 20.0, 40.0, None]},
        stochastic=True,
        variant=_topology != "full",
    )
METHODS.add(
    "structrank-linear",
    _on_linear,
    "StructRank's loss on a linear scorer",
    "Huang & Frey, NIPS 2008",
    "listwise",
    L2,
)
