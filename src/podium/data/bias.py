"""What rankers need to know of a log's bias: how attractive documents are, and what their clicks are worth.

Estimates of the bias are in :mod:`podium.clicks`; rankers know them by this protocol only.
"""

from typing import Any, Protocol

import numpy as np

from podium.data.clicks import Clicks


class WeightlessError(ValueError):
    """A bias under which a place alone does not say how likely a document is seen: clicks have no weights."""


class KnownBias(Protocol):
    """What places did to the clicks of a log."""

    def attractiveness(self, clicks: Clicks) -> np.ndarray:
        """Return (n_documents,), one per row of ``clicks.queries``: the probability of a click if looked at."""

    def weights(self, clicks: Clicks) -> np.ndarray:
        """Return (n_documents,): the sum over a document's impressions of (click − β) / α, what clicks are worth."""


class ClickRates:
    """No bias at all: clicks are taken as they are."""

    def attractiveness(self, clicks: Clicks) -> np.ndarray:
        """Return clicks per impression."""
        return self.weights(clicks) / impressions_of(clicks)

    def weights(self, clicks: Clicks) -> np.ndarray:
        """Return numbers of clicks."""
        return np.bincount(clicks.row, clicks.clicks, clicks.queries.n_documents)


def impressions_of(clicks: Clicks) -> np.ndarray:
    """Return (n_documents,) how often each document was shown."""
    return np.bincount(clicks.row, clicks.impressions, clicks.queries.n_documents)


def as_bias(bias: Any) -> KnownBias:
    """Return the bias given to ``fit``; raise ValueError, saying what to do, if there is none."""
    if bias is None:
        raise ValueError(
            "bias= is missing: what is shown further up is clicked more. Give an estimate, such as "
            "podium.clicks.PositionBias().fit(clicks), or bias='naive' to take clicks per impression as they are"
        )
    if isinstance(bias, str):
        if bias != "naive":
            raise ValueError(f"bias must be an estimate, such as one of podium.clicks, or 'naive'; got {bias!r}")
        return ClickRates()
    if callable(getattr(bias, "as_bias", None)):  # what a simulation knows
        bias = bias.as_bias()
    if not (callable(getattr(bias, "attractiveness", None)) and callable(getattr(bias, "weights", None))):
        raise ValueError(
            f"bias must have the methods attractiveness and weights, as estimates of podium.clicks do; got {bias!r}"
        )
    made: KnownBias = bias
    return made
