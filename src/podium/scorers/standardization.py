"""Mean 0 and standard deviation 1 over the training set, without a copy of the features.

A few documents with enormous values would decide alone what a linear model learns about a feature. So features with
heavy tails may be replaced by a logarithm first.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from podium.core.arrays import Arrays, require_array
from podium.core.wording import advice
from podium.data.features import Features
from podium.data.logarithms import logged, logged_features
from podium.data.queries import Queries
from podium.data.remote import AnyQueries, RemoteQueries
from podium.scorers.feature_statistics import FeatureStatistics

HEAVY = 30.0
"""A feature has heavy tails if its kurtosis is above this: normal values have 3, exponential ones 9, log-normal ones
with σ = 1 about 110."""
LIGHTER = 0.5
"""Logarithms are taken if they have less than this share of the kurtosis. Rare values of a count have a high kurtosis
too, and so have their logarithms; values far from 0 are not changed much by one."""
UNIT = 0.1
"""The unit of a logarithm as a share of the geometric mean of a feature's sizes: most values are well above it."""


@dataclass(frozen=True, slots=True)
class Standardization:
    """The map ``(x - mean) * inverse_scale`` of each feature."""

    mean: np.ndarray
    """(n_features,)"""
    inverse_scale: np.ndarray
    """(n_features,) one over the standard deviation; 0 for a constant feature, which then has no effect."""
    log_scale: np.ndarray | None = None
    """(n_features,) the unit u of features that are first replaced by ``sign(x) log(1 + |x| / u)``; 0 for all others.
    None if there is none."""
    log_negative: np.ndarray | None = None
    """(n_features,) 1 for those of them that were below 0 in training, 0 for all others. Not needed for scoring, but
    for exporting to systems whose features are never negative."""

    def __post_init__(self) -> None:
        if self.log_scale is not None and (self.log_scale < 0).any():
            raise ValueError("the unit of a logarithm is below 0")

    @classmethod
    def fit(cls, features: Features, offsets: np.ndarray | None = None) -> Standardization:
        """Return the map for (n_documents, n_features) training features, dense or CSR. NaN are left out.

        With the offsets of queries, chunks of rows end where blocks of queries do: see :meth:`of`.
        """
        offsets = np.array([0, features.shape[0]]) if offsets is None else offsets
        return cls.of(Queries(features, sizes=np.diff(offsets)))

    @classmethod
    def of(cls, queries: Queries | RemoteQueries) -> Standardization:
        """Return the map for the features of queries; wherever they are, the same bits."""
        return cls._from_moments(*FeatureStatistics(queries).mean_and_variance(), queries.dtype)

    @classmethod
    def _from_moments(cls, mean: np.ndarray, variance: np.ndarray, dtype: Any) -> Standardization:
        deviation = np.sqrt(variance)
        # A feature that varies by rounding only, in its own type, is constant: dividing would amplify noise.
        varies = deviation > np.finfo(dtype).eps * np.abs(mean)
        inverse_scale = np.zeros_like(mean)
        inverse_scale[varies] = 1.0 / deviation[varies]
        return cls(mean, inverse_scale)

    @classmethod
    def robust(cls, queries: Queries | RemoteQueries) -> Standardization:
        """Return the same map, or with logarithms of features that have heavy tails.

        The unit of a logarithm is a tenth of the geometric mean of the sizes of the feature's values other than 0.
        Wherever the queries are, the same bits.
        """
        statistics = FeatureStatistics(queries)
        plain = cls._from_moments(*statistics.mean_and_variance(), queries.dtype)
        tails = statistics.tails(plain.mean, plain.inverse_scale)
        log_scale = np.where(tails.kurtosis > HEAVY, UNIT * tails.size, 0.0)
        if not log_scale.any():
            return plain
        logs = cls._from_moments(*statistics.mean_and_variance(log_scale), queries.dtype)
        # A rare value of a count has a high kurtosis, too, and so has its logarithm.
        lighter = statistics.tails(logs.mean, logs.inverse_scale, log_scale).kurtosis < LIGHTER * tails.kurtosis
        heavy = (log_scale > 0.0) & (logs.inverse_scale > 0.0) & lighter
        if not heavy.any():
            return plain
        return cls(
            np.where(heavy, logs.mean, plain.mean),
            np.where(heavy, logs.inverse_scale, plain.inverse_scale),
            np.where(heavy, log_scale, 0.0),
            np.where(heavy & tails.negative, 1.0, 0.0),
        )

    def divided(self) -> tuple[Standardization | None, Standardization]:
        """Return the logarithms alone, if there are any, and what follows, for models that do the latter themselves."""
        if self.log_scale is None:
            return None, self
        nothing = np.zeros_like(self.mean), np.ones_like(self.mean)
        return replace(self, mean=nothing[0], inverse_scale=nothing[1]), Standardization(self.mean, self.inverse_scale)

    @property
    def only_logarithms(self) -> bool:
        """Whether nothing is subtracted and nothing multiplied."""
        return not self.mean.any() and bool((self.inverse_scale == 1.0).all())

    def to_arrays(self) -> dict[str, np.ndarray]:
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in values.items() if value is not None}

    @classmethod
    def from_arrays(cls, arrays: Arrays, n_features: int) -> Standardization:
        names = [field.name for field in fields(cls) if field.name in arrays or field.name in ("mean", "inverse_scale")]
        return cls(**{name: require_array(arrays, name, (n_features,)) for name in names})

    def apply(self, queries: AnyQueries) -> AnyQueries:
        """Return a copy with standardized features of the same type, for scorers that do not fold the map in."""
        if isinstance(queries, RemoteQueries):
            return queries.mapped(_apply_beside, self)
        if self.only_logarithms:
            return queries if self.log_scale is None else logged(queries, self.log_scale)
        if queries.is_sparse:
            raise ValueError(
                "standardizing sparse features would fill in every zero, and this scorer cannot avoid it; "
                + advice(
                    "use normalize=None or dense features (a linear scorer standardizes them as they are)",
                    "use --normalize none (a linear scorer standardizes them as they are)",
                )
            )
        features = queries.features
        features = features.copy() if self.log_scale is None else logged_features(features, self.log_scale)
        features -= self.mean.astype(features.dtype)
        features *= self.inverse_scale.astype(features.dtype)
        return queries.with_features(features, queries.feature_names)


def _apply_beside(part: Queries, standardization: Standardization) -> Queries:
    return standardization.apply(part)
