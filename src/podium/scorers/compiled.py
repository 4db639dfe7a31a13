"""Models made of compiled functions, which the loop over queries calls (:mod:`podium.numerics.loop`).

Training then reads each list's features once: scores, loss and gradient follow one another while they are in the
processor's cache.
"""

from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np

from podium.numerics import loop
from podium.numerics.calls import NOTHING, Routine, pack, routine
from podium.numerics.compiling import Array, Kernel
from podium.scorers.base import Backward, Buffers, Queries, SmoothModel

_PIECE = 1024  # documents scored in one call


class Kernels(NamedTuple):
    """The compiled functions of a kind of model, each ``kernel(table, start, stop, block, sums)``.

    See :class:`podium.numerics.loop.ModelRoutines`.
    """

    begin: Kernel
    forward: Kernel
    backward: Kernel
    finish: Kernel | None = None


class CompiledModel(SmoothModel):
    """Base class of models made of compiled functions."""

    kernels: ClassVar[Kernels]
    sums_by_block: ClassVar[bool] = True
    n_features: int

    def scratch_size(self, queries: Queries) -> int:
        """Return how many numbers of scratch space each block needs."""
        return 0

    def work(self, queries: Queries) -> float:
        """Return about how many nanoseconds a pass over all documents takes."""
        raise NotImplementedError

    def pieces(self, queries: Queries) -> Array:
        """Return offsets of the runs of documents that are scored in one call; they depend on the data alone."""
        n = queries.n_documents
        return np.append(np.arange(0, n, _PIECE), n)

    def pieces_of_lists(self, queries: Queries) -> Array:
        """Return offsets of runs like :meth:`pieces` of which none has documents of two lists."""
        return cut_lists(queries.offsets, _PIECE)

    def tables(self, queries: Queries, buffers: Buffers, n_blocks: int) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """Return what the forward and the backward function work on; the others work on the former."""
        raise NotImplementedError

    def routines(self, queries: Queries, buffers: Buffers, n_blocks: int = 1) -> loop.ModelRoutines:
        forward, backward = map(pack, self.tables(queries, buffers, n_blocks))
        kernels = self.kernels
        return loop.ModelRoutines(
            routine(kernels.forward, forward),
            routine(kernels.backward, backward),
            self.n_sums,
            self.work(queries),
            begin=routine(kernels.begin, forward),
            finish=None if kernels.finish is None else routine(kernels.finish, forward),
        )

    def scores(self, queries: Queries) -> Array:
        scores = np.empty(queries.n_documents)
        self._visit(queries, scores, *self._runs(queries), backward=False)
        return scores

    def forward(self, queries: Queries) -> tuple[Array, Backward]:
        return self.scores(queries), partial(self._backward, queries)

    def forward_in_blocks(self, queries: Queries, blocks: loop.Blocks) -> tuple[Array, Backward]:
        pieces = self.pieces_of_lists(queries)
        bounds = _within_blocks(pieces, queries.offsets[blocks.bounds], blocks.n_documents)
        scores = np.empty(queries.n_documents)
        self._visit(queries, scores, pieces, bounds, backward=False)

        def backward(d_scores: Array) -> Array:
            return self._visit(queries, d_scores, pieces, bounds, backward=True).gradient

        return scores, backward

    def finishing(self, queries: Queries) -> Routine | None:
        if self.kernels.finish is None:
            return None
        table, _ = self.tables(queries, Buffers(self.theta, np.empty(0), np.empty(0)), 1)
        return routine(self.kernels.finish, pack(table))

    def _backward(self, queries: Queries, d_scores: Array) -> Array:
        values = np.ascontiguousarray(d_scores, dtype=np.float64)
        sums = self._visit(queries, values, *self._runs(queries), backward=True)
        return loop.total_gradient(self.finishing(queries), sums.gradient)[: len(self.theta)]

    def _runs(self, queries: Queries) -> tuple[Array, Array]:
        """Return pieces of documents and bounds of blocks of pieces, for a pass over all documents."""
        pieces = self.pieces(queries)
        n_blocks = loop.n_partial_sums(queries.n_documents, max(self.n_sums, self.scratch_size(queries)))
        return pieces, loop.blocks_of_queries(pieces, n_blocks)

    def _visit(self, queries: Queries, values: Array, pieces: Array, bounds: Array, *, backward: bool) -> loop.Sums:
        """Run over all documents in one direction, writing or reading ``values``."""
        n_blocks, n_pieces = len(bounds) - 1, len(pieces) - 1
        table = pack(self.tables(queries, Buffers(self.theta, values, values), n_blocks)[backward])
        run = routine(self.kernels.backward if backward else self.kernels.forward, table)
        sums = loop.new_sums(n_blocks, n_gradient=self.n_sums if backward else 0)
        lists = loop.Lists(pieces, np.ones(n_pieces), np.arange(n_pieces))
        loop.visit(loop.Calls(NOTHING, run.call, NOTHING, NOTHING, NOTHING), lists, bounds, sums, self.work(queries))
        return sums


def cut_lists(offsets: Array, length: int, most: int | None = None) -> Array:
    """Return offsets of pieces of lists, of about ``length`` documents at most; ``most`` pieces per list at most."""
    sizes = np.diff(offsets)
    n_pieces = -(-sizes // length) if most is None else np.minimum(-(-sizes // length), most)
    list_of_piece = np.repeat(np.arange(len(sizes)), n_pieces)
    number = np.arange(len(list_of_piece)) - np.repeat(np.cumsum(n_pieces) - n_pieces, n_pieces)
    first = offsets[list_of_piece] + sizes[list_of_piece] * number // n_pieces[list_of_piece]
    return np.append(first, offsets[-1])


def _within_blocks(pieces: Array, borders: Array, length: float) -> Array:
    """Return bounds of blocks of pieces that begin where a block of queries does, or some ``length`` documents later.

    They depend on the block of queries alone, so that its sums are the same on whichever machine it is.
    """
    inside = []
    for start, stop in zip(borders[:-1].tolist(), borders[1:].tolist(), strict=True):
        n = max(1, round((stop - start) / length))
        inside.append(start + (stop - start) * np.arange(1, n) // n)
    return np.unique(np.searchsorted(pieces, np.concatenate((borders, *inside))))
