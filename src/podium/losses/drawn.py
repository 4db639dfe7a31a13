"""Any loss on labels of which only probabilities are known, as those of clicked documents.

    L(s) = (1/K) Σ_k L(s; R^(k))        R_i^(k) ~ Bernoulli(γ_i), independently of all other documents

Its expectation is that of the loss over the labels that the documents may have. Each document is drawn relevant in
⌊Kγ⌋ or ⌈Kγ⌉ of the K draws, and in a random choice of them: single draws are independent all the same, and their mean
varies less.

A loss that gains from more than two grades can have the clicks of m looks instead, R_i ~ Poisson(mγ_i) / m. PMOP does:
of two groups, the better of which has ten documents, its arithmetic potential asks only that one of the ten be on top.
"""

from functools import cache
from operator import attrgetter
from typing import Any

import numpy as np
from numba.extending import is_jitted

from podium.core.parameters import count, number
from podium.losses.base import Array, Derivatives, Kernel, LabeledLists, Loss, OneList, njit
from podium.numerics.compiling import specialize, unbound, with_globals
from podium.numerics.random import shuffle, uniform

__all__ = ["DrawnLabels"]


class DrawnLabels(Loss):
    """The mean of a loss over labels drawn at random: those it is given are probabilities of being relevant.

    Parameters
    ----------
    loss : Loss
        Any loss that learns from grades.
    n_draws : int
        Draws of all labels, made once, where all of the data are used in every step (L-BFGS).
    draws_per_epoch : int
        Stochastic steps and boosting draw so many times anew for each epoch or tree.
    highest : float
        The grade of a document that is drawn relevant. The others have grade 0.
    looks : int, optional
        If given, labels are not drawn relevant or not: they are numbers of clicks in so many looks on average, times
        ``highest / looks``. Their mean is the same. Rankers that learn from clicks choose it by the loss's ``looks``.
    n_judged : int
        The first so many queries of the data have grades, which stay as they are.
    random_state : int
        Seed of the draws; they do not depend on the number of threads.

    Examples
    --------
    Where the loss is linear in the labels, the mean over draws is the loss of the probabilities, up to a constant:

    >>> from podium.losses import RegressionLoss
    >>> drawn = DrawnLabels(RegressionLoss()).value_and_gradient([1.0, 0.0], labels=[0.75, 0.25], offsets=[0, 2])
    >>> drawn.d_scores.tolist()
    [0.125, -0.125]
    """

    loss: Loss
    n_draws: int = count(16)
    draws_per_epoch: int = count(4)
    highest: float = number(1.0, above=0)
    looks: int | None = count(None)  # type: ignore[misc]
    n_judged: int = count(0, at_least=0)
    random_state: int = 0

    @property
    def is_random(self) -> bool:
        return True

    @property
    def ns_per_document(self) -> float:  # type: ignore[override]
        """That of the loss, for all draws."""
        return self.n_draws * self.loss.ns_per_document

    def initial_parameters(self) -> np.ndarray:
        return self.loss.initial_parameters()

    def parameter_bounds(self) -> list[tuple[float | None, float | None]]:
        return self.loss.parameter_bounds()

    def seeded(self, seed: int) -> Loss:
        return self._with(loss=self.loss.seeded(seed), random_state=seed)

    def around(self, loss: Loss) -> Loss:
        return self._with(loss=loss)

    def _with(self, **changes: Any) -> Loss:
        return type(self)(**{**self.get_params(deep=False), **changes})

    def choose_kernel(self) -> Kernel:
        return _mean_of(self.loss.choose_kernel())

    def prepare(self, data: LabeledLists) -> tuple[Any, ...]:
        _require_probabilities(data, self._is_judged(data))
        lists, n_draws = self._drawn(data, 0, self.n_draws)
        return n_draws, len(data.sizes), int(data.offsets[-1]), self.loss.prepare(lists)

    def prepare_epoch(self, prepared: Any, data: LabeledLists, epoch: int) -> Any:
        lists, n_draws = self._drawn(data, epoch, self.draws_per_epoch)
        inner = self.loss.prepare_epoch(self.loss.prepare(lists), lists, epoch)
        return n_draws, *prepared[1:3], inner

    def _is_judged(self, data: LabeledLists) -> Array:
        return data.query_numbers < self.n_judged

    def _drawn(self, data: LabeledLists, epoch: int, n: int) -> tuple[LabeledLists, Array]:
        """Return all lists with the labels of the first draw, then with those of the second, and so on.

        To the loss these are different lists; the kernel gives them the same scores. Also returned is how many of them
        count for each query: one where the grades are known.
        """
        judged = self._is_judged(data)
        labels = np.empty((n, len(data.labels)))
        streams = data.streams(self.random_state, epoch)
        _draw(data.labels, data.offsets, streams, float(self.highest), self.looks or 0, labels)
        known = np.repeat(judged, data.sizes)
        labels[:, known] = data.labels[known]
        starts = np.arange(n)[:, np.newaxis] * data.offsets[-1] + data.offsets[:-1]
        offsets = np.append(starts.ravel(), n * data.offsets[-1])
        numbers = (np.arange(n)[:, np.newaxis] + n * data.query_numbers).ravel()
        highest = max(float(self.highest), data.highest_grade if self.n_judged else 0.0)
        if self.looks is not None:
            highest = max(highest, float(labels.max(initial=0.0)))
        return LabeledLists(labels.ravel(), offsets, numbers, highest), np.where(judged, 1, n)


