"""How attractive documents are, given what places do: click rates shrunk to a regression on features.

A document with C clicks (less those that its places bring whatever it is) in E expected looks has
γ̂ = (C + a m) / (E + a). The mean m is a logistic regression on features, and the strength a maximizes the marginal
likelihood of C when γ has a gamma distribution of mean m and shape a m, and C given γ is Poisson with mean E γ.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from podium.data.features import Features
from podium.data.queries import Queries

_MOST_FEATURES = 1000
_MOST_BOTH_WAYS = 300
"""Features of which the means within queries are told apart: these are as many columns again."""
_STRENGTHS = (1e-2, 1e6)


def compared_within(queries: Queries) -> Features:
    """Return features less their means over each query's documents and, if there are not too many, these means.

    What sets documents of one query apart need not set queries apart, and in many logs features differ more between
    queries than within them: a regression on both parts finds the weights of either.
    """
    features = queries.features
    if not _can_regress(features):
        return features
    known = np.isfinite(features)
    starts, sizes = queries.offsets[:-1][queries.sizes > 0], queries.sizes[queries.sizes > 0]
    n = np.add.reduceat(known, starts, axis=0, dtype=np.float64)
    sums = np.add.reduceat(np.where(known, features, 0.0), starts, axis=0, dtype=np.float64)
    means = np.repeat(np.divide(sums, n, out=np.full_like(sums, np.nan), where=n > 0), sizes, axis=0)
    apart = np.asarray(features, np.float64) - means
    return np.hstack([apart, means]) if features.shape[1] <= _MOST_BOTH_WAYS else apart


def _can_regress(features: Features) -> bool:
    return isinstance(features, np.ndarray) and 0 < features.shape[1] <= _MOST_FEATURES and len(features) > 1


@dataclass(frozen=True)
class Attraction:
    """The distribution that attractiveness is shrunk to: means by a logistic regression, and its strength."""

    intercept: float
    coefficients: np.ndarray
    """(n_features,) on standardized features; none if there was no regression."""
    center: np.ndarray
    scale: np.ndarray
    strength: float

    @classmethod
    def fit(cls, features: Features, clicks: np.ndarray, looks: np.ndarray) -> Attraction:
        """Fit to the clicks and the expected looks of each document."""
        clicks, looks = np.maximum(clicks, 0.0), np.maximum(looks, 1e-12)
        share = float(np.clip(clicks.sum() / looks.sum(), 1e-6, 1 - 1e-6))
        means = np.full(len(looks), share)
        if not _can_regress(features):
            nothing = np.empty(0)
            return cls(_logit(share), nothing, nothing, nothing, _strength(clicks, looks, means))
        center, scale = _standardization(features)
        x = _standardized(features, center, scale)
        weights = np.zeros(x.shape[1])
        weights[0] = _logit(share)
        for _ in range(2):
            strength = _strength(clicks, looks, means)
            # A document counts as its looks tell of its mean: many looks at it tell of itself.
            weights = _logistic(x, np.minimum(clicks / looks, 1.0), looks * strength / (looks + strength), weights)
            means = _sigmoid(x @ weights)
        return cls(float(weights[0]), weights[1:], center, scale, _strength(clicks, looks, means))

    def means(self, features: Features) -> np.ndarray:
        """Return the mean of each document's attractiveness, by its features alone."""
        n = features.shape[0]
        if not len(self.coefficients):
            return np.full(n, float(_sigmoid(self.intercept)))
        x = _standardized(features, self.center, self.scale)
        return _sigmoid(x @ np.append(self.intercept, self.coefficients))

    def shrunk(self, clicks: np.ndarray, looks: np.ndarray, means: np.ndarray) -> np.ndarray:
        """Return γ̂ of documents with these clicks and looks, in [0, 1]."""
        return np.clip((clicks + self.strength * means) / (looks + self.strength), 0.0, 1.0)


def _strength(clicks: np.ndarray, looks: np.ndarray, means: np.ndarray) -> float:
    """Return the strength of the largest marginal likelihood."""
    from scipy.optimize import minimize_scalar
    from scipy.special import gammaln

    def loss(log_strength: float) -> float:
        a = np.exp(log_strength)
        shape = a * means
        terms = gammaln(clicks + shape) - gammaln(shape) + shape * log_strength - (clicks + shape) * np.log(looks + a)
        return -float(terms.sum())

    return float(np.exp(minimize_scalar(loss, bounds=np.log(_STRENGTHS), method="bounded", options={"xatol": 1e-3}).x))


def _logistic(x: np.ndarray, targets: np.ndarray, weights: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Return coefficients of a weighted logistic regression with a ridge of 1, by Newton's method."""
    beta = start
    ridge = np.ones(x.shape[1])
    ridge[0] = 1e-6
    for _ in range(25):
        mean = _sigmoid(x @ beta)
        gradient = x.T @ (weights * (targets - mean)) - ridge * beta
        curvature = (x * (weights * np.maximum(mean * (1 - mean), 1e-6))[:, np.newaxis]).T @ x + np.diag(ridge)
        step = np.linalg.solve(curvature, gradient)
        beta = beta + step * min(1.0, 5.0 / max(np.abs(step).max(), 1e-300))
        if np.abs(step).max() < 1e-6:
            break
    return beta


def _standardization(features: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    known = np.isfinite(features)
    n = np.maximum(known.sum(axis=0), 1)
    values = np.where(known, features, 0.0).astype(np.float64)
    center = values.sum(axis=0) / n
    scale = np.sqrt((np.where(known, values - center, 0.0) ** 2).sum(axis=0) / n)
    return center, np.where(scale > 1e-12 * np.maximum(np.abs(center), 1e-300), scale, np.inf)


def _standardized(features: Features, center: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Return features with a leading column of ones; what is missing or infinite is the mean."""
    x = np.ones((features.shape[0], features.shape[1] + 1))
    z = (np.asarray(features, np.float64) - center) / scale
    x[:, 1:] = np.where(np.isfinite(z), np.clip(z, -5.0, 5.0), 0.0)  # heavy tails
    return x


def _logit(share: float) -> float:
    return float(np.log(share) - np.log1p(-share))


def _sigmoid(x: Any) -> Any:
    from scipy.special import expit

    return expit(x)
