"""Presets with a linear scorer and a smooth loss: their base class, and those that are nothing but a loss."""

from podium.core.parameters import choice, number
from podium.core.random_state import seed_of
from podium.losses import Loss, RankNetLoss, RankRegressLoss, RankSVMLoss, RegressionLoss
from podium.rankers.estimator import BaseRanker
from podium.rankers.methods import METHODS
from podium.rankers.spaces import LogUniform
from podium.scorers.linear.scorer import Linear
from podium.training import LBFGS, Stochastic, Trainer

__all__ = ["RankNet", "RankRegress", "RankSVM", "Regression"]

L2 = {"l2": LogUniform(0.0, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0, 1e3, 1e4)}
"""Penalties to search, from none to one beyond which rankings hardly change: weights are then those of the loss's
gradient where all scores are equal, only shorter."""


class LinearPreset(BaseRanker):
    """A linear scorer trained by L-BFGS on the loss of the subclass.

    Parameters
    ----------
    l2, l1 : float
        Penalties on the weights of the normalized features, per query; per document for PMOP and ListMLE, whose loss
        of a query is a sum over its documents. See :class:`podium.scorers.Linear`.
    max_iter : int
        Iterations at most.
    tolerance : float
        Training ends when the objective or its gradient changes by less, see :class:`podium.training.LBFGS`.
    """

    l2: float = 1e-2
    l1: float = 0.0
    max_iter: int = 1000
    tolerance: float = 1e-8

    def _scorer(self) -> Linear:
        return Linear(l1=self.l1, l2=self.l2)

    def _trainer(self) -> Trainer:
        return LBFGS(max_iter=self.max_iter, tolerance=self.tolerance)


class LossOnLine(LinearPreset):
    """A linear scorer on any loss that has a true gradient.

    Parameters
    ----------
    loss : Loss
        What it draws at random, it draws with the ranker's seed.
    """

    loss: Loss

    def _loss(self) -> Loss:
        return self.loss.seeded(seed_of(self.random_state))


class DescendingPreset(LinearPreset):
    """The same, which can also be trained by plain gradient steps, one query at a time, as in its paper.

    Parameters
    ----------
    optimizer : {"lbfgs", "sgd"}
        ``"sgd"`` takes per-query gradient steps. ``max_iter`` is then the number of epochs, all of which are run, and
        validation queries (``eval_set``) choose the epoch that is kept; ``tolerance`` has no meaning.
    learning_rate : float
        Of ``"sgd"``, which keeps it constant.
    """

    optimizer: str = choice("lbfgs", "sgd")
    learning_rate: float = number(0.01, above=0)

    def _trainer(self) -> Trainer:
        if self.optimizer == "lbfgs":
            return super()._trainer()
        return Stochastic(
            epochs=self.max_iter,
            learning_rate=self.learning_rate,
            schedule="constant",
            optimizer="sgd",
            patience=None,
        )


class RankNet(DescendingPreset):
    """RankNet: logistic loss on the score difference of each pair with different grades.

    Burges, Shaked, Renshaw, Lazier, Deeds, Hamilton, Hullender: Learning to rank using gradient descent. ICML 2005.
    The scorer here is linear; ``Ranker(RankNetLoss(), scorer=...)`` takes any other.

    Examples
    --------
    >>> import podium
    >>> queries = podium.make_queries(n_queries=50, n_documents=10, n_features=5)
    >>> ranker = podium.RankNet(l2=0.1).fit(queries)
    >>> ranker.score(queries) > 0.8, ranker.coef_.shape
    (True, (5,))
    """

    def _loss(self) -> Loss:
        return RankNetLoss()


class RankSVM(LinearPreset):
    """Ranking SVM: hinge loss on the score difference of each pair with different grades, and an L2 penalty.

    Joachims: Optimizing search engines using clickthrough data. KDD 2002; squared hinge as in Chapelle & Keerthi:
    Efficient algorithms for ranking with SVMs. Information Retrieval 13, 2010. In the usual notation, ``l2`` is 1/C
    for losses averaged over pairs and queries.

    Parameters
    ----------
    squared : bool
        The squared hinge is smooth, which suits L-BFGS; the plain one is the original.

    Examples
    --------
    >>> import podium
    >>> queries = podium.make_queries(n_queries=50, n_documents=10, n_features=5)
    >>> ranker = podium.RankSVM(l2=0.1).fit(queries)
    >>> ranker.score(queries) > 0.8, ranker.intercept_  # pairs say nothing about a constant
    (True, 0.0)
    """

    squared: bool = True

    def _loss(self) -> Loss:
        return RankSVMLoss(squared=self.squared)


class RankRegress(LinearPreset):
    """Rank Regress: squared error of each score difference from 1, over the pairs with different grades.

    A least-squares problem over pairs; a baseline of Truyen, Phung, Venkatesh: Probabilistic models over ordered
    partitions. SDM 2011.

    Examples
    --------
    >>> import podium
    >>> queries = podium.make_queries(n_queries=50, n_documents=10, n_features=5)
    >>> ranker = podium.RankRegress().fit(queries)
    >>> ranker.score(queries) > 0.8, ranker.convergence_.converged
    (True, True)
    """

    def _loss(self) -> Loss:
        return RankRegressLoss()


class Regression(LinearPreset):
    """Least squares on the grades: what ranking methods have to beat.

    Documents are averaged within their query first, so that long lists count no more than short ones. The intercept is
    not penalized.

    Examples
    --------
    >>> import podium
    >>> queries = podium.make_queries(n_queries=50, n_documents=10, n_features=5)
    >>> ranker = podium.Regression().fit(queries)
    >>> ranker.score(queries) > 0.8, ranker.intercept_ != 0
    (True, True)
    """

    def _loss(self) -> Loss:
        return RegressionLoss()


METHODS.add("ranknet", RankNet, "logistic loss on pairs", "Burges et al., ICML 2005", "pairwise", L2)
METHODS.add("ranksvm", RankSVM, "squared hinge loss on pairs", "Joachims, KDD 2002", "pairwise", L2)
_REFERENCE = "baseline of Truyen et al., SDM 2011"
METHODS.add("rankregress", RankRegress, "squared error on differences of pairs", _REFERENCE, "pairwise", L2)
METHODS.add("regression", Regression, "least squares on the grades", "folklore", "pointwise", L2)
