"""Dividing queries into training, validation and test parts; a query is never split."""

from collections.abc import Iterator, Sequence
from typing import Any, overload

import numpy as np

from podium.core.arrays import Array
from podium.core.random_state import RandomState, as_generator
from podium.data.remote import AnyQueries

__all__ = ["k_folds", "train_test_split"]


def train_test_split(
    queries: AnyQueries, test_size: float = 0.25, *, random_state: RandomState = None
) -> tuple[AnyQueries, AnyQueries]:
    """Divide whole queries at random into a training and a test part; both keep the order of the queries.

    Queries on a cluster (:mod:`podium.dask`) are divided as they would be here.

    Parameters
    ----------
    queries : Queries
        What to divide.
    test_size : float
        Share of the queries that go to the test part.
    random_state : int, numpy.random.Generator or None
        The same number gives the same parts.

    Returns
    -------
    tuple of Queries
        Training part and test part.

    Examples
    --------
    >>> import podium
    >>> train, test = podium.train_test_split(podium.make_queries(n_queries=20), test_size=0.2, random_state=0)
    >>> len(train), len(test)
    (16, 4)
    """
    if not 0 < test_size < 1:
        raise ValueError(f"test_size is the share of queries, between 0 and 1; got {test_size}")
    part = random_parts(len(queries), [test_size], random_state=random_state)
    return queries.take(part == 0), queries.take(part == 1)


def random_parts(n_queries: int, shares: Sequence[float], *, random_state: RandomState = None) -> Array:
    """Return the part of each query, (n_queries,): 1, 2, … for those with these shares of all, 0 for the rest."""
    part = np.zeros(n_queries, np.int64)
    shuffled = as_generator(random_state).permutation(n_queries)
    sizes = [round(share * n_queries) for share in shares]
    if min(sizes) < 1 or sum(sizes) >= n_queries:
        listed = " and one of ".join(f"{share:.0%}" for share in shares)
        raise ValueError(f"{n_queries} queries cannot give a part of {listed} and leave none of the parts empty")
    for number, chosen in enumerate(np.split(shuffled[: sum(sizes)], np.cumsum(sizes)[:-1]), 1):
        part[chosen] = number
    return part


@overload
def k_folds(
    queries: AnyQueries, k: int = 5, *, random_state: RandomState = None
) -> Iterator[tuple[AnyQueries, AnyQueries, AnyQueries]]: ...
@overload
def k_folds(queries: int, k: int = 5, *, random_state: RandomState = None) -> Iterator[tuple[Array, Array, Array]]: ...
def k_folds(queries: Any, k: int = 5, *, random_state: RandomState = None) -> Iterator[tuple[Any, ...]]:
    """Yield the training, validation and test part of each fold, rotating as LETOR does.

    Queries are dealt at random into ``k`` equal parts. Fold f tests on part f, validates on the part before it and
    trains on the rest, so every query is tested exactly once.

    Parameters
    ----------
    queries : Queries or int
        Queries, to get the parts as Queries; or the number of queries, to get the parts as arrays of query numbers.
    k : int
        Number of folds, at least 3.
    random_state : int, numpy.random.Generator or None
        The same number gives the same folds.

    Yields
    ------
    tuple of Queries or of arrays
        Training, validation and test part.

    Examples
    --------
    >>> import podium
    >>> queries = podium.Queries(np.eye(6), labels=[0, 1, 0, 1, 0, 1], sizes=[2, 2, 2])
    >>> [[len(part) for part in fold] for fold in k_folds(queries, 3)]
    [[1, 1, 1], [1, 1, 1], [1, 1, 1]]
    """
    n_queries = queries if isinstance(queries, int) else len(queries)
    if k < 3:
        raise ValueError(f"training, validation and test need at least 3 folds; got {k}")
    if n_queries < k:
        raise ValueError(f"{n_queries} queries cannot be dealt into {k} folds; use at most {n_queries} folds")
    part = np.arange(n_queries) % k
    as_generator(random_state).shuffle(part)
    for fold in range(k):
        validation = (fold - 1) % k
        masks = (part != fold) & (part != validation), part == validation, part == fold
        yield tuple(np.flatnonzero(mask) if isinstance(queries, int) else queries.take(mask) for mask in masks)
