"""Presets whose loss looks at the list as a whole: ListNet, ListMLE."""

from __future__ import annotations

from typing import Any

from podium.losses import ListMLELoss, ListNetLoss
from podium.losses.base import Loss
from podium.rankers.presets.linear import LinearPreset


class ListNet(LinearPreset):
    """ListNet: cross entropy between the distributions of who is first, by the labels and by the scores.

    Cao, Qin, Liu, Tsai, Li: Learning to rank: from pairwise approach to listwise approach. ICML 2007.

    Parameters
    ----------
    k : {1, 2, 3}
        Places compared; 1 as in the paper's experiments.
    temperature : float
        Divides the grades before they become a distribution: below 1, the best documents matter more.
    l2, l1, max_iter, tolerance, normalize, random_state, verbose
        See :class:`LinearPreset`.

    Examples
    --------
    >>> import podium
    >>> queries = podium.make_queries(n_queries=50, n_documents=10, n_features=5)
    >>> ranker = podium.ListNet(l2=0.01).fit(queries)
    >>> ranker.rank(queries.features[:4], qid=[1, 1, 2, 2]).tolist()
    [1, 2, 2, 1]
    """

    def __init__(
        self,
        k: int = 1,
        temperature: float = 1.0,
        l2: float = 1e-3,
        l1: float = 0.0,
        max_iter: int = 1000,
        tolerance: float = 1e-8,
        normalize: str | None = "standard",
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(l2, l1, max_iter, tolerance, normalize, random_state, verbose)
        self.k = k
        self.temperature = temperature

    def _loss(self) -> Loss:
        return ListNetLoss(k=self.k, temperature=self.temperature)


class ListMLE(LinearPreset):
    """ListMLE: likelihood of the labels' order under the Plackett-Luce model.

    Xia, Liu, Wang, Zhang, Li: Listwise approach to learning to rank: theory and algorithm. ICML 2008.

    Parameters
    ----------
    ties : {"stable", "random"}
        The model knows no ties: equal grades are taken in their given order, or in a random one. PMOP models them.
    l2, l1, max_iter, tolerance, normalize, random_state, verbose
        See :class:`LinearPreset`.
    """

    def __init__(
        self,
        ties: str = "stable",
        l2: float = 1e-3,
        l1: float = 0.0,
        max_iter: int = 1000,
        tolerance: float = 1e-8,
        normalize: str | None = "standard",
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(l2, l1, max_iter, tolerance, normalize, random_state, verbose)
        self.ties = ties

    def _loss(self) -> Loss:
        return ListMLELoss(ties=self.ties, random_state=seed_of(self.random_state))


def seed_of(random_state: Any) -> int:
    """The seed of a loss that draws numbers: the ranker's, where that is a plain number."""
    return int(random_state) if isinstance(random_state, int) else 0
