"""The contract of a loss: one query's scores and labels in, a value and its gradient out."""

from __future__ import annotations

import math
from copy import copy
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from podium.core.parameters import Parameterized
from podium.data.grouping import as_offsets
from podium.data.preferences import Preferences
from podium.numerics.calls import Call, pack, prepare_call
from podium.numerics.compiling import Kernel
from podium.numerics.loop import over_queries

__all__ = ["BoundLoss", "Loss", "LossValue"]


@dataclass(frozen=True, slots=True)
class LossValue:
    """A loss at some scores: the weighted mean over queries and its derivatives."""

    value: float
    d_scores: np.ndarray
    """(n_documents,) in the dtype of the scores."""
    d_parameters: np.ndarray
    """(n_parameters,) float64; empty for a loss that learns nothing itself."""
    d2_scores: np.ndarray | None = None
    """(n_documents,) diagonal second derivative (or the loss's stand-in for it), if asked for."""


class Loss(Parameterized):
    """Base of all losses.

    A subclass declares its facts, names its compiled ``kernel`` (see :mod:`podium.numerics.loop`) and, in
    ``prepare``, does whatever depends on the labels alone. It holds parameters, never data.
    """

    kernel: ClassVar[Kernel]
    convex: ClassVar[bool] = False
    """Convex in the scores?"""
    shift_invariant: ClassVar[bool] = True
    """Unchanged when a constant is added to all scores of a query?"""
    has_gradient: ClassVar[bool] = True
    """Is ``d_scores`` the derivative of ``value``? (LambdaRank's is one with some factors held fixed.)"""
    has_curvature: ClassVar[bool] = False
    """Can it give a second derivative per document (``d2_scores``)?"""
    exact_curvature: ClassVar[bool] = False
    """Is that the exact diagonal of the Hessian, rather than a positive stand-in for it?"""
    accepts_preferences: ClassVar[bool] = False
    """Can its labels be :class:`podium.Preferences` instead of grades?"""
    keeps_float32: ClassVar[bool] = False
    """Is its kernel also compiled for float32 scores? Worth it where the arithmetic is all there is; others compute in
    float64 whatever they are given."""
    cost: ClassVar[str] = "n"
    """Operations for a list of n documents, for documentation and scheduling."""

    @property
    def n_parameters(self) -> int:
        """How many parameters the loss itself learns."""
        return len(self.initial_parameters())

    def initial_parameters(self) -> np.ndarray:
        """Where learning of the loss's own parameters starts, (n_parameters,) float64."""
        return np.empty(0)

    def parameter_bounds(self) -> list[tuple[float | None, float | None]]:
        """Smallest and largest value of each of the loss's own parameters; by default they are free."""
        return [(None, None)] * self.n_parameters

    def prepare(self, labels: np.ndarray, offsets: np.ndarray) -> tuple[Any, ...]:
        """What the kernel needs to know of the labels and of the settings, computed (and checked) once per fit."""
        raise NotImplementedError(f"{type(self).__name__} does not say how to prepare labels")

    def prepare_epoch(
        self, prepared: tuple[Any, ...], labels: np.ndarray, offsets: np.ndarray, epoch: int
    ) -> tuple[Any, ...]:
        """What changes from one pass over the data to the next (fresh samples, reshuffled ties); by default nothing."""
        return prepared

    def likelihood(self) -> Loss | None:
        """The loss whose value is exactly −log of the labels' probability under this model; None if there is none."""
        return None

    def choose_kernel(self) -> Kernel:
        """The compiled function of one query; a loss with variants picks by its parameters."""
        return type(self).kernel

    def bind(self, labels: Any, offsets: Any, query_weight: Any = None) -> BoundLoss:
        """The loss on given labels; evaluating it at many scores then does the label work once."""
        return BoundLoss(self, labels, offsets, query_weight)

    def value_and_gradient(
        self,
        scores: Any,
        labels: Any,
        offsets: Any,
        *,
        query_weight: Any = None,
        parameters: Any = None,
        curvature: bool = False,
    ) -> LossValue:
        """Mean loss over queries and its gradient with respect to each score.

        Parameters
        ----------
        scores, labels : (n_documents,)
            Query q owns the slice ``offsets[q]:offsets[q + 1]`` of both.
        offsets : (n_queries + 1,) integers, from 0 to n_documents
        query_weight : (n_queries,), optional
            Non-negative; the value is then the weighted mean. A weight of 2 equals the query given twice.
        parameters : (n_parameters,), optional
            The loss's own parameters; :meth:`initial_parameters` if not given.
        curvature : bool
            Also return ``d2_scores``, for losses that have it.
        """
        return self.bind(labels, offsets, query_weight).value_and_gradient(
            scores, parameters=parameters, curvature=curvature
        )


