"""ListNet: cross entropy between the distributions that labels and scores give over who comes first.

    P_y = softmax(t(y) / T)        P_s = softmax(s)        L = −Σ_j P_y(j) log P_s(j)        ∂L/∂s = P_s − P_y

With k > 1 the distributions are over the first k places: draw a document, take it away, draw the next from what is
left, P(i, j, …) = P(i) P(j | i removed) ….

Cao, Qin, Liu, Tsai and Li, "Learning to rank: from pairwise approach to listwise approach", ICML 2007.
"""

import math
from operator import attrgetter
from typing import Any

import numpy as np

from podium.core.parameters import choice, count, number
from podium.losses.base import Derivatives, Kernel, LabeledLists, Loss, OneList, njit, own
from podium.losses.listnet_divergences import DIVERGENCES, PHIS, listnet_divergence, log_phis
from podium.losses.listnet_prefixes import cross_entropy, listnet_prefixes, prepare_prefixes
from podium.numerics.elementary import FAST, all_finite, exp, largest, log
from podium.numerics.pool import share

__all__ = ["ListNetLoss"]

LONG = 4096
"""Lists beyond this length are added up in float64: float32 sums of so many terms would lose digits."""
SILENT = -1.0
"""Where the first share of a list should be: the list says nothing."""


class ListNetLoss(Loss, cost="n (n² for k = 3)"):
    """Cross entropy of the first k places under the labels' and the scores' Plackett-Luce distributions.

    A query's value is the whole cross entropy, whose minimum is the entropy of the labels' distribution, not 0. Equal
    labels are an opinion, too: the target is then uniform. A single document contributes 0.

    Parameters
    ----------
    k : int
        Places compared; for k of at least the list's length, whole permutations. The cost is n, n and n² for k = 1, 2
        and 3 (the paper's formula takes n, n² and n³ steps), and n × the number of sets of fewer than k documents
        beyond, exact for lists with up to 4,096 of these (k = 4: 28 documents; all places: 12). Of longer lists
        ``n_samples`` prefixes are drawn.
    transform : "identity" or "exp2"
        What t is: the grade itself, as in the paper, or the gain 2^y − 1.
    temperature : float
        Large values of T > 0 flatten the target, small ones put it all on the best grade.
    phi : {"exp", "softplus", "sigmoid"}
        What turns labels and scores into weights of the draw, for k = 1: any increasing and positive function will do.
        ``"exp"`` is the paper's; ``"softplus"``, log(1 + e^s), grows like the score itself.
    divergence : {"cross-entropy", "reverse-kl", "squared", "hellinger", "jensen-shannon"}
        What is measured between the two distributions, for k = 1: the paper's cross entropy; KL(P_s ‖ P_y); the
        squared distance; the squared Hellinger distance 1 − Σ √(P_y P_s); the Jensen-Shannon divergence. The last
        three are bounded, so that no list can dominate, and only cross entropy is convex.
    n_samples : int
        Prefixes drawn by the labels' distribution where there are too many sets. The value has the standard error
        σ/√n_samples, σ being the deviation of a prefix's own cross entropy; its minimum is where it should be.
    random_state : int
        Seed of the prefixes, which are drawn once per fit.

    Examples
    --------
    >>> loss = ListNetLoss().value_and_gradient([0.5, 0.0, -1.0], labels=[1, 2, 0], offsets=[0, 3])
    >>> round(loss.value, 4)
    1.0718
    >>> loss.d_scores.round(3).tolist()
    [0.302, -0.334, 0.032]
    """

    ns_per_document = 1.5
    k: int = count(1)
    transform: str = choice("identity", "exp2")
    temperature: float = number(1.0, above=0)
    n_samples: int = count(200)
    random_state: int = 0
    phi: str = choice(*PHIS)
    divergence: str = choice(*DIVERGENCES)

    @property
    def visits_pairs(self) -> bool:  # type: ignore[override]
        """More than two places take pairs."""
        return self.k > 2

    @property
    def _of_paper(self) -> bool:
        """Whether φ and divergence are the paper's, for which there are kernels of their own."""
        return self.phi == "exp" and self.divergence == "cross-entropy"

    @property
    def shift_invariant(self) -> bool:  # type: ignore[override]
        """A softmax does not change when a constant is added to all scores; other φ do."""
        return self.phi == "exp"

    @property
    def rankings(self) -> str | None:  # type: ignore[override]
        """With a softmax, the scores are those of a Plackett-Luce model."""
        return "plackett-luce" if self.phi == "exp" else None

    @property
    def guarded(self) -> bool:  # type: ignore[override]
        """The kernels of the paper's loss make the value NaN by themselves."""
        return not self._of_paper

    def prepare(self, data: LabeledLists) -> tuple[Any, ...]:
        labels = data.labels
        with np.errstate(over="ignore"):
            logits = (labels if self.transform == "identity" else np.exp2(labels) - 1.0) / self.temperature
        if not np.isfinite(logits).all():
            raise ValueError(
                f"the label {labels[~np.isfinite(logits)][0]} is too large for transform={self.transform!r}"
            )
        if not self._of_paper:
            if self.k != 1:
                raise ValueError(f"phi and divergence other than the paper's are for k=1; got k={self.k}")
            phi = PHIS.index(self.phi)
            target = _softmax(log_phis(logits, phi), data.offsets)
            return target, phi, DIVERGENCES.index(self.divergence)
        if self.k == 1:
            return (_softmax(logits, data.offsets),)
        if self.k > 3:
            streams = data.streams(self.random_state)
            return prepare_prefixes(logits, data.offsets, self.k, self.n_samples, streams)
        target = np.zeros(len(logits))
        work = float((data.sizes.astype(float) ** 2).sum() if self.k == 3 else 50.0 * len(logits))
        share(_fill_targets, data.offsets, logits, data.offsets, self.k, target, work=work)
        return target, logits, self.k

    def choose_kernel(self) -> Kernel:
        if not self._of_paper:
            return listnet_divergence
        return listnet if self.k == 1 else listnet_top_k if self.k <= 3 else listnet_prefixes


