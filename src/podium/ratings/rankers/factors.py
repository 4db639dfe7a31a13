"""Users and items as factors, learned on any loss of lists: collaborative filtering that keeps ties as ties."""

from __future__ import annotations

from podium.core.random_state import seed_of
from podium.losses import ListMLELoss, PMOPLoss
from podium.losses.base import Loss
from podium.ratings.rankers.base import FactorPreset

__all__ = ["FactorRanker", "PMOPFactors", "PlackettLuceFactors"]


class FactorRanker(FactorPreset):
    """A user's scores of items are s_ui = b_i + W_u · H_i, learned on any of Podium's losses: a user is a query.

    Minimizes Σ_u loss_u + ½ ``regularization`` (‖W‖² + ‖H‖²) + ½ ``bias_regularization`` ‖b‖². Truyen, Phung and
    Venkatesh (SDM 2011) do so for ordered partitions, without biases, without regularization and with five factors.

    Parameters
    ----------
    loss : Loss
        The loss of a user's list, from :mod:`podium.losses`; :class:`podium.losses.PMOPLoss` keeps ties as ties.

    Attributes
    ----------
    prior_weights_ : (n_priors,)
        Weights of the priors' scores; their factors follow the learned ones in ``model_``.

    Examples
    --------
    >>> import podium
    >>> ratings = (["ann", "ann", "ann", "bob", "bob"], ["up", "brazil", "alien", "up", "alien"], [5, 5, 2, 4, 3])
    >>> ranker = podium.FactorRanker(podium.losses.PMOPLoss(), n_factors=2, random_state=0).fit(ratings)
    >>> ranker.recommend("bob", n=1).items.tolist()
    ['brazil']
    """

    loss: Loss

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
        How scores combine within a group of ties, see :class:`podium.losses.PMOPLoss`.
    """

    potential: str = "arithmetic"

    def _loss(self) -> Loss:
        return PMOPLoss(self.potential)


class PlackettLuceFactors(FactorPreset):
    """Factors under the Plackett-Luce likelihood of the order of a user's ratings, ties being broken.

    Parameters
    ----------
    ties : {"stable", "random"}
        The order of equal ratings, see :class:`podium.losses.ListMLELoss`.
    """

    ties: str = "stable"

    def _loss(self) -> Loss:
        return ListMLELoss(self.ties, random_state=seed_of(self.random_state))
