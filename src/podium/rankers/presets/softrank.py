"""SoftRank: expected NDCG under uncertain scores."""

from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np

from podium.losses.base import Loss
from podium.losses.softrank import SoftRankLoss, rank_distribution
from podium.metrics import Metric
from podium.rankers.methods import METHODS
from podium.rankers.presets.restarted import RestartedPreset
from podium.rankers.spaces import LogUniform
from podium.scorers import MLP, Linear, Scorer

__all__ = ["SoftRank"]


class SoftRank(RestartedPreset):
    """SoftRank: the expected NDCG of uncertain scores, maximized; the model gives the probability of each rank.

    Taylor, Guiver, Robertson, Minka: SoftRank: optimizing non-smooth rank metrics. WSDM 2008.

    Parameters
    ----------
    approximation : {"normal", "binomial"}
        Distribution of a document's rank: quick, or the paper's recursion, which takes n³ steps for a list of n. On
        lists of more than a few documents they differ little.
    sigma : float, or several to choose from
        Standard deviation of the scores; with ``learn_sigma``, where learning starts.
    learn_sigma : bool
        Learn σ along with the scorer; ``sigma_`` is what was learned.
    metric : str or Metric
        ``"ndcg"`` or ``"ndcg@k"``, under any convention.
    hidden : int, optional; or several to choose from
        Hidden units of a perceptron; None is a linear scorer.
    l2 : float, or several to choose from
        Penalty on the weights.

    Examples
    --------
    >>> import podium
    >>> queries = podium.make_queries(n_queries=50, n_documents=4, n_features=5)
    >>> ranker = SoftRank(random_state=0, epochs=20).fit(queries)
    >>> p = ranker.rank_distribution(queries.features[:4], qid=[1, 1, 1, 1])
    >>> p.shape, p.sum(axis=1).round(6).tolist()
    ((4, 4), [1.0, 1.0, 1.0, 1.0])
    """

    approximation: str = "normal"
    sigma: float | Sequence[float] = 1.0
    learn_sigma: bool = False
    metric: str | Metric = "ndcg"
    hidden: int | Sequence[int] | None = None
    l2: float | Sequence[float] = 1e-4

    searchable: ClassVar[tuple[str, ...]] = ("sigma", "hidden", "l2")

    def _loss(self) -> Loss:
        return SoftRankLoss(self.approximation, self._value("sigma"), self.learn_sigma, self.metric)

    def _scorer(self) -> Scorer:
        hidden, l2 = self._value("hidden"), self._value("l2")
        return Linear(l2=l2) if hidden is None else MLP(hidden=hidden, l2=l2)

    @property
    def sigma_(self) -> float:
        """Return the standard deviation of scores, as learned or given."""
        self._require_fitted()
        loss = self._loss()
        assert isinstance(loss, SoftRankLoss)
        return loss.sigma_at(self.loss_parameters_)

    def rank_distribution(self, X: Any, qid: Any = None) -> np.ndarray:
        """Return the probability of each rank: entry (i, r − 1) is that of row i having rank r in its query.

        Parameters
        ----------
        X : (n_documents, n_features) array, CSR matrix or frame, or Queries
            Documents, one per row.
        qid : (n_documents,) array, optional
            Query ids; required, except with :class:`podium.Queries`.

        Returns
        -------
        numpy.ndarray
            Probabilities (n_documents, longest list), rows in the order given; zeros where a list ends.
        """
        queries, scores = self._scored_lists(X, qid=qid)
        return queries.restore(rank_distribution(scores, queries.offsets, self.sigma_, self.approximation))


METHODS.add(
    "softrank",
    partial(SoftRank, epochs=50, early_stopping=False, n_jobs=1),
    "NDCG expected under noisy scores",
    "Taylor et al., WSDM 2008",
    "listwise",
    {"sigma": LogUniform(0.001, 0.01, 0.1, 1.0, 10.0, 100.0), "l2": LogUniform(0.0, 1e-3, 3e-2, 1.0)},
    stochastic=True,
)
