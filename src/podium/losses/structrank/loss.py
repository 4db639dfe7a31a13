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

from typing import Any

import numpy as np

from podium.core.parameters import choice
from podium.losses.base import Derivatives, LabeledLists, Loss, OneList, njit
from podium.losses.structrank import sums
from podium.losses.structrank.order_graph import OrderGraph, Terms, draw_terms, order_graph
from podium.numerics.grades import own_groups
from podium.numerics.pairs.graded import GradedList
from podium.numerics.pairs.grid import spacing

__all__ = ["StructRankLoss"]

_FULL, _NONE, _RANDOM = 0, 1, 2
_TOPOLOGIES = ("full", "none", "random")
_SMALLEST_WEIGHT = 1e-12  # of w1 and w2, where the grid's spacing is divided by them


@njit(error_model="numpy")
def structrank(given: OneList, prepared: Any, out: Derivatives) -> float:
    scores, q, parameters = given.scores, given.query, given.parameters
    (groups, edges), terms, topology, logistic_spacing, normalize = prepared
    w = sums.Weights(parameters[0], parameters[1]) if len(parameters) > 0 else sums.Weights(1.0, 1.0)
    h = logistic_spacing / max(w.w1, w.w2 if topology == _FULL else w.w1, _SMALLEST_WEIGHT)
    slopes = sums.Slopes(np.zeros(len(scores)), np.zeros(2), np.zeros(1))
    if topology == _RANDOM:
        here = slice(terms.first[q], terms.first[q + 1])
        value, total = sums.drawn_terms(scores, terms.documents[here], terms.weight[here], w, slopes)
    elif len(edges.first) > 0:
        here = slice(edges.first[q], edges.first[q + 1])
        some = sums.SomeEdges(edges.winner[here], edges.loser[here], edges.weight[here])
        if topology == _FULL:
            value, total = sums.edges_full(scores, some, w, h, slopes)
        else:
            value, total = sums.edges_none(scores, some, w.w1, slopes)
    else:
        order, bounds = own_groups(groups, given)
        if topology == _FULL:
            value, total = sums.graded_full(GradedList(scores, order, bounds), w, h, slopes)
        else:
            value, total = sums.graded_none(GradedList(scores, order, bounds), w.w1, h, slopes)
    scale = 0.0 if total == 0.0 else 1.0 / total if normalize else 1.0
    out.gradient[:] = slopes.scores * scale
    for p in range(len(out.d_parameters)):
        out.d_parameters[p] = slopes.weights[p] * scale
    return value * scale


class StructRankLoss(Loss, convex=True, accepts_preferences=True, ns_per_document=300.0):
    """Cumulative distribution network over the preferences of a list.

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
    neighbours, draws : int
        For ``random``: each edge is joined to ``neighbours`` others, ``draws`` times over; drawn anew in each epoch.
    most_terms : int
        For ``random``: at most this many terms per document; longer lists get a sample of the edges.
    random_state : int

    The loss has two parameters of its own, w1 and w2, both positive, that start at 1. Labels are grades, or
    :class:`podium.Preferences`. A list with fewer than two edges has no pair of them: under ``full`` and ``random``
    it contributes 0.

    Examples
    --------
    Two edges (document 0 over 1 and over 2) at equal scores: both terms are log 3.

    >>> v = StructRankLoss().value_and_gradient([0.0, 0.0, 0.0], [1, 0, 0], [0, 3])
    >>> round(v.value, 6), v.d_scores.round(6).tolist()
    (1.098612, [-0.666667, 0.333333, 0.333333])
    """

    kernel = structrank

    topology: str = choice(*_TOPOLOGIES)
    normalize: bool = True
    tolerance: float = 1e-6
    learn_weights: bool = True
    neighbours: int = 5
    draws: int = 3
    most_terms: int = 64
    random_state: int = 0

    def initial_parameters(self) -> np.ndarray:
        return np.ones(2 if self.learn_weights else 0)

    def parameter_bounds(self) -> list[tuple[float | None, float | None]]:
        return [(1e-6, None)] * self.n_parameters

    def prepare(self, data: LabeledLists) -> tuple[Any, ...]:
        graph = order_graph(data.labels, data.offsets)
        settings = (_TOPOLOGIES.index(self.topology), spacing(self.tolerance), self.normalize)
        return graph, self._terms(graph, data, 0), *settings

    def prepare_epoch(self, prepared: Any, data: LabeledLists, epoch: int) -> Any:
        if self.topology != "random":
            return prepared
        graph, _, *settings = prepared
        return graph, self._terms(graph, data, epoch), *settings

    def _terms(self, graph: OrderGraph, data: LabeledLists, epoch: int) -> Terms:
        most = self.most_terms if self.topology == "random" else 0
        streams = data.streams(self.random_state, epoch)
        return draw_terms(graph, data.offsets, self.neighbours, self.draws, most, streams)
