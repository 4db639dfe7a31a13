"""The matrix of features: its type, how it is made from what callers have, and the first value that is not finite."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from scipy import sparse

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
