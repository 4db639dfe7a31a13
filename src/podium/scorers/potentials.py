"""Individual and pairwise potentials: the scorer of BoltzRank (Volkovs & Zemel, ICML 2009).

    score(j) = φ(x_j) + Σ_{k≠j} ψ(x_j, x_k)

φ and ψ have one hidden layer and scaled tanh units t(z) = 1.7159 tanh(2z/3), the output included. The first layer of ψ acts
on the concatenation [x_j, x_k], so it is a sum of two projections of single documents,

    ψ(x_j, x_k) = t(c + Σ_h v_h t(p_hj + q_hk)),      p = A x + b,   q = B x

which are computed once. What remains for each pair of documents is the tanh of a sum, and since

    tanh z = 1 − 2 r,   r = 1 / (1 + e^{2z}),      e^{p + q} = e^p e^q

the exponentials, too, are of single documents: a pair costs a division per hidden unit. Pairs are visited a tile at a
time and never stored; going back recomputes them. So a list of m documents takes O(m² h) work and O(m h) memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np
from numba import njit

from podium.parameters import choose, require_count, require_number
from podium.queries import Queries
from podium.scorers.base import Scorer
from podium.scorers.layers import (
    BLOCK,
    HEIGHT,
    SLOPE,
    TANH,
    add_into,
    add_outer,
    add_rows_sums,
    copy_into,
    fill,
    initial_weights,
    is_weight,
    load_block,
    net_backward,
    net_forward,
    part,
    total,
    transform,
    unscaled,
)
from podium.scorers.networks import NetworkKernels, NetworkModel
from podium.scorers.standardization import Standardization
from podium.solvers.elementary import FAST, exp

if TYPE_CHECKING:
    from podium.training.base import Trainer

_TILE = 256  # documents k that one document j is compared with at once: their exponentials stay in the fastest cache


class PairNet(NamedTuple):
    """The shape of φ, as in :class:`podium.scorers.layers.Net`, and of ψ. (Compiled loops take no nested tuples.)"""

    sizes: np.ndarray
    activation: int
    output: int
    mean: np.ndarray
    inverse_scale: np.ndarray
    pair_hidden: int
    average: bool


class _Buffers(NamedTuple):
    activations: np.ndarray
    deltas: np.ndarray
    block: np.ndarray
    """Projections of a block of documents."""
    projections: np.ndarray
    """(2h m,): 4/3 p, then 4/3 q, of the whole list."""
    exponentials: np.ndarray
    """(2h m,) of these."""
    d_projections: np.ndarray
    """(2h m,) derivatives with respect to p and q."""
    direct: np.ndarray
    """(h,) units whose projections are so large that the exponential must be that of the sum."""
    tile: np.ndarray
    """(h + 1, tile) r of each hidden unit, and that of the output."""


class _PairWeights(NamedTuple):
    projection: np.ndarray
    """(2h, n_features): A, then B."""
    biases: np.ndarray
    """(h,) b."""
    outgoing: np.ndarray
    """(h,) v."""
    constant: float
    """c."""


@njit(error_model="numpy")
def _buffers(network: PairNet, weights: np.ndarray, longest: int) -> _Buffers:
    h, block = network.pair_hidden, min(longest, BLOCK)
    size = total(network.sizes) * block
    kind = weights.dtype
    return _Buffers(
        np.empty(size, kind),
        np.empty(size, kind),
        np.empty(2 * h * block, kind),
        np.empty(2 * h * longest, kind),
        np.empty(2 * h * longest, kind),
        np.empty(2 * h * longest, kind),
        np.empty(h, np.bool_),
        np.empty((h + 1, _TILE), kind),
    )


@njit(error_model="numpy")
def _n_individual(network: PairNet) -> int:
    n = 0
    for layer in range(len(network.sizes) - 1):
        n += (network.sizes[layer] + 1) * network.sizes[layer + 1]
    return n


@njit(error_model="numpy")
def _pair_weights(network: PairNet, weights: np.ndarray) -> _PairWeights:
    h, n_features = network.pair_hidden, network.sizes[0]
    own = weights[_n_individual(network) :]
    end = 2 * h * n_features
    return _PairWeights(
        own[:end].reshape((2 * h, n_features)), own[end : end + h], own[end + h : end + 2 * h], own[end + 2 * h]
    )


@njit(error_model="numpy")
def potentials(
    network: PairNet,
    rows: Any,
    start: int,
    stop: int,
    first: int,
    last: int,
    weights: np.ndarray,
    buffers: _Buffers,
    values: np.ndarray,
    gradient: np.ndarray,
) -> None:
    """See :mod:`podium.scorers.networks`."""
    m, forward = stop - start, len(gradient) == 0
    mean, inverse_scale = network.mean, network.inverse_scale
    n_own = _n_individual(network)
    pair = _pair_weights(network, weights)
    _project(network, rows, start, m, pair, buffers)
    if forward:
        fill(values, 0.0)
        _add_pairs(network, pair, m, first - start, buffers, values)
    else:
        d_pair = gradient[n_own:]
        _add_pair_gradients(network, pair, m, first - start, buffers, values, d_pair)
        _add_projection_gradients(network, rows, start, m, buffers, d_pair)
    for begin in range(0, last - first, BLOCK):
        value = values[begin : begin + BLOCK]
        load_block(rows, first + begin, mean, inverse_scale, part(buffers.activations, 0, len(mean), len(value)))
        scores = net_forward(network, weights[:n_own], buffers.activations, len(value))
        if forward:
            add_into(value, scores)
        else:
            net_backward(network, weights[:n_own], buffers.activations, buffers.deltas, value, gradient[:n_own])


@njit(error_model="numpy")
def _project(network: PairNet, rows: Any, start: int, m: int, pair: _PairWeights, buffers: _Buffers) -> None:
    """Projections of the m documents from number ``start``, and their exponentials."""
    h = network.pair_hidden
    mean, inverse_scale = network.mean, network.inverse_scale
    projections = part(buffers.projections, 0, 2 * h, m)
    for begin in range(0, m, BLOCK):
        width = min(BLOCK, m - begin)
        x, y = part(buffers.activations, 0, len(mean), width), part(buffers.block, 0, 2 * h, width)
        load_block(rows, start + begin, mean, inverse_scale, x)
        transform(pair.projection, pair.biases, x, y)
        for u in range(2 * h):
            copy_into(projections[u, begin : begin + width], y[u])
    _exponentiate(projections, part(buffers.exponentials, 0, 2 * h, m), buffers.direct)


@njit(error_model="numpy")
def _add_projection_gradients(
    network: PairNet, rows: Any, start: int, m: int, buffers: _Buffers, d_pair: np.ndarray
) -> None:
    """Take ``d_projections`` to A, B and b."""
    h, n_features = network.pair_hidden, network.sizes[0]
    d_projections = part(buffers.d_projections, 0, 2 * h, m)
    end = 2 * h * n_features
    for begin in range(0, m, BLOCK):
        width = min(BLOCK, m - begin)
        x, d = part(buffers.activations, 0, n_features, width), part(buffers.block, 0, 2 * h, width)
        load_block(rows, start + begin, network.mean, network.inverse_scale, x)
        for u in range(2 * h):
            copy_into(d[u], d_projections[u, begin : begin + width])
        add_outer(d, x, d_pair[:end])
        add_rows_sums(d, d_pair[end : end + h])


@njit(fastmath=FAST, error_model="numpy")
def _exponentiate(projections: np.ndarray, exponentials: np.ndarray, direct: np.ndarray) -> None:
    number = projections.dtype.type
    steep = number(2 * SLOPE)
    # Within these bounds e^p is exact to rounding, and e^p e^q runs over to infinity or 0 only where tanh is ±1 anyway.
    limit = number(85.0 if projections.itemsize == 4 else 700.0)
    fill(direct, False)
    for i in range(len(projections)):
        p, e = projections[i], exponentials[i]
        largest = number(0.0)
        for j in range(len(p)):
            p[j] *= steep
            e[j] = exp(p[j])
            largest = max(largest, abs(p[j]))
        if not largest < limit:
            direct[i % len(direct)] = True


@njit(fastmath=FAST, error_model="numpy")
def _compare(
    pair: _PairWeights, m: int, j: int, begin: int, width: int, buffers: _Buffers, tile: np.ndarray
) -> None:
    """The hidden units and the output for document j with each k of a tile, as r = (1 − tanh)/2, in ``tile``."""
    h = len(pair.outgoing)
    projections, exponentials = part(buffers.projections, 0, 2 * h, m), part(buffers.exponentials, 0, 2 * h, m)
    number = tile.dtype.type
    one = number(1.0)
    out = tile[h][:width]
    # c + Σ v (1 − 2r) times the height, then times 4/3: the exponent of the output's e^{2z}
    constant = number(pair.constant)
    for u in range(h):
        constant += number(HEIGHT) * pair.outgoing[u]
    fill(out, number(2 * SLOPE) * constant)
    for u in range(h):
        r = tile[u][:width]
        factor = number(-4.0 * SLOPE * HEIGHT) * pair.outgoing[u]
        if buffers.direct[u]:
            p, q = projections[u, j], projections[h + u, begin : begin + width]
            for k in range(len(r)):
                r[k] = one / (one + exp(p + q[k]))
        else:
            p, q = exponentials[u, j], exponentials[h + u, begin : begin + width]
            for k in range(len(r)):
                r[k] = one / (one + p * q[k])
        for k in range(len(r)):
            out[k] += factor * r[k]
    for k in range(len(out)):
        out[k] = one / (one + exp(out[k]))


@njit(fastmath=FAST, error_model="numpy")
def _add_pairs(
    network: PairNet, pair: _PairWeights, m: int, first: int, buffers: _Buffers, scores: np.ndarray
) -> None:
    """Add Σ_k ψ(j, k) to the scores of the documents j from number ``first`` of the list."""
    tile = buffers.tile
    share = 1.0 / (m - 1) if network.average and m > 1 else 1.0
    for begin in range(0, m, _TILE):
        width = min(_TILE, m - begin)
        for i in range(len(scores)):
            j = first + i
            _compare(pair, m, j, begin, width, buffers, tile)
            r = tile[network.pair_hidden][:width]
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
    network: PairNet,
    pair: _PairWeights,
    m: int,
    first: int,
    buffers: _Buffers,
    d_scores: np.ndarray,
    d_pair: np.ndarray,
) -> None:
    """Fill ``d_projections``; add to the derivatives with respect to v and c, the last entries of ``d_pair``."""
    h, tile = network.pair_hidden, buffers.tile
    d_outgoing = d_pair[len(d_pair) - 1 - h : len(d_pair) - 1]
    number = tile.dtype.type
    one, two = number(1.0), number(2.0)
    d_projections = part(buffers.d_projections, 0, 2 * h, m)
    fill(buffers.d_projections[: 2 * h * m], number(0.0))
    share = 1.0 / (m - 1) if network.average and m > 1 else 1.0
    d_constant = 0.0
    for begin in range(0, m, _TILE):
        width = min(_TILE, m - begin)
        for i in range(len(d_scores)):
            j = first + i
            _compare(pair, m, j, begin, width, buffers, tile)
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
            d_constant += w_sum
            for u in range(h):
                r, d_q = tile[u][:width], d_projections[h + u, begin : begin + width]
                factor = number(4.0 * HEIGHT * SLOPE) * pair.outgoing[u]
                weighted, d_p = number(0.0), number(0.0)
                for k in range(len(r)):
                    weighted += w[k] * r[k]
                    d = factor * w[k] * r[k] * (one - r[k])
                    d_p += d
                    d_q[k] += d
                d_outgoing[u] += number(HEIGHT) * (w_sum - two * weighted)
                d_projections[u, j] += d_p
    d_pair[-1] += d_constant


class PotentialsModel(NetworkModel):
    """``theta`` holds the weights of φ (see :mod:`podium.scorers.layers`), then A, B, b, v and c of ψ."""

    kernels: ClassVar[NetworkKernels] = NetworkKernels(_buffers, potentials)
    listwise: ClassVar[bool] = True

    def __init__(
        self, theta: np.ndarray, net: PairNet, standardization: Standardization | None = None, l2: float = 0.0
    ) -> None:
        super().__init__(theta, int(net.sizes[0]), standardization, l2)
        self.net = net

    def network(self, mean: np.ndarray, inverse_scale: np.ndarray) -> PairNet:
        return self.net._replace(mean=mean, inverse_scale=inverse_scale)

    def weights_mask(self) -> np.ndarray:
        h = self.net.pair_hidden
        of_pairs = np.repeat([True, False, True, False], [2 * h * self.n_features, h, h, 1])
        return np.concatenate((is_weight(self.net.sizes), of_pairs))

    @classmethod
    def from_weights(
        cls, scorer: Potentials, theta: np.ndarray, n_features: int, standardization: Standardization | None
    ) -> Self:
        return cls(theta, scorer.net(n_features), standardization, scorer.l2)


class Potentials(Scorer):
    """Individual plus pairwise potentials, one hidden layer each, with scaled tanh units.

    A document's score depends on the other documents of its list, so predicting needs query ids.

    Parameters
    ----------
    hidden : int
        Hidden units of the individual potential φ.
    pair_hidden : int
        Hidden units of the pairwise potential ψ.
    pool : {"sum", "mean"}
        Over the other documents of the list. The paper sums; with lists of very different lengths the mean keeps the
        two potentials in proportion.
    l2 : float
        Penalty ``l2/2 ‖W‖²`` on the weights (of normalised features), not on the biases.

    A list of m documents takes O(m² pair_hidden) time and O(m pair_hidden) memory.
    """

    listwise: ClassVar[bool] = True
    folds_standardization: ClassVar[bool] = True
    model_class: ClassVar[type[PotentialsModel]] = PotentialsModel

    def __init__(self, hidden: int = 3, pair_hidden: int = 5, pool: str = "sum", l2: float = 1e-4) -> None:
        self.hidden = hidden
        self.pair_hidden = pair_hidden
        self.pool = pool
        self.l2 = l2

    def net(self, n_features: int) -> PairNet:
        """The network's shape for this many features; checks the parameters."""
        require_count("hidden", self.hidden)
        require_count("pair_hidden", self.pair_hidden)
        choose("pool", self.pool, ("sum", "mean"))
        require_number("l2", self.l2, at_least=0)
        sizes = np.array([n_features, self.hidden, 1], dtype=np.int64)
        return PairNet(sizes, TANH, TANH, *unscaled(n_features), self.pair_hidden, self.pool == "mean")

    def start(
        self,
        queries: Queries,
        rng: np.random.Generator,
        *,
        intercept: bool = False,
        standardization: Standardization | None = None,
    ) -> PotentialsModel:
        net = self.net(queries.n_features)
        h, n_features = self.pair_hidden, queries.n_features
        theta = np.concatenate(
            (
                initial_weights(net.sizes, TANH, rng),
                rng.normal(0.0, np.sqrt(0.5 / max(n_features, 1)), 2 * h * n_features),  # 2 n_features inputs
                np.zeros(h),
                rng.normal(0.0, np.sqrt(1.0 / h), h),
                np.zeros(1),
            )
        )
        return PotentialsModel(theta, net, standardization, self.l2)

    def default_trainer(self) -> Trainer:
        from podium.training import Stochastic

        return Stochastic()
