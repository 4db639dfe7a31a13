"""Where one query's grades should lie: the exact optimum of IntervalRank's quadratic program.

With the scores of each grade sorted, worst grade first, the unknowns are the ends of the grades' intervals. In the
order l₁ ≤ u₁, l₂ ≤ u₂, … they form a chain, in which only neighbors are tied to each other:

    minimize  Σ_g [ ½ Σ (l_g − s)₊² + ½ Σ (s − u_g)₊² ]  +  λ2/2 Σ_g (u_g − l_g)²  +  λ1/2 Σ_g (Δ_g − (l_{g+1} − u_g))₊²
    subject to  l_g ≤ u_g

(the slacks ξ and ε of the paper are what is left of them at the optimum). A chain is solved without iterating. Walking
along it, let M(x) be the least cost of all that comes before x, as a function of x. Its derivative is a polyline that
never falls, so a list of knots holds it exactly:

- the documents of a grade add to it a knot each, at their scores;
- a tie to the next unknown is a spring. Where the force (the derivative) is p, the next unknown lies further by the
  spring's length at force p. So the knots move, each by its own force, and the forces stay.

Separation springs know no pull (p > 0) and width springs no push (p < 0), beyond which they are rigid or slack. At the
end of the chain the best place is where the force vanishes; from there the unknowns are read off backwards, by the
knots' places before and after each spring. The cost is that of sorting, plus documents × grades at worst.
"""

from typing import NamedTuple

import numpy as np

from podium.numerics.compiling import njit


class SortedGrades(NamedTuple):
    """The scores of one query by grade, and what is asked of the grades."""

    scores: np.ndarray
    """(n,) Grade g is ``scores[bounds[g]:bounds[g + 1]]``, worst grade first, ascending within it."""
    sums: np.ndarray
    """(n + 1,) Running sums of ``scores``, from 0."""
    squares: np.ndarray
    """(n + 1,) Running sums of their squares."""
    bounds: np.ndarray
    """(n_grades + 1,)"""
    margins: np.ndarray
    """(n_grades − 1,) Δ: how far the next grade should be."""
    separation: float
    """λ1, from 0 (nothing is asked) to infinity (at any price)."""
    width: float
    """λ2, likewise."""


Pair = tuple[np.ndarray, np.ndarray]
"""Places and forces of knots, scores and their running sums, or places before and after a spring."""
Slopes = tuple[float, float]
"""The polyline's slopes left of all knots and right of them."""


