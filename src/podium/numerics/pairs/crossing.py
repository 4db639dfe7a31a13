"""Sums of log(1 + e^{y − x}) over all pairs of two sets of points, at a cost that does not depend on their range.

    V = Σ_ij α_i β_j log(1 + e^{y_j − x_i})

A grid (:mod:`podium.numerics.pairs.grid`) has as many nodes as the range of the points asks for. Here the line is
divided into *panels* of a fixed width, of which only those with points in them exist:

- points in panels apart: log(1 + e^t) is a series of exponentials e^t, e^{2t}, … (plus t where t > 0), and a sum of
  exponentials over all points on one side of a panel follows from that of the panel before;
- points in the same or in neighboring panels: term by term if they are few, else interpolated on Chebyshev nodes, which
  lie alike in all panels, so that one table serves them all.

Each point costs at most some hundreds of operations, and the error is that of rounding: twelve exponentials leave
e^{−36}, twenty-four nodes 4^{−24}.

:mod:`podium.numerics.pairs.graded_crossing` sums over the pairs of a graded list.
"""

import math
from typing import NamedTuple

import numpy as np

from podium.numerics.compiling import njit
from podium.numerics.elementary import FAST, exp, log1p_unit

WIDTH = 3.0
"""The width of a panel."""
_TERMS = 12  # exponentials of the series
_NODES = 24  # Chebyshev nodes of a panel
_CROWD = 32  # points of a panel from which on they are interpolated

_ANGLES = np.pi * (np.arange(_NODES) + 0.5) / _NODES
_PLACES = 0.5 * WIDTH * (1.0 - np.cos(_ANGLES))  # of the nodes in a panel that begins at 0
_BARYCENTRIC = np.sin(_ANGLES) * (-1.0) ** np.arange(_NODES)
# (3, nodes of x, nodes of y): y's panel is the one before x's, the same, the one behind.
_GAPS = _PLACES[None, None, :] - _PLACES[None, :, None] + WIDTH * np.arange(-1, 2)[:, None, None]
_SOFTPLUS = np.logaddexp(0.0, _GAPS)
_SIGMOID = 1.0 / (1.0 + np.exp(-_GAPS))
_COMPLEMENT = 1.0 / (1.0 + np.exp(_GAPS))


class Points(NamedTuple):
    """Points in ascending order, and what sums over the others come to at each."""

    at: np.ndarray
    weight: np.ndarray
    below: np.ndarray
    """For each x, the sum of β σ(y − x); for each y, that of α σ(y − x). To be added to."""
    above: np.ndarray
    """For each x, the sum of β σ(x − y): what ``below`` is short of the sum of β. Scratch space of y."""


@njit(error_model="numpy")
def new_points(at: np.ndarray, weight: np.ndarray) -> Points:
    """Return ascending points, with sums of zero."""
    return Points(at, weight, np.zeros(len(at)), np.zeros(len(at)))


@njit(error_model="numpy")
def crossing(x: Points, y: Points, work: np.ndarray) -> float:
    """Return V; add to the sums of both sets, and the number of operations to ``work[0]``.

    The derivative of V is ``−α_i below_i`` with respect to x_i, and ``β_j below_j`` with respect to y_j.
    """
    if len(x.at) == 0 or len(y.at) == 0:
        return 0.0
    if len(x.at) * len(y.at) <= 4 * _CROWD * (len(x.at) + len(y.at)):
        return term_by_term(x, y, work)
    low = min(x.at[0], y.at[0])
    panel_x, panel_y = _panels(x.at, low), _panels(y.at, low)
    value = _near(x, y, panel_x, panel_y, low, work)
    seen_from_y = Points(y.at, y.weight, y.above, y.below)
    for mirrored in (False, True):
        value += _far(x, panel_x, y, panel_y, mirrored, mirrored)
        _far(seen_from_y, panel_y, x, panel_x, mirrored, False)
    work[0] += 4 * _TERMS * (len(x.at) + len(y.at))
    return value


@njit(error_model="numpy")
def _panels(at: np.ndarray, low: float) -> np.ndarray:
    """Return the number of the panel that each point is in."""
    panels = np.empty(len(at))
    for i in range(len(at)):
        panels[i] = math.floor((at[i] - low) / WIDTH)
    return panels