class BoundLoss:
    """A loss together with the labels it is evaluated on."""

    def __init__(self, loss: Loss, labels: Any, offsets: Any, query_weight: Any = None) -> None:
        self.loss = loss
        self.offsets = as_offsets(offsets)
        self.labels = _check_labels(labels, self.offsets, loss)
        self.weights = _mean_weights(query_weight, len(self.offsets) - 1)
        self.prepared = loss.prepare(self.labels, self.offsets)
        self.kernel = loss.choose_kernel()
        self._packed = pack(self.prepared)
        self._all_queries = np.arange(len(self.weights), dtype=np.int64)

    @property
    def n_queries(self) -> int:
        return len(self.weights)

    def start_epoch(self, epoch: int) -> None:
        """Renew what the loss draws anew in each pass over the data."""
        prepared = self.loss.prepare_epoch(self.prepared, self.labels, self.offsets, epoch)
        if prepared is not self.prepared:
            self.prepared, self._packed = prepared, pack(prepared)

    def call(
        self, scores: np.ndarray, gradient: np.ndarray, parameters: np.ndarray, curvature: np.ndarray | None = None
    ) -> Call:
        """What a compiled loop needs to evaluate the loss of a query (see :mod:`podium.numerics.calls`)."""
        return prepare_call(self.kernel, self._packed, scores, gradient, parameters, curvature)

    def parameters(self, parameters: Any = None) -> np.ndarray:
        """The loss's own parameters, checked; its initial ones if none are given."""
        initial = self.loss.initial_parameters()
        if parameters is None:
            return initial
        given = _writable(np.ascontiguousarray(parameters, dtype=np.float64))
        if given.shape != initial.shape:
            raise ValueError(
                f"{type(self.loss).__name__} has {len(initial)} parameters; got an array of shape {given.shape}"
            )
        return given

    def value_and_gradient(
        self,
        scores: Any,
        *,
        parameters: Any = None,
        curvature: bool = False,
        queries: np.ndarray | None = None,
        gradient: np.ndarray | None = None,
    ) -> LossValue:
        """The loss at ``scores``.

        With ``queries`` (an index array), only these are evaluated and only their slices of the gradient are
        written, each still scaled by its weight in the mean over all queries. ``gradient`` is the array to write to:
        giving the same one every time saves the cost of new memory, which exceeds that of the cheaper losses.
        """
        scores = self._check_scores(scores)
        if scores.dtype == np.float32 and not self.loss.keeps_float32:
            return self._in_float64(scores, gradient, parameters=parameters, curvature=curvature, queries=queries)
        parameters = self.parameters(parameters)
        if curvature and not self.loss.has_curvature:
            raise ValueError(f"{type(self.loss).__name__} has no second derivative to give")
        new = np.empty_like if queries is None else np.zeros_like  # what is not written must not be garbage
        queries = self._all_queries if queries is None else self._check_queries(queries)
        gradient = new(scores) if gradient is None else _check_output(gradient, scores)
        d2_scores = new(scores) if curvature else np.empty(0, scores.dtype)
        values, d_parameters = self._evaluate(scores, parameters, queries, gradient, d2_scores)
        return LossValue(float(values.sum()), gradient, d_parameters.sum(axis=0), d2_scores if curvature else None)

    def per_query(self, scores: Any, *, parameters: Any = None) -> np.ndarray:
        """(n_queries,) the loss of each query by itself, whatever its weight."""
        scores = self._check_scores(scores).astype(np.float64)
        equal = copy(self)
        equal.weights = np.ones_like(self.weights)
        gradient, none = np.empty_like(scores), np.empty(0)
        return equal._evaluate(scores, self.parameters(parameters), self._all_queries, gradient, none)[0]

    def _evaluate(
        self, scores: np.ndarray, parameters: np.ndarray, queries: np.ndarray, gradient: np.ndarray, d2: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Weighted values and parameter gradients query by query; writes ``gradient`` and, unless empty, ``d2``."""
        values = np.empty(len(queries))
        d_parameters = np.empty((len(queries), len(parameters)))
        call = self.call(scores, gradient, parameters, d2)
        over_queries(
            call.entry,
            call.address,
            self.offsets,
            self.weights,
            queries,
            gradient,
            d2,
            values,
            d_parameters,
        )
        if not math.isfinite(values.sum()):
            self._explain(scores, queries, values)
        return values, d_parameters

    def _in_float64(self, scores: np.ndarray, gradient: np.ndarray | None, **options: Any) -> LossValue:
        """The loss at float32 scores, of a kernel that has float64 only."""
        wide = None
        if gradient is not None:
            wide = _check_output(gradient, scores).astype(np.float64)  # a copy: queries not asked for keep their slices
        result = self.value_and_gradient(scores.astype(np.float64), gradient=wide, **options)
        gradient = np.empty_like(scores) if gradient is None else gradient
        gradient[:] = result.d_scores
        curvature = None if result.d2_scores is None else result.d2_scores.astype(np.float32)
        return LossValue(result.value, gradient, result.d_parameters, curvature)

    def _explain(self, scores: np.ndarray, queries: np.ndarray, values: np.ndarray) -> None:
        """Raise, naming the query whose loss is not finite. Every kernel turns scores that are not into such a loss."""
        k = int(np.flatnonzero(~np.isfinite(values))[0])
        q = int(queries[k])
        s = scores[self.offsets[q] : self.offsets[q + 1]]
        bad = np.flatnonzero(~np.isfinite(s))
        if len(bad):
            raise ValueError(
                f"the score of document {bad[0]} of query number {q} is {s[bad[0]]}; scores must be finite"
            )
        raise ValueError(
            f"{type(self.loss).__name__} is {values[k]} on query number {q}, "
            f"whose scores reach from {s.min()} to {s.max()}"
        )

    def _check_scores(self, scores: Any) -> np.ndarray:
        array = _writable(np.ascontiguousarray(scores))
        if array.dtype not in (np.float32, np.float64):
            array = array.astype(np.float64)
        if array.shape != (self.offsets[-1],):
            raise ValueError(
                f"scores must have one entry for each of the {self.offsets[-1]} documents; got shape {array.shape}"
            )
        return array

    def _check_queries(self, queries: Any) -> np.ndarray:
        array = _writable(np.ascontiguousarray(queries, dtype=np.int64))
        if array.ndim != 1 or (len(array) and not 0 <= array.min() <= array.max() < self.n_queries):
            raise ValueError(f"queries must be numbers of queries, from 0 to {self.n_queries - 1}")
        return array


def _writable(array: np.ndarray) -> np.ndarray:
    """A copy of a read-only array: compiled code has types for both, and one compilation should do."""
    return array if array.flags.writeable else array.copy()


def _check_output(gradient: np.ndarray, scores: np.ndarray) -> np.ndarray:
    if gradient.shape != scores.shape or gradient.dtype != scores.dtype or not gradient.flags.c_contiguous:
        raise ValueError(
            f"gradient= must be a contiguous array like the scores, {scores.shape} {scores.dtype}; "
            f"got {gradient.shape} {gradient.dtype}"
        )
    if np.may_share_memory(gradient, scores):
        raise ValueError("gradient= must not share memory with the scores, which are never overwritten")
    return gradient


def _check_preferences(preferences: Preferences, loss: Loss) -> Preferences:
    if not loss.accepts_preferences:
        raise ValueError(
            f"{type(loss).__name__} learns from grades, not from preference pairs; StructRankLoss takes both"
        )
    return preferences


def _check_labels(labels: Any, offsets: np.ndarray, loss: Loss) -> Any:
    if isinstance(labels, Preferences):
        return _check_preferences(labels, loss)
    array = _writable(np.ascontiguousarray(labels, dtype=np.float64))
    if array.shape != (offsets[-1],):
        raise ValueError(f"labels must have one entry for each of the {offsets[-1]} documents; got shape {array.shape}")
    if not np.isfinite(array).all():
        bad = int(np.flatnonzero(~np.isfinite(array))[0])
        q = int(np.searchsorted(offsets, bad, side="right")) - 1
        raise ValueError(f"label of document {bad} (query number {q}) is {array[bad]}; labels must be finite")
    return array


def _mean_weights(query_weight: Any, n_queries: int) -> np.ndarray:
    """Weights that turn a sum over queries into the (weighted) mean."""
    if query_weight is None:
        return np.full(n_queries, 1.0 / max(n_queries, 1))
    weights = np.ascontiguousarray(query_weight, dtype=np.float64)
    if weights.shape != (n_queries,):
        raise ValueError(f"query_weight must have one entry for each of the {n_queries} queries; got {weights.shape}")
    if not np.isfinite(weights).all() or (weights < 0).any() or (n_queries and weights.sum() == 0):
        raise ValueError("query weights must be finite, not negative and not all zero")
    return weights / weights.sum() if n_queries else weights
