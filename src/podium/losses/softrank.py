"""SoftRank: the expected NDCG when scores are uncertain.

Every score is the mean of a Gaussian, N(s_j, σ²), which makes the place of document j a random number with a smooth
distribution p_j (:mod:`podium.numerics.ranks.distributions`):

    SoftNDCG = Σ_j gain(y_j) Σ_r discount(r) p_j(r) / ideal,        the loss is 1 − SoftNDCG.

p_j depends on the scores through π_ij = Φ((s_i − s_j) / (√2 σ)), the chance that i beats j, with
∂π_ij/∂s_i = −∂π_ij/∂s_j = φ((s_i − s_j) / (√2 σ)) / (√2 σ). Documents without gain have no p_j to compute.

Taylor, Guiver, Robertson & Minka, "SoftRank: optimizing non-smooth rank metrics", WSDM 2008.
"""

import math
from typing import Any

import numpy as np

from podium.core.parameters import choice, number, require_choice, require_number
from podium.losses.base import Array, Derivatives, LabeledLists, Loss, OneList, njit, own
from podium.losses.boltzrank import worth_at_least_nothing
from podium.metrics import Metric, metric
from podium.metrics.gains import LN2, gain, log_discounts
from podium.numerics.ranks import distributions

__all__ = ["SoftRankLoss"]


class SoftRankLoss(Loss, visits_pairs=True, rankings="normal-scores", cost="n³ (n² for the normal approximation)"):
    """1 − SoftNDCG.

    A single document, equal labels throughout, and a list without gain contribute 0.

    Parameters
    ----------
    approximation : "binomial" or "normal"
        Distribution of a document's rank. A list of n documents of which r have gain costs r n² steps (r n k for
        NDCG@k), or r n.
    sigma : float
        How uncertain scores are, σ; with ``learn_sigma``, where learning starts. Small values come close to NDCG
        itself, which is flat nearly everywhere; large ones are smooth and far from it.
    learn_sigma : bool
        Learn log σ along with the scorer: the loss's one parameter.
    metric : str or Metric
        ``"ndcg"`` or ``"ndcg@k"``; gains and discounts are those of its convention. Grades below 0 are worth nothing.

    Examples
    --------
    >>> loss = SoftRankLoss("binomial").value_and_gradient([0.5, 0.0, -1.0], [1, 2, 0], [0, 3])
    >>> round(loss.value, 4)
    0.184
    >>> loss.d_scores.round(4).tolist()
    [0.0314, -0.0833, 0.0519]
    """

    approximation: str = choice(*distributions.APPROXIMATIONS)
    sigma: float = number(1.0, above=0)
    learn_sigma: bool = False
    metric: str | Metric = "ndcg"

    def initial_parameters(self) -> Array:
        require_number("sigma", self.sigma, above=0)
        return np.array([math.log(self.sigma)]) if self.learn_sigma else np.empty(0)

    def sigma_at(self, parameters: Array) -> float:
        """Return σ at these values of the loss's own parameters."""
        return math.exp(parameters[0]) if len(parameters) else float(self.sigma)

    def prepare(self, data: LabeledLists) -> tuple[Any, ...]:
        labels, offsets = data.labels, data.offsets
        soft = metric(self.metric)
        if soft.family != "ndcg":
            raise ValueError(f"SoftRank is a soft NDCG; got metric={self.metric!r}. BoltzRankLoss takes any metric")
        worth_at_least_nothing(soft).per_query(labels, labels, offsets)  # raises, saying so, where 2^label is too large
        discounts = _discounts(data.longest, soft)
        shares = _shares(labels, offsets, data.groups.order, soft.rules.gain == "linear", discounts)
        return shares, discounts, distributions.APPROXIMATIONS.index(self.approximation), float(self.sigma)


def rank_distribution(scores: Any, offsets: Any, sigma: float, approximation: str = "binomial") -> Array:
    """Return (n_documents, longest list) the chance of each rank 1, 2, … of each document, scores being N(s, σ²).

    Examples
    --------
    Two documents, one standard deviation (of their difference) apart:

    >>> rank_distribution([np.sqrt(2), 0.0], [0, 2], sigma=1.0).round(4).tolist()
    [[0.8413, 0.1587], [0.1587, 0.8413]]
    """
    require_choice("approximation", approximation, distributions.APPROXIMATIONS)
    require_number("sigma", sigma, above=0)
    scores, offsets = np.array(scores, dtype=np.float64), np.array(offsets, dtype=np.int64)
    result = np.empty((len(scores), int(np.diff(offsets).max(initial=0))))
    distributions.rank_distributions(
        scores, offsets, float(sigma), distributions.APPROXIMATIONS.index(approximation), result
    )
    return result


def _discounts(longest: int, soft: Metric) -> Array:
    """Return (longest,) what a document's gain counts at rank 1, 2, …; nothing after the cutoff."""
    logs, n_full = log_discounts(longest, soft.rules.discount == "letor")
    discounts = np.ones(longest)
    discounts[n_full:] = LN2 / logs[n_full:]
    discounts[longest if soft.cutoff is None else soft.cutoff :] = 0.0
    return discounts


@njit(cache=True, error_model="numpy")
def _shares(labels: Array, offsets: Array, order: Array, linear: bool, discounts: Array) -> Array:
    """Return (n_documents,) gain / ideal of each document; 0 throughout a query whose labels say nothing."""
    shares = np.zeros(len(labels))
    for q in range(len(offsets) - 1):
        y, o = labels[offsets[q] : offsets[q + 1]], order[offsets[q] : offsets[q + 1]]
        ideal = 0.0
        for r in range(len(y)):
            ideal += gain(y[o[r]], linear) * discounts[r]
        if ideal > 0.0 and y[o[0]] > y[o[-1]]:
            for i in range(len(y)):
                shares[offsets[q] + i] = gain(y[i], linear) / ideal
    return shares


@njit(error_model="numpy")
def softrank(given: OneList, prepared: Any, out: Derivatives) -> float:
    parameters = given.parameters
    all_shares, discounts, approximation, sigma = prepared
    n = len(given.scores)
    s, shares, discounts = given.scores.astype(np.float64), own(all_shares, given), discounts[:n]
    inverse_scale = 1.0 / (math.sqrt(2.0) * (math.exp(parameters[0]) if len(parameters) > 0 else sigma))
    result, d_log_sigma = np.zeros(n), 0.0
    rivals, z, chance, slope = np.empty(n, np.int64), np.empty(n), np.empty(n), np.empty(n)
    value, says_something = 0.0, False
    for j in range(n):
        if shares[j] == 0.0:
            continue
        says_something = True
        k, n_above = distributions.contests(s, j, inverse_scale, rivals, z, chance)
        if approximation == distributions.BINOMIAL:
            value -= shares[j] * distributions.expected_binomial(chance[:k], n_above, discounts, slope[:k])
        else:
            value -= shares[j] * distributions.expected_normal(chance[:k], n_above, discounts, slope[:k])
        for a in range(k):
            change = shares[j] * slope[a] * distributions.normal_density(z[a])
            result[rivals[a]] -= change * inverse_scale
            result[j] += change * inverse_scale
            d_log_sigma += change * z[a]
    out.gradient[:] = result
    out.d_parameters[:] = d_log_sigma
    return value + 1.0 if says_something else value


SoftRankLoss.kernel = softrank
