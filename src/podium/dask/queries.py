"""Queries on a Dask cluster."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Self

import numpy as np
from distributed import Client

from podium.core.parameters import require_count
from podium.dask.cluster import Part, Placement, as_client
from podium.dask.moving import caller_rows, cut_at
from podium.dask.team import WorkerTeam
from podium.data.queries import Queries
from podium.data.remote import PartFacts, PerPart, RemoteQueries
from podium.numerics.loop import blocks_of_queries, n_partial_sums

__all__ = ["DistributedQueries", "from_queries"]


class DistributedQueries(RemoteQueries):
    """Queries in partitions on the workers of a Dask cluster; each partition is a :class:`podium.Queries`.

    Rankers and :func:`podium.evaluate` take it in place of ``Queries``. It is made by
    :func:`podium.dask.from_queries`, :func:`podium.dask.read_letor`, :func:`podium.dask.read_table` and
    :func:`podium.dask.from_dataframe`.

    Parameters
    ----------
    client : dask.distributed.Client
        Of the cluster.
    parts : sequence of Part
        How each partition is made, and made again if its worker is lost.
    facts : sequence of PartFacts
        What is known here of each.
    order : (n_documents,) integers, optional
        The caller's row of each document, where this process knows the caller's rows and they were not grouped.

    Examples
    --------
    >>> import podium, podium.dask
    >>> from dask.distributed import Client
    >>> with Client(processes=False, dashboard_address=":0"):
    ...     queries = podium.dask.from_queries(podium.make_queries(n_queries=40, random_state=0), n_partitions=2)
    ...     len(queries.take([0, 3, 5])), queries.repartitioned(4).n_partitions, queries.collect().n_features
    (3, 4, 25)
    """

    def __init__(
        self, client: Client, parts: Sequence[Part], facts: Sequence[PartFacts], order: np.ndarray | None = None
    ) -> None:
        super().__init__(facts)
        self.client = client
        self.parts = tuple(parts)
        self.order = order
        self._placement = Placement(client, self.parts, lambda number: str(self.facts[number]))

    def each(self, function: Callable[..., Any], *shared: Any, per_part: PerPart | None = None) -> list[Any]:
        return self._placement.each(function, self._arguments(per_part), shared)

    def bind(
        self, factory: Callable[..., Any], *shared: Any, per_part: PerPart | None = None
    ) -> Callable[..., list[Any]]:
        return self._placement.bind(factory, self._arguments(per_part), shared)

    def mapped(
        self,
        function: Callable[..., Queries],
        *shared: Any,
        per_part: PerPart | None = None,
        facts: Sequence[PartFacts] | None = None,
    ) -> Self:
        new_facts = self.facts if facts is None else facts
        arguments = self._arguments(per_part)
        kept = [number for number, fact in enumerate(new_facts) if len(fact.sizes)]
        parts = [
            Part.computed(self.client, number, function, *arguments[number], *shared, sources=[self.parts[number]])
            for number in kept
        ]
        order = self.order if facts is None else None
        return type(self)(self.client, parts, [new_facts[number] for number in kept], order)

    def team(self, others: RemoteQueries | None = None) -> WorkerTeam:
        assert others is None or isinstance(others, DistributedQueries)
        sizes = [str(fact) for fact in self.facts]
        return WorkerTeam(self.client, self.parts, sizes, () if others is None else others.parts)

    def vector(self, function: Callable[..., np.ndarray], *shared: Any) -> Any:
        import dask.array as da

        from dask import delayed

        call = delayed(partial(_restored, function), pure=False)
        blocks = [
            da.from_delayed(call(part.future, *shared), (int(fact.sizes.sum()),), np.float64)
            for part, fact in zip(self.parts, self.facts, strict=True)
        ]
        whole = da.concatenate(blocks)
        return whole if self.order is None else whole[np.argsort(self.order)]

    def split(self, values: Any, name: str) -> list[Any]:
        import dask

        if not hasattr(values, "dask"):
            values = np.asarray(values)
        if values.shape != (self.n_documents,):
            raise ValueError(
                f"{name} must have one entry for each of the {self.n_documents} documents; got shape {values.shape}"
            )
        if self.order is not None:
            values = values[self.order]
        if isinstance(values, np.ndarray):
            return np.split(values, self.offsets[self.starts[1:-1]])
        chunks = tuple(int(fact.sizes.sum()) for fact in self.facts)
        blocks = values.rechunk((chunks,)).to_delayed().ravel().tolist()
        return list(self.client.compute(dask.optimize(*blocks)))

    def group(self, values: np.ndarray) -> np.ndarray:
        order = self._order()
        return values if order is None else values[order]

    def repartitioned(self, n_partitions: int) -> Self:
        """Return the same queries in other partitions, cut at the borders of the blocks that sums go over.

        Fits on them equal those in one process to the last bit, whatever the partitions were before.

        Parameters
        ----------
        n_partitions : int
            About how many.

        Returns
        -------
        DistributedQueries
            The same queries.
        """
        require_count("n_partitions", n_partitions)
        bounds = partition_bounds(self.offsets, n_partitions)
        parts, facts = cut_at(self.client, self.parts, self.starts, bounds)
        return type(self)(self.client, parts, facts, self._order())

    def _order(self) -> np.ndarray | None:
        """Return the caller's row of each document, or None if the caller's rows are grouped."""
        if self.order is not None or all(fact.grouped for fact in self.facts):
            return self.order
        starts = [(int(start),) for start in self.offsets[self.starts[:-1]]]
        return np.concatenate(self.each(caller_rows, per_part=starts))

    def persist(self) -> Self:
        """Make all partitions now, rather than when they are first needed; return these queries."""
        self.each(len)
        return self

    def _arguments(self, per_part: PerPart | None) -> PerPart:
        return [()] * self.n_partitions if per_part is None else per_part


def from_queries(
    queries: Queries, n_partitions: int | None = None, *, client: Client | None = None
) -> DistributedQueries:
    """Send queries of this process to the workers of a cluster.

    Parameters
    ----------
    queries : Queries
        They must be kept by this process, which sends a partition again if its worker is lost.
    n_partitions : int, optional
        At most this many, of about equally many documents; by default one per thread of the workers. They are cut at
        the borders of the blocks that sums go over, of which there are at most 128: then fits equal those in this
        process to the last bit.
    client : dask.distributed.Client, optional
        By default the one that was started last.

    Returns
    -------
    DistributedQueries
        What rankers take in place of ``Queries``.

    Examples
    --------
    >>> import podium, podium.dask
    >>> from dask.distributed import Client
    >>> queries = podium.make_queries(n_queries=30, n_documents=8, n_features=3)
    >>> with Client(processes=False, dashboard_address=":0"):
    ...     ranker = podium.ListNet().fit(podium.dask.from_queries(queries, n_partitions=2))
    >>> (ranker.coef_ == podium.ListNet().fit(queries).coef_).all().item()
    True
    """
    client = as_client(client)
    if n_partitions is None:
        n_partitions = sum(client.nthreads().values())
    require_count("n_partitions", n_partitions)
    if len(queries) == 0 or queries.n_documents == 0:
        raise ValueError("there is no document to send")
    bounds = partition_bounds(queries.offsets, n_partitions)
    pieces = list(zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True))
    parts = [
        Part.sent(client, partial(queries.between, first, stop), number * len(client.nthreads()) // len(pieces))
        for number, (first, stop) in enumerate(pieces)
    ]
    facts = [PartFacts.of(queries.between(first, stop)) for first, stop in pieces]
    for part in parts:
        part.restore()
    return DistributedQueries(client, parts, facts, queries.order)


def partition_bounds(offsets: np.ndarray, n_partitions: int) -> np.ndarray:
    """Return bounds of partitions of whole queries, of about equally many documents, at borders of blocks."""
    blocks = blocks_of_queries(offsets, n_partial_sums(int(offsets[-1]), 1))
    wanted = np.linspace(0, offsets[-1], n_partitions + 1)[1:-1]
    borders = offsets[blocks]
    after = np.clip(np.searchsorted(borders, wanted), 1, len(borders) - 1)
    nearest = after - (wanted - borders[after - 1] < borders[after] - wanted)
    return np.unique(np.concatenate((blocks[[0]], blocks[nearest], blocks[[-1]])))


def _restored(function: Callable[..., np.ndarray], part: Queries, *shared: Any) -> np.ndarray:
    return part.restore(function(part, *shared))
