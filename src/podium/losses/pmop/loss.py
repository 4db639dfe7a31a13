"""PMOP: probabilities of ordered partitions, in which documents of equal grade share a place.

Grades split a query's documents into X_1 ≻ X_2 ≻ … ≻ X_K, best first. Stage k picks the subset X_k out of what remains,
R_k = X_k ∪ … ∪ X_K, with probability proportional to its potential Φ among all subsets that could have been picked.
Here are the arithmetic potential, the mean of the documents' e^s ("full decomposition"), which takes linear time:

    log p(X_k | R_k) = log Σ_{X_k} e^s − log Σ_{R_k} e^s − log(C_k |X_k|),    C_k = (2^{N_k} − 1) / N_k,  N_k = |R_k|
    ∂ log p / ∂s_i   = e^{s_i} / Σ_{X_k(i)} e^s − Σ_{k ≤ k(i)} e^{s_i} / Σ_{R_k} e^s

and the geometric one, Φ(X) = exp(mean of s over X):

    −log p = Σ_k [ log Σ_{∅≠S⊆R_k} exp(mean_S s) − mean_{X_k} s ]

The sum over subsets, which the paper samples, is exact here (:mod:`podium.numerics.subsets.sums`): O(N³) for a stage
with N documents left. On two documents this model is Davidson's with ν = 1.

Truyen, Phung and Venkatesh, "Probabilistic models over ordered partitions with applications in document ranking and
collaborative filtering", SDM 2011.
"""

import math
from dataclasses import replace
from typing import Any

import numpy as np

from podium.core.parameters import choice, count, require_choice
from podium.losses.base import Array, Derivatives, Kernel, LabeledLists, Loss, OneList, njit
from podium.losses.pmop.backward import backward
from podium.losses.pmop.sampled import Chains, kernel_for_user_potential, pmop_sampled
from podium.numerics.elementary import FAST, SAFE_RANGE, exp, extent
from podium.numerics.grades import Groups, own_groups
from podium.numerics.subsets.sampling import ARITHMETIC, GEOMETRIC
from podium.numerics.subsets.sums import LONGEST, log_subset_sum

__all__ = ["PMOPLoss"]


