"""The one loop over queries, shared by every loss.

A loss is a compiled function of a single query,

    one_query(scores, prepared, q, start, parameters, gradient, curvature, d_parameters) -> value

which reads the query's ``scores`` (n,), overwrites ``gradient`` (n,) and returns the loss. ``prepared`` is what the
loss computed from the labels when it was bound to its data: a flat tuple of arrays over all documents (slice them at
``start``), arrays over all queries (index them with ``q``), tables, and plain numbers (the loss's settings).
``curvature`` is (n,) where second derivatives are wanted, else empty. ``parameters`` and ``d_parameters`` are (p,): the
loss's own learned parameters and the derivative with respect to them. Queries without documents never reach the
kernel. Scores that are not finite must make the value so: that is how they are noticed. A kernel raises nothing.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from podium.numerics.calls import call_entry
from podium.numerics.compiling import ONLY_PRANGE, kept


def _over_queries(
    entry: int,
    block: int,
    offsets: np.ndarray,
    weights: np.ndarray,
    queries: np.ndarray,
    gradient: np.ndarray,
    curvature: np.ndarray,
    values: np.ndarray,
    d_parameters: np.ndarray,
) -> None:
    """Loss, gradient and curvature of each listed query, scaled by the query's weight.

    Every query writes only its own part of the outputs, so the number of threads cannot change a bit.
    """
    for k in prange(len(queries)):
        q = queries[k]
        start, stop = offsets[q], offsets[q + 1]
        weight = weights[q]
        g, d_own = gradient[start:stop], d_parameters[k]
        if stop == start or weight == 0.0:
            values[k] = 0.0
            d_own[:] = 0.0
            g[:] = 0.0
            if len(curvature) > 0:
                curvature[start:stop] = 0.0
            continue
        h = curvature[start:stop] if len(curvature) > 0 else curvature
        values[k] = weight * call_entry(entry, block, q, start, stop, d_own.ctypes.data)
        scale = g.dtype.type(weight)
        for i in range(len(g)):
            g[i] *= scale
        for i in range(len(h)):
            h[i] *= scale
        for p in range(len(d_own)):
            d_own[p] *= weight


over_queries = kept(_over_queries, parallel=ONLY_PRANGE)
