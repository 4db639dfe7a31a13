"""The loop over queries. There is one, shared by every loss, scorer and trainer.

For each query it calls, through addresses (:mod:`podium.numerics.calls`),

    forward     the scorer's: writes the scores of the query's documents            (if there is one)
    loss        the loss's kernel (:mod:`podium.numerics.kernels`): reads the scores, writes its derivatives, scaled by
                the query's weight
    backward    the scorer's: adds what these derivatives mean for the model to the block's gradient  (if there is one)

An evaluation of a loss alone has no scorer, a pass over all data (:func:`visit`) has blocks of consecutive queries, and
an epoch of stochastic steps (:func:`run_epoch`) is the same loop over one batch after another, each followed by a step.

The value, the loss's own gradient and the model's are summed per block, and the sums of blocks are added in order. The
blocks depend on the data alone, so the number of threads, or of machines with some blocks each, changes no bit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from podium.numerics.calls import NOTHING, OK, Call, Routine, call_function
from podium.numerics.compiling import compiled, njit
from podium.numerics.optimizers import Optimizer, take_step
from podium.numerics.pool import share

MOST_BLOCKS = 128
"""Blocks of queries over which sums are made, at most."""


@dataclass(frozen=True, slots=True)
class ModelRoutines:
    """A model as the loop calls it. All four are made by :func:`podium.numerics.calls.routine`.

    Their kernels have the form ``kernel(model, start, stop, block, sums)``, where ``model`` is a tuple of the scorer's
    own: features, arrays for scores and their derivatives, scratch space (one row per block), …
    """

    forward: Routine
    """Writes the scores of documents ``start:stop``."""
    backward: Routine
    """Reads the derivatives with respect to these scores and adds what follows for the model to ``sums``."""
    n_gradient: int
    """The length of ``sums``, at least the number of the model's parameters."""
    work: float = 0.0
    """Nanoseconds that a pass over all documents takes, roughly."""
    begin: Routine | None = None
    """Called before a pass and before each batch of an epoch: takes the parameters over into the form that ``forward``
    reads."""
    finish: Routine | None = None
    """Called after a pass and after each batch: turns ``sums`` into the gradient with respect to the parameters."""


class Calls(NamedTuple):
    """What the compiled loop calls."""

    loss: Call
    forward: Call
    backward: Call
    begin: Call
    finish: Call

    @classmethod
    def of(cls, loss: Routine | None, model: ModelRoutines | None) -> Calls:
        """Return the calls of these routines, which must be kept until the loop has returned."""
        routines = [loss, None, None, None, None]
        if model is not None:
            routines = [loss, model.forward, model.backward, model.begin, model.finish]
        return cls(*[NOTHING if routine is None else routine.call for routine in routines])


class Lists(NamedTuple):
    """The queries to visit."""

    offsets: np.ndarray
    """(n_queries + 1,): query q owns documents ``offsets[q]:offsets[q + 1]``."""
    weights: np.ndarray
    """(n_queries,) what multiplies a query's loss and its derivatives; a query of weight 0 is not visited."""
    queries: np.ndarray
    """The numbers of the queries to visit, in this order."""


class Sums(NamedTuple):
    """Sums over blocks of queries, one row per block."""

    totals: np.ndarray
    """(n_blocks, 1 + n_parameters) the value and the derivative with respect to the loss's own parameters."""
    one: np.ndarray
    """Like ``totals``, for the query under way."""
    gradient: np.ndarray
    """(n_blocks, n_gradient) what the backward calls have added up."""
    faults: np.ndarray
    """(n_blocks,) the number of a query that could not be computed, or −1."""


def new_sums(n_blocks: int, n_parameters: int = 0, n_gradient: int = 0) -> Sums:
    """Return room for the sums of so many blocks; it can be used again and again."""
    totals = np.empty((n_blocks, 1 + n_parameters))
    return Sums(totals, np.empty_like(totals), np.empty((n_blocks, n_gradient)), np.full(n_blocks, -1))


