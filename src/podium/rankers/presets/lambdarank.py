"""LambdaRank: gradients weighted by their effect on NDCG."""

from podium.core.random_state import seed_of
from podium.losses import LambdaRankLoss, Loss
from podium.rankers.methods import METHODS
from podium.rankers.presets.stepped import STEPS, SteppedPreset

__all__ = ["LambdaRank"]


class LambdaRank(SteppedPreset):
    """LambdaRank: RankNet's gradient of each pair, times the change in NDCG that swapping the pair would make.

    Burges, Ragno, Le: Learning to rank with nonsmooth cost functions. NIPS 2006. The scorer here is linear.

    These directions are not the gradient of any function, so training takes stochastic steps, and stops early where
    there are validation queries.

    Parameters
    ----------
    truncation : int
        Pairs count only if one of the two is among the first so many.

    Examples
    --------
    >>> import podium
    >>> queries = podium.make_queries(n_queries=50, n_documents=10, n_features=5)
    >>> ranker = podium.LambdaRank(epochs=20, random_state=0).fit(queries)
    >>> ranker.score(queries) > 0.8, ranker.convergence_.step
    (True, 'epoch')
    """

    truncation: int = 30

    def _loss(self) -> Loss:
        return LambdaRankLoss(truncation=self.truncation, random_state=seed_of(self.random_state))


METHODS.add(
    "lambdarank",
    LambdaRank,
    "pairs weighted by the change in NDCG when they are swapped",
    "Burges et al., NIPS 2006",
    "listwise",
    STEPS,
    stochastic=True,
)
