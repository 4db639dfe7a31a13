"""Pairs that may be tied: the Rao-Kupper and the Davidson model, each with a learned propensity to tie.

With φ = e^s, every pair of a query counts, whether one document is better or both have the same grade:

    Rao-Kupper   P(i≻j) = φ_i/(φ_i + θφ_j)    P(i≈j) = (θ²−1)φ_iφ_j / [(φ_i + θφ_j)(θφ_i + φ_j)]    θ = 1 + e^α
    Davidson     P(i≻j) = φ_i/D               P(i≈j) = ν√(φ_iφ_j)/D,   D = φ_i + φ_j + ν√(φ_iφ_j)     ν = e^β

The loss is −log P, averaged over the query's pairs. α and β are the losses' own parameters and learned with the
scorer. All terms are smooth functions of a score difference r = s_i − s_j, so long lists take linear time
(:mod:`podium.numerics.pairs.graded`).

Rao & Kupper, JASA 1967; Davidson, JASA 1970; as baselines for documents: Truyen, Phung & Venkatesh, SDM 2011.
"""

from typing import Any, ClassVar

import numpy as np

from podium.losses.base import Derivatives, Kernel, LabeledLists, Loss, OneList, njit
from podium.losses.given_pairs import GivenPairs, given_pairs, own_edges
from podium.numerics.elementary import FAST, exp, log1p
from podium.numerics.grades import own_groups
from podium.numerics.pairs import graded
from podium.numerics.pairs.grid import Grid, grid_cost, grid_under, spacing

__all__ = ["DavidsonLoss", "RaoKupperLoss"]

_RAO_KUPPER, _DAVIDSON = 0, 1


@njit(fastmath=FAST, error_model="numpy")
def _softplus(x: float) -> tuple[float, float]:
    """Return ``log(1 + e^x)`` and its slope."""
    e = exp(-abs(x))
    return max(x, 0.0) + log1p(e), (1.0 if x >= 0.0 else e) / (1.0 + e)


@njit(fastmath=FAST, error_model="numpy")
def _better(model: int, r: float, a: float) -> tuple[float, float, float]:
    """Return −log P(i≻j) at r = s_i − s_j, its derivative in r and in the model's parameter.

    ``a`` is log θ or ν. The last one is with respect to log θ or log ν; :func:`_outer` completes it.
    """
    if model == _RAO_KUPPER:
        f, slope = _softplus(a - r)
        return f, -slope, slope
    u = exp(-0.5 * abs(r))  # D/φ of the larger of the two is 1 + νu + u²
    rest = u * (a + u)
    share = 1.0 / (1.0 + rest)
    return max(-r, 0.0) + log1p(rest), -((u if r >= 0.0 else 1.0 / u) + 0.5 * a) * u * share, a * u * share


@njit(fastmath=FAST, error_model="numpy")
def _tied(model: int, r: float, a: float) -> tuple[float, float, float]:
    """Return −log P(i≈j) without its constant (see :func:`_tie_constant`), and derivatives as in :func:`_better`."""
    if model == _RAO_KUPPER:
        f, slope = _softplus(a - r)
        g, other = _softplus(a + r)
        return f + g, other - slope, slope + other
    u = exp(-0.5 * abs(r))
    rest = u * (a + u)
    share = 1.0 / (1.0 + rest)
    half = 0.5 * (1.0 - u * u) * share
    return 0.5 * abs(r) + log1p(rest), half if r >= 0.0 else -half, a * u * share


@njit(error_model="numpy")
def _tie_constant(model: int, parameter: float) -> tuple[float, float]:
    """Return the part of −log P(i≈j) that no score changes, and its derivative in the parameter."""
    if model == _RAO_KUPPER:  # −log(θ² − 1) = −α − log(2 + e^α)
        e = np.exp(parameter)
        return -parameter - np.log(2.0 + e), -1.0 - e / (2.0 + e)
    return -parameter, -1.0


