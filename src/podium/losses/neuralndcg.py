"""NeuralNDCG: NDCG of a ranking that is a doubly stochastic matrix.

NeuralSort relaxes the permutation that sorts the scores: row k of P, k = 1 the best place, says which documents are
there,

    P_k = softmax(((n + 1 − 2k) s − B) / τ),        B_j = Σ_l |s_j − s_l|

and Sinkhorn's scaling makes the columns add up to 1 as well, P̂ = diag(a) P diag(b). In vectors, a round is

    b = 1 / (Pᵀ a),   a = 1 / (P b)          from a = 1 on, until the columns of P̂ add up to 1 ± 1e-6, 50 rounds at most

    L = −(1/N) Σ_k (P̂ G)_k / log2(1 + k),        G = 2^y − 1, N the ideal DCG.

Backwards, each round is undone in its turn: with ā and b̄ the derivatives with respect to a and b,

    v̄ = −ā a²,   b̄ += Pᵀ v̄,   P̄ += v̄ bᵀ          ū = −b̄ b²,   ā = P ū,   P̄ += a ūᵀ     (a from the round before).

The matrix P̄ = Σ x yᵀ of derivatives with respect to P is never formed. What is needed of it, with the softmax
undone, are for each column j the sums over k of P_kj (P̄_kj − q_k), q_k = Σ_l P_kl P̄_kl, plain and weighted by
w_k = n + 1 − 2k: sums of y (Pᵀ x), of y (Pᵀ w x), and for q of x (P y).

Grover, Wang, Zweig and Ermon, "Stochastic optimization of sorting networks via continuous relaxations", ICLR 2019;
Pobrotyn and Białobrzeski, "NeuralNDCG: direct optimisation of a ranking metric via differentiable relaxation of
sorting", 2021.
"""

from typing import Any

import numpy as np

from podium.core.parameters import number
from podium.losses.approxndcg import shares_of_ideal
from podium.losses.base import Array, Derivatives, LabeledLists, Loss, OneList, njit, own
from podium.numerics.elementary import FAST, exp
from podium.numerics.sorting import descending

__all__ = ["NeuralNDCGLoss"]

LONGEST = 4096
"""Documents of a list, at most: its matrix then takes 128 MB per thread."""
ROUNDS = 50
TOLERANCE = 1e-6


class NeuralNDCGLoss(Loss, visits_pairs=True):
    """Minus NDCG, the ranking being NeuralSort's matrix, scaled to be doubly stochastic.

    A single document, equal labels throughout, and a list without gain contribute 0; grades below 0 are worth nothing.
    Equal scores share their places. Distances of scores have slope 0 where these are equal; all else is differentiated
    exactly, through all of Sinkhorn's rounds.

    A list of n documents takes a matrix of n² numbers while it is evaluated, and up to 50 times 4 products of
    it with vectors. Lists of more than 4,096 documents are refused.

    Parameters
    ----------
    temperature : float
        Softness τ of NeuralSort: small values come close to NDCG itself, which is flat nearly everywhere; large ones
        are smooth and far from it.

    Examples
    --------
    >>> loss = NeuralNDCGLoss().value_and_gradient([0.5, 0.0, -1.0], labels=[1, 2, 0], offsets=[0, 3])
    >>> round(loss.value, 4)
    -0.8401
    >>> loss.d_scores.round(4).tolist()
    [0.053, -0.0895, 0.0365]
    """

    cost = "n² × Sinkhorn's rounds (up to 50), memory n²"
    temperature: float = number(1.0, above=0)

    def prepare(self, data: LabeledLists) -> tuple[Any, ...]:
        if data.longest > LONGEST:
            q = int(np.argmax(data.sizes))
            raise ValueError(
                f"query number {data.query_numbers[q]} has {data.sizes[q]} documents; NeuralNDCG takes lists of at "
                f"most {LONGEST}, since it needs a matrix of documents × documents. ApproxNDCGLoss takes longer ones"
            )
        discounts = 1.0 / np.log2(2.0 + np.arange(data.longest))
        return shares_of_ideal(data), discounts, float(self.temperature)


@njit(error_model="numpy")
def neuralndcg(given: OneList, prepared: Any, out: Derivatives) -> float:
    all_shares, all_discounts, temperature = prepared
    n = len(given.scores)
    shares, discounts = own(all_shares, given), all_discounts[:n]
    out.gradient[:] = 0.0
    total = 0.0
    for i in range(n):
        total += shares[i]
    if total == 0.0:
        return 0.0
    order = np.empty(n, np.uint32)
    descending(given.scores, order)
    s, gains = np.empty(n), np.empty(n)
    for r in range(n):
        s[r] = float(given.scores[order[r]]) - float(given.scores[order[0]])
        gains[r] = shares[order[r]]
    P = _neural_sort(s, temperature)
    a, b = np.empty((ROUNDS + 1, n)), np.empty((ROUNDS + 1, n))
    n_rounds = _sinkhorn(P, a, b)
    plain, weighted = np.zeros(n), np.zeros(n)
    value = _back_through_sinkhorn(P, a, b, n_rounds, gains, discounts, plain, weighted)
    slopes = _back_through_distances(s, plain)
    for r in range(n):
        out.gradient[order[r]] = (weighted[r] + slopes[r]) / temperature
    return value