@njit(error_model="numpy")
def solve_intervals(grades: SortedGrades, lower: np.ndarray, upper: np.ndarray) -> None:
    """Write the ends of the best intervals to ``lower`` and ``upper``, (n_grades,)."""
    scores, sums, _, bounds, margins, separation, width = grades
    n_grades = len(bounds) - 1
    n_springs = 2 * n_grades - 1
    room, most = _room(bounds), 2 * bounds[-1] + 2 * n_grades + 1
    before, after = np.empty(room), np.empty(room)  # all springs' knots, spring by spring
    first = np.zeros(n_springs + 1, np.int64)
    stretch = np.empty((n_springs, 2))
    knots, others = (np.empty(most), np.empty(most)), (np.empty(most), np.empty(most))
    knots[0][0], knots[1][0] = scores[0], 0.0  # nothing comes before the first unknown
    m, root, slopes = 1, 0, (0.0, 0.0)
    for k in range(n_springs + 1):
        g = k // 2
        documents = scores[bounds[g] : bounds[g + 1]], sums[bounds[g] : bounds[g + 1] + 1]
        m, slopes = _add_documents(knots, m, slopes, documents, k % 2 == 1, others)
        knots, others = others, knots
        m, root = _mark_root(knots, m, slopes)
        if k < n_springs:
            # The length without force, and how much a push shortens it and a pull lengthens it. An interval is never
            # shorter than 0, and a distance between grades larger than asked for takes no force at all.
            spring = (0.0, 0.0, 1.0 / width) if k % 2 == 0 else (margins[g], 1.0 / separation, np.inf)
            here = slice(first[k], room)
            m, slopes = _pass_spring(knots, m, root, slopes, spring, (before[here], after[here]), stretch[k])
            first[k + 1] = first[k] + m

    at = knots[0][root]
    for k in range(n_springs, -1, -1):
        if k % 2 == 1:
            upper[k // 2] = at
        else:
            lower[k // 2] = min(at, upper[k // 2])
        if k > 0:
            here = slice(first[k - 1], first[k])
            at = _near_end(before[here], after[here], stretch[k - 1], at)


@njit(error_model="numpy")
def _room(bounds: np.ndarray) -> int:
    """Return how many knots all springs together may have: two per document and one per root, as they come."""
    room, documents = 0, 0
    for g in range(len(bounds) - 1):
        size = bounds[g + 1] - bounds[g]
        room += 4 * documents + 3 * size + 4 * g + 5
        documents += size
    return room


@njit(error_model="numpy")
def _add_documents(
    knots: Pair, m: int, slopes: Slopes, documents: Pair, above: bool, new_knots: Pair
) -> tuple[int, Slopes]:
    """Add to the polyline the pull Σ(x − s)₊ of documents below a lower end, or the push of those above an upper."""
    (x, p), (scores, sums), (new_x, new_p) = knots, documents, new_knots
    n = len(scores)
    i = j = 0
    left, right = slopes
    while i < m or j < n:
        if j == n or (i < m and x[i] <= scores[j]):
            place, force = x[i], p[i]
            i += 1
        else:
            place = scores[j]
            if i == 0:
                force = p[0] - left * (x[0] - place)
            elif i == m:
                force = p[m - 1] + right * (place - x[m - 1])
            else:
                force = p[i - 1] + (p[i] - p[i - 1]) * ((place - x[i - 1]) / (x[i] - x[i - 1]))
            j += 1
        # j documents are at most this high. (Only differences of sums are exact zeros where there should be none.)
        if above:
            force += (n - j) * place - (sums[n] - sums[j])
        else:
            force += j * place - (sums[j] - sums[0])
        new_x[i + j - 1], new_p[i + j - 1] = place, force
    if above:
        return m + n, (left + n, right)
    return m + n, (left, right + n)


@njit(error_model="numpy")
def _mark_root(knots: Pair, m: int, slopes: Slopes) -> tuple[int, int]:
    """Make the first place without force a knot, if it is none; return the number of knots and which one it is."""
    x, p = knots
    root = 0
    while root < m and p[root] < 0.0:
        root += 1
    if root < m and p[root] == 0.0:
        return m, root
    left, right = slopes
    if root == m:
        if right <= 0.0:  # zero but for rounding
            p[m - 1] = 0.0
            return m, m - 1
        place = x[m - 1] - p[m - 1] / right
    elif root == 0:
        if left <= 0.0:
            p[0] = 0.0
            return m, 0
        place = x[0] - p[0] / left
    else:
        place = x[root - 1] - p[root - 1] * ((x[root] - x[root - 1]) / (p[root] - p[root - 1]))
    for j in range(m, root, -1):
        x[j], p[j] = x[j - 1], p[j - 1]
    x[root], p[root] = place, 0.0
    return m + 1, root


@njit(error_model="numpy")
def _pass_spring(
    knots: Pair, m: int, root: int, slopes: Slopes, spring: tuple[float, float, float], ends: Pair, stretch: np.ndarray
) -> tuple[int, Slopes]:
    """Move the knots from a spring's near end to its far end; keep both places of each, and what lies beyond the ends.

    ``stretch`` is how much faster the far end moves left of all knots and right of them. Where a spring gives without
    limit, its far end moves and the near one does not: no force gets through, and knots that had one are dropped.
    """
    (x, p), (before, after), (length, by_push, by_pull) = knots, ends, spring
    left, right = slopes
    stretch[0] = np.inf if by_push == np.inf else 1.0 + by_push * left
    stretch[1] = np.inf if by_pull == np.inf else 1.0 + by_pull * right
    low = root if by_push == np.inf else 0
    m = (root + 1 if by_pull == np.inf else m) - low
    for j in range(m):
        force = p[j + low]
        before[j] = x[j + low]
        after[j] = before[j] + length
        if force < 0.0:
            after[j] += force * by_push
        elif force > 0.0:
            after[j] += force * by_pull
        x[j], p[j] = after[j], force
    return m, (left / stretch[0], right / stretch[1])


@njit(error_model="numpy")
def _near_end(before: np.ndarray, after: np.ndarray, stretch: np.ndarray, at: float) -> float:
    """Return where a spring's near end is when its far end is ``at``."""
    last = len(after) - 1
    if at <= after[0]:
        return before[0] - (after[0] - at) / stretch[0]
    if at >= after[last]:
        return before[last] + (at - after[last]) / stretch[1]
    high = count_below(after, at)  # after[high - 1] < at <= after[high]
    share = (at - after[high - 1]) / (after[high] - after[high - 1])
    return before[high - 1] + share * (before[high] - before[high - 1])


@njit(error_model="numpy")
def count_below(ascending: np.ndarray, x: float) -> int:
    """Return how many entries are less than ``x``."""
    low, high = 0, len(ascending)
    while low < high:
        middle = (low + high) // 2
        if ascending[middle] < x:
            low = middle + 1
        else:
            high = middle
    return low