class QueryError(RuntimeError):
    """A query could not be computed: a compiled function raised, or could not allocate memory."""

    def __init__(self, query: int) -> None:
        super().__init__(f"query number {query} could not be computed: out of memory, or an error in compiled code")
        self.query = query

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.query,), self.__dict__


def query_at_fault(error: BaseException | None) -> int | None:
    """Return the number of the query in whose computation an error arose, if that is known."""
    while error is not None and not isinstance(error, QueryError):
        error = error.__context__
    return None if error is None else error.query


def blocks_of_queries(offsets: np.ndarray, n_blocks: int) -> np.ndarray:
    """Return bounds of blocks of whole queries with about equally many documents; they depend on the data alone."""
    targets = np.linspace(0, offsets[-1], n_blocks + 1)[1:-1]
    return np.unique(np.concatenate(([0], np.searchsorted(offsets, targets), [len(offsets) - 1])))


def n_partial_sums(n_documents: int, width: int) -> int:
    """Return how many blocks to sum over: enough for any number of cores, few enough for rows of ``width`` sums.

    It is a power of two, so that fewer blocks are unions of more: data that are divided at the borders of some blocks
    can be summed over the blocks of any model.
    """
    widest = max(4, 2**22 // max(width, 1))
    most = max(1, min(MOST_BLOCKS, widest, n_documents // 32))
    return 1 << (most.bit_length() - 1)


class Blocks(NamedTuple):
    """The blocks of consecutive queries that sums go over."""

    bounds: np.ndarray
    """(n_blocks + 1,) numbers of queries: block b has the queries ``bounds[b]:bounds[b + 1]``."""
    n_documents: float
    """Documents per block, about. Where lists are cut into pieces, a block that is longer has several sums."""

    def between(self, first: int, stop: int) -> Blocks:
        """Return the blocks of the queries ``first:stop``, which must begin and end with a block."""
        low, high = np.searchsorted(self.bounds, (first, stop))
        return Blocks(self.bounds[low : high + 1] - first, self.n_documents)


def blocks_for(offsets: np.ndarray, width: int, borders: np.ndarray | None = None) -> Blocks:
    """Return the blocks for rows of ``width`` sums; they depend on the data alone.

    Blocks are cut at ``borders``, numbers of queries, too. Where these are borders of blocks anyway, nothing changes.
    """
    n = n_partial_sums(int(offsets[-1]), width)
    bounds = blocks_of_queries(offsets, n)
    return Blocks(bounds if borders is None else np.union1d(bounds, borders), float(offsets[-1]) / n)


def visit(calls: Calls, lists: Lists, bounds: np.ndarray, sums: Sums, work: float) -> None:
    """Visit the queries ``lists.queries[bounds[b]:bounds[b + 1]]`` of each block b and fill ``sums``.

    ``work`` is about how many nanoseconds it all takes (see :func:`podium.numerics.pool.share`).
    """
    _call_once(calls.begin, sums.gradient[:0].ravel())
    share(_visit_blocks, len(bounds) - 1, calls, lists, bounds, sums, work=work)
    if sums.faults.max(initial=-1) >= 0:
        raise QueryError(int(sums.faults[sums.faults >= 0][0]))


def total_gradient(finish: Routine | None, sums: np.ndarray) -> np.ndarray:
    """Return the sum over blocks, (n_blocks, n_gradient), of what the backward calls have added up, finished."""
    gradient = sums.sum(axis=0)
    if finish is not None:
        _call_once(finish.call, gradient)
    return gradient


def _call_once(call: Call, sums: np.ndarray) -> None:
    if not _call(call, 0, 0, 0, 0, 0.0, sums):
        raise RuntimeError("a model's compiled function failed: out of memory, or an error in it")


class Training(NamedTuple):
    """What stochastic steps move and how."""

    theta: np.ndarray
    """The model's parameters followed by the loss's own; moved in place."""
    moments: np.ndarray
    """(2, len(theta)) the optimizer's memory; changed in place."""
    optimizer: Optimizer
    batch_size: int
    l2: np.ndarray
    """(n_model,) strength of the L2 penalty on each of the model's parameters."""


def run_epoch(calls: Calls, lists: Lists, training: Training, n_steps: int, sums: Sums) -> tuple[float, int]:
    """Take a step after every ``batch_size`` queries of ``lists``; ``n_steps`` have been taken before.

    Each batch's loss stands for that over all queries: it is scaled by their number over the batch's. Returns the sum
    of the weighted losses met on the way and the number of steps taken so far. ``sums`` is room for one block. Steps
    follow one another, so this is one thread.
    """
    total, n_steps = _run_epoch(calls, lists, training, n_steps, sums)
    if sums.faults[0] >= 0:
        raise QueryError(int(sums.faults[0]))
    return total, n_steps


@njit(nogil=True, error_model="numpy")
def _reset(sums: Sums, block: int) -> None:
    sums.totals[block] = 0.0
    sums.gradient[block] = 0.0
    sums.faults[block] = -1


@njit(nogil=True, error_model="numpy")
def _visit_block(calls: Calls, lists: Lists, first: int, stop: int, block: int, scale: float, sums: Sums) -> None:
    """Add the queries ``lists.queries[first:stop]`` to the sums of a block; derivatives are scaled by ``scale``."""
    total, one, gradient = sums.totals[block], sums.one[block], sums.gradient[block]
    for q in lists.queries[first:stop]:
        begin, end, weight = lists.offsets[q], lists.offsets[q + 1], lists.weights[q]
        if begin == end or (weight == 0.0 and calls.forward.function != 0):
            continue
        if not (
            _call(calls.forward, q, begin, end, block, 0.0, gradient)
            and _call(calls.loss, q, begin, end, block, weight * scale, one)
            and _call(calls.backward, q, begin, end, block, 0.0, gradient)
        ):
            sums.faults[block] = q
            return
        total[0] += weight * one[0]
        for p in range(1, len(one)):
            total[p] += one[p]


@njit(nogil=True, error_model="numpy")
def _call(call: Call, q: int, start: int, stop: int, block: int, scale: float, out: np.ndarray) -> bool:
    if call.function == 0:
        return True
    return call_function(call.function, call.table, q, start, stop, block, scale, out.ctypes.data, len(out)) == OK


def _visit_blocks_python(first: int, stop: int, calls: Calls, lists: Lists, bounds: np.ndarray, sums: Sums) -> None:
    for block in range(first, stop):
        _reset(sums, block)
        _visit_block(calls, lists, bounds[block], bounds[block + 1], block, 1.0, sums)


def _run_epoch_python(calls: Calls, lists: Lists, training: Training, n_steps: int, sums: Sums) -> tuple[float, int]:
    theta, n_queries = training.theta, len(lists.queries)
    n_own = sums.totals.shape[1] - 1
    n_model = len(theta) - n_own
    gradient = np.empty(len(theta))
    of_model = sums.gradient[0]
    total = 0.0
    for first in range(0, n_queries, training.batch_size):
        stop = min(first + training.batch_size, n_queries)
        _reset(sums, 0)
        begun = _call(calls.begin, 0, 0, 0, 0, 0.0, of_model)
        _visit_block(calls, lists, first, stop, 0, len(lists.weights) / (stop - first), sums)
        if not (begun and sums.faults[0] < 0 and _call(calls.finish, 0, 0, 0, 0, 0.0, of_model)):
            sums.faults[0] = max(sums.faults[0], lists.queries[first])
            return total, n_steps
        total += sums.totals[0, 0]
        for j in range(n_model):
            gradient[j] = of_model[j] + training.l2[j] * theta[j]
        gradient[n_model:] = sums.totals[0, 1:]
        n_steps += 1
        take_step(theta, gradient, training.moments, n_steps, training.optimizer)
    return total, n_steps


_visit_blocks = compiled(_visit_blocks_python)
_run_epoch = compiled(_run_epoch_python)
