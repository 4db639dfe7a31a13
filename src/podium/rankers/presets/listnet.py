"""ListNet: cross entropy of who is first."""

from functools import partial

from podium.core.random_state import seed_of
from podium.losses import ListNetLoss, Loss
from podium.rankers.methods import METHODS
from podium.rankers.presets.boosted import TREES, LossOnTrees
from podium.rankers.presets.linear import L2, DescendingPreset

__all__ = ["ListNet"]


class ListNet(DescendingPreset):
    """ListNet: cross entropy between the distributions of who is first, by the labels and by the scores.

    Cao, Qin, Liu, Tsai, Li: Learning to rank: from pairwise approach to listwise approach. ICML 2007.
    As printed in the paper: ``ListNet(optimizer="sgd", learning_rate=…, max_iter=…, l2=0)`` with an ``eval_set`` that
    chooses the number of iterations.

    Parameters
    ----------
    k : int
        Places compared; 1 as in the paper's experiments. See :class:`podium.losses.ListNetLoss`.
    temperature : float
        Divides the grades before they become a distribution: below 1, the best documents matter more.
    phi, divergence : str
        What turns scores into a distribution, and what is measured between the two: see
        :class:`podium.losses.ListNetLoss`.

    Examples
    --------
    >>> import podium
    >>> queries = podium.make_queries(n_queries=50, n_documents=10, n_features=5)
    >>> ranker = podium.ListNet(l2=0.01).fit(queries)
    >>> ranker.rank(queries.features[:4], qid=[1, 1, 2, 2]).tolist()
    [1, 2, 2, 1]
    """

    k: int = 1
    temperature: float = 1.0
    phi: str = "exp"
    divergence: str = "cross-entropy"

    def _loss(self) -> Loss:
        seed = seed_of(self.random_state) if self.k > 3 else 0
        return ListNetLoss(
            k=self.k, temperature=self.temperature, random_state=seed, phi=self.phi, divergence=self.divergence
        )


METHODS.add("listnet", ListNet, "cross entropy of who is first", "Cao et al., ICML 2007", "listwise", L2)
METHODS.add_variant(
    "listnet", "listnet-trees", partial(LossOnTrees, ListNetLoss()), "ListNet's loss on boosted trees", **TREES
)