@njit(error_model="numpy")
def _outer(model: int, parameter: float) -> tuple[float, float]:
    """Return ``a`` of :func:`_better`, and the factor that turns its parameter derivative into that of α or β."""
    e = np.exp(parameter)
    return (np.log1p(e), e / (1.0 + e)) if model == _RAO_KUPPER else (e, 1.0)


@njit(fastmath=FAST, error_model="numpy")
def _pair_by_pair(model: int, one: graded.GradedList, a: float, result: np.ndarray) -> tuple[float, float]:
    """Return the sum over all pairs and its derivative in the parameter; write the gradient. For short lists."""
    scores, order, bounds = one
    n = len(scores)
    s, g = np.empty(n), np.zeros(n)
    for i in range(n):
        s[i] = scores[order[i]]
    value, d_parameter = 0.0, 0.0
    for group in range(len(bounds) - 1):
        stop = bounds[group + 1]
        for i in range(bounds[group], stop):
            own = 0.0
            tied_s, tied_g = s[i + 1 : stop], g[i + 1 : stop]
            for j in range(len(tied_s)):
                f, slope, of_a = _tied(model, s[i] - tied_s[j], a)
                value += f
                d_parameter += of_a
                own += slope
                tied_g[j] -= slope
            worse_s, worse_g = s[stop:], g[stop:]
            for j in range(len(worse_s)):
                f, slope, of_a = _better(model, s[i] - worse_s[j], a)
                value += f
                d_parameter += of_a
                own += slope
                worse_g[j] -= slope
            g[i] += own
    for i in range(n):
        result[order[i]] = g[i]
    return value, d_parameter


@njit(error_model="numpy")
def _on_grid(model: int, one: graded.GradedList, grid: Grid, a: float, result: np.ndarray) -> tuple[float, float]:
    """Do the same in linear time."""
    r = graded.node_differences(grid)
    f, slope, of_a = np.empty((2, len(r))), np.empty((2, len(r))), np.empty((2, len(r)))
    for k in range(len(r)):
        f[0, k], slope[0, k], of_a[0, k] = _better(model, r[k], a)
        f[1, k], slope[1, k], of_a[1, k] = _tied(model, r[k], a)
    result[:] = 0.0
    graded.add_pair_gradient(one, grid, slope[0], result)
    graded.add_tie_gradient(one, grid, slope[1], result)
    pairs, ties = graded.pair_histogram(one, grid), graded.tie_histogram(one, grid)
    return (pairs * f[0] + ties * f[1]).sum(), (pairs * of_a[0] + ties * of_a[1]).sum()


@njit(error_model="numpy")
def _one_list(model: int, given: OneList, prepared: Any, out: Derivatives) -> float:
    scores, n = given.scores, len(given.scores)
    groups, h, normalize = prepared
    order, bounds = own_groups(groups, given)
    parameter = given.parameters[0]
    out.d_parameters[0] = 0.0
    if n == 1:
        out.gradient[0] = 0.0
        return 0.0
    a, factor = _outer(model, parameter)
    result = np.empty(n)
    one, grid = graded.GradedList(scores, order, bounds), grid_under(scores, h)
    n_pairs = 0.5 * n * (n - 1.0)
    if 4.0 * n_pairs > grid_cost(n, len(bounds) - 1, grid.n_nodes):
        value, of_a = _on_grid(model, one, grid, a, result)
    else:
        value, of_a = _pair_by_pair(model, one, a, result)
    n_ties = 0.0
    for g in range(len(bounds) - 1):
        size = float(bounds[g + 1] - bounds[g])
        n_ties += 0.5 * size * (size - 1.0)
    constant, of_constant = _tie_constant(model, parameter)
    scale = 1.0 / n_pairs if normalize else 1.0
    out.gradient[:] = result * scale
    out.d_parameters[0] = (factor * of_a + n_ties * of_constant) * scale
    return (value + n_ties * constant) * scale


