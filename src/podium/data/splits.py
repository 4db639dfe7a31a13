"""Dividing queries into parts without ever cutting one in two."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from podium.data.queries import Queries


def train_test_split(
    queries: Queries, test_size: float = 0.25, *, random_state: int | None = None
) -> tuple[Queries, Queries]:
    """Two parts by whole queries, drawn at random; each part keeps the queries' order."""
    if not 0 < test_size < 1:
        raise ValueError(f"test_size is the share of queries, between 0 and 1; got {test_size}")
    n_test = round(test_size * len(queries))
    if not 0 < n_test < len(queries):
        raise ValueError(
            f"{len(queries)} queries cannot give a test part of {test_size:.0%} and leave both parts non-empty"
        )
    is_test = np.zeros(len(queries), bool)
    is_test[np.random.default_rng(random_state).permutation(len(queries))[:n_test]] = True
    return queries.take(~is_test), queries.take(is_test)


def k_folds(n_queries: int, k: int = 5, *, random_state: int | None = None) -> Iterator[tuple[np.ndarray, ...]]:
    """Query numbers of (train, validation, test) for each fold, rotating as LETOR does.

    Queries are dealt at random into ``k`` equal parts. Fold f tests on part f, validates on the part before it and
    trains on the rest, so every query is tested exactly once.
    """
    if k < 3:
        raise ValueError(f"training, validation and test need at least 3 folds; got {k}")
    if n_queries < k:
        raise ValueError(f"{n_queries} queries cannot be dealt into {k} folds; use at most {n_queries} folds")
    part = np.arange(n_queries) % k
    np.random.default_rng(random_state).shuffle(part)
    for fold in range(k):
        validation = (fold - 1) % k
        is_train = (part != fold) & (part != validation)
        yield np.flatnonzero(is_train), np.flatnonzero(part == validation), np.flatnonzero(part == fold)