@njit(fastmath=FAST, error_model="numpy")
def _neural_sort(s: Array, temperature: float) -> Array:
    """Return (places, documents) the softmax of each place; ``s`` descends, so the k-th document leads row k."""
    n = len(s)
    P, distances = np.empty((n, n)), np.empty(n)
    total = s.sum()
    above = 0.0  # the sum of the scores above
    for j in range(n):
        distances[j] = (above - j * s[j]) + ((n - j) * s[j] - (total - above))
        above += s[j]
    for k in range(n):
        row, w = P[k], float(n - 1 - 2 * k)
        highest, total = w * s[k] - distances[k], 0.0
        for j in range(n):
            row[j] = exp((w * s[j] - distances[j] - highest) / temperature)
        for j in range(n):  # a sum in the loop above, which writes, would depend on places in memory
            total += row[j]
        total = 1.0 / total
        for j in range(n):
            row[j] *= total
    return P


@njit(fastmath=FAST, error_model="numpy")
def _sinkhorn(P: Array, a: Array, b: Array) -> int:
    """Write the scaling vectors of each round; return the number of rounds."""
    n = len(P)
    columns = np.empty(n)
    a[0] = 1.0
    _columns(P, a[0], columns)
    for t in range(1, ROUNDS + 1):
        for j in range(n):
            b[t, j] = 1.0 / columns[j]
        for k in range(n):
            a[t, k] = 1.0 / _dot(P[k], b[t])
        _columns(P, a[t], columns)
        error = 0.0
        for j in range(n):
            error = max(error, abs(b[t, j] * columns[j] - 1.0))
        if error < TOLERANCE:
            return t
    return ROUNDS


@njit(fastmath=FAST, error_model="numpy")
def _dot(x: Array, y: Array) -> float:
    total = 0.0
    for j in range(len(x)):
        total += x[j] * y[j]
    return total


@njit(fastmath=FAST, error_model="numpy")
def _columns(P: Array, x: Array, result: Array) -> None:
    """Write Pᵀ x."""
    result[:] = 0.0
    for k in range(len(P)):
        row, factor = P[k], x[k]
        for j in range(len(row)):
            result[j] += factor * row[j]


@njit(fastmath=FAST, error_model="numpy")
def _back_through_sinkhorn(
    P: Array, a: Array, b: Array, n_rounds: int, gains: Array, discounts: Array, plain: Array, weighted: Array
) -> float:
    """Return the loss; write Σ_k z̄_kj and Σ_k w_k z̄_kj, z̄ being its derivatives with respect to the softmax's input."""
    n = len(P)
    q, d_a, d_b, x, y = np.zeros(n), np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    value = 0.0
    # L = −Σ_k d_k a_k Σ_j P_kj b_j G_j: x = −d a and y = b G.
    for k in range(n):
        x[k] = -discounts[k] * a[n_rounds, k]
        y[k] = b[n_rounds, k] * gains[k]
    for k in range(n):
        inner = _dot(P[k], y)
        value += x[k] * inner
        d_a[k] = -discounts[k] * inner
        q[k] += x[k] * inner
    _add_columns(P, x, y, d_b, plain, weighted)
    for j in range(n):
        d_b[j] *= gains[j]
    for t in range(n_rounds, 0, -1):
        for k in range(n):
            x[k] = -d_a[k] * a[t, k] * a[t, k]
            q[k] += x[k] / a[t, k]  # P b = 1 / a
        back = y  # its content is not needed any more
        _add_columns(P, x, b[t], back, plain, weighted)
        for j in range(n):
            y[j] = -(d_b[j] + back[j]) * b[t, j] * b[t, j]
        for k in range(n):
            d_a[k] = _dot(P[k], y)
            q[k] += a[t - 1, k] * d_a[k]
        _add_columns(P, a[t - 1], y, d_b, plain, weighted)
        d_b[:] = 0.0
    for k in range(n):
        x[k] = -q[k]
    y[:] = 1.0
    _add_columns(P, x, y, d_b, plain, weighted)
    return value


@njit(fastmath=FAST, error_model="numpy")
def _add_columns(P: Array, x: Array, y: Array, product: Array, plain: Array, weighted: Array) -> None:
    """Write Pᵀ x; add y (Pᵀ x) and y (Pᵀ w x) to the sums over columns."""
    n = len(P)
    with_place = np.zeros(n)
    product[:] = 0.0
    for k in range(n):
        row, factor = P[k], x[k]
        shifted = factor * float(n - 1 - 2 * k)
        for j in range(n):
            product[j] += factor * row[j]
            with_place[j] += shifted * row[j]
    for j in range(n):
        plain[j] += y[j] * product[j]
        weighted[j] += y[j] * with_place[j]


@njit(error_model="numpy")
def _back_through_distances(s: Array, plain: Array) -> Array:
    """Return Σ_l (B̄_j + B̄_l) sign(s_j − s_l) with B̄ = −plain; ``s`` descends."""
    n = len(s)
    slopes, total = np.empty(n), plain.sum()
    above, first = 0.0, 0
    while first < n:
        stop, tied = first, 0.0
        while stop < n and s[stop] == s[first]:
            tied += plain[stop]
            stop += 1
        below = total - above - tied
        for j in range(first, stop):
            slopes[j] = (first * plain[j] + above) - ((n - stop) * plain[j] + below)
        above += tied
        first = stop
    return slopes


NeuralNDCGLoss.kernel = neuralndcg
