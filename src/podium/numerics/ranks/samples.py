"""Samples of rankings that span good and bad ones, drawn with knowledge of the grades.

A sample of one list is a matrix (n_rankings, n_documents) of places: entry (k, j) is how many documents stand before
document j in ranking k. By chance alone good rankings would hardly occur, so most of a sample is drawn around the order
that the grades ask for: swap the grades of a few documents, then sort by grade with ties broken at random (Volkovs &
Zemel, "BoltzRank", ICML 2009, section 4.2, here for any number of grades).

    the order by grade                          1
    its reverse, so that the worst is there     1
    swaps between the two highest grades        35 %
    swaps between other neighboring grades     20 % (between the two there are, if there are only two)
    swaps between highest and lowest grade      half of the rest
    any order                                   half of the rest
"""

import numpy as np

from podium.numerics.compiling import Array, njit
from podium.numerics.random import integer, shuffle

TOP_SHARE, LOWER_SHARE = 0.35, 0.20
_FACTORIALS = np.cumprod(np.maximum(np.arange(21), 1))  # the next one is too large for 64 bits


def count_rankings(sizes: Array, most: int) -> Array:
    """Return how many rankings lists of these sizes have, n!, but at most ``most``."""
    return np.minimum(_FACTORIALS[np.minimum(sizes, len(_FACTORIALS) - 1)], most)


@njit(cache=True, error_model="numpy")
def all_rankings(places: Array) -> None:
    """Fill ``places`` (n!, n) with every ranking once, in lexicographic order."""
    n_rankings, n = places.shape
    left = np.empty(n, np.int64)
    for k in range(n_rankings):
        left[:] = np.arange(n)
        block, rest = n_rankings, k
        for j in range(n):
            # Ranking k lies in the (rest // block)-th of the equal blocks that share their first j + 1 places.
            block //= n - j
            digit = rest // block
            rest -= digit * block
            places[k, j] = left[digit]
            for i in range(digit, n - j - 1):
                left[i] = left[i + 1]


@njit(cache=True, error_model="numpy")
def sample_rankings(order: Array, bounds: Array, stream: Array, places: Array) -> None:
    """Fill ``places`` (n_rankings, n) with rankings drawn as described above.

    ``order`` lists the documents best grade first and ``bounds`` the ends of the runs of equal grade (see
    :mod:`podium.numerics.grades`), at least two of them. ``stream`` gives the random numbers.
    """
    n_rankings, n_grades = len(places), len(bounds) - 1
    members = order.astype(np.int64)
    grade, changed, documents = _grades(order, bounds), np.empty(len(order), np.int64), members.copy()
    n_top, n_lower = int(TOP_SHARE * n_rankings + 0.5), int(LOWER_SHARE * n_rankings + 0.5)
    for k in range(n_rankings):
        changed[:] = grade
        if k == 1:
            changed[:] = n_grades - 1 - grade
        elif k > 1 and k < 2 + n_top:
            _swap(0, 1, bounds, members, stream, changed)
        elif k > 1 and k < 2 + n_top + n_lower:
            upper = 0 if n_grades == 2 else 1 + integer(stream, n_grades - 2)
            _swap(upper, upper + 1, bounds, members, stream, changed)
        elif k > 1 and k % 2 == 0:
            _swap(0, n_grades - 1, bounds, members, stream, changed)
        elif k > 1:
            changed[:] = 0
        shuffle(documents, stream)
        _sort_by_grade(changed, n_grades, documents, places[k])


@njit(error_model="numpy")
def _grades(order: Array, bounds: Array) -> Array:
    """Return (n,) the run each document is in, 0 for the best grade."""
    grade = np.empty(len(order), np.int64)
    for g in range(len(bounds) - 1):
        for i in order[bounds[g] : bounds[g + 1]]:
            grade[i] = g
    return grade


@njit(error_model="numpy")
def _swap(upper: int, lower: int, bounds: Array, members: Array, stream: Array, grade: Array) -> None:
    """Exchange the grades of a random number of random documents; ``members`` is left in another order within runs."""
    above, below = members[bounds[upper] : bounds[upper + 1]], members[bounds[lower] : bounds[lower + 1]]
    for i in range(1 + integer(stream, min(len(above), len(below)))):
        for run in (above, below):
            j = i + integer(stream, len(run) - i)
            run[i], run[j] = run[j], run[i]
        grade[above[i]] = lower
        grade[below[i]] = upper


@njit(error_model="numpy")
def _sort_by_grade(grade: Array, n_grades: int, documents: Array, places: Array) -> None:
    """Write each document's place: by grade, and within a grade in the order of ``documents``."""
    next_place = np.zeros(n_grades + 1, np.int64)
    for g in grade:
        next_place[g + 1] += 1
    for g in range(1, n_grades):
        next_place[g] += next_place[g - 1]
    for i in documents:
        places[i] = next_place[grade[i]]
        next_place[grade[i]] += 1
