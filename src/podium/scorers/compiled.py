"""Models made of compiled functions, which the loop over queries calls (:mod:`podium.numerics.loop`).

Training then reads each list's features once: scores, loss and gradient follow one another while they are in the
processor's cache.
"""

from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np

from podium.data.queries import Queries
from podium.numerics.calls import NOTHING, Routine, pack, routine
from podium.numerics.compiling import Kernel
from podium.numerics.loop import (
    Calls,
    Lists,
    ModelRoutines,
    Sums,
    blocks_of_queries,
    n_partial_sums,
    new_sums,
    total_gradient,
    visit,
)
from podium.scorers.base import Backward, Buffers, SmoothModel

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
    n_features: int

    @property
    def n_sums(self) -> int:
        """How many numbers the backward function adds to; the parameters' derivatives come first."""
        return len(self.theta)

    def scratch_size(self, queries: Queries) -> int:
        """Return how many numbers of scratch space each block needs."""
        return 0

    def work(self, queries: Queries) -> float:
        """Return about how many nanoseconds a pass over all documents takes."""
        raise NotImplementedError

    def pieces(self, queries: Queries) -> np.ndarray:
        """Return offsets of the runs of documents that are scored in one call; they depend on the data alone."""
        n = queries.n_documents
        return np.append(np.arange(0, n, _PIECE), n)

    def tables(self, queries: Queries, buffers: Buffers, n_blocks: int) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """Return what the forward and the backward function work on; the others work on the former."""
        raise NotImplementedError

    def routines(self, queries: Queries, buffers: Buffers, n_blocks: int = 1) -> ModelRoutines:
        forward, backward = map(pack, self.tables(queries, buffers, n_blocks))
        kernels = self.kernels
        return ModelRoutines(
            routine(kernels.forward, forward),
            routine(kernels.backward, backward),
            self.n_sums,
            self.work(queries),
            begin=routine(kernels.begin, forward),
            finish=None if kernels.finish is None else routine(kernels.finish, forward),
        )

    def n_blocks(self, queries: Queries) -> int:
        """Return how many blocks of documents to sum over; each has scratch space and sums of its own."""
        return n_partial_sums(queries.n_documents, max(self.n_sums, self.scratch_size(queries)))

    def scores(self, queries: Queries) -> np.ndarray:
        scores = np.empty(queries.n_documents)
        self._visit(queries, scores, backward=False)
        return scores

    def forward(self, queries: Queries) -> tuple[np.ndarray, Backward]:
        return self.scores(queries), partial(self._backward, queries)

    def _backward(self, queries: Queries, d_scores: np.ndarray) -> np.ndarray:
        sums, finish = self._visit(queries, np.ascontiguousarray(d_scores, dtype=np.float64), backward=True)
        return total_gradient(finish, sums)[: len(self.theta)]

    def _visit(self, queries: Queries, values: np.ndarray, *, backward: bool) -> tuple[Sums, Routine | None]:
        """Run over all documents in one direction, writing or reading ``values``."""
        pieces = self.pieces(queries)
        bounds = blocks_of_queries(pieces, self.n_blocks(queries))
        n_blocks, n_pieces = len(bounds) - 1, len(pieces) - 1
        table = pack(self.tables(queries, Buffers(self.theta, values, values), n_blocks)[backward])
        kernels = self.kernels
        run = routine(kernels.backward if backward else kernels.forward, table)
        sums = new_sums(n_blocks, n_gradient=self.n_sums if backward else 0)
        lists = Lists(pieces, np.ones(n_pieces), np.arange(n_pieces))
        visit(Calls(NOTHING, run.call, NOTHING, NOTHING, NOTHING), lists, bounds, sums, self.work(queries))
        return sums, routine(kernels.finish, table) if backward and kernels.finish is not None else None
