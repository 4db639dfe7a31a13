"""SoftRank: expected NDCG under uncertain scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from podium.losses.base import Loss
from podium.losses.softrank import SoftRankLoss, rank_distribution
from podium.rankers.inputs import as_queries
from podium.rankers.presets.restarted import RestartedPreset
from podium.scorers.base import Scorer
from podium.scorers.linear.scorer import Linear
from podium.scorers.network.mlp import MLP


class SoftRank(RestartedPreset):
    """SoftRank: maximises the expected NDCG of scores that are uncertain, and tells how likely each rank is.

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
    restarts, n_jobs : int
        Random starts, of which the best on the validation queries is kept, and how many run side by side.
    early_stopping : bool
        With validation queries: keep each run's best epoch and stop after ``patience`` epochs without a better one.
        False trains to the end and chooses between runs only, which is wiser where validation queries are few.
    epochs, batch_size, learning_rate, patience
        See :class:`podium.training.Stochastic`.
    normalize, random_state, verbose
        See :class:`podium.Ranker`.

    Examples
    --------
    >>> import podium
    >>> queries = podium.make_queries(n_queries=50, n_documents=4, n_features=5)
    >>> ranker = SoftRank(random_state=0, epochs=20).fit(queries)
    >>> p = ranker.rank_distribution(queries.features[:4], qid=[1, 1, 1, 1])
    >>> p.shape, p.sum(axis=1).round(6).tolist()
    ((4, 4), [1.0, 1.0, 1.0, 1.0])
    """

    searchable: ClassVar[tuple[str, ...]] = ("sigma", "hidden", "l2")

    def __init__(
        self,
        approximation: str = "normal",
        sigma: Any = 1.0,
        learn_sigma: bool = False,
        metric: Any = "ndcg",
        hidden: Any = None,
        l2: float | Sequence[float] = 1e-4,
        restarts: int = 1,
        epochs: int = 100,
        batch_size: int = 1,
        learning_rate: float = 0.01,
        early_stopping: bool = True,
        patience: int | None = 10,
        normalize: str | None = "standard",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.approximation = approximation
        self.sigma = sigma
        self.learn_sigma = learn_sigma
        self.metric = metric
        self.hidden = hidden
        self.l2 = l2
        self.restarts = restarts
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.early_stopping = early_stopping
        self.patience = patience
        self.normalize = normalize
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _loss(self) -> Loss:
        return SoftRankLoss(self.approximation, self._value("sigma"), self.learn_sigma, self.metric)

    def _scorer(self) -> Scorer:
        hidden, l2 = self._value("hidden"), self._value("l2")
        return Linear(l2=l2) if hidden is None else MLP(hidden=hidden, l2=l2)

    @property
    def sigma_(self) -> float:
        """The standard deviation of scores, as learned or given."""
        self._require_fitted()
        loss = self._loss()
        assert isinstance(loss, SoftRankLoss)
        return loss.sigma_at(self.loss_parameters_)

    def rank_distribution(self, X: Any, qid: Any = None) -> np.ndarray:
        """How likely each rank is: entry (i, r − 1) is the probability that row i has rank r in its query.

        (n_documents, longest list), rows in the order given; zeros where a list ends. ``qid`` is required, except
        with :class:`podium.Queries`.
        """
        self._require_fitted()
        queries = as_queries(X, qid=qid, labelled=False)
        self._check_features(queries, X)
        return queries.restore(
            rank_distribution(self._scores(queries), queries.offsets, self.sigma_, self.approximation)
        )
