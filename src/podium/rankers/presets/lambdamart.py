"""LambdaMART: boosted trees on LambdaRank's gradients."""

from podium.core.random_state import seed_of
from podium.losses import LambdaRankLoss, Loss
from podium.rankers.methods import METHODS
from podium.rankers.presets.boosted import TREES, BoostedPreset

__all__ = ["LambdaMART"]


class LambdaMART(BoostedPreset):
    """LambdaMART: trees on RankNet's gradients, each pair weighted by the change in a metric when it is swapped.

    Wu, Burges, Svore, Gao: Adapting boosting for information retrieval measures. Information Retrieval 2010.
    Gradients are normalized per query, as in LightGBM.

    Parameters
    ----------
    metric : str
        The metric whose changes weigh the pairs, under any convention.
    truncation : int, optional
        Pairs count only if one of the two is among the first so many; None counts all.
    sigma : float
        Steepness of RankNet's logistic function.

    Examples
    --------
    >>> import podium
    >>> queries = podium.make_queries(n_queries=50, n_documents=10, n_features=5)
    >>> ranker = podium.LambdaMART(n_trees=20, random_state=0).fit(queries)
    >>> ranker.score(queries) > 0.8, ranker.contributions(queries).shape == (queries.n_documents, 6)
    (True, True)
    """

    metric: str = "ndcg"
    truncation: int | None = 30
    sigma: float = 1.0

    def _loss(self) -> Loss:
        seed = seed_of(self.random_state)
        return LambdaRankLoss(self.metric, self.truncation, self.sigma, truncated_ideal=True, random_state=seed)


_SUMMARY, _REFERENCE = "boosted trees on LambdaRank's gradients", "Wu et al., Information Retrieval 2010"
METHODS.add("lambdamart", LambdaMART, _SUMMARY, _REFERENCE, "listwise", **TREES)
