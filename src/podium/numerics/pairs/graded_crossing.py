"""Sums of log(1 + e^{s_worse − s_better}) over the pairs of a graded list, whatever the range of the scores is.

The two halves of a list, by grade, are two sets of points (:mod:`podium.numerics.pairs.crossing`), and the pairs within
each half are two smaller problems.

This takes seconds to compile, and only long lists need it. So kernels do not contain it: they call it, through
:func:`call_over_grades`, at an address that :func:`over_grades_address` returns where there is a long list.
"""

from functools import cache
from typing import Any

import numpy as np

from podium.numerics.calls import Routine, call_on_arrays, lay, routine
from podium.numerics.compiling import njit
from podium.numerics.pairs.crossing import Points, crossing, new_points, term_by_term
from podium.numerics.sorting import descending

_CHUNK = 96  # documents of neighboring grades that are summed pair by pair
LONG = 1000
"""Documents of a list, at least, from which on a kernel may prefer this to other ways."""


def over_grades_address(sizes: np.ndarray) -> int:
    """Return where :func:`over_grades` is, compiled if it has to be; 0 if no list is long."""
    return _over_grades_routine().call.function if sizes.max(initial=0) >= LONG else 0


@cache
def _over_grades_routine() -> Routine:
    number, place, bound = np.empty(0), np.empty(0, np.uint32), np.empty(0, np.int64)
    return routine(_sum_over_grades, (number, place, bound, number, number))


@njit(error_model="numpy")
def _sum_over_grades(model: Any, start: int, stop: int, block: int, sums: np.ndarray) -> None:
    scores, order, bounds, gradient, work = model
    sums[0] = over_grades(scores, order, bounds, gradient, work)


@njit(error_model="numpy")
def call_over_grades(
    address: int, scores: np.ndarray, order: np.ndarray, bounds: np.ndarray, gradient: np.ndarray, work: np.ndarray
) -> float:
    """Call :func:`over_grades` at its address; scores of any type."""
    wide, table = np.empty(len(scores)), np.empty(10, np.int64)
    for i in range(len(scores)):
        wide[i] = scores[i]
    lay(table, 0, wide)
    lay(table, 1, order)
    lay(table, 2, bounds)
    lay(table, 3, gradient)
    lay(table, 4, work)
    value = call_on_arrays(address, table)
    return value if len(wide) == len(order) else np.nan  # always; see call_on_arrays


@njit(error_model="numpy")
def crossing_cost(n: int, n_grades: int) -> float:
    """Return about how many nanoseconds :func:`over_grades` takes, at most."""
    return n * (500.0 + 1700.0 * np.log2(1.0 + min(float(n_grades), n / _CHUNK)))


@njit(error_model="numpy")
def over_grades(
    scores: np.ndarray, order: np.ndarray, bounds: np.ndarray, gradient: np.ndarray, work: np.ndarray
) -> float:
    """Return the sum of log(1 + e^{s_worse − s_better}) over the pairs of unequal grade; add its gradient.

    ``order`` and ``bounds`` are those of :mod:`podium.numerics.grades`, best grade first.
    """
    n = len(scores)
    s, force = np.empty(n), np.zeros(n)
    for i in range(n):
        s[i] = scores[order[i]]
    ends = np.empty(len(bounds), np.int64)  # where blocks of grades that are done end
    n_blocks, start, value = 0, 0, 0.0
    rank = np.empty(n, np.int64)  # documents of each block, ascending by score
    first = 0
    for g in range(1, len(bounds)):
        if g == len(bounds) - 1 or bounds[g + 1] - start > _CHUNK:
            value += _within_chunk(s, bounds, first, bounds[g], force, work)
            _sort(s, start, bounds[g], rank)
            ends[n_blocks] = start = bounds[g]
            first = g
            n_blocks += 1
    merged = np.empty(n, np.int64)
    while n_blocks > 1:
        n_done, start = 0, 0
        for b in range(0, n_blocks - 1, 2):
            middle, stop = ends[b], ends[b + 1]
            better, worse = rank[start:middle], rank[middle:stop]
            x, y = _chosen_points(s, better), _chosen_points(s, worse)
            value += crossing(x, y, work)
            for i in range(len(better)):
                force[better[i]] -= x.below[i]
            for i in range(len(worse)):
                force[worse[i]] += y.below[i]
            _merge(s, better, worse, merged[start:stop])
            for i in range(start, stop):
                rank[i] = merged[i]
            ends[n_done] = start = stop
            n_done += 1
        if n_blocks % 2:
            ends[n_done] = ends[n_blocks - 1]
            n_done += 1
        n_blocks = n_done
    for i in range(n):
        gradient[order[i]] += force[i]
    return value


@njit(error_model="numpy")
def _chosen_points(s: np.ndarray, chosen: np.ndarray) -> Points:
    """Return points at the chosen places, each of weight 1."""
    at, weight = np.empty(len(chosen)), np.ones(len(chosen))
    for i in range(len(chosen)):
        at[i] = s[chosen[i]]
    return new_points(at, weight)


@njit(error_model="numpy")
def _within_chunk(
    s: np.ndarray, bounds: np.ndarray, first: int, stop: int, force: np.ndarray, work: np.ndarray
) -> float:
    """Sum over the pairs of a few grades: the one of number ``first`` and others that end before ``stop``."""
    value, ones = 0.0, np.ones(stop - bounds[first])
    for g in range(first, len(bounds) - 1):
        middle = bounds[g + 1]
        if middle >= stop:
            break
        x, y = new_points(s[bounds[g] : middle], ones), new_points(s[middle:stop], ones)
        value += term_by_term(x, y, work)
        for i in range(len(x.at)):
            force[bounds[g] + i] -= x.below[i]
        for i in range(len(y.at)):
            force[middle + i] += y.below[i]
    return value


@njit(error_model="numpy")
def _sort(s: np.ndarray, start: int, stop: int, rank: np.ndarray) -> None:
    """Write the documents ``start:stop`` to ``rank[start:stop]``, ascending."""
    here, turned = rank[start:stop], np.empty(stop - start)
    for i in range(len(here)):
        turned[i] = -s[start + i]
    descending(turned, here)
    for i in range(len(here)):
        here[i] += start


@njit(error_model="numpy")
def _merge(s: np.ndarray, left: np.ndarray, right: np.ndarray, result: np.ndarray) -> None:
    i, j = 0, 0
    for k in range(len(result)):
        if j == len(right) or (i < len(left) and s[left[i]] <= s[right[j]]):
            result[k] = left[i]
            i += 1
        else:
            result[k] = right[j]
            j += 1
