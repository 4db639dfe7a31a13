"""XE-NDCG: cross entropy between a random distribution that favors high gains and the softmax of the scores.

    L = −Σ_i φ_i log softmax(s)_i,        φ_i = (2^{y_i} − γ_i) / Σ_j (2^{y_j} − γ_j),        γ_i uniform on [0, 1)

    ∂L/∂s = softmax(s) − φ

γ is drawn anew for each epoch or tree. Its expectation bounds the mean of −log NDCG from above.

Bruch, "An alternative cross entropy loss for learning-to-rank", WWW 2021. LightGBM has it as ``rank_xendcg``.
"""

from operator import attrgetter
from typing import Any

import numpy as np

from podium.losses.base import Array, Derivatives, Kernel, LabeledLists, Loss, OneList, njit, own
from podium.losses.listnet import add_softmax, listnet
from podium.numerics.elementary import FAST
from podium.numerics.pool import share
from podium.numerics.random import uniform_at

__all__ = ["XENDCGLoss"]


class XENDCGLoss(Loss, convex=True, has_curvature=True, guarded=False, rankings="plackett-luce", ns_per_document=1.5):
    """Cross entropy between random shares of the gains and the softmax of the scores.

    Grades below 0 count as 0. A single document contributes 0. Equal grades are an opinion: that scores should be
    equal, too, on average over the draws.

    Parameters
    ----------
    newton : bool
        Give, instead of the gradient, what LightGBM gives its trees: the gradient after two rounds of corrections for
        the part of the Hessian that is not on its diagonal, so that divided by the diagonal it is about a Newton step.
        There is no function whose gradient this is.
    random_state : int
        Seed of the draws, which go by the query's number.

    Examples
    --------
    >>> loss = XENDCGLoss().value_and_gradient([0.5, 0.0, -1.0], labels=[1, 2, 0], offsets=[0, 3])
    >>> round(loss.value, 4)
    1.0689
    >>> loss.d_scores.round(3).tolist()
    [0.235, -0.236, 0.001]
    """

    newton: bool = False
    random_state: int = 0

    @property
    def is_random(self) -> bool:
        return True

    @property
    def _plain(self) -> bool:
        return not self.newton

    def choose_kernel(self) -> Kernel:
        return xendcg_newton if self.newton else listnet

    def prepare(self, data: LabeledLists) -> tuple[Any, ...]:
        return self.prepare_epoch((np.empty(len(data.labels)), data.gains), data, epoch=0)

    def prepare_epoch(self, prepared: tuple[Any, ...], data: LabeledLists, epoch: int) -> tuple[Any, ...]:
        # In place: new memory for every tree would cost more than the draws.
        target, gains = prepared
        streams = data.streams(self.random_state, epoch)
        share(_draw_targets, data.offsets, gains, data.offsets, streams, target, work=2.0 * len(gains))
        return prepared


# What is corrected for the Hessian is no gradient, and takes all the digits of small shares.
for _fact in ("has_gradient", "exact_curvature", "keeps_float32"):
    _doc = f"The fact ``{_fact}``: true without corrections."
    setattr(XENDCGLoss, _fact, property(attrgetter("_plain"), doc=_doc))


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def _draw_targets(first: int, stop: int, gains: Array, offsets: Array, streams: Array, target: Array) -> None:
    """Write φ of the queries ``first:stop``."""
    for q in range(first, stop):
        g, phi = gains[offsets[q] : offsets[q + 1]], target[offsets[q] : offsets[q + 1]]
        for i in range(len(g)):
            phi[i] = g[i] + (1.0 - uniform_at(streams[q], i))
        total = 0.0
        for i in range(len(g)):
            total += phi[i]
        inverse = 1.0 / total
        for i in range(len(g)):
            phi[i] *= inverse


@njit(fastmath=FAST, error_model="numpy")
def xendcg_newton(given: OneList, prepared: Any, out: Derivatives) -> float:
    """Solve for a Newton step by Jacobi's method, two rounds, and return it times the Hessian's diagonal.

    With ρ = softmax(s), the Hessian is diag(ρ) − ρρᵀ: a step d has ρ_i (1 − ρ_i) d_i = g_i + ρ_i Σ_{j≠i} ρ_j d_j.
    """
    scores, target, n = given.scores, own(prepared[0], given), len(given.scores)
    rho, others, pull, result = np.zeros(n), np.empty(n), np.empty(n), np.empty(n)
    value = add_softmax(scores, 1.0, rho)
    best = np.argmax(rho)
    for i in range(n):  # a sum apart from what is written, see listnet
        value -= target[i] * scores[i]
    for i in range(n):
        others[i] = 1.0 - rho[i]
    others[best] = rho[:best].sum() + rho[best + 1 :].sum()  # one minus a number next to one would be noise
    for i in range(n):
        result[i] = rho[i] - target[i]
        pull[i] = result[i]
    for _ in range(2 if n > 1 else 0):
        for i in range(n):
            pull[i] /= others[i]
        total = pull.sum()
        for i in range(n):
            pull[i] = rho[i] * (total - pull[i])
            result[i] += pull[i]
    for i in range(n):
        out.gradient[i] = result[i]
    for i in range(len(out.curvature)):
        out.curvature[i] = rho[i] * others[i]
    return value


XENDCGLoss.kernel = listnet
