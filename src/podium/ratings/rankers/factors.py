"""Users and items as factors, learned on any loss of lists: collaborative filtering that keeps ties as ties."""

from __future__ import annotations

from functools import partial

from podium.core.random_state import seed_of
from podium.losses import DavidsonLoss, ListMLELoss, ListNetLoss, PMOPLoss, RankNetLoss, RaoKupperLoss
from podium.losses.base import Loss
from podium.rankers.spaces import LogUniform
from podium.ratings.methods import RATING_METHODS
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
    ties : {"random", "stable"}
        The order of equal ratings, see :class:`podium.losses.ListMLELoss`.
    """

    ties: str = "random"

    def _loss(self) -> Loss:
        return ListMLELoss(self.ties, random_state=seed_of(self.random_state))


_TRUYEN = "Truyen et al., SDM 2011"
_SUM, _MEAN = LogUniform(1.0, 3.0, 10.0), LogUniform(0.01, 0.03, 0.1)
"""Regularization to try for losses that are sums over a user's list, as likelihoods are, and for means."""

for _name, _loss, _summary, _reference, _strengths in (
    ("pmop", PMOPLoss(), "the likelihood of ordered partitions, ties and all", _TRUYEN, _SUM),
    ("plackett-luce", ListMLELoss(), "the Plackett-Luce likelihood, ties broken at random", _TRUYEN, _SUM),
    ("listnet", ListNetLoss(), "ListNet's loss", "Cao et al., ICML 2007", _MEAN),
    ("ranknet", RankNetLoss(), "RankNet's loss", "Burges et al., ICML 2005", _MEAN),
    ("rao-kupper", RaoKupperLoss(), "Rao and Kupper's pairs with ties", "JASA 1967", _MEAN),
    ("davidson", DavidsonLoss(), "Davidson's pairs with ties", "JASA 1970", _MEAN),
):
    RATING_METHODS.add(
        f"{_name}-factors",
        partial(FactorRanker, _loss),
        f"factors under {_summary}",
        _reference,
        "factors",
        {"regularization": _strengths},
        variant=_strengths is _MEAN,
        kind="factors",
    )
RATING_METHODS.add(
    "pmop-mix",
    partial(FactorRanker, PMOPLoss(), n_factors=0, biases=False, priors="standard"),
    "ordered partitions on a mix of item means, popularity, least squares and taste",
    "Podium, docs/methods/factors.md",
    "factors",
    kind="factors",
)
