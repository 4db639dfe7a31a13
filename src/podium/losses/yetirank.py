"""YetiRank: logistic loss on neighbors in rankings by noisy scores.

Of K rankings, each by s + ε with ε from the standard logistic distribution, the documents i and j at places k and k + 1
make a pair if their grades differ:

    L = 1/K Σ_rankings Σ_k d(k) (y_i − y_j) log(1 + e^{−(s_i − s_j)})        for y_i > y_j

with d(k) = 0.85^{k−1}, or 1/k. The rankings are held fixed in the derivatives.

Gulin, Kuralenok & Pavlov, "Winning the transfer learning track of Yahoo!'s learning to rank challenge with YetiRank",
JMLR W&CP 14, 2011.
"""

from typing import Any

import numpy as np

from podium.core.parameters import choice, count
from podium.losses.base import Array, Derivatives, LabeledLists, Loss, OneList, njit, own
from podium.numerics.elementary import FAST, exp, extent, log1p_unit
from podium.numerics.random import fill_logistic
from podium.numerics.sorting import descending

__all__ = ["YetiRankLoss"]

DECAY = 0.85
"""CatBoost's default in its mode Classic."""


class YetiRankLoss(Loss, has_gradient=False, has_curvature=True, ns_per_document=150.0):
    """Logistic loss on neighbors in rankings by noisy scores, by the difference of their grades.

    Pairs near the top count most, and of these the ones whose order is in doubt: neighbors are documents with similar
    scores. The value is that of the rankings drawn; gradient and second derivative are its derivatives with the
    rankings held fixed. Equal labels say nothing; a query without a pair contributes 0.

    Parameters
    ----------
    n_permutations : int
        Rankings per query, drawn anew for each epoch or tree.
    discount : "geometric" or "reciprocal"
        What the pair at places k and k + 1 counts: 0.85^(k − 1), or 1/k.
    random_state : int
        Seed of the noise.

    Examples
    --------
    >>> loss = YetiRankLoss().value_and_gradient([0.5, 0.0, -1.0], labels=[1, 2, 0], offsets=[0, 3])
    >>> round(loss.value, 4)
    1.1278
    >>> loss.d_scores.round(3).tolist()
    [0.216, -0.783, 0.567]
    """

    cost = "n × n_permutations"
    n_permutations: int = count(10)
    discount: str = choice("geometric", "reciprocal")
    random_state: int = count(0, at_least=0)

    @property
    def is_random(self) -> bool:
        return True

    def prepare(self, data: LabeledLists) -> tuple[Any, ...]:
        places = np.arange(data.longest)
        discounts = DECAY**places if self.discount == "geometric" else 1.0 / (1 + places)
        return self.prepare_epoch((None, data.labels, discounts, int(self.n_permutations)), data, epoch=0)

    def prepare_epoch(self, prepared: tuple[Any, ...], data: LabeledLists, epoch: int) -> tuple[Any, ...]:
        return data.streams(self.random_state, epoch), *prepared[1:]


@njit(error_model="numpy")
def yetirank(given: OneList, prepared: Any, out: Derivatives) -> float:
    streams, all_labels, discounts, n_permutations = prepared
    n, labels = len(given.scores), own(all_labels, given)
    stream = streams[given.query : given.query + 1].copy()
    noise, noisy, order = np.empty(n), np.empty(n, np.float32), np.empty(n, np.uint32)
    s, y, slopes, bends = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    out.gradient[:] = 0.0
    out.curvature[:] = 0.0
    low, high = extent(labels)
    if low == high:
        return 0.0
    middle = given.scores.mean()
    value = 0.0
    for _ in range(n_permutations):
        fill_logistic(noise, stream)
        for i in range(n):
            noisy[i] = (given.scores[i] - middle) + noise[i]
        descending(noisy, order)
        for k in range(n):
            s[k], y[k] = given.scores[order[k]], labels[order[k]]
        value += _neighbors(s, y, discounts, slopes, bends)
        for k in range(n - 1):
            out.gradient[order[k]] += slopes[k]
            out.gradient[order[k + 1]] -= slopes[k]
        if len(out.curvature) > 0:
            for k in range(n - 1):
                out.curvature[order[k]] += bends[k]
                out.curvature[order[k + 1]] += bends[k]
    out.gradient[:] /= n_permutations
    out.curvature[:] /= n_permutations
    return value / n_permutations


@njit(fastmath=FAST, error_model="numpy")
def _neighbors(s: Array, y: Array, discounts: Array, slopes: Array, bends: Array) -> float:
    """Return the loss of one ranking; write the slope in the upper document of each two neighbors, and the bend."""
    value = 0.0
    lower_s, lower_y = s[1:], y[1:]
    for k in range(len(lower_s)):
        difference = y[k] - lower_y[k]
        weight = discounts[k] * abs(difference)
        right = difference > 0.0
        lead = s[k] - lower_s[k] if right else lower_s[k] - s[k]
        u = exp(-abs(lead))
        likely = 1.0 / (1.0 + u)  # probability of the order that the scores give
        wrong = u * likely if lead > 0.0 else likely
        value += weight * (log1p_unit(u) + max(-lead, 0.0))
        slopes[k] = -weight * wrong if right else weight * wrong
        bends[k] = weight * u * likely * likely
    return value


YetiRankLoss.kernel = yetirank
