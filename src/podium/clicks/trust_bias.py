"""Position bias with trust: at high places, users also click what is not relevant."""

import numpy as np

from podium.clicks.attraction import compared_within
from podium.clicks.cells import Cells
from podium.clicks.em import climb, em_propensities
from podium.clicks.position_bias import PlaceBias
from podium.data.clicks import Clicks

__all__ = ["TrustBias"]


class TrustBias(PlaceBias):
    """The position-based model with trust: a document of attractiveness γ is clicked with probability α_k γ + β_k.

    Whoever looks at place k, which happens with probability θ_k, clicks a relevant document with probability ε⁺_k and
    another one with probability ε⁻_k, more often where the ranking is trusted: α_k = θ_k (ε⁺_k − ε⁻_k), β_k = θ_k ε⁻_k
    (Agarwal, Wang, Li, Bendersky and Najork: *Addressing trust bias for unbiased learning-to-rank*, WWW 2019). Clicks
    tell α and β only up to the scale and the zero of γ: here a document of attractiveness 1 is always clicked at
    place 1, and the place with the smallest β/α has β = 0, which is trust by the ranking of no one. Without trust bias
    α = θ and β = 0. Both are estimated by EM (see :class:`podium.clicks.PositionBias`), which needs longer logs than
    propensities alone do.

    Attributes
    ----------
    propensities_ : (n_places,) array
        α + β: how likely a document of attractiveness 1 is clicked, compared with place 1.

    Examples
    --------
    >>> import podium
    >>> queries = podium.make_queries(n_queries=50, n_documents=10)
    >>> trust = ([1.0, 1.0, 1.0], [0.3, 0.1, 0.0])
    >>> c = podium.clicks.simulate(
    ...     queries, queries.labels, top=3, trust=trust, shuffle=2.0, sessions=200_000, aggregate=True
    ... )
    >>> b = podium.clicks.TrustBias(bootstrap=0).fit(c)
    >>> bool(b.beta_[0] > b.beta_[1] > b.beta_[2])
    True
    """

    def _estimate(self, cells: Cells, clicks: Clicks) -> tuple[np.ndarray, np.ndarray]:
        features = compared_within(clicks.queries)
        relevant, other, gamma, prior = em_propensities(cells, features, trust=True)
        self._start = relevant, other, gamma
        self._strength, self._means = prior.strength, prior.means(features)
        return _scaled(relevant, other)

    def _again(self, cells: Cells, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        relevant, other, _ = climb(cells, *self._start, self._strength * weights, self._means)
        return _scaled(relevant, other)

    def _propensities(self, alpha: np.ndarray, beta: np.ndarray) -> np.ndarray:
        return alpha + beta


def _scaled(relevant: np.ndarray, other: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return α and β for the scale and the zero of γ at which α_1 + β_1 = 1 and the smallest β/α is 0."""
    alpha = np.maximum(relevant - other, 1e-9)
    zero = float((other / alpha).min())
    beta = np.maximum(other - zero * alpha, 0.0)
    return alpha * (1 - beta[0]) / alpha[0], beta
