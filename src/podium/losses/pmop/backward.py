"""Ordered partitions by elimination: the worst group is chosen first, then the second worst, and so on.

The backward factorization of the paper's discussion, Π_k p(X_k | X_{k+1}, …, X_K). A group is eliminated with a
probability proportional to the potential of its negated scores, so this is the forward model of the turned list: scores
and grades negated.
"""

from functools import cache

from podium.numerics.compiling import Kernel, njit, specialize, unbound
from podium.numerics.kernels import Derivatives, OneList

kernel: Kernel = unbound


def _turned(given: OneList, prepared: object, out: Derivatives) -> float:
    value = kernel(OneList(-given.scores, given.query, given.start, given.parameters), prepared, out)
    for i in range(len(out.gradient)):
        out.gradient[i] = -out.gradient[i]
    return value


@cache
def backward(forward: Kernel) -> Kernel:
    """Return the kernel of the turned list, whose labels are prepared negated."""
    return njit(error_model="numpy")(specialize(_turned, forward, "backward"))
