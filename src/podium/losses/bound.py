"""A loss on given labels, evaluated at many scores."""

from __future__ import annotations

import math
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from podium.core.arrays import Array
from podium.losses.checks import as_column, as_output, as_queries, as_scores, mean_weights
from podium.losses.labeled import LabeledLists
from podium.numerics import loop
from podium.numerics.calls import Routine
from podium.numerics.kernels import BoundKernel, Derivatives, OneList

if TYPE_CHECKING:
    from podium.losses.base import Loss

__all__ = ["BoundLoss", "LossValue"]

_EMPTY = {dtype: np.empty(0, dtype) for dtype in (np.dtype(np.float32), np.dtype(np.float64))}


@dataclass(frozen=True, slots=True)
class LossValue:
    """A loss at some scores: the weighted mean over queries and its derivatives.

    Parameters
    ----------
    value : float
        The weighted mean over queries.
    d_scores : (n_documents,) array
        Its derivatives with respect to the scores, in their dtype.
    d_parameters : (n_parameters,) float64 array
        Those with respect to the loss's own parameters; empty for a loss that learns nothing itself.
    d2_scores : (n_documents,) array, optional
        Diagonal second derivative (or the loss's stand-in for it), if asked for.

    Examples
    --------
    >>> from podium.losses import RegressionLoss
    >>> at = RegressionLoss().value_and_gradient([2.0, 0.0], labels=[1, 0], offsets=[0, 2], curvature=True)
    >>> at.value, at.d_scores.tolist(), at.d2_scores.tolist()
    (0.25, [0.5, 0.0], [0.5, 0.5])
    """

    value: float
    d_scores: Array
    d_parameters: Array
    d2_scores: Array | None = None