# The facts are those of the loss of which this is a mean.
for _fact in (
    "convex",
    "shift_invariant",
    "has_gradient",
    "has_curvature",
    "exact_curvature",
    "keeps_float32",
    "sums_documents",
    "visits_pairs",
    "cost",
):
    _doc = f"The fact ``{_fact}`` of the loss of which the mean is taken."
    setattr(DrawnLabels, _fact, property(attrgetter(f"loss.{_fact}"), doc=_doc))


def _require_probabilities(data: LabeledLists, judged: Array) -> None:
    bad = np.flatnonzero(((data.labels < 0) | (data.labels > 1)) & ~np.repeat(judged, data.sizes))
    if len(bad):
        q = int(np.searchsorted(data.offsets, bad[0], side="right")) - 1
        raise ValueError(
            f"the label of document {bad[0] - data.offsets[q]} of query number {data.query_numbers[q]} is "
            f"{data.labels[bad[0]]:g} ({len(bad)} such labels); expected probabilities from 0 to 1"
        )


@njit(cache=True, error_model="numpy")
def _draw(probabilities: Array, offsets: Array, streams: Array, highest: float, looks: int, labels: Array) -> None:
    """Write one row of labels per draw, each document by its query's own stream."""
    n = len(labels)
    for q in range(len(offsets) - 1):
        stream = streams[q : q + 1]
        turn = np.arange(n)  # anew, so that it does not depend on the queries before
        for i in range(offsets[q], offsets[q + 1]):
            u, p = uniform(stream), probabilities[i]
            shuffle(turn, stream)
            for k in range(n):
                # One of n equal slices of (0, 1) for each draw.
                place = (turn[k] + u) / n
                if looks > 0:
                    labels[k, i] = highest * _clicks(looks * p, 1.0 - place) / looks
                else:
                    labels[k, i] = highest if p >= 1.0 or place < p else 0.0


@njit(cache=True, error_model="numpy")
def _clicks(mean: float, share: float) -> int:
    """Return the smallest number that a Poisson variable of this mean exceeds with probability 1 − share at most."""
    number, chance = 0, np.exp(-mean)
    below = chance
    while below < share and number < mean + 40.0 * (1.0 + np.sqrt(mean)):  # rounding may keep the sum below 1
        number += 1
        chance *= mean / number
        below += chance
    return number


kernel: Kernel = unbound


def _mean_over_draws(given: OneList, prepared: Any, out: Derivatives) -> float:
    draws, n_queries, n_documents, inner = prepared
    n_draws = draws[given.query]
    value = kernel(given, inner, out)
    if n_draws == 1:
        return value
    more = Derivatives(np.empty_like(out.gradient), np.empty_like(out.curvature), np.empty_like(out.d_parameters))
    for k in range(1, n_draws):
        query, start = given.query + k * n_queries, given.start + k * n_documents
        value += kernel(OneList(given.scores, query, start, given.parameters), inner, more)
        out.gradient[:] += more.gradient
        out.curvature[:] += more.curvature
        out.d_parameters[:] += more.d_parameters
    out.gradient[:] /= n_draws
    out.curvature[:] /= n_draws
    out.d_parameters[:] /= n_draws
    return value / n_draws


@cache
def _mean_of(kernel: Kernel) -> Kernel:
    if is_jitted(kernel):
        return njit(error_model="numpy")(specialize(_mean_over_draws, kernel, ""))
    return with_globals(_mean_over_draws, kernel=kernel)
