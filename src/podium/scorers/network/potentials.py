"""Individual and pairwise potentials: the scorer of BoltzRank (Volkovs & Zemel, ICML 2009).

    score(j) = φ(x_j) + Σ_{k≠j} ψ(x_j, x_k)

φ and ψ have one hidden layer and scaled tanh units t(z) = 1.7159 tanh(2z/3), the output included. The first layer of ψ
acts on the concatenation [x_j, x_k], so it is a sum of two projections of single documents,

    ψ(x_j, x_k) = t(c + Σ_h v_h t(p_hj + q_hk)),      p = A x + b,   q = B x

which are computed once. What remains for each pair of documents is the tanh of a sum, and since

    tanh z = 1 − 2 r,   r = 1 / (1 + e^{2z}),      e^{p + q} = e^p e^q

the exponentials, too, are of single documents: a pair costs one division per hidden unit. Pairs are visited one tile
at a time and never stored; going back recomputes them. A list of m documents takes O(m² h) work and O(m h) memory.
"""

from typing import Any, ClassVar, NamedTuple

import numpy as np

from podium.core.parameters import choice, count
from podium.data.queries import Queries
from podium.numerics.compiling import Array, njit
from podium.numerics.elementary import FAST, exp
from podium.numerics.forward import HEIGHT, SLOPE, TANH
from podium.scorers.compiled import Kernels, cut_lists
from podium.scorers.network import layers
from podium.scorers.network.base import NetworkModel, NetworkScorer, NetworkTable, network_kernels

__all__ = ["Potentials", "PotentialsModel"]

_TILE = 256  # documents k that one document j is compared with at once: their exponentials stay in the fastest cache


class _Work(NamedTuple):
    """The scratch space, divided."""

    activations: Array
    deltas: Array
    block: Array
    """Projections of a block of documents."""
    projections: Array
    """(2h, m): 4/3 p, then 4/3 q, of the whole list."""
    exponentials: Array
    """(2h, m) of these."""
    d_projections: Array
    """(2h, m) derivatives with respect to p and q."""
    tile: Array
    """(h + 1, tile) r of each hidden unit, and that of the output."""


class _PairWeights(NamedTuple):
    projection: Array
    """(2h, n_features): A, then B."""
    biases: Array
    """(h,) b."""
    outgoing: Array
    """(h,) v."""
    constant: float
    """c."""


@njit(error_model="numpy")
def _divide(sizes: Array, h: int, m: int, work: Array) -> _Work:
    layers.apart()
    width = min(m, layers.BLOCK)
    net, block, of_list = layers.total(sizes) * width, 2 * h * width, 2 * h * m
    a = 2 * net + block
    b, c, d = a + of_list, a + 2 * of_list, a + 3 * of_list
    return _Work(
        work[:net],
        work[net : 2 * net],
        work[2 * net : a],
        work[a:b].reshape((2 * h, m)),
        work[b:c].reshape((2 * h, m)),
        work[c:d].reshape((2 * h, m)),
        work[d : d + (h + 1) * _TILE].reshape((h + 1, _TILE)),
    )


def _scratch_size(sizes: Array, h: int, longest: int) -> int:
    width = min(longest, layers.BLOCK)
    return 2 * int(sizes.sum()) * width + 2 * h * width + 6 * h * longest + (h + 1) * _TILE


@njit(error_model="numpy")
def _pair_weights(h: int, n_features: int, own: Array) -> _PairWeights:
    end = 2 * h * n_features
    return _PairWeights(
        own[:end].reshape((2 * h, n_features)), own[end : end + h], own[end + h : end + 2 * h], own[end + 2 * h]
    )


@njit(error_model="numpy")
def _list_of(offsets: Array, document: int) -> int:
    """Return the number of the list that holds a document."""
    low, high = 0, len(offsets) - 1
    while high - low > 1:
        middle = (low + high) // 2
        if offsets[middle] <= document:
            low = middle
        else:
            high = middle
    return low


