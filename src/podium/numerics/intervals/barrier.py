"""Where one query's grades should lie when every constraint of IntervalRank is kept by a logarithmic barrier.

The paper stops its barrier early, which leaves the grades further apart than the constraints ask. With τ = 1/μ,

    minimize  Σ_g [ ½ Σ (l_g − s)₊² + ½ Σ (s − u_g)₊² ] + λ1/2 ‖ε‖² + λ2/2 ‖ξ‖²
              − τ Σ_g [ log(u_g − l_g) + log(ξ_g − (u_g − l_g)) ] − τ Σ_g log(ε_g − d_g),    d_g = Δ_g − (l_{g+1} − u_g)

The best slacks have closed forms, ε = (d + √(d² + 4τ/λ1)) / 2 and ξ likewise in u − l, so that l and u are all that is
left, and their Hessian is tridiagonal. Damped Newton steps start from the optimum without barriers, drawn a little
apart. A step costs a binary search in the sorted scores for each end.
"""

import math

import numpy as np

from podium.numerics.compiling import Array, njit
from podium.numerics.intervals.chain import SortedGrades, count_below

MAX_STEPS = 200
LOOSE, TIGHTEN = 100.0, 10.0
"""Barriers are tightened step by step, by this factor, from the first on."""


@njit(error_model="numpy")
def solve_with_barrier(grades: SortedGrades, barrier: float, tolerance: float, lower: Array, upper: Array) -> bool:
    """Move the ends of the intervals from the optimum without barriers (see :mod:`podium.numerics.intervals.chain`).

    ``barrier`` is μ. It ends with the first step that moves no end by more than ``tolerance`` of the intervals' range.
    Returns whether it got there.
    """
    n_grades = len(lower)
    mu = min(barrier, LOOSE)
    apart = math.sqrt(1.0 / (mu * (grades.width + 1.0)))
    x = np.empty(2 * n_grades)
    for g in range(n_grades):
        x[2 * g], x[2 * g + 1] = lower[g] - apart, upper[g] + apart
    slope, own, tie = np.empty(2 * n_grades), np.empty(2 * n_grades), np.empty(2 * n_grades)
    step, trial = np.empty(2 * n_grades), np.empty(2 * n_grades)
    for _ in range(MAX_STEPS):
        cost = _cost(x, grades, 1.0 / mu, slope, own, tie)
        _solve_chain(own, tie, slope, step)
        promise, longest = 0.0, 0.0
        for k in range(2 * n_grades):
            promise += slope[k] * step[k]
            longest = max(longest, abs(step[k]))
        # Less than rounding can show is as good as nothing.
        settled = longest <= tolerance * (x[2 * n_grades - 1] - x[0]) or promise <= 1e-15 * abs(cost)
        size = 1.0
        for g in range(n_grades):  # an interval keeps a tenth of its width at least
            closing = step[2 * g + 1] - step[2 * g]
            if closing > 0.0:
                size = min(size, 0.9 * (x[2 * g + 1] - x[2 * g]) / closing)
        while True:
            for k in range(2 * n_grades):
                trial[k] = x[k] - size * step[k]
            if settled or size < 1e-10:
                break
            if _cost(trial, grades, 1.0 / mu, slope, own, tie) <= cost - 0.1 * size * promise:
                break
            size *= 0.5
        # Only a tiny part of the step lowers the cost, and next to nothing is promised: rounding hides the rest.
        settled = settled or (size < 1e-3 and promise <= 1e-9 * (1.0 + abs(cost)))
        x, trial = trial, x
        if mu < barrier:
            if settled or promise <= 1.0 / mu:  # near enough to the path of optima to go on along it
                mu = min(TIGHTEN * mu, barrier)
        elif settled:
            for g in range(n_grades):
                lower[g], upper[g] = x[2 * g], x[2 * g + 1]
            return True
    return False


@njit(error_model="numpy")
def barrier_terms(grades: SortedGrades, barrier: float, lower: Array, upper: Array) -> float:
    """Return what the slacks and the barriers cost, all but the documents' part."""
    cost = 0.0
    for g in range(len(lower)):
        cost += _width(upper[g] - lower[g], grades.width, 1.0 / barrier)[0]
    for g in range(len(grades.margins)):
        cost += _slack(grades.margins[g] - lower[g + 1] + upper[g], grades.separation, 1.0 / barrier)[0]
    return cost


@njit(error_model="numpy")
def _cost(x: Array, grades: SortedGrades, tau: float, slope: Array, own: Array, tie: Array) -> float:
    """Return the cost of the chain l₁, u₁, l₂, …; write its gradient, and its Hessian as that of a chain of springs."""
    scores, sums, squares, bounds, margins, separation, width = grades
    cost = 0.0
    for k in range(len(x)):
        low, high = bounds[k // 2], bounds[k // 2 + 1]
        middle = low + count_below(scores[low:high], x[k])
        if k % 2 == 0:
            high = middle
        else:
            low = middle
        count, total = high - low, sums[high] - sums[low]
        slope[k] = count * x[k] - total
        cost += 0.5 * (squares[high] - squares[low] - total * x[k] + slope[k] * x[k])
        own[k] = count
    for k in range(len(x) - 1):
        if k % 2 == 0:
            value, first, second = _width(x[k + 1] - x[k], width, tau)
        else:
            value, first, second = _slack(margins[k // 2] - x[k + 1] + x[k], separation, tau)
            first = -first  # it shrinks as the far end moves on
        cost += value
        slope[k] -= first
        slope[k + 1] += first
        tie[k] = second
    return cost


@njit(error_model="numpy")
def _slack(d: float, weight: float, tau: float) -> tuple[float, float, float]:
    """Return the minimum over ε of weight/2 ε² − τ log(ε − d), and its two derivatives in d."""
    root = math.sqrt(d * d + 4.0 * tau / weight)
    room = 0.5 * (root - d) if d <= 0.0 else 2.0 * tau / weight / (root + d)  # ε − d, without cancellation
    slack = tau / (weight * room)
    return 0.5 * weight * slack * slack - tau * math.log(room), weight * slack, weight * slack / root


@njit(error_model="numpy")
def _width(w: float, weight: float, tau: float) -> tuple[float, float, float]:
    """Return the cost of the slack that an interval of width w needs and of the barrier that keeps it open."""
    value, first, second = _slack(w, weight, tau)
    return value - tau * math.log(w), first - tau / w, second + tau / (w * w)


@njit(error_model="numpy")
def _solve_chain(own: Array, tie: Array, right: Array, x: Array) -> None:
    """Solve for x where the diagonal is ``own`` plus the ties on both sides and the ones beside it are −``tie``.

    Elimination along the chain, written for springs: those behind a tie act on the next unknown like two in series. So
    nothing is ever subtracted, and ties of 1e12 next to 1 do no harm.
    """
    n = len(own)
    share = np.empty(n)
    behind, force = 0.0, 0.0  # what reaches an unknown from those before it
    for k in range(n - 1):
        stiffness, force = own[k] + behind, force + right[k]
        share[k] = tie[k] / (stiffness + tie[k])
        x[k] = force / (stiffness + tie[k])
        behind, force = share[k] * stiffness, share[k] * force
    stiffness, force = own[n - 1] + behind, force + right[n - 1]
    # With no document outside its interval all grades can move together at no cost: then the last end stays.
    x[n - 1] = force / stiffness if stiffness > 0.0 else 0.0
    for k in range(n - 2, -1, -1):
        x[k] += share[k] * x[k + 1]
