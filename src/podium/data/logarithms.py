"""Queries some of whose features are replaced by logarithms, in a copy or as they are read."""

from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy import sparse

from podium.data.changed import COPIED, ChangedQueries
from podium.data.features import Features
from podium.data.indexed import IndexedQueries
from podium.data.queries import Queries
from podium.numerics.logarithms import replace_by_logarithms, write_logarithms_of_stored
from podium.numerics.pool import share


class LoggedQueries(ChangedQueries):
    """Queries whose features x are ``sign(x) log(1 + |x| / u)`` where u is not 0; dense or sparse.

    Linear models and networks take the logarithms as they read rows. For everything else :attr:`features` is the
    matrix that has them, made when it is first read.
    """

    log_scale: np.ndarray
    """(n_features,) the units u; 0 for features that stay as they are."""

    def __init__(self, given: Queries, log_scale: np.ndarray) -> None:
        super().__init__(given)
        self.log_scale = log_scale

    def _again(self, given: Queries) -> Self:
        return type(self)(given, self.log_scale)

    @cached_property
    def features(self) -> Features:  # type: ignore[override]
        return logged_features(self.given.features, self.log_scale)

    @property
    def columns(self) -> np.ndarray:
        """(n_columns,) the features that are replaced."""
        return np.flatnonzero(self.log_scale)


def logged(queries: Queries, log_scale: np.ndarray) -> Queries:
    """Return queries with logarithms of the features that have a unit; a large matrix is not copied.

    Of a small one, logarithms are cheaper to take once than in each pass.
    """
    if isinstance(queries, IndexedQueries):  # rows of a matrix that is large
        return LoggedQueries(queries, log_scale)
    features = queries.features
    size = features.nbytes if isinstance(features, np.ndarray) else features.data.nbytes
    if size < COPIED:
        return queries.with_features(logged_features(features, log_scale), queries.feature_names)
    if not isinstance(features, np.ndarray):
        queries = queries.with_features(without_duplicates(features), queries.feature_names)
    return LoggedQueries(queries, log_scale)


def logged_features(features: Features, log_scale: np.ndarray) -> Features:
    """Return a copy with logarithms; of a CSR matrix only the stored values are copied, since 0 stays 0."""
    if isinstance(features, np.ndarray):
        result, columns = features.copy(), np.flatnonzero(log_scale)
        work = 10.0 * len(features) * len(columns)
        share(replace_by_logarithms, len(features), result, columns, log_scale[columns], work=work)
        return result
    features = without_duplicates(features)
    values = np.empty_like(features.data)
    arguments = (features.data, features.indices, log_scale, values)
    share(write_logarithms_of_stored, len(values), *arguments, work=10.0 * len(values))
    return sparse.csr_matrix((values, features.indices, features.indptr), features.shape)


def without_duplicates(features: Any) -> Any:
    """Return a CSR matrix in which no entry is stored in parts: logarithms of parts do not add up."""
    if not features.has_canonical_format:
        features = features.copy()
        features.sum_duplicates()
    return features
