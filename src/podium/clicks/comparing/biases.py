"""The bias that a comparison learns and judges with: known beforehand, or estimated on each training part."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from podium.clicks.bias import Bias
from podium.clicks.logged import coefficients
from podium.clicks.position_bias import PositionBias
from podium.clicks.simulation import Truth
from podium.clicks.trust_bias import TrustBias
from podium.data.bias import KnownBias, as_bias
from podium.data.clicks import Clicks
from podium.experiments.plan.identity import Identity

NAIVE = "naive"


@dataclass(frozen=True)
class GivenBias:
    """A bias as it was asked for."""

    bias: Any
    """For ``fit``: the bias, or ``"naive"``; or one to be fitted to each training part."""
    estimated: bool

    @property
    def words(self) -> str:
        """What it is, for readers."""
        if self.bias == NAIVE:
            return "none (naive: clicks are taken as they are)"
        name = type(self.bias).__name__
        if isinstance(self.bias, PositionBias) and self.estimated:
            name += f" ({self.bias.method})"
        return f"{name}, {'estimated on the training part of each fold' if self.estimated else 'given'}"

    def of(self, training: Clicks, n_places: int) -> "FoldBias":
        """Return the bias of a fold with this training part."""
        bias = self.bias
        if self.estimated:
            bias = bias.__class__(**bias.get_params()).fit(training)
        if bias == NAIVE:
            return FoldBias(as_bias(NAIVE), np.ones(n_places), np.zeros(n_places))
        return FoldBias(as_bias(bias), *coefficients(bias, n_places))

    def identity(self, n_places: int) -> list[Any]:
        """Return what determines it, for digests."""
        if self.bias == NAIVE:
            return [NAIVE]
        known = Identity(self.bias).description
        if self.estimated:
            return [known, "estimated"]
        return [known, *(Identity(values).description for values in coefficients(self.bias, n_places))]


@dataclass(frozen=True)
class FoldBias:
    """A bias that is known: what rankers learn with, and what their rankings are judged with."""

    known: KnownBias
    alpha: np.ndarray
    beta: np.ndarray


def given_bias(bias: Any) -> GivenBias:
    """Return the bias that ``compare`` was given; raise if there is none, or if it cannot weight clicks."""
    if bias is None:
        raise ValueError(
            "bias= is missing: what is shown further up is clicked more. Give a bias of podium.clicks, fitted or (to "
            "be estimated on each training part) not, 'swaps' or 'em' for such an estimate, propensities, or 'naive'"
        )
    if isinstance(bias, str):
        if bias == NAIVE:
            return GivenBias(NAIVE, estimated=False)
        made = TrustBias(bootstrap=0) if bias == "trust" else PositionBias(method=bias, bootstrap=0)
        made.check_parameters()
        return GivenBias(made, estimated=True)
    if isinstance(bias, Bias) and not hasattr(bias, "propensities_"):
        return GivenBias(bias, estimated=True)
    if isinstance(bias, list | tuple | np.ndarray):
        bias = PositionBias.known(bias)
    if isinstance(bias, Truth):
        bias = bias.as_bias()
    as_bias(bias)  # raises, saying so, if it is none
    return GivenBias(bias, estimated=False)