@njit(error_model="numpy")
def _given_pairs(model: int, given: OneList, prepared: GivenPairs, out: Derivatives) -> float:
    """Sum over pairs given one by one, won and tied."""
    scores, gradient, scale = given.scores, out.gradient, prepared.scale[given.query]
    a, factor = _outer(model, given.parameters[0])
    constant, of_constant = _tie_constant(model, given.parameters[0])
    value, of_parameter = 0.0, 0.0
    gradient[:] = 0.0
    for tied in range(2):
        first, second, weight = own_edges(prepared.ties if tied == 1 else prepared.wins, given.query)
        for e in range(len(first)):
            r, w = scores[first[e]] - scores[second[e]], scale * weight[e]
            f, slope, of_a = _tied(model, r, a) if tied == 1 else _better(model, r, a)
            value += w * (f + tied * constant)
            of_parameter += w * (factor * of_a + tied * of_constant)
            gradient[first[e]] += w * slope
            gradient[second[e]] -= w * slope
    out.d_parameters[0] = of_parameter
    return value


# One kernel per model, so that no more is compiled than is used.


@njit(error_model="numpy")
def rao_kupper(given: OneList, prepared: Any, out: Derivatives) -> float:
    return _one_list(_RAO_KUPPER, given, prepared, out)


@njit(error_model="numpy")
def rao_kupper_on_pairs(given: OneList, prepared: GivenPairs, out: Derivatives) -> float:
    return _given_pairs(_RAO_KUPPER, given, prepared, out)


@njit(error_model="numpy")
def davidson(given: OneList, prepared: Any, out: Derivatives) -> float:
    return _one_list(_DAVIDSON, given, prepared, out)


@njit(error_model="numpy")
def davidson_on_pairs(given: OneList, prepared: GivenPairs, out: Derivatives) -> float:
    return _given_pairs(_DAVIDSON, given, prepared, out)


class _TiedPairs(Loss, convex=True, accepts_preferences=True, visits_pairs=True, cost="n (n² for short lists)"):
    """Base class of both models.

    Parameters
    ----------
    normalize : bool
        Average over the query's pairs (the default) or add them up.
    tolerance : float
        Relative error allowed in the linear-time evaluation of long lists; short ones are summed pair by pair.

    Labels may be :class:`podium.Preferences`, with the pairs that were found equal in ``tied``. Where there are none,
    the propensity to tie is learned to be nearly 0, and the model is RankNet's.
    """

    on_pairs: ClassVar[Kernel]

    normalize: bool = True
    tolerance: float = 1e-6

    def likelihood(self) -> Loss:
        return type(self)(normalize=False, tolerance=self.tolerance)

    def initial_parameters(self) -> np.ndarray:
        return np.zeros(1)

    def kernel_for(self, data: LabeledLists) -> Kernel:
        return type(self).on_pairs if data.has_pairs else type(self).kernel

    def prepare(self, data: LabeledLists) -> tuple[Any, ...]:
        if data.has_pairs:
            return given_pairs(data, self.normalize, ties=True)
        return data.groups, spacing(self.tolerance), self.normalize


class RaoKupperLoss(_TiedPairs, rankings="rao-kupper"):
    """Rao-Kupper pairs with ties; the learned parameter is α, θ = 1 + e^α.

    Examples
    --------
    With all scores equal and θ = 2, a preference has probability 1/3 and a tie 1/3 too:

    >>> v = RaoKupperLoss().value_and_gradient([0.0, 0.0, 0.0], [1, 0, 0], [0, 3])
    >>> round(v.value, 6), round(float(np.log(3)), 6)
    (1.098612, 1.098612)
    """

    kernel = rao_kupper
    on_pairs = rao_kupper_on_pairs


class DavidsonLoss(_TiedPairs, rankings="davidson"):
    """Davidson pairs with ties; the learned parameter is β, ν = e^β.

    Examples
    --------
    With all scores equal and ν = 1, better, worse and tied are equally likely:

    >>> v = DavidsonLoss().value_and_gradient([0.0, 0.0, 0.0], [1, 0, 0], [0, 3])
    >>> round(v.value, 6), round(float(np.log(3)), 6)
    (1.098612, 1.098612)
    """

    kernel = davidson
    on_pairs = davidson_on_pairs