class PMOPLoss(Loss, keeps_float32=True, sums_documents=True, rankings="partitions", looks=8, cost="n (geometric: n³)"):
    """Negative log-likelihood of the labels' ordered partition, ties and all.

    A query's value is the whole likelihood, constants included, so that it is a probability: over all ordered
    partitions of a list they add up to 1. A single document contributes 0. Without ties, the gradient under the
    arithmetic potential is that of :class:`~podium.losses.ListMLELoss`.

    The samplers' value is a contrast, not a likelihood, and changes with the chains: train them with stochastic steps.

    Parameters
    ----------
    potential : {"arithmetic", "geometric"} or a compiled function
        The potential Φ(X): the mean of e^s over X, or e to the mean of s over X. A function of one's own, compiled by
        ``numba.njit``, is described in ``podium.numerics.subsets.user_potentials``; it needs one of the samplers.
    method : {"exact", "gibbs", "mh"}
        How the sum over subsets is obtained: exactly (O(n) arithmetic; O(n³) geometric, lists of up to 1,000), or by
        contrastive divergence, with Gibbs or Metropolis-Hastings chains that start at the observed subsets.
    steps : int
        Of those chains: sweeps over the list (Gibbs) or proposals (Metropolis-Hastings).
    proposal_correction : bool
        Accept proposals with the ratio that makes the model stationary. False is the ratio printed in the paper.
    random_state : int
        Seed of the chains, which are drawn anew in each epoch.
    average : bool
        Average over the states after each of a chain's steps, as the paper does; False takes the last state only.
    factorization : {"forward", "backward"}
        Choose the best group first, then the second best, …; or eliminate the worst first, with the potential of the
        negated scores. Both are distributions over ordered partitions, but not the same.

    Examples
    --------
    >>> loss = PMOPLoss().value_and_gradient([0.5, 0.0, -1.0], labels=[1, 1, 0], offsets=[0, 3])
    >>> round(loss.value, 4)
    1.6705
    >>> loss.d_scores.round(3).tolist()
    [-0.076, -0.046, 0.122]
    """

    potential: Any = "arithmetic"
    method: str = choice("exact", "gibbs", "mh")
    steps: int = count(1)
    proposal_correction: bool = True
    random_state: int = 0
    average: bool = True
    factorization: str = choice("forward", "backward")

    @property
    def has_gradient(self) -> bool:  # type: ignore[override]
        """The exact likelihood has one; the samplers' steps are not the gradient of one function."""
        return self.method == "exact"

    @property
    def visits_pairs(self) -> bool:  # type: ignore[override]
        """The arithmetic potential is linear, and so are chains."""
        return self.potential != "arithmetic" and (self.method == "exact" or callable(self.potential))

    @property
    def has_curvature(self) -> bool:  # type: ignore[override]
        """The exact arithmetic likelihood has a second derivative."""
        return self.potential == "arithmetic" and self.method == "exact"

    def likelihood(self) -> Loss | None:
        return None if callable(self.potential) else PMOPLoss(self.potential, factorization=self.factorization)

    def choose_kernel(self) -> Kernel:
        return backward(self._forward_kernel()) if self.factorization == "backward" else self._forward_kernel()

    def _forward_kernel(self) -> Kernel:
        if callable(self.potential):
            return kernel_for_user_potential(self.potential)
        if self.method != "exact":
            return pmop_sampled
        return pmop if self.potential == "arithmetic" else pmop_geometric

    def prepare(self, data: LabeledLists) -> tuple[Any, ...]:
        self._check(data)
        if self.factorization == "backward":
            data = replace(data, labels=-data.labels)
        if self.method == "exact":
            return data.groups, _log_constants(data.groups)
        kind = GEOMETRIC if self.potential == "geometric" else ARITHMETIC
        streams = data.streams(self.random_state)
        return Chains(
            data.groups, streams, kind, self.method == "gibbs", self.proposal_correction, self.steps, self.average
        )

    def prepare_epoch(self, prepared: Any, data: LabeledLists, epoch: int) -> Any:
        if self.method == "exact":
            return prepared
        return prepared._replace(streams=data.streams(self.random_state, epoch))

    def _check(self, data: LabeledLists) -> None:
        if callable(self.potential):
            if self.method == "exact":
                raise ValueError('a potential of one\'s own has no known sum over subsets: use method="gibbs" or "mh"')
            return
        require_choice("potential", self.potential, ("arithmetic", "geometric"))
        if self.potential == "geometric" and self.method == "exact" and data.longest > LONGEST:
            raise ValueError(
                f"query number {data.sizes.argmax()} has {data.longest} documents; the exact geometric potential takes "
                f"lists of up to {LONGEST}: use potential 'arithmetic' (linear time), method 'gibbs', or shorter lists"
            )


@njit(cache=True, error_model="numpy")
def _log_constants(groups: Groups) -> Array:
    """Return (n_queries,) Σ_k log(C_k |X_k|); 2^N itself would overflow beyond a thousand documents."""
    constants = np.zeros(len(groups.first) - 1)
    for q in range(len(constants)):
        b = groups.bounds[groups.first[q] : groups.first[q + 1]]
        for k in range(len(b) - 1):
            remain = float(b[-1] - b[k])
            log_subsets = remain * math.log(2.0) + math.log1p(-(2.0**-remain))
            constants[q] += log_subsets - math.log(remain) + math.log(float(b[k + 1] - b[k]))
    return constants


@njit(error_model="numpy")
def pmop(given: OneList, prepared: Any, out: Derivatives) -> float:
    groups, constants = prepared
    order, bounds = own_groups(groups, given)
    low, high = extent(given.scores)
    if high - low <= SAFE_RANGE:
        return constants[given.query] + _plain(given.scores, order, bounds, high, out.gradient, out.curvature)
    return constants[given.query] + in_logarithms(given.scores, order, bounds, None, out.gradient, out.curvature)