class BoundLoss:
    """A loss together with the labels it is evaluated on, as :meth:`podium.losses.Loss.bind` returns it.

    Parameters
    ----------
    loss : Loss
        The loss.
    data : LabeledLists
        Labels and offsets of all queries.
    query_weight : (n_queries,) array, optional
        Non-negative weights of the queries in the mean; all equal if not given.

    Examples
    --------
    Labels are prepared once, then two sets of scores are judged by them:

    >>> from podium.losses import RegressionLoss
    >>> bound = RegressionLoss().bind(labels=[1, 0, 1], offsets=[0, 2, 3])
    >>> [bound.value_and_gradient(scores).value for scores in ([1.0, 0.0, 0.0], [1.0, 0.0, 1.0])]
    [0.25, 0.0]
    >>> bound.per_query([1.0, 0.0, 0.0]).tolist()
    [0.0, 0.5]
    """

    def __init__(self, loss: Loss, data: LabeledLists, query_weight: Any) -> None:
        self.loss, self.data, self.offsets = loss, data, data.offsets
        self._all_queries = np.arange(len(data.sizes))
        self.weights = mean_weights(query_weight, len(data.sizes))
        self.kernel = loss.kernel_for(data)
        self._set_prepared(loss.prepare(data))

    @property
    def n_queries(self) -> int:
        """How many queries there are."""
        return len(self.weights)

    def weighted(self, weights: Array) -> BoundLoss:
        """Return the same with these factors of the queries' losses, as they are: they need not add up to 1."""
        other = copy(self)
        other.weights = as_column("weights", weights, self.n_queries, "queries")
        return other

    def start_epoch(self, epoch: int) -> None:
        """Renew what the loss draws anew in each pass over the data."""
        prepared = self.loss.prepare_epoch(self.prepared, self.data, epoch)
        if prepared is not self.prepared:
            self._set_prepared(prepared)

    def _set_prepared(self, prepared: Any) -> None:
        self.prepared = prepared
        self._bound_kernel = BoundKernel(self.kernel, prepared, self.loss.guarded)
        self._last_routine: tuple[tuple[Array, ...], Routine] | None = None

    def _routine(self, *arrays: Array) -> Routine:
        """Return the kernel with its arrays laid out; trainers give the same arrays again and again."""
        last = self._last_routine
        if last is None or any(now is not before for now, before in zip(arrays, last[0], strict=True)):
            last = arrays, self._bound_kernel.routine(*arrays)
            self._last_routine = last if self._bound_kernel.is_compiled else None
        return last[1]

    @cached_property
    def blocks(self) -> Array:
        """Bounds of the blocks of queries over which values are summed."""
        return _blocks(self.offsets)

    @cached_property
    def _work(self) -> Array:
        """(n_queries,) about how many nanoseconds each query takes."""
        sizes = self.data.sizes.astype(np.float64)
        if not self._bound_kernel.is_compiled:
            return np.full(len(sizes), -np.inf)  # Python runs in one thread at a time
        return sizes**2 if self.loss.visits_pairs else self.loss.ns_per_document * sizes

    def parameters(self, parameters: Any = None) -> Array:
        """Return the loss's own parameters, checked; its initial ones if none are given."""
        initial = self.loss.initial_parameters()
        if parameters is None:
            return initial
        return as_column("parameters", parameters, len(initial), f"parameters of {type(self.loss).__name__}")

    def value_and_gradient(
        self,
        scores: Any,
        *,
        parameters: Any = None,
        curvature: bool = False,
        queries: Array | None = None,
        gradient: Array | None = None,
    ) -> LossValue:
        """Return the loss at given scores.

        Parameters
        ----------
        scores : (n_documents,) array
            Float32 or float64.
        parameters : (n_parameters,) array, optional
            The loss's own parameters; its initial ones if not given.
        curvature : bool
            Also return ``d2_scores``, for losses that have it.
        queries : (n,) integers, optional
            Only these are evaluated and only their slices of the gradient are written, each still scaled by its weight
            in the mean over all queries.
        gradient : (n_documents,) array, optional
            What to write to: giving the same array every time saves the cost of new memory, which exceeds that of the
            cheaper losses.

        Returns
        -------
        LossValue
            Value and derivatives.
        """
        scores = as_scores(scores, int(self.offsets[-1]))
        if scores.dtype == np.float32 and not self.loss.keeps_float32:
            return self._in_float64(scores, gradient, parameters=parameters, curvature=curvature, queries=queries)
        parameters = self.parameters(parameters)
        if curvature and not self.loss.has_curvature:
            raise ValueError(f"{type(self.loss).__name__} has no second derivative to give")
        new = np.empty_like if queries is None else np.zeros_like  # what is not written must not be garbage
        queries = None if queries is None else as_queries(queries, self.n_queries)
        gradient = new(scores) if gradient is None else as_output(gradient, scores)
        d2_scores = new(scores) if curvature else None
        sums = self.visit(scores, gradient, parameters, curvature=d2_scores, queries=queries)
        total = sums.totals.sum(axis=0)
        if not math.isfinite(total[0]):
            self.explain_value(scores, parameters, queries)
        return LossValue(float(total[0]), gradient, total[1:], d2_scores)

    def per_query(self, scores: Any, *, parameters: Any = None) -> Array:
        """Return (n_queries,) the loss of each query by itself, whatever its weight."""
        scores = as_column("scores", scores, int(self.offsets[-1]))
        parameters = self.parameters(parameters)
        values = self._values(scores, parameters, self._all_queries)
        if not np.isfinite(values).all():
            self.explain_value(scores, parameters)
        return values

    def visit(
        self,
        scores: Array,
        gradient: Array,
        parameters: Array,
        *,
        curvature: Array | None = None,
        queries: Array | None = None,
        model: loop.ModelRoutines | None = None,
        bounds: Array | None = None,
        sums: loop.Sums | None = None,
    ) -> loop.Sums:
        """Run the loop over queries (see ``podium.numerics.loop``) and return the sums over its blocks.

        With a ``model``, this writes its scores to ``scores`` and the sum of its backward calls to ``sums.gradient``.
        ``bounds`` are those of the blocks, and ``sums`` room for them that is used again. What is wrong with a query
        that cannot be computed is raised here; whether the values are finite is for the caller to see.
        """
        if bounds is None:
            bounds = self.blocks if queries is None else _blocks(np.append(0, np.cumsum(self.data.sizes[queries])))
        work = float((self._work if queries is None else self._work[queries]).sum())
        n_gradient = 0
        if model is not None:
            n_gradient, work = model.n_gradient, work + model.work
        sums = loop.new_sums(len(bounds) - 1, len(parameters), n_gradient) if sums is None else sums
        lists = loop.Lists(self.offsets, self.weights, self._all_queries if queries is None else queries)
        curvature = _EMPTY[scores.dtype] if curvature is None else curvature
        loss = self._routine(scores, gradient, parameters if len(parameters) else _EMPTY[parameters.dtype], curvature)
        try:
            loop.visit(loop.Calls.of(loss, model), lists, bounds, sums, work)
        except loop.QueryError as fault:
            self._explain_fault(fault, loss, scores, parameters)
        return sums

    def run_epoch(
        self,
        scores: Array,
        gradient: Array,
        model: loop.ModelRoutines,
        order: Array,
        training: loop.Training,
        n_steps: int,
    ) -> tuple[float, int]:
        """Take stochastic steps over the queries in ``order`` (see ``podium.numerics.loop.run_epoch``).

        The loss's own parameters are the last ones of ``training.theta``. Returns the mean loss met on the way, which
        the caller must check to be finite, and the number of steps taken so far.
        """
        n_own = self.loss.n_parameters
        parameters = training.theta[len(training.theta) - n_own :]
        sums = loop.new_sums(1, n_own, model.n_gradient)
        loss = self._bound_kernel.routine(scores, gradient, parameters, _EMPTY[scores.dtype])
        try:
            return loop.run_epoch(
                loop.Calls.of(loss, model), loop.Lists(self.offsets, self.weights, order), training, n_steps, sums
            )
        except loop.QueryError as fault:
            self._explain_fault(fault, loss, scores, parameters)

    def _values(self, scores: Array, parameters: Array, queries: Array) -> Array:
        """Return the loss of each of these queries, unweighted: each is a block."""
        equal = self.weighted(np.ones_like(self.weights))
        bounds = np.arange(len(queries) + 1)
        return equal.visit(scores, np.empty_like(scores), parameters, queries=queries, bounds=bounds).totals[:, 0]

    def _in_float64(self, scores: Array, gradient: Array | None, **options: Any) -> LossValue:
        """Return the loss at float32 scores, of a kernel that has float64 only."""
        result = self.value_and_gradient(scores.astype(np.float64), **options)
        queries = options["queries"]
        if gradient is None:
            gradient = result.d_scores.astype(np.float32)
        elif queries is None:
            as_output(gradient, scores)[:] = result.d_scores
        else:  # the slices of other queries stay as they are
            chosen = np.zeros(self.n_queries, bool)
            chosen[queries] = True
            np.copyto(as_output(gradient, scores), result.d_scores, where=np.repeat(chosen, self.data.sizes))
        curvature = None if result.d2_scores is None else result.d2_scores.astype(np.float32)
        return LossValue(result.value, gradient, result.d_parameters, curvature)

    def _explain_fault(self, fault: loop.QueryError, routine: Routine, scores: Array, parameters: Array) -> NoReturn:
        """Raise what a query's kernel raised; a compiled one is called again from Python, where its error is seen."""
        q = fault.query
        try:
            if routine.errors:
                raise routine.errors[0]
            self._call_kernel(q, scores, parameters)
        except Exception as error:
            error.add_note(f"{type(self.loss).__name__} failed on query number {self.data.query_numbers[q]}")
            raise
        raise fault

    def _call_kernel(self, q: int, scores: Array, parameters: Array) -> None:
        s = scores[self.offsets[q] : self.offsets[q + 1]].copy()
        out = Derivatives(np.empty_like(s), np.empty(0, s.dtype), np.empty(len(parameters)))
        self.kernel(OneList(s, q, int(self.offsets[q]), parameters), self.prepared, out)

    def explain_value(self, scores: Array, parameters: Array, queries: Array | None = None) -> NoReturn:
        """Raise, naming the query whose loss is not finite. Every kernel turns scores that are not into such a loss."""
        queries = self._all_queries if queries is None else queries
        values = self._values(scores, parameters, queries)
        k = int(np.flatnonzero(~np.isfinite(values * self.weights[queries]))[0])
        q = int(queries[k])
        s = scores[self.offsets[q] : self.offsets[q + 1]]
        bad = np.flatnonzero(~np.isfinite(s))
        number = self.data.query_numbers[q]
        if len(bad):
            raise ValueError(
                f"the score of document {bad[0]} of query number {number} is {s[bad[0]]}; scores must be finite"
            )
        raise ValueError(
            f"{type(self.loss).__name__} is {values[k]} on query number {number}, "
            f"whose scores reach from {s.min()} to {s.max()}"
        )


def _blocks(offsets: Array) -> Array:
    return loop.blocks_of_queries(offsets, loop.n_partial_sums(int(offsets[-1]), 1))