# Only cross entropy of softmax distributions is convex, has a second derivative and a kernel for float32.
for _fact in ("convex", "has_curvature", "keeps_float32"):
    _doc = f"The fact ``{_fact}``: true of the paper's φ and divergence."
    setattr(ListNetLoss, _fact, property(attrgetter("_of_paper"), doc=_doc))


def _softmax(logits: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Return the softmax within each query, (n_documents,)."""
    sizes = np.diff(offsets)
    starts, sizes = offsets[:-1][sizes > 0], sizes[sizes > 0]
    if len(starts) == 0:
        return logits
    e = np.exp(logits - np.repeat(np.maximum.reduceat(logits, starts), sizes))
    return e / np.repeat(np.add.reduceat(e, starts), sizes)


@njit(fastmath=FAST, error_model="numpy")
def listnet(given: OneList, prepared: Any, out: Derivatives) -> float:
    """Compare the first place, k = 1. A target that begins with ``SILENT`` is that of a list to pass over."""
    scores, gradient, curvature = given.scores, out.gradient, out.curvature
    number = gradient.dtype.type  # keeps float32 loops free of float64, which would halve their speed
    n, target, top = len(scores), own(prepared[0], given), largest(scores)
    if target[0] == SILENT:
        gradient[:] = 0
        curvature[:] = 0
        return 0.0 if all_finite(scores) else np.nan
    # Sums are in loops that write nothing: a loop that writes is compiled twice, for arrays that may overlap and for
    # others, so that the order of a sum in it would depend on places in memory.
    for i in range(n):
        gradient[i] = exp(scores[i] - top)
    total, agreement = number(0), number(0)
    if n <= LONG:
        for i in range(n):
            total += gradient[i]
        for i in range(n):
            agreement += number(target[i]) * (scores[i] - top)
    sum_of_exp = float(total) if n <= LONG else _sum(gradient)
    inverse = number(1.0 / sum_of_exp)
    for i in range(len(curvature)):
        p = gradient[i] * inverse
        curvature[i] = p * (number(1) - p)
    for i in range(n):
        gradient[i] = gradient[i] * inverse - number(target[i])
    return math.log(sum_of_exp) - (float(agreement) if n <= LONG else _dot(target, scores, top))


@njit(fastmath=FAST, error_model="numpy")
def _sum(x: np.ndarray) -> float:
    total = 0.0
    for i in range(len(x)):
        total += x[i]
    return total


@njit(fastmath=FAST, error_model="numpy")
def _dot(target: np.ndarray, scores: np.ndarray, top: float) -> float:
    total = 0.0
    for i in range(len(scores)):
        total += target[i] * (scores[i] - top)
    return total


@njit(error_model="numpy")
def listnet_top_k(given: OneList, prepared: Any, out: Derivatives) -> float:
    """Compare the first k places.

    With F from :func:`_log_sums`, the cross entropy is F(s) − ⟨∇F(logits), s⟩: ∇F(logits) is the target.
    """
    n, k = len(given.scores), prepared[2]
    target, logits = own(prepared[0], given), own(prepared[1], given)
    x, drawn = given.scores.astype(np.float64), np.zeros(n)
    return cross_entropy(_log_sums(x, logits, k, drawn), x, target, drawn, k, out)


@njit(error_model="numpy")
def _log_sums(x: np.ndarray, logits: np.ndarray, k: int, gradient: np.ndarray) -> float:
    """Return F(x) = E[Σ_{m<k} log Σ_{j not among the first m} exp(x_j)], documents drawn by ``logits``; add ∇F.

    ∇F is how often (0 … k times) each document is expected to be drawn by x, after prefixes drawn by the logits.
    """
    n = len(x)
    value = add_softmax(x, 1.0, gradient)
    if k == 1 or n == 1:
        return value
    first = np.zeros(n)
    add_softmax(logits, 1.0, first)
    value += _log_sum_without_one(x, first, 1.0, gradient)
    if k == 2 or n == 2:
        return value
    shorter, second, drawn = np.empty(n - 1), np.empty(n - 1), np.empty(n - 1)
    for i in range(n):
        _copy_without(logits, i, shorter)
        second[:] = 0.0
        add_softmax(shorter, 1.0, second)
        _copy_without(x, i, shorter)
        drawn[:] = 0.0
        value += first[i] * _log_sum_without_one(shorter, second, first[i], drawn)
        _add_without(drawn, i, gradient)
    return value


@njit(fastmath=FAST, error_model="numpy")
def _log_sum_without_one(x: np.ndarray, weights: np.ndarray, scale: float, result: np.ndarray) -> float:
    """Return Σ_i w_i log Σ_{j≠i} exp(x_j), two documents or more; add ``scale`` times its gradient to ``result``.

    Linear time: removing i turns p_j into p_j / (1 − p_i). Only the largest entry can have p near 1, so its removal is
    computed afresh.
    """
    n = len(x)
    best = 0
    for i in range(n):
        best = i if x[i] > x[best] else best
    p, u = np.zeros(n), np.empty(n)
    log_sum = add_softmax(x, 1.0, p)
    p_best, p[best] = p[best], 0.0
    value, total = -weights[best] * log_sum, -weights[best]  # so that the best's own terms cancel
    for i in range(n):
        u[i] = weights[i] / (1.0 - p[i])
        total += u[i]
        value += weights[i] * (log_sum + log(1.0 - p[i]))
    for j in range(n):
        result[j] += scale * p[j] * (total - u[j])
    result[best] += scale * p_best * total
    others, without_best = np.empty(n - 1), np.zeros(n - 1)
    _copy_without(x, best, others)
    value += weights[best] * add_softmax(others, scale * weights[best], without_best)
    _add_without(without_best, best, result)
    return value


@njit(fastmath=FAST, error_model="numpy")
def add_softmax(x: np.ndarray, scale: float, result: np.ndarray) -> float:
    """Return log Σ exp(x); add ``scale`` times its gradient to ``result``."""
    top, total = largest(x), 0.0
    for i in range(len(x)):
        total += exp(x[i] - top)
    share = scale / total
    for i in range(len(x)):
        result[i] += share * exp(x[i] - top)
    return top + math.log(total)


@njit(error_model="numpy")
def _copy_without(x: np.ndarray, i: int, result: np.ndarray) -> None:
    for j in range(len(result)):
        result[j] = x[j + (j >= i)]


@njit(error_model="numpy")
def _add_without(x: np.ndarray, i: int, result: np.ndarray) -> None:
    for j in range(len(x)):
        result[j + (j >= i)] += x[j]


@njit(cache=True, nogil=True, error_model="numpy")
def _fill_targets(first: int, stop: int, logits: np.ndarray, offsets: np.ndarray, k: int, target: np.ndarray) -> None:
    """Write how often each document is expected to be among the first k, by its logit."""
    for q in range(first, stop):
        here = slice(offsets[q], offsets[q + 1])
        if len(logits[here]) > 0:
            _log_sums(logits[here], logits[here], k, target[here])


ListNetLoss.kernel = listnet
