"""LambdaRank on the lists that people were shown, with what places did learned beside the ranker.

A list is what one session showed, its labels are the clicks, and the loss is the mean over sessions. Lists that are
alike are one, counted. Two ways of debiasing:

*pairwise* divides the loss of a pair by t⁺_p t⁻_q, with p the place of the click and q that of the other document.
After each tree t⁺_p becomes [Σ ℓ / t⁻_q over pairs clicked at p ÷ the same at place 1]^{1/(1 + penalty)}, and t⁻_q
likewise with ℓ / t⁺_p over the pairs not clicked at q, ℓ being losses times |Δ| at the scores before the tree (Hu,
Wang, Peng and Li: *Unbiased LambdaMART*, WWW 2019; XGBoost's ``lambdarank_unbiased``). The normalization of
LambdaRankLoss is that of the loss without t⁺ and t⁻, and no part of ℓ: it would undo much of the debiasing, by making
lists count alike however far down they were clicked, and t⁺ would run away from what it should undo.

*additive* adds b_p to the score of the document at place p, also in the ranking that weighs the pairs, and moves b_p by
a regularized Newton step after each tree (LightGBM's ``position`` field).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from podium.data.shown import ShownLists
from podium.losses.base import Array, Derivatives, LabeledLists, Loss, OneList, njit, own
from podium.losses.lambdarank import LEAST_GAP, LambdaRankLoss, fill_positions
from podium.numerics.elementary import FAST, exp, log1p_unit
from podium.numerics.grades import shuffled_lists

_LEAST = 0.01
"""Factors of places are at least this: no pair weighs more than 10,000 times, no click more than 100 times as much."""


class ShownLambdas(Loss, has_gradient=False, has_curvature=True):
    """LambdaRank on lists that were shown, debiased; the scores are those of all documents of each query.

    Parameters
    ----------
    loss : LambdaRankLoss
        The loss of each list; its ``debias`` says how.
    rate : float
        Of ``"additive"``: factor of the Newton steps.
    """

    loss: LambdaRankLoss
    rate: float = 1.0

    _lists: ShownLists

    @classmethod
    def on(cls, lists: ShownLists, loss: LambdaRankLoss, rate: float = 1.0) -> ShownLambdas:
        """Return the loss on these lists. It is to be bound to the labels of the queries that they were shown for."""
        made = cls(loss, rate)
        made._lists = lists
        return made

    @property
    def ns_per_document(self) -> float:  # type: ignore[override]
        """By the number of documents shown for each document that there is."""
        lists = self._lists
        return 40.0 * len(lists.document) / max(1, len(np.unique(lists.document)))

    @property
    def is_additive(self) -> bool:
        """Whether places add to scores, rather than divide losses."""
        return self.loss.debias == "additive"

    def initial_parameters(self) -> np.ndarray:
        """Return t⁺ and t⁻; or b, and as many numbers that mean nothing."""
        return np.full(2 * self._lists.n_places, 0.0 if self.is_additive else 1.0)

    def renewed(self, parameters: Array, derivatives: Array) -> Array:
        first, second = np.split(derivatives, 2)
        if self.is_additive:
            steps = np.divide(first, second, out=np.zeros_like(first), where=second > 0)
            return parameters - self.rate * np.concatenate((steps, np.zeros_like(steps)))
        if first[0] <= 0 or second[0] <= 0:  # none of the queries drawn for this tree has a pair with the first place
            return parameters
        ratios = np.concatenate((first / first[0], second / second[0]))
        made = np.maximum(ratios ** (1.0 / (1.0 + self.loss.debias_penalty)), _LEAST)
        return np.where(derivatives > 0, made, parameters)  # places without a pair among the queries that were drawn

    def prepare(self, data: LabeledLists) -> tuple[Any, ...]:
        lists = self._lists
        first = lists.first_of_queries(len(data.sizes))
        if len(first) and first[-1] != len(lists.query):
            raise ValueError("these are not the queries that the lists were shown for")
        clicks = LabeledLists(lists.clicked.astype(np.float64), lists.offsets, np.arange(len(lists.times)), 1.0)
        total = np.bincount(lists.query, lists.times, len(data.sizes))
        arrays = lists.times, lists.offsets, lists.document, lists.place, lists.clicked.astype(np.uint8)
        how = int(self.is_additive), float(self.loss.debias_penalty)
        return self.prepare_epoch((None, first, total, arrays, *self.loss.tables(clicks), how), data, epoch=0)

    def prepare_epoch(self, prepared: Any, data: LabeledLists, epoch: int) -> Any:
        return shuffled_lists(data.offsets, data.streams(self.loss.random_state, epoch)), *prepared[1:]


@njit(fastmath=FAST, error_model="numpy")
def shown_lambdas(given: OneList, prepared: Any, out: Derivatives) -> float:
    all_shuffled, first, total, lists, all_values, discounts, metric, settings, how = prepared
    times, offsets, document, place, clicked = lists
    scores, parameters = given.scores, given.parameters
    additive, penalty = how
    n_places = len(parameters) // 2
    out.gradient[:] = 0.0
    out.curvature[:] = 0.0
    out.d_parameters[:] = 0.0
    begin, end = first[given.query], first[given.query + 1]
    if begin == end:
        return 0.0
    shuffled, turn = own(all_shuffled, given), np.empty(len(scores), np.int64)
    for r in range(len(turn)):
        turn[shuffled[r]] = r
    longest = 0
    for k in range(begin, end):
        longest = max(longest, offsets[k + 1] - offsets[k])
    work = np.empty((8, longest))
    all_order = np.empty(longest, np.int64)
    value = 0.0
    for k in range(begin, end):
        here = slice(offsets[k], offsets[k + 1])
        rows, places, hits, order = document[here], place[here], clicked[here], all_order[: offsets[k + 1] - offsets[k]]
        s = work[0, : len(order)]
        for i in range(len(order)):
            d = rows[i] - given.start
            score = scores[d] + (parameters[places[i]] if additive else 0.0)
            r = i
            while r > 0 and (
                s[r - 1] < score or (s[r - 1] == score and turn[rows[order[r - 1]] - given.start] > turn[d])
            ):
                s[r], order[r] = s[r - 1], order[r - 1]
                r -= 1
            s[r], order[r] = score, i
        terms = work[1, : len(order)], work[2, : len(order)], work[3, : len(order)]
        fill_positions(all_values[here], order, discounts, metric, terms)
        found = work[4:, : len(order)]
        found[:] = 0.0
        ranked = s, order, places, hits, all_values[here]
        loss, scale = _pairs_of_list(ranked, terms, settings, parameters, additive, found)
        value += times[k] * scale * loss
        share = times[k] / total[given.query]
        slope, bend = share * scale * settings.sigma, share * scale * settings.sigma * settings.sigma
        for i in range(len(order)):
            out.gradient[rows[i] - given.start] += slope * found[0, i]
            if len(out.curvature):
                out.curvature[rows[i] - given.start] += bend * found[1, i]
            p = places[i]
            if additive:
                out.d_parameters[p] += slope * found[0, i] + share * penalty * parameters[p]
                out.d_parameters[n_places + p] += bend * found[1, i] + share * penalty
            else:
                out.d_parameters[p] += share * found[2, i]
                out.d_parameters[n_places + p] += share * found[3, i]
    return value / total[given.query]


@njit(fastmath=FAST, error_model="numpy")
def _pairs_of_list(
    ranked: tuple[Array, ...], terms: tuple[Array, ...], settings: Any, parameters: Array, additive: int, found: Array
) -> tuple[float, float]:
    """Return the loss of one list, and what it is to be multiplied by.

    Slopes and second derivatives by the documents' scores are added to the first rows of ``found``; to the next ones,
    what pairs that were clicked, and not clicked, there lost, divided by the factor of the other place alone.
    """
    s, order, places, hits, v = ranked
    a, k, b = terms
    n, n_places = len(order), len(parameters) // 2
    by_gap = settings.normalize and s[0] > s[n - 1]
    loss, sum_lambda = 0.0, 0.0
    for r in range(min(n - 1, settings.truncation)):
        i = order[r]
        for t in range(r + 1, n):
            j = order[t]
            if hits[i] == hits[j]:
                continue
            lead = settings.sigma * (s[r] - s[t])
            delta = abs((v[i] - v[j]) * (a[r] + k[r] * b[t]))
            weight = delta / (LEAST_GAP + s[r] - s[t]) if by_gap else delta
            u = exp(-lead)
            likely = 1.0 / (1.0 + u)  # probability of the present order
            right = hits[i] > 0
            wrong = u * likely if right else likely
            cost = log1p_unit(u) + (0.0 if right else lead)
            sum_lambda += weight * wrong
            if not additive:
                hit, miss = (i, j) if right else (j, i)
                plus, minus = parameters[places[hit]], parameters[n_places + places[miss]]
                found[2, hit] += delta * cost / minus
                found[3, miss] += delta * cost / plus
                weight /= plus * minus
            change = weight * wrong
            curve = weight * u * likely * likely
            loss += weight * cost
            found[0, i] += -change if right else change
            found[0, j] += change if right else -change
            found[1, i] += curve
            found[1, j] += curve
    if not settings.normalize or sum_lambda <= 0.0:
        return loss, 1.0
    sum_lambda *= 2.0 * settings.sigma
    return loss, math.log2(1.0 + sum_lambda) / sum_lambda


ShownLambdas.kernel = shown_lambdas