def _potentials(network: NetworkTable, first: int, last: int, block: int, sums: Array) -> None:
    """See :mod:`podium.scorers.network.base`; ``shape`` is (pair_hidden, average?, the widths of φ's layers)."""
    shape, rows, scaling, forward = network.shape, network.rows, network.scaling, not network.backward
    q = _list_of(network.offsets, first)  # documents first:last are all or part of one list
    start, stop = network.offsets[q], network.offsets[q + 1]
    m, h, sizes = stop - start, shape[0], shape[2:]
    share = 1.0 / (m - 1) if shape[1] and m > 1 else 1.0
    n_own = (sizes[0] + 1) * sizes[1] + sizes[1] + 1
    own, pair = network.weights[:n_own], _pair_weights(h, sizes[0], network.weights[n_own:])
    space = _divide(sizes, h, m, network.scratch[block])
    moderate = _project(rows, start, scaling, pair, space)
    values = network.values[first:last]
    if forward:
        layers.fill(values, 0.0)
        _add_pairs(pair, first - start, share, moderate, space, values)
    else:
        _add_pair_gradients(pair, first - start, share, moderate, space, values, sums[n_own:])
        _add_projection_gradients(rows, start, scaling, space, sums[n_own:])
    for begin in range(0, last - first, layers.BLOCK):
        value = values[begin : begin + layers.BLOCK]
        layers.load_block(rows, first + begin, scaling, layers.part(space.activations, 0, sizes[0], len(value)))
        scores = layers.net_forward(sizes, TANH, TANH, own, space.activations, len(value))
        if forward:
            layers.add_into(value, scores)
        else:
            layers.net_backward(sizes, TANH, TANH, own, space.activations, space.deltas, value, sums[:n_own])


@njit(error_model="numpy")
def _project(rows: Any, start: int, scaling: Array, pair: _PairWeights, space: _Work) -> bool:
    """Compute the documents' projections and their exponentials; return whether all are moderate."""
    layers.apart()
    n_units, m = space.projections.shape
    for begin in range(0, m, layers.BLOCK):
        width = min(layers.BLOCK, m - begin)
        x, y = layers.part(space.activations, 0, scaling.shape[1], width), layers.part(space.block, 0, n_units, width)
        layers.load_block(rows, start + begin, scaling, x)
        layers.transform(pair.projection, pair.biases, x, y)
        for u in range(n_units):
            layers.copy_into(space.projections[u, begin : begin + width], y[u])
    moderate = True
    for u in range(n_units):
        moderate &= _exponentiate(space.projections[u], space.exponentials[u])
    return moderate


