"""LambdaRank: gradients weighted by their effect on NDCG."""

from podium.core.random_state import seed_of
from podium.losses import LambdaRankLoss, Loss
from podium.rankers.estimator import BaseRanker
from podium.rankers.methods import METHODS
from podium.rankers.spaces import LogUniform
from podium.scorers.linear.scorer import Linear
from podium.training import Stochastic, Trainer

__all__ = ["LambdaRank"]


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
        Penalty on the weights of the normalized features, see :class:`podium.scorers.Linear`.
    epochs : int
        Passes over the training queries, at most.
    learning_rate : float
        Step size of Adam.
    patience : int, optional
        With validation queries: stop after this many epochs without a better metric.
    restarts : int
        Random starts, of which the best on the validation queries is kept.

    Examples
    --------
    >>> import podium
    >>> queries = podium.make_queries(n_queries=50, n_documents=10, n_features=5)
    >>> ranker = podium.LambdaRank(epochs=20, random_state=0).fit(queries)
    >>> ranker.score(queries) > 0.8, ranker.convergence_.step
    (True, 'epoch')
    """

    truncation: int = 30
    l2: float = 1e-3
    epochs: int = 100
    learning_rate: float = 0.01
    patience: int | None = 10
    restarts: int = 1

    def _loss(self) -> Loss:
        return LambdaRankLoss(truncation=self.truncation, random_state=seed_of(self.random_state))

    def _scorer(self) -> Linear:
        return Linear(l2=self.l2)

    def _trainer(self) -> Trainer:
        return Stochastic(self.epochs, learning_rate=self.learning_rate, patience=self.patience, restarts=self.restarts)


METHODS.add(
    "lambdarank",
    LambdaRank,
    "pairs weighted by the change in NDCG when they are swapped",
    "Burges et al., NIPS 2006",
    "listwise",
    {"l2": LogUniform(0.0, 1e-3, 3e-2, 1.0), "learning_rate": LogUniform(3e-4, 3e-3, 3e-2, 0.3, 1.0, 10.0)},
    stochastic=True,
)
