"""Grouping rows by query ids of any type and order."""

from typing import Any

import numpy as np

from podium.numerics.compiling import njit

_MANY = 200_000
"""Integers from which on a compiled hash table numbers them; sorting is fast enough for fewer."""


def group_by_query(qid: Any, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Group ``n`` rows by their query ids, queries in order of first appearance, rows of a query in their given order.

    Return the (n_queries,) ids; the (n_queries + 1,) int64 offsets: query q is grouped rows
    ``offsets[q]:offsets[q + 1]``; and the caller's row of each grouped row, or None if the rows were grouped already.
    """
    ids = as_column(as_ids(qid, "query id"), n, "qid")
    if n == 0:
        return ids, np.zeros(1, np.int64), None
    # Most files are grouped already: then it is enough to compare neighbors, and the first ids of runs of equal ids.
    starts = np.flatnonzero(np.concatenate(([True], ids[1:] != ids[:-1])))
    heads = ids[starts]
    run_query, first_run = number_by_first_appearance(heads)
    if len(first_run) == len(heads):
        return heads, np.append(starts, n).astype(np.int64), None
    query = np.repeat(run_query, np.diff(np.append(starts, n)))
    order = np.argsort(query, kind="stable")
    offsets = np.concatenate(([0], np.cumsum(np.bincount(query)))).astype(np.int64)
    return heads[first_run], offsets, order


@njit(cache=True, nogil=True, error_model="numpy")
def permute_rows(rows: np.ndarray, order: np.ndarray) -> None:
    """Replace ``rows`` by ``rows[order]`` in place, one cycle of the permutation after the other."""
    done = np.zeros(len(rows), np.bool_)
    for first in range(len(rows)):
        if done[first]:
            continue
        kept = rows[first].copy()
        place = first
        while order[place] != first:
            rows[place] = rows[order[place]]
            done[place] = True
            place = order[place]
        rows[place] = kept
        done[place] = True


def as_column(values: Any, n: int, name: str) -> np.ndarray:
    """Return values as an array; raise ValueError unless there is one for each of ``n`` documents."""
    array = np.asarray(values)
    if array.dtype.kind in "US" and not isinstance(values, np.ndarray) and any(map(_ends_in_zero, values)):
        array = as_ids(values, name)
    if array.shape != (n,):
        raise ValueError(f"{name} must have one entry for each of the {n} documents; got shape {array.shape}")
    return array


def as_offsets(offsets: Any) -> np.ndarray:
    """Check offsets and return them as the kind of int64 array that kernels are compiled for."""
    array = np.require(offsets, np.int64, ("C", "A", "W"))
    if array.ndim != 1 or len(array) == 0 or array[0] != 0 or (np.diff(array) < 0).any():
        raise ValueError("offsets must start at 0 and never decrease: query q is documents offsets[q]:offsets[q + 1]")
    return array


def offsets_from_sizes(sizes: Any, n: int) -> np.ndarray:
    """Return the offsets of queries with these numbers of documents, which must add up to ``n``."""
    array = np.asarray(sizes)
    if array.ndim != 1 or (array.size and not np.issubdtype(array.dtype, np.integer)) or (array < 0).any():
        raise ValueError("sizes must be a one-dimensional sequence of non-negative integers")
    if array.sum() != n:
        raise ValueError(f"sizes add up to {array.sum()}, but there are {n} documents")
    return np.concatenate(([0], np.cumsum(array))).astype(np.int64)


def places_within(offsets: np.ndarray, *keys: np.ndarray) -> np.ndarray:
    """Return each grouped row's place, from 0, within its query, sorted by ascending keys, the first one first."""
    query = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    order = np.lexsort((*keys[::-1], query))
    places = np.empty(len(order), np.int64)
    places[order] = np.arange(len(order)) - offsets[:-1][query]  # sorting does not move rows to other queries
    return places


def as_ids(ids: Any, what: str) -> np.ndarray:
    """Return ids of any type as an array, one element per id; raise ValueError if one is missing.

    ``what`` names an id in messages. Ids of different types stay different: the number 1 is not the text "1".
    """
    try:
        array = np.asarray(ids)
    except ValueError:  # tuples among other ids, or of several lengths
        array = np.empty((0, 0))
    if not isinstance(ids, np.ndarray) and (
        array.ndim >= 2 or (array.dtype.kind in "US" and not all(map(_fits_numpy, ids)))
    ):
        array = np.empty(len(ids), dtype=object)
        array[:] = list(ids)
    if array.dtype == object:
        missing = np.fromiter((x is None or x != x for x in array.ravel()), bool, array.size)
    elif array.dtype.kind in "fM":
        missing = (array != array).ravel()
    else:
        return array
    if missing.any():
        row = int(np.flatnonzero(missing)[0])
        raise ValueError(f"the {what} of row {row} is missing ({missing.sum()} such rows); every row needs one")
    return array


def _fits_numpy(text: Any) -> bool:
    """Return whether NumPy keeps a text as it is: it drops zeros at the end, and turns other types into texts."""
    return isinstance(text, str | bytes) and not _ends_in_zero(text)


def _ends_in_zero(text: Any) -> bool:
    return isinstance(text, str | bytes) and text[-1:] in ("\0", b"\0")


def number_by_first_appearance(ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Number the ids in order of first appearance; return each id's number and where each number first appears."""
    if ids.dtype == object:  # may hold types that do not compare with each other
        seen: dict[Any, int] = {}
        numbers = np.fromiter((seen.setdefault(x, len(seen)) for x in ids), np.int64, len(ids))
        first = np.full(len(seen), len(ids))
        np.minimum.at(first, numbers, np.arange(len(ids)))
        return numbers, first
    if ids.dtype.kind in "iu" and len(ids) >= _MANY:
        numbers, first = np.empty(len(ids), np.int64), np.empty(len(ids), np.int64)
        n = _number_integers(ids.astype(np.int64, copy=False), numbers, first)
        return numbers, first[:n].copy()
    _, first, inverse = np.unique(ids, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse], np.sort(first)


@njit(cache=True, nogil=True, error_model="numpy")
def _number_integers(ids: np.ndarray, numbers: np.ndarray, first: np.ndarray) -> int:
    """Number integers by a hash table of the numbers given so far, with empty places for at least as many more."""
    bits, n = 16, 0
    table = np.full(1 << bits, -1, np.int64)
    for i in range(len(ids)):
        if i > 0 and ids[i] == ids[i - 1]:
            numbers[i] = numbers[i - 1]
            continue
        place = _place(ids[i], bits)
        while table[place] >= 0 and ids[first[table[place]]] != ids[i]:
            place = (place + 1) & (len(table) - 1)
        if table[place] < 0:
            table[place] = n
            first[n] = i
            n += 1
        numbers[i] = table[place]
        if 2 * n > len(table):
            bits += 1
            table = np.full(1 << bits, -1, np.int64)
            for j in range(n):
                place = _place(ids[first[j]], bits)
                while table[place] >= 0:
                    place = (place + 1) & (len(table) - 1)
                table[place] = j
    return n


@njit(error_model="numpy")
def _place(key: int, bits: int) -> Any:
    """Return the upper bits of a product with an odd number near 2^64 times the golden ratio (Knuth)."""
    return np.int64((np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(64 - bits))
