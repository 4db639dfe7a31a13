"""Checks of what losses are given."""

from typing import Any

import numpy as np


def as_column(name: str, values: Any, n: int, per: str = "documents", dtype: Any = np.float64) -> np.ndarray:
    """Return a contiguous array with one entry for each of ``n`` documents (or whatever ``per`` says).

    It is writable: compiled code has types for read-only arrays, too, and one compilation should do.
    """
    array = np.ascontiguousarray(values, dtype=dtype)
    if array.shape != (n,):
        raise ValueError(f"{name} must have one entry for each of the {n} {per}; got shape {array.shape}")
    return array if array.flags.writeable else array.copy()


def as_scores(scores: Any, n: int) -> np.ndarray:
    """Return scores as float32 if that is what they are, else as float64."""
    single = getattr(scores, "dtype", None) == np.float32
    return as_column("scores", scores, n, dtype=np.float32 if single else np.float64)


def as_labels(labels: Any, offsets: np.ndarray) -> np.ndarray:
    """Return labels, which must be finite."""
    array = as_column("labels", labels, int(offsets[-1]))
    if not np.isfinite(array).all():
        bad = int(np.flatnonzero(~np.isfinite(array))[0])
        q = int(np.searchsorted(offsets, bad, side="right")) - 1
        raise ValueError(f"label of document {bad} (query number {q}) is {array[bad]}; labels must be finite")
    return array


def as_queries(queries: Any, n_queries: int) -> np.ndarray:
    """Return numbers of queries."""
    array = np.ascontiguousarray(queries, dtype=np.int64)
    if array.ndim != 1 or (len(array) and not 0 <= array.min() <= array.max() < n_queries):
        raise ValueError(f"queries must be numbers of queries, from 0 to {n_queries - 1}")
    return as_column("queries", array, len(array), dtype=np.int64)


def as_output(gradient: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Return the array to which a gradient is to be written, if it is like the scores."""
    if gradient.shape != scores.shape or gradient.dtype != scores.dtype or not gradient.flags.c_contiguous:
        raise ValueError(
            f"gradient= must be a contiguous array like the scores, {scores.shape} {scores.dtype}; "
            f"got {gradient.shape} {gradient.dtype}"
        )
    if np.may_share_memory(gradient, scores):
        raise ValueError("gradient= must not share memory with the scores, which are never overwritten")
    return gradient


def mean_weights(query_weight: Any, n_queries: int) -> np.ndarray:
    """Return weights that turn a sum over queries into the (weighted) mean."""
    if query_weight is None:
        return np.full(n_queries, 1.0 / max(n_queries, 1))
    weights = as_column("query_weight", query_weight, n_queries, "queries")
    bad = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if len(bad) or (n_queries and weights.sum() == 0):
        which = f"; that of query number {bad[0]} is {weights[bad[0]]}" if len(bad) else ""
        raise ValueError(f"query weights must be finite, not negative and not all zero{which}")
    return weights / weights.sum() if n_queries else weights
