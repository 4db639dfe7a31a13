"""Users and items as factors, learned on any loss of lists: collaborative filtering that keeps ties as ties."""

from __future__ import annotations

from typing import Any

from podium.losses import ListMLELoss, PMOPLoss
from podium.losses.base import Loss
from podium.rankers.presets.listwise import seed_of
from podium.ratings.rankers.factor_base import FactorPreset
from podium.training.base import Trainer


class FactorRanker(FactorPreset):
    """A user's scores of items are s_ui = b_i + W_u · H_i, learned on any of Podium's losses: a user is a query.

    Minimises Σ_u loss_u + ½ ``regularization`` (‖W‖² + ‖H‖²) + ½ ``bias_regularization`` ‖b‖². Truyen, Phung and
    Venkatesh (SDM 2011) do so for ordered partitions, without biases, without regularisation and with five factors.

    Parameters
    ----------
    loss : Loss
        What a user's list costs, from :mod:`podium.losses`; :class:`podium.losses.PMOPLoss` keeps ties as ties.
    n_factors : int
        0 leaves the biases, and what the priors know of users.
    regularization, bias_regularization : float, optional
        Not given: 2 for PMOP and Plackett-Luce, which add up over a list, 0.05 for losses that are averages. 0: none.
    biases : bool
        Whether items have a score of their own, the same for all users. (One for users would not change a ranking.)
    priors : sequence of rankers of ratings, or "standard"
        Rankers to start from: their scores are added with weights learned on the same loss, from scores out of fold.
        ``"standard"`` are items' damped means and popularity, regularised least squares, and taste from who rated what:
        with few ratings a user, these are most of what can be known.
    n_folds : int
        For the priors: how many parts the ratings are divided into.
    init : {"normal", "uniform"}
        Factors at the start: normal with deviation 0.1, or uniform between 0 and 0.5 as in the paper.
    trainer : Trainer, optional
        :class:`podium.training.LBFGS` (all ratings at once) or :class:`podium.training.Stochastic` (``batch_size``
        users at a time). Not given: the first where the loss has a gradient, else the second.
    early_stopping : float, optional
        This share of each user's ratings is kept aside and the iteration with the best ``eval_metric`` on them is
        kept. Ratings given to ``fit`` as ``eval_set`` do the same.
    cold : {"average", "error"}
        Users and items that were not fitted on are scored as the average one, or refused. So are, with ``"average"``,
        items that nobody in the training ratings rated.
    random_state : int, optional
        The same number gives the same bits, whatever the number of threads.
    verbose : int
        1 prints a line for each iteration.

    Attributes
    ----------
    prior_weights_ : (n_priors,)
        What the scores of the priors are multiplied with; these factors follow the learned ones in ``model_``.

    Examples
    --------
    >>> import podium
    >>> ratings = (["ann", "ann", "ann", "bob", "bob"], ["up", "brazil", "alien", "up", "alien"], [5, 5, 2, 4, 3])
    >>> ranker = podium.FactorRanker(podium.losses.PMOPLoss(), n_factors=2, random_state=0).fit(ratings)
    >>> ranker.recommend("bob", n=1).items.tolist()
    ['brazil']
    """

    def __init__(
        self,
        loss: Loss,
        n_factors: int = 10,
        regularization: float | None = None,
        biases: bool = True,
        bias_regularization: float | None = None,
        priors: Any = (),
        n_folds: int = 10,
        init: str = "normal",
        trainer: Trainer | None = None,
        early_stopping: float | None = None,
        cold: str = "average",
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            n_factors,
            regularization,
            biases,
            bias_regularization,
            priors,
            n_folds,
            init,
            trainer,
            early_stopping,
            cold,
            random_state,
            verbose,
        )
        self.loss = loss

    def _loss(self) -> Loss:
        if not isinstance(self.loss, Loss):
            raise ValueError(f"loss must be one of podium.losses, such as PMOPLoss(); got {self.loss!r}")
        return self.loss


class PMOPFactors(FactorPreset):
    """Factors under the likelihood of ordered partitions: equal ratings are ties.

    Truyen, Phung, Venkatesh: Probabilistic models over ordered partitions with applications in document ranking and
    collaborative filtering. SDM 2011. As there: ``PMOPFactors(n_factors=5, regularization=0, biases=False,
    init="uniform")``.

    Parameters
    ----------
    potential : {"arithmetic", "geometric"}
        How well items go together, see :class:`podium.losses.PMOPLoss`.
    n_factors, regularization, biases, …
        See :class:`FactorRanker`.
    """

    def __init__(
        self,
        potential: str = "arithmetic",
        n_factors: int = 10,
        regularization: float | None = None,
        biases: bool = True,
        bias_regularization: float | None = None,
        priors: Any = (),
        n_folds: int = 10,
        init: str = "normal",
        trainer: Trainer | None = None,
        early_stopping: float | None = None,
        cold: str = "average",
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            n_factors,
            regularization,
            biases,
            bias_regularization,
            priors,
            n_folds,
            init,
            trainer,
            early_stopping,
            cold,
            random_state,
            verbose,
        )
        self.potential = potential

    def _loss(self) -> Loss:
        return PMOPLoss(self.potential)


class PlackettLuceFactors(FactorPreset):
    """Factors under the Plackett-Luce likelihood of the order of a user's ratings, equal ones in some order.

    Parameters
    ----------
    ties : {"stable", "random"}
        The order of equal ratings, see :class:`podium.losses.ListMLELoss`.
    n_factors, regularization, biases, …
        See :class:`FactorRanker`.
    """

    def __init__(
        self,
        ties: str = "stable",
        n_factors: int = 10,
        regularization: float | None = None,
        biases: bool = True,
        bias_regularization: float | None = None,
        priors: Any = (),
        n_folds: int = 10,
        init: str = "normal",
        trainer: Trainer | None = None,
        early_stopping: float | None = None,
        cold: str = "average",
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            n_factors,
            regularization,
            biases,
            bias_regularization,
            priors,
            n_folds,
            init,
            trainer,
            early_stopping,
            cold,
            random_state,
            verbose,
        )
        self.ties = ties

    def _loss(self) -> Loss:
        return ListMLELoss(self.ties, random_state=seed_of(self.random_state))