@njit(error_model="numpy")
def _add_projection_gradients(rows: Any, start: int, scaling: Array, space: _Work, d_pair: Array) -> None:
    """Add the derivatives by A, B and b, given those by projection."""
    layers.apart()
    n_units, m = space.projections.shape
    n_features = scaling.shape[1]
    end = n_units * n_features
    for begin in range(0, m, layers.BLOCK):
        width = min(layers.BLOCK, m - begin)
        x, d = layers.part(space.activations, 0, n_features, width), layers.part(space.block, 0, n_units, width)
        layers.load_block(rows, start + begin, scaling, x)
        for u in range(n_units):
            layers.copy_into(d[u], space.d_projections[u, begin : begin + width])
        layers.add_outer(d, x, d_pair[:end])
        layers.add_rows_sums(d, d_pair[end : end + n_units // 2])


@njit(fastmath=FAST, error_model="numpy")
def _exponentiate(p: Array, e: Array) -> bool:
    """Scale a unit's projections for the exponential and compute it; return whether all are moderate.

    If so, e^p is exact to rounding, and e^p e^q overflows or becomes 0 only where tanh is ±1 anyway.
    """
    layers.apart()
    steep = p.dtype.type(2 * SLOPE)
    limit = p.dtype.type(85.0 if p.itemsize == 4 else 700.0)
    n_moderate = 0
    for j in range(len(p)):
        p[j] *= steep
        e[j] = exp(p[j])
        n_moderate += abs(p[j]) < limit
    return n_moderate == len(p)


@njit(fastmath=FAST, error_model="numpy")
def _compare(pair: _PairWeights, j: int, begin: int, width: int, moderate: bool, space: _Work) -> None:
    """Compute the hidden units and the output for document j with each k of a tile, as r = (1 − tanh)/2."""
    layers.apart()
    tile, h = space.tile, len(pair.outgoing)
    number = tile.dtype.type
    one = number(1.0)
    cap = number(1e18)  # beyond, tanh is 1 to the last bit, but products with r would become denormal, which is slow
    out = tile[h][:width]
    # c + Σ v (1 − 2r) times the height, then times 4/3: the exponent of the output's e^{2z}
    constant = number(pair.constant)
    for u in range(h):
        constant += number(HEIGHT) * pair.outgoing[u]
    layers.fill(out, number(2 * SLOPE) * constant)
    for u in range(h):
        r = tile[u][:width]
        p, e = space.projections[u, j], space.exponentials[u, j]
        q, f = space.projections[h + u, begin : begin + width], space.exponentials[h + u, begin : begin + width]
        if moderate:
            for k in range(len(r)):
                r[k] = one / (one + min(e * f[k], cap))
        else:
            for k in range(len(r)):
                r[k] = one / (one + min(exp(p + q[k]), cap))
        factor = number(-4.0 * SLOPE * HEIGHT) * pair.outgoing[u]
        for k in range(len(r)):
            out[k] += factor * r[k]
    for k in range(len(out)):
        out[k] = one / (one + min(exp(out[k]), cap))


@njit(fastmath=FAST, error_model="numpy")
def _add_pairs(pair: _PairWeights, first: int, share: float, moderate: bool, space: _Work, scores: Array) -> None:
    """Add ``share`` Σ_k ψ(j, k) to the scores of the documents j from number ``first`` of the list."""
    layers.apart()
    tile, m = space.tile, space.projections.shape[1]
    for begin in range(0, m, _TILE):
        width = min(_TILE, m - begin)
        for i in range(len(scores)):
            j = first + i
            _compare(pair, j, begin, width, moderate, space)
            r = tile[len(pair.outgoing)][:width]
            r_sum = tile.dtype.type(0.0)
            for k in range(len(r)):
                r_sum += r[k]
            n = width
            if begin <= j < begin + width:  # the document itself is not among the others
                r_sum -= r[j - begin]
                n -= 1
            scores[i] += share * HEIGHT * (n - 2.0 * r_sum)


@njit(fastmath=FAST, error_model="numpy")
def _add_pair_gradients(
    pair: _PairWeights, first: int, share: float, moderate: bool, space: _Work, d_scores: Array, d_pair: Array
) -> None:
    """Fill ``d_projections``; add to the derivatives with respect to v and c, the last entries of ``d_pair``."""
    layers.apart()
    tile, m, h = space.tile, space.projections.shape[1], len(pair.outgoing)
    number = tile.dtype.type
    one, two = number(1.0), number(2.0)
    d_outgoing = d_pair[len(d_pair) - 1 - h : len(d_pair) - 1]
    for u in range(2 * h):
        layers.fill(space.d_projections[u], number(0.0))
    for begin in range(0, m, _TILE):
        width = min(_TILE, m - begin)
        for i in range(len(d_scores)):
            j = first + i
            _compare(pair, j, begin, width, moderate, space)
            w = tile[h][:width]
            # dψ/dz = 1.7159 · 2/3 · (1 − tanh²), and 1 − tanh² = 4 r (1 − r)
            scale = number(share * d_scores[i] * 4.0 * HEIGHT * SLOPE)
            for k in range(len(w)):
                w[k] = scale * w[k] * (one - w[k])
            if begin <= j < begin + width:
                w[j - begin] = number(0.0)
            w_sum = number(0.0)
            for k in range(len(w)):
                w_sum += w[k]
            d_pair[-1] += w_sum
            for u in range(h):
                r, d_q = tile[u][:width], space.d_projections[h + u, begin : begin + width]
                factor = number(4.0 * HEIGHT * SLOPE) * pair.outgoing[u]
                weighted, d_p = number(0.0), number(0.0)
                for k in range(len(r)):
                    wr = w[k] * r[k]
                    d = factor * wr * (one - r[k])
                    weighted += wr
                    d_p += d
                    d_q[k] += d
                d_outgoing[u] += number(HEIGHT) * (w_sum - two * weighted)
                space.d_projections[u, j] += d_p


class PotentialsModel(NetworkModel):
    """Individual plus pairwise potentials; ``theta`` holds the weights of φ, then A, B, b, v and c of ψ.

    Examples
    --------
    >>> import numpy as np, podium
    >>> queries = podium.make_queries(n_queries=5, n_features=4)
    >>> model = podium.scorers.Potentials(hidden=3, pair_hidden=2).start(queries, np.random.default_rng(0))
    >>> len(model.theta), model.scoring()
    (40, {'kind': 'potentials', 'hidden': 3, 'pair_hidden': 2, 'pool': 'sum'})
    """

    kernels: ClassVar[Kernels] = network_kernels(_potentials)

    def scratch_size(self, queries: Queries) -> int:
        return _scratch_size(self.shape[2:], int(self.shape[0]), int(queries.sizes.max(initial=0)))

    def work(self, queries: Queries) -> float:
        n_pairs = float((queries.sizes.astype(np.float64) ** 2).sum())
        return super().work(queries) + 3.0 * n_pairs * int(self.shape[0])

    def pieces(self, queries: Queries) -> Array:
        """Return offsets of lists, the long ones split into at most 8 pieces, of which each projects the whole list."""
        return cut_lists(queries.offsets, 512, most=8)

    def pieces_of_lists(self, queries: Queries) -> Array:
        return self.pieces(queries)

    def scoring(self) -> dict[str, Any]:
        pair_hidden, mean, _, hidden, _ = self.shape.tolist()
        pool = "mean" if mean else "sum"
        return {"kind": "potentials", "hidden": hidden, "pair_hidden": pair_hidden, "pool": pool}

    def weights_mask(self) -> Array:
        h = int(self.shape[0])
        of_pairs = np.repeat([True, False, True, False], [2 * h * self.n_features, h, h, 1])
        return np.concatenate((layers.is_weight(self.shape[2:]), of_pairs))


class Potentials(NetworkScorer, listwise=True, model_class=PotentialsModel):
    """Individual plus pairwise potentials, one hidden layer each, with scaled tanh units.

    A document's score depends on the other documents of its list, so predicting needs query ids.
    A list of m documents takes O(m² pair_hidden) time and O(m pair_hidden) memory.

    Parameters
    ----------
    hidden : int
        Hidden units of the individual potential φ.
    pair_hidden : int
        Hidden units of the pairwise potential ψ.
    pool : {"sum", "mean"}
        How pairwise potentials are combined over the other documents of the list. The paper sums; with lists of very
        different lengths the mean keeps the two potentials in proportion.

    Examples
    --------
    >>> import podium
    >>> queries = podium.make_queries(n_queries=30, n_documents=8, n_features=4)
    >>> scorer = podium.scorers.Potentials(hidden=2, pair_hidden=2)
    >>> ranker = podium.Ranker(podium.losses.ListNetLoss(), scorer, random_state=0).fit(queries)
    >>> bool(ranker.score(queries) > 0.7), ranker.predict(queries.features, qid=queries.query_of_document).shape
    (True, (247,))
    """

    hidden: int = count(3)
    pair_hidden: int = count(5)
    pool: str = choice("sum", "mean")

    def shape(self, n_features: int) -> Array:
        self.check_parameters()
        return np.array([self.pair_hidden, self.pool == "mean", n_features, self.hidden, 1], dtype=np.int64)

    def n_weights(self, shape: list[int]) -> int:
        pairs, _, n_features, hidden, _ = shape
        return (n_features + 2) * hidden + 1 + 2 * pairs * (n_features + 1) + 1

    def initial_theta(self, shape: Array, rng: np.random.Generator) -> Array:
        h, n_features = int(shape[0]), int(shape[2])
        return np.concatenate(
            (
                layers.initial_weights(shape[2:], TANH, rng),
                rng.normal(0.0, np.sqrt(0.5 / max(n_features, 1)), 2 * h * n_features),  # 2 n_features inputs
                np.zeros(h),
                rng.normal(0.0, np.sqrt(1.0 / h), h),
                np.zeros(1),
            )
        )