@njit(error_model="numpy", fastmath=FAST)
def term_by_term(x: Points, y: Points, work: np.ndarray) -> float:
    """Do what :func:`crossing` does, pair by pair."""
    value = 0.0
    at, weight, below = y.at, y.weight, y.below
    for i in range(len(x.at)):
        x_i, alpha = x.at[i], x.weight[i]
        total, likely, unlikely = 0.0, 0.0, 0.0
        for j in range(len(at)):
            t = at[j] - x_i
            u = exp(-abs(t))
            larger = 1.0 / (1.0 + u)
            smaller = u * larger
            p = larger if t > 0.0 else smaller
            total += weight[j] * (log1p_unit(u) + max(t, 0.0))
            likely += weight[j] * p
            unlikely += weight[j] * (smaller if t > 0.0 else larger)
            below[j] += alpha * p
        value += alpha * total
        x.below[i] += likely
        x.above[i] += unlikely
    work[0] += len(x.at) * len(at)
    return value


@njit(error_model="numpy")
def _far(
    targets: Points,
    panel: np.ndarray,
    sources: Points,
    panel_of_source: np.ndarray,
    mirrored: bool,
    linear: bool,
) -> float:
    """Sum over the sources at least two panels below each target, d = target − source being their distance.

    Adds Σ β σ(−d) to ``targets.below`` and Σ β σ(d) to ``targets.above``. Returns Σ α β log(1 + e^{−d}), or if
    ``linear`` that of log(1 + e^d), which is d more. All this on the line as it is or, if ``mirrored``, turned around,
    where what was above is below.
    """
    target, alpha, source, beta = targets.at, targets.weight, sources.at, sources.weight
    below, above = (targets.above, targets.below) if mirrored else (targets.below, targets.above)
    side = -1.0 if mirrored else 1.0
    n, m = len(target), len(source)
    sums = np.zeros(_TERMS)  # Σ β e^{−k (place − source)}, k = 1, 2, …
    value, total, distance, j, last = 0.0, 0.0, 0.0, 0, np.inf
    place = side * (target[n - 1] if mirrored else target[0])
    for step in range(n):
        i = n - 1 - step if mirrored else step
        here, own = side * target[i], side * panel[i]
        if own != last:
            moved = exp(place - here)
            factor = moved
            for k in range(_TERMS):
                sums[k] *= factor
                factor *= moved
            distance += total * (here - place)
            place, last = here, own
            while j < m:
                other = m - 1 - j if mirrored else j
                if side * panel_of_source[other] > own - 2.0:
                    break
                at, weight = side * source[other], beta[other]
                near = exp(at - place)
                factor = weight * near
                for k in range(_TERMS):
                    sums[k] += factor
                    factor *= near
                total += weight
                distance += weight * (place - at)
                j += 1
        nearer = exp(place - here)
        factor, sign, of_value, of_slope = nearer, 1.0, 0.0, 0.0
        for k in range(_TERMS):
            term = sign * factor * sums[k]
            of_slope += term
            of_value += term / (k + 1.0)
            factor *= nearer
            sign = -sign
        below[i] += of_slope
        above[i] += total - of_slope
        if linear:
            of_value += distance + total * (here - place)
        value += alpha[i] * of_value
    return value


