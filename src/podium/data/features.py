"""The matrix of features: its type, how it is made from what callers have, and its first value that is not finite."""

from typing import Any, TypeAlias

import numpy as np
from scipy import sparse

from podium.numerics.compiling import njit
from podium.numerics.pool import share

Features: TypeAlias = np.ndarray | sparse.csr_matrix | sparse.csr_array
"""(n_documents, n_features): a C-ordered float32 or float64 array, or a CSR matrix of these."""


def as_features(features: Any) -> Features:
    """Return numbers as a C-ordered array or CSR matrix of float32 or float64, without a copy if they are one."""
    if sparse.issparse(features):
        matrix = features.tocsr()
        return matrix if matrix.dtype in (np.float32, np.float64) else matrix.astype(np.float64)
    array = np.asarray(features)
    if array.dtype not in (np.float32, np.float64):
        try:
            array = array.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(f"features must be numbers: {error}") from None
    if array.ndim != 2:
        raise ValueError(f"features must have two dimensions (documents × features); got shape {array.shape}")
    return np.ascontiguousarray(array)


def first_not_finite(features: Features) -> tuple[int, int, float] | None:
    """Return row, column and value of the first entry that is NaN or infinite, or None."""
    if isinstance(features, np.ndarray):
        bad = np.empty(len(features), bool)
        share(_find_bad_rows, len(features), features, bad, work=features.size)
        if not bad.any():
            return None
        row = int(bad.argmax())
        column = int(np.argmin(np.isfinite(features[row])))
        return row, column, float(features[row, column])
    entries = np.flatnonzero(~np.isfinite(features.data))
    if not len(entries):
        return None
    row = int(np.searchsorted(features.indptr, entries[0], side="right")) - 1
    return row, int(features.indices[entries[0]]), float(features.data[entries[0]])


@njit(cache=True, nogil=True)
def _find_bad_rows(first: int, stop: int, features: np.ndarray, bad: np.ndarray) -> None:
    for i in range(first, stop):
        total = 0.0
        for j in range(features.shape[1]):
            total += features[i, j] * 0  # NaN as soon as one value is NaN or infinite, 0 otherwise
        bad[i] = total != 0.0
