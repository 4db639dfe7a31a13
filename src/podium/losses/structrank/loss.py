"""StructRank: the joint probability of all preferences of a list, as a cumulative distribution network.

Every pair of documents with y_i > y_j is an edge e with margin r_e = s_i − s_j. The probability that all preferences
hold is a product of bivariate functions over connected pairs of edges,

    φ(r, r′) = 1 / (1 + e^{−w1 r} + e^{−w2 r′}),      w1, w2 > 0 learned,
    L = mean over connected (e, e′) of  log(1 + e^{−w1 r_e} + e^{−w2 r_e′}).

``full`` connects every ordered pair of distinct edges, ``random`` each edge with a few random others, ``none`` leaves
the edges alone: one logistic term each, which with w1 = 1 is RankNet.

Huang & Frey, "Structured ranking learning using cumulative distribution networks", NIPS 2008. There, ``full`` costs the
fourth power of the list's length. Here the edges' margins are put on a grid (:mod:`podium.numerics.pairs.graded`), and
the sum runs over pairs of grid nodes: linear in the list's length.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from podium.core.parameters import choice, number, require_choice
from podium.losses.base import Derivatives, LabeledLists, Loss, OneList, njit
from podium.losses.given_pairs import own_edges
from podium.losses.structrank.functions import FUNCTIONS, function_settings, structrank_functions
from podium.losses.structrank.order_graph import OrderGraph, Terms, draw_terms, order_graph
from podium.losses.structrank.sums import (
    Slopes,
    Weights,
    distinct_pairs_address,
    drawn_terms,
    edges_full,
    edges_none,
    graded_full,
    graded_none,
)
from podium.numerics.compiling import Array, Kernel
from podium.numerics.grades import own_groups
from podium.numerics.pairs.graded import GradedList
from podium.numerics.pairs.graded_crossing import over_grades_address
from podium.numerics.pairs.grid import spacing

__all__ = ["StructRankLoss"]

_SMALLEST_WEIGHT = 1e-12  # of w1 and w2, where the grid's spacing is divided by them


# One kernel per topology, so that no more is compiled than is used.


@njit(error_model="numpy")
def structrank(given: OneList, prepared: Any, out: Derivatives) -> float:
    """Sum over all pairs of edges."""
    (groups, edges), settings = prepared[0], prepared[2]
    w, slopes = _weights(given.parameters), _no_slopes(len(given.scores))
    h = settings.spacing / max(w.w1, w.w2, _SMALLEST_WEIGHT)
    if len(edges.first) > 0:
        value, total = edges_full(given.scores, own_edges(edges, given.query), w, h, settings.sums, slopes)
    else:
        order, bounds = own_groups(groups, given)
        value, total = graded_full(GradedList(given.scores, order, bounds), w, h, settings.sums, slopes)
    return _scaled(value, total, settings.normalize, slopes, out)


@njit(error_model="numpy")
def structrank_none(given: OneList, prepared: Any, out: Derivatives) -> float:
    """Sum over the edges, each by itself."""
    (groups, edges), settings = prepared[0], prepared[2]
    w1, slopes = _weights(given.parameters).w1, _no_slopes(len(given.scores))
    if len(edges.first) > 0:
        value, total = edges_none(given.scores, own_edges(edges, given.query), w1, slopes)
    else:
        order, bounds = own_groups(groups, given)
        h = settings.spacing / max(w1, _SMALLEST_WEIGHT)
        value, total = graded_none(GradedList(given.scores, order, bounds), w1, h, settings.sums, slopes)
    return _scaled(value, total, settings.normalize, slopes, out)


@njit(error_model="numpy")
def structrank_random(given: OneList, prepared: Any, out: Derivatives) -> float:
    """Sum over the pairs of edges that were drawn."""
    terms, settings = prepared[1], prepared[2]
    here, slopes = slice(terms.first[given.query], terms.first[given.query + 1]), _no_slopes(len(given.scores))
    w = _weights(given.parameters)
    value, total = drawn_terms(given.scores, terms.documents[here], terms.weight[here], w, slopes)
    return _scaled(value, total, settings.normalize, slopes, out)


_KERNELS = {"full": structrank, "none": structrank_none, "random": structrank_random}


class _Settings(NamedTuple):
    spacing: float
    """The spacing of a grid for scores that are not scaled."""
    normalize: bool
    sums: int
    """The address of a compiled function that adds up terms; which one depends on the topology."""


@njit(error_model="numpy")
def _weights(parameters: Array) -> Weights:
    return Weights(parameters[0], parameters[1], 0.0) if len(parameters) > 0 else Weights(1.0, 1.0, 0.0)


@njit(error_model="numpy")
def _no_slopes(n: int) -> Slopes:
    return Slopes(np.zeros(n), np.zeros(2), np.zeros(1))


@njit(error_model="numpy")
def _scaled(value: float, total: float, normalize: bool, slopes: Slopes, out: Derivatives) -> float:
    scale = 0.0 if total == 0.0 else 1.0 / total if normalize else 1.0
    for i in range(len(out.gradient)):
        out.gradient[i] = slopes.scores[i] * scale
    for p in range(len(out.d_parameters)):
        out.d_parameters[p] = slopes.weights[p] * scale
    return value * scale


class StructRankLoss(Loss, convex=True, accepts_preferences=True, rankings="network", ns_per_document=300.0):
    """Cumulative distribution network over the preferences of a list.

    The loss has two parameters of its own for each function, w1 and w2, both positive, that start at 1 (those of
    several functions at powers of 2 around it, so that they can part). Labels are grades, or
    :class:`podium.Preferences`. A list with fewer than two edges has no pair of them: under ``full`` and ``random``
    it contributes 0.

    Parameters
    ----------
    topology : {"full", "none", "random"}
        Which pairs of edges are connected: all, none (one logistic term per edge) or each with ``neighbours`` random
        others.
    normalize : bool
        Average over the query's terms (the default), so that long lists do not dominate, or add them up.
    tolerance : float
        Relative error allowed in value and gradient where ``full`` and ``none`` are summed on a grid.
    learn_weights : bool
        Learn w1 and w2 (the default), or keep both at 1. A scorer whose scores can be scaled at will, such as a linear
        one, does not need them: they would only undo its penalty.
    functions : {"sigmoid", "gaussian"}, or a sequence of them
        The network's functions φ. ``"gaussian"`` is the distribution function of two correlated normal variables,
        Φ(w1 r, w2 r′; ρ). Several are multiplied, each with weights w1 and w2 of its own; terms of all are averaged.
        Gaussian terms cost about 2 µs each, one for each pair of edges, or of nodes of a grid where these are fewer.
    correlation : float
        Correlation ρ of Gaussian functions, from 0 (no dependence) to .95. The default is that of two preferences that
        share a document, if scores are blurred by independent noise.
    neighbours, draws : int
        For ``random``: each edge is joined to ``neighbours`` others, ``draws`` times over; drawn anew in each epoch.
    most_terms : int
        For ``random``: at most this many terms per document; longer lists get a sample of the edges.
    random_state : int
        Seed of the draws for ``random``.

    Examples
    --------
    Two edges (document 0 over 1 and over 2) at equal scores: both terms are log 3.

    >>> v = StructRankLoss().value_and_gradient([0.0, 0.0, 0.0], [1, 0, 0], [0, 3])
    >>> round(v.value, 6), v.d_scores.round(6).tolist()
    (1.098612, [-0.666667, 0.333333, 0.333333])
    """

    kernel = structrank

    topology: str = choice(*_KERNELS)
    normalize: bool = True
    tolerance: float = 1e-6
    learn_weights: bool = True
    neighbours: int = 5
    draws: int = 3
    most_terms: int = 64
    random_state: int = 0
    functions: str | Sequence[str] = "sigmoid"
    correlation: float = number(0.5, at_least=0, below=0.951)

    @property
    def function_names(self) -> tuple[str, ...]:
        """The network's functions, one or several."""
        return (self.functions,) if isinstance(self.functions, str) else tuple(self.functions)

    def initial_parameters(self) -> np.ndarray:
        n = len(self.function_names)
        return np.repeat(2.0 ** (np.arange(n) - 0.5 * (n - 1)), 2) if self.learn_weights else np.ones(0)

    def parameter_bounds(self) -> list[tuple[float | None, float | None]]:
        return [(1e-6, None)] * self.n_parameters

    def prepare(self, data: LabeledLists) -> tuple[Any, ...]:
        graph = order_graph(data.labels, data.offsets)
        if self._has_other_functions():
            settings = function_settings(
                self.function_names, self.topology, spacing(self.tolerance), self.correlation, self.normalize
            )
            return graph, self._terms(graph, data, 0), settings
        sums = 0
        if self.topology != "random":
            sums = distinct_pairs_address() if self.topology == "full" else over_grades_address(data.sizes)
        return graph, self._terms(graph, data, 0), _Settings(spacing(self.tolerance), self.normalize, sums)

    def _has_other_functions(self) -> bool:
        """Return whether the network has not just one sigmoid; raise if one of its functions is not known."""
        if not self.function_names:
            raise ValueError("functions is empty: a network needs at least one")
        for name in self.function_names:
            require_choice("functions", name, FUNCTIONS)
        return self.function_names != ("sigmoid",)

    def choose_kernel(self) -> Kernel:
        return structrank_functions if self._has_other_functions() else _KERNELS[self.topology]

    def prepare_epoch(self, prepared: Any, data: LabeledLists, epoch: int) -> Any:
        if self.topology != "random":
            return prepared
        graph, _, settings = prepared
        return graph, self._terms(graph, data, epoch), settings

    def _terms(self, graph: OrderGraph, data: LabeledLists, epoch: int) -> Terms:
        most = self.most_terms if self.topology == "random" else 0
        streams = data.streams(self.random_state, epoch)
        return draw_terms(graph, data.offsets, self.neighbours, self.draws, most, streams)
