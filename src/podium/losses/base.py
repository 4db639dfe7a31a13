"""The contract of a loss: one query's scores and labels in, a value and its gradient out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from podium.losses.loop import Kernel, over_queries
from podium.parameters import Parameterized


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

    A subclass declares its facts, names its compiled ``kernel`` (see :mod:`podium.losses.loop`) and, in
    ``prepare``, does whatever depends on the labels alone. It holds parameters, never data.
    """

    kernel: ClassVar[Kernel]
    convex: ClassVar[bool] = False
    """Convex in the scores?"""
    shift_invariant: ClassVar[bool] = True
    """Unchanged when a constant is added to all scores of a query?"""
    has_curvature: ClassVar[bool] = False
    """Can it give a second derivative per document (``d2_scores``)?"""
    cost: ClassVar[str] = "n"
    """Operations for a list of n documents, for documentation and scheduling."""

    @property
    def n_parameters(self) -> int:
        """How many parameters the loss itself learns."""
        return len(self.initial_parameters())

    def initial_parameters(self) -> np.ndarray:
        """Where learning of the loss's own parameters starts, (n_parameters,) float64."""
        return np.empty(0)

    def prepare(self, labels: np.ndarray, offsets: np.ndarray) -> tuple[np.ndarray, ...]:
        """What the kernel needs to know of the labels, computed once per fit."""
        raise NotImplementedError(f"{type(self).__name__} does not say how to prepare labels")

    def prepare_epoch(
        self, prepared: tuple[np.ndarray, ...], labels: np.ndarray, offsets: np.ndarray, epoch: int
    ) -> tuple[np.ndarray, ...]:
        """What changes from one pass over the data to the next (fresh samples, reshuffled ties); by default nothing."""
        return prepared

    def bind(self, labels: np.ndarray, offsets: np.ndarray, query_weight: np.ndarray | None = None) -> BoundLoss:
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
        self.offsets = _check_offsets(offsets)
        self.labels = _check_labels(labels, self.offsets)
        self.weights = _mean_weights(query_weight, len(self.offsets) - 1)
        self.prepared = loss.prepare(self.labels, self.offsets)
        self._all_queries = np.arange(len(self.weights), dtype=np.int64)

    @property
    def n_queries(self) -> int:
        return len(self.weights)

    def start_epoch(self, epoch: int) -> None:
        """Renew what the loss draws anew in each pass over the data."""
        self.prepared = self.loss.prepare_epoch(self.prepared, self.labels, self.offsets, epoch)

    def parameters(self, parameters: Any = None) -> np.ndarray:
        """The loss's own parameters, checked; its initial ones if none are given."""
        initial = self.loss.initial_parameters()
        if parameters is None:
            return initial
        given = np.ascontiguousarray(parameters, dtype=np.float64)
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
        written, each still scaled by its weight in the mean over all queries; ``gradient`` is the array to write to.
        """
        scores = self._check_scores(scores)
        parameters = self.parameters(parameters)
        if curvature and not self.loss.has_curvature:
            raise ValueError(f"{type(self.loss).__name__} has no second derivative to give")
        queries = self._all_queries if queries is None else queries
        if gradient is None:
            gradient = np.empty_like(scores)
        d2_scores = np.empty_like(scores) if curvature else np.empty(0, scores.dtype)
        values = np.empty(len(queries))
        d_parameters = np.empty((len(queries), len(parameters)))
        over_queries(type(self.loss).kernel)(
            scores,
            self.offsets,
            self.weights,
            queries,
            self.prepared,
            parameters,
            gradient,
            d2_scores,
            values,
            d_parameters,
        )
        return LossValue(float(values.sum()), gradient, d_parameters.sum(axis=0), d2_scores if curvature else None)

    def _check_scores(self, scores: Any) -> np.ndarray:
        array = np.ascontiguousarray(scores)
        if array.dtype not in (np.float32, np.float64):
            array = array.astype(np.float64)
        if array.shape != (self.offsets[-1],):
            raise ValueError(
                f"scores must have one entry for each of the {self.offsets[-1]} documents; got shape {array.shape}"
            )
        return array


def _check_offsets(offsets: Any) -> np.ndarray:
    array = np.ascontiguousarray(offsets, dtype=np.int64)
    if array.ndim != 1 or len(array) == 0 or array[0] != 0 or (np.diff(array) < 0).any():
        raise ValueError("offsets must start at 0 and never decrease: query q is documents offsets[q]:offsets[q + 1]")
    return array


def _check_labels(labels: Any, offsets: np.ndarray) -> np.ndarray:
    array = np.ascontiguousarray(labels, dtype=np.float64)
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
