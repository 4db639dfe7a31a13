"""Factors with features of users and items: what is known beforehand of a user or item is the mean of its factors.

    W_u = W0_u + A' x_u        H_i = H0_i + B' z_i        b_i = b0_i + β · z_i

where x_u and z_i are features, and W0, H0, b0 deviations that the ratings ask for. With penalties on the deviations and
on A, B and β, this is the most probable model if factors are normally distributed around a linear function of features.
By the chain rule, with the gradients of plain factors on the right,

    ∂/∂A = Σ_u x_u (∂/∂W_u)'      ∂/∂B = Σ_i z_i (∂/∂H_i)'      ∂/∂β = Σ_i z_i ∂/∂b_i

so any loss and any trainer of plain factors serves.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from podium.data.queries import Queries
from podium.numerics.loop import Blocks
from podium.ratings.factors.model import FactorModel
from podium.ratings.factors.scorer import FactorParameters, Factors
from podium.scorers.base import Backward, Scorer, SmoothModel


class FeatureWeights(NamedTuple):
    """What features say of factors."""

    users: np.ndarray
    """A, (n_user_features, n_factors)"""
    items: np.ndarray
    """B, (n_item_features, n_factors)"""
    bias: np.ndarray
    """β, (n_item_features,); all 0 if items have no biases."""


class SidedFactors(Scorer):
    """Factors and the weights of features, to be learned.

    Parameters
    ----------
    users, items : (n, n_features) array
        Features, with no columns if there are none.
    feature_l2, bias_feature_l2 : float
        Penalties on A and B, and on β; like the others, on the sum over users.
    """

    factors: Factors
    users: np.ndarray
    items: np.ndarray
    feature_l2: float
    bias_feature_l2: float

    def start(self, queries: Any, rng: np.random.Generator, *_: Any) -> SidedParameters:
        base = self.factors.start(queries, rng)
        sizes = SidedParameters(base, self.users, self.items, base.theta).n_weights
        l2 = np.repeat(np.array([self.feature_l2, self.bias_feature_l2]) / self.factors.n_users, sizes)
        model = SidedParameters(base, self.users, self.items, np.append(base.theta, np.zeros(len(l2))))
        model.l2 = np.append(base.l2, l2)
        return model


class SidedParameters(SmoothModel):
    """The parameters of plain factors followed by A, B and β."""

    l2: np.ndarray

    def __init__(self, base: FactorParameters, users: np.ndarray, items: np.ndarray, theta: np.ndarray) -> None:
        self.base, self.theta = base, theta
        self._users, self._items = users, items

    @property
    def n_weights(self) -> tuple[int, int]:
        """How many weights features have in factors (A and B) and in biases (β)."""
        n_users, n_items = self._users.shape[1], self._items.shape[1]
        return (n_users + n_items) * self.base.layout.n_factors, n_items * int(self.base.layout.n_biases > 0)

    @property
    def mix(self) -> np.ndarray:
        """(n_mix,) weights of the priors' scores."""
        return self._plain().mix

    @property
    def weights(self) -> FeatureWeights:
        """A, B and β."""
        n, width = len(self.base.theta), self.base.layout.n_factors
        ends = n + np.cumsum([self._users.shape[1] * width, self._items.shape[1] * width])
        a, b, bias = np.split(self.theta, [n, *ends])[1:]
        bias = bias if len(bias) else np.zeros(self._items.shape[1])
        return FeatureWeights(a.reshape(self._users.shape[1], width), b.reshape(self._items.shape[1], width), bias)

    @property
    def n_sums(self) -> int:
        return self.base.n_sums

    def factors(self) -> FactorModel:
        """Return users and items as matrices, features included and priors not."""
        return self._plain().factors()

    def scores(self, queries: Queries) -> np.ndarray:
        return self._plain().scores(queries)

    def forward(self, queries: Queries) -> tuple[np.ndarray, Backward]:
        scores, backward = self._plain().forward(queries)
        return scores, lambda d_scores: self._with_weights(backward(d_scores))

    def forward_in_blocks(self, queries: Queries, blocks: Blocks) -> tuple[np.ndarray, Backward]:
        scores, backward = self._plain().forward_in_blocks(queries, blocks)
        return scores, lambda d_scores: self._with_weights(backward(d_scores)[0])[None]

    def _plain(self) -> FactorParameters:
        """Return plain factors that have the same scores."""
        theta = self.theta[: len(self.base.theta)].copy()
        users, items, bias, _ = self.base.layout.split(theta)  # views of theta
        weights = self.weights
        users += self._users @ weights.users
        items += self._items @ weights.items
        if self.base.layout.n_biases:
            bias += self._items @ weights.bias
        return self.base.at(theta)

    def _with_weights(self, gradient: np.ndarray) -> np.ndarray:
        """Return the gradient of plain factors, followed by that of the weights."""
        users, items, bias, _ = self.base.layout.split(gradient)
        parts = [gradient, (self._users.T @ users).ravel(), (self._items.T @ items).ravel()]
        if self.base.layout.n_biases:
            parts.append(self._items.T @ bias)
        return np.concatenate(parts)