@njit(error_model="numpy")
def _near(x: Points, y: Points, panel_x: np.ndarray, panel_y: np.ndarray, low: float, work: np.ndarray) -> float:
    """Sum over points in the same and in neighboring panels."""
    runs_x, runs_y = _runs(panel_x), _runs(panel_y)
    n_runs = len(runs_y) - 1
    masses, pulls = np.zeros((n_runs, _NODES)), np.zeros((n_runs, _NODES))
    for r in range(n_runs):
        if runs_y[r + 1] - runs_y[r] >= _CROWD:
            _spread(_part(y, runs_y[r], runs_y[r + 1]), low + WIDTH * panel_y[runs_y[r]], masses[r], work)
    value, first = 0.0, 0
    mass, below, above = np.empty(_NODES), np.empty(_NODES), np.empty(_NODES)
    for r in range(len(runs_x) - 1):
        here, panel = _part(x, runs_x[r], runs_x[r + 1]), panel_x[runs_x[r]]
        for k in range(_NODES):
            mass[k] = below[k] = above[k] = 0.0
        crowded = len(here.at) >= _CROWD
        if crowded:
            _spread(here, low + WIDTH * panel, mass, work)
        while first < n_runs and panel_y[runs_y[first]] < panel - 1.0:
            first += 1
        other = first
        while other < n_runs and panel_y[runs_y[other]] <= panel + 1.0:
            there = _part(y, runs_y[other], runs_y[other + 1])
            if crowded and len(there.at) >= _CROWD:
                shift = int(panel_y[runs_y[other]] - panel) + 1
                value += _between_nodes(shift, mass, masses[other], below, above, pulls[other])
                work[0] += _NODES * _NODES
            else:
                value += term_by_term(here, there, work)
            other += 1
        if crowded:
            _gather(here.at, low + WIDTH * panel, below, here.below, work)
            _gather(here.at, low + WIDTH * panel, above, here.above, work)
    for r in range(n_runs):
        if runs_y[r + 1] - runs_y[r] >= _CROWD:
            there = _part(y, runs_y[r], runs_y[r + 1])
            _gather(there.at, low + WIDTH * panel_y[runs_y[r]], pulls[r], there.below, work)
    return value


@njit(error_model="numpy")
def _part(points: Points, first: int, stop: int) -> Points:
    return Points(points.at[first:stop], points.weight[first:stop], points.below[first:stop], points.above[first:stop])


@njit(error_model="numpy")
def _runs(panels: np.ndarray) -> np.ndarray:
    """Return where runs of points in one panel begin, and the number of points at the end."""
    starts = np.empty(len(panels) + 1, np.int64)
    n = 0
    for i in range(len(panels)):
        if i == 0 or panels[i] != panels[i - 1]:
            starts[n] = i
            n += 1
    starts[n] = len(panels)
    return starts[: n + 1]


@njit(error_model="numpy")
def _basis(place: float, weights: np.ndarray) -> None:
    """Write the Lagrange polynomials of the nodes at a place in the panel, by the barycentric formula."""
    total = 0.0
    for k in range(_NODES):
        gap = place - _PLACES[k]
        if gap == 0.0:
            for other in range(_NODES):
                weights[other] = 0.0
            weights[k] = 1.0
            return
        weights[k] = _BARYCENTRIC[k] / gap
        total += weights[k]
    for k in range(_NODES):
        weights[k] /= total


@njit(error_model="numpy")
def _spread(points: Points, start: float, mass: np.ndarray, work: np.ndarray) -> None:
    weights = np.empty(_NODES)
    for i in range(len(points.at)):
        _basis(points.at[i] - start, weights)
        for k in range(_NODES):
            mass[k] += points.weight[i] * weights[k]
    work[0] += _NODES * len(points.at)


@njit(error_model="numpy")
def _gather(at: np.ndarray, start: float, potential: np.ndarray, result: np.ndarray, work: np.ndarray) -> None:
    weights = np.empty(_NODES)
    for i in range(len(at)):
        _basis(at[i] - start, weights)
        total = 0.0
        for k in range(_NODES):
            total += weights[k] * potential[k]
        result[i] += total
    work[0] += _NODES * len(at)


@njit(error_model="numpy")
def _between_nodes(
    shift: int, mass: np.ndarray, other: np.ndarray, below: np.ndarray, above: np.ndarray, pull: np.ndarray
) -> float:
    """Sum over the nodes of two panels; add what each node sees of the others."""
    value = 0.0
    for a in range(_NODES):
        total, likely, unlikely = 0.0, 0.0, 0.0
        for b in range(_NODES):
            total += other[b] * _SOFTPLUS[shift, a, b]
            likely += other[b] * _SIGMOID[shift, a, b]
            unlikely += other[b] * _COMPLEMENT[shift, a, b]
            pull[b] += mass[a] * _SIGMOID[shift, a, b]
        value += mass[a] * total
        below[a] += likely
        above[a] += unlikely
    return value