@njit(fastmath=FAST, error_model="numpy")
def _plain(scores: Array, order: Array, bounds: Array, high: float, gradient: Array, curvature: Array) -> float:
    """Use sums of exponentials that cannot underflow; ``gradient`` holds these exponentials meanwhile."""
    n_stages = len(bounds) - 1
    for i in range(len(scores)):
        gradient[i] = exp(scores[i] - high)
    chosen = np.empty(n_stages)
    remain = np.empty(n_stages)
    total = 0.0
    for k in range(n_stages - 1, -1, -1):
        members = order[bounds[k] : bounds[k + 1]]
        chosen[k] = 0.0
        for i in range(len(members)):
            chosen[k] += gradient[members[i]]
        total += chosen[k]
        remain[k] = total
    value = 0.0
    inverse, inverse_squared = 0.0, 0.0
    for k in range(n_stages):
        value += math.log(remain[k] / chosen[k])
        inverse += 1.0 / remain[k]
        inverse_squared += 1.0 / (remain[k] * remain[k])
        members = order[bounds[k] : bounds[k + 1]]
        slope = scores.dtype.type(inverse - 1.0 / chosen[k])
        for i in range(len(members)):
            e = gradient[members[i]]
            gradient[members[i]] = e * slope
            if len(curvature) > 0:
                curvature[members[i]] = float(e) * inverse - float(e) * float(e) * inverse_squared
    return value


@njit(error_model="numpy")
def in_logarithms(
    scores: Array, order: Array, bounds: Array, weights: Array | None, gradient: Array, curvature: Array
) -> float:
    """Do the same with the logarithms of all sums, for scores that lie far apart; stages may have weights."""
    n_stages = len(bounds) - 1
    chosen = np.full(n_stages, -np.inf)
    remain = np.empty(n_stages)
    total = -np.inf
    value = 0.0
    for k in range(n_stages - 1, -1, -1):
        for i in order[bounds[k] : bounds[k + 1]]:
            chosen[k] = np.logaddexp(chosen[k], scores[i])
        total = np.logaddexp(total, chosen[k])
        remain[k] = total
        value += (1.0 if weights is None else weights[k]) * (remain[k] - chosen[k])
    inverse, inverse_squared = -np.inf, -np.inf
    for k in range(n_stages):
        weight = 1.0 if weights is None else weights[k]
        log_weight = 0.0 if weights is None else np.log(weight)
        inverse = np.logaddexp(inverse, log_weight - remain[k])
        inverse_squared = np.logaddexp(inverse_squared, log_weight - 2.0 * remain[k])
        for i in order[bounds[k] : bounds[k + 1]]:
            s = float(scores[i])
            gradient[i] = math.exp(s + inverse) - weight * math.exp(s - chosen[k])
            if len(curvature) > 0:
                curvature[i] = math.exp(s + inverse) - math.exp(2.0 * s + inverse_squared)
    return value


@njit(error_model="numpy")
def pmop_geometric(given: OneList, prepared: Any, out: Derivatives) -> float:
    scores, n = given.scores, len(given.scores)
    order, bounds = own_groups(prepared[0], given)
    by_grade, result = scores[order].astype(np.float64), np.zeros(n)
    derivative, membership = np.empty(n), np.empty(n)
    value = 0.0
    for k in range(len(bounds) - 1):
        first_left, size = bounds[k], bounds[k + 1] - bounds[k]
        left = by_grade[first_left:]
        value += log_subset_sum(left, derivative[first_left:], membership[first_left:])
        result[first_left:] += derivative[first_left:]
        for i in range(first_left, bounds[k + 1]):
            value -= by_grade[i] / size
            result[i] -= 1.0 / size
    out.gradient[order] = result
    return value
