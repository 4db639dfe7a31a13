"""Stable order of one query's scores or labels, best first."""

import numpy as np

from podium.numerics.compiling import njit
from podium.numerics.elementary import reinterpret
from podium.numerics.tiles import (
    ROWS,
    beyond,
    exceeds,
    four_of,
    load,
    over_rows,
    reaches,
    rounded_up,
    rows,
    store,
    width,
)

COUNTING = 400
"""Up to this length, counting each entry's betters, which vectorizes, beats sorting by digits."""
_DIGIT = 11
_BUCKETS = 1 << _DIGIT


@njit(error_model="numpy")
def descending(x: np.ndarray, order: np.ndarray) -> None:
    """Write to ``order`` the positions of ``x``, largest entry first, equal ones in their given order."""
    if len(x) <= COUNTING:
        _by_counting(x, order)
    else:
        _by_digits(x, order)


@njit(error_model="numpy")
def _by_counting(x: np.ndarray, order: np.ndarray) -> None:
    n, size = len(x), rounded_up(len(x))
    room = np.empty((2, size), x.dtype)
    padded, place = room[0], room[1]
    padded[:n] = x
    padded[n:] = -np.inf
    for start in range(0, size, width(x)):
        _count_betters(padded, start, place)
    for i in range(n):
        order[i] = i  # NaN is above and below nothing, which leaves places to nobody: still a number of an entry
    for i in range(n):
        order[np.uint32(place[i])] = i


@njit(fastmath=False, error_model="numpy")
def _count_betters(x: np.ndarray, start: int, place: np.ndarray) -> None:
    """Write the places of a vector of entries: how many are larger, or equal and earlier."""
    mine, none = load(x, start), x.dtype.type(0)
    larger = rows(none, none, none, none)
    for i in range(0, start, ROWS):
        larger += reaches(four_of(x, i), mine)
    for i in range(start, start + width(x), ROWS):
        others = four_of(x, i)
        before, strictly = reaches(others, mine), exceeds(others, mine)
        larger += strictly + beyond(before - strictly, i - start)
    for i in range(start + width(x), len(x), ROWS):
        larger += exceeds(four_of(x, i), mine)
    store(place, start, over_rows(larger))


@njit(error_model="numpy")
def _by_digits(x: np.ndarray, order: np.ndarray) -> None:
    """Sort by radix, least significant digit first: linear in n, and stable because each pass is."""
    n = len(x)
    wide = x.itemsize == 8
    keys, moved_keys, moved = np.empty(n, np.uint64), np.empty(n, np.uint64), np.empty(n, order.dtype)
    for i in range(n):
        keys[i] = _descending_key(x[i], wide)
        order[i] = i
    starts = np.empty(_BUCKETS, np.int64)
    for shift in range(0, 64 if wide else 32, _DIGIT):
        starts[:] = 0
        for i in range(n):
            starts[_digit(keys[i], shift)] += 1
        if starts[_digit(keys[0], shift)] == n:
            continue  # all alike in this digit
        total = 0
        for bucket in range(_BUCKETS):
            size = starts[bucket]
            starts[bucket] = total
            total += size
        for i in range(n):
            digit = _digit(keys[i], shift)
            moved_keys[starts[digit]] = keys[i]
            moved[starts[digit]] = order[i]
            starts[digit] += 1
        for i in range(n):
            keys[i] = moved_keys[i]
            order[i] = moved[i]


@njit(error_model="numpy")
def _digit(key: np.uint64, shift: int) -> np.int64:
    return np.int64((key >> np.uint64(shift)) & np.uint64(_BUCKETS - 1))


@njit(error_model="numpy")
def _descending_key(value: float, wide: bool) -> np.uint64:
    """Return bits that, read as an unsigned number, grow as the value falls."""
    bits = np.uint64(reinterpret(value + type(value)(0)))  # −0 becomes +0, which it equals
    sign = np.uint64(1) << np.uint64(63 if wide else 31)
    every = sign | (sign - np.uint64(1))
    bits &= every
    # The magnitude of negative numbers falls as the value grows: their bits stand as they are.
    return bits if bits & sign else bits ^ every ^ sign
