"""Queries whose documents are elsewhere: the protocol by which rankers, trainers and metrics work on them.

Documents are in *parts*: each is a :class:`podium.Queries` of whole consecutive queries, in memory that this process
may not reach. What is known here are ids and counts. Everything else is a function that is called with a part, next to
it, and whose result comes back. Rooms call it by this class alone; :mod:`podium.dask` is what implements it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self, TypeVar

import numpy as np
from scipy import sparse

from podium.core.docstrings import inherit_docstrings
from podium.data.changed import ChangedQueries
from podium.data.grouping import offsets_from_sizes
from podium.data.queries import Queries

PerPart = Sequence[tuple[Any, ...]]
"""Further arguments of a function for each part, in order."""


@dataclass(frozen=True, slots=True)
class PartFacts:
    """What is known here of a part that is elsewhere."""

    qids: np.ndarray
    sizes: np.ndarray
    """(n_queries,) documents of each query."""
    n_features: int
    dtype: np.dtype[Any]
    is_sparse: bool
    has_labels: bool
    feature_names: tuple[str, ...] | None
    n_bytes: int
    grouped: bool = True
    """Are its rows in the caller's order grouped by query?"""

    @classmethod
    def of(cls, part: Queries) -> PartFacts:
        """Return the facts of a part; called next to it."""
        return cls(
            part.qids,
            part.sizes,
            part.n_features,
            part.features.dtype,
            part.is_sparse,
            part.has_labels or part.preferences is not None,
            part.feature_names,
            bytes_of(part),
            part.order is None,
        )

    def __str__(self) -> str:
        size = f"{self.n_bytes / 1e9:.2g} GB" if self.n_bytes >= 1e8 else f"{self.n_bytes / 1e6:.2g} MB"
        return f"{len(self.sizes)} queries, {int(self.sizes.sum())} documents × {self.n_features} features, {size}"


class Team(Protocol):
    """Machines that work together on the parts they have, each with a state that lasts until the team is closed.

    Unlike what :meth:`RemoteQueries.bind` makes, the state cannot be made again: if a machine is lost, the next call
    raises RuntimeError and names it.
    """

    parts: list[list[int]]
    """Numbers of the parts of each machine."""
    other_parts: list[list[int]]
    n_threads: list[int]

    def addresses(self) -> list[tuple[str, int]]:
        """Return the host of each machine, and a port that is free there now."""

    def start(self, factory: Callable[..., Any], per_member: PerPart, *shared: Any) -> None:
        """Make the states: ``factory(parts, other parts, *arguments of the machine, *shared)``."""

    def call(self, method: str, *shared: Any, per_member: PerPart | None = None, only: int | None = None) -> list[Any]:
        """Return what ``state.method(*arguments of the machine, *shared)`` returns on each, called at the same time.

        All calls to a state are made from one thread. ``only`` calls one machine.
        """

    def close(self) -> None:
        """Close the states by their ``close()`` and forget them."""


class RemoteQueries(ABC):
    """Queries in parts of whole consecutive queries, elsewhere."""

    def __init_subclass__(cls) -> None:
        inherit_docstrings(cls)

    def __init__(self, facts: Sequence[PartFacts]) -> None:
        if not facts:
            raise ValueError("there is no partition with a document in it")
        first = facts[0]
        for number, other in enumerate(facts):
            if (other.n_features, other.feature_names) != (first.n_features, first.feature_names):
                raise ValueError(
                    f"partition {number} has {other.n_features} features {other.feature_names or ''}, "
                    f"partition 0 has {first.n_features} {first.feature_names or ''}; all must have the same"
                )
        self.facts = tuple(facts)
        self.qids = np.concatenate([fact.qids for fact in facts])
        self.sizes = np.concatenate([fact.sizes for fact in facts]).astype(np.int64)
        self.offsets = offsets_from_sizes(self.sizes, int(self.sizes.sum()))
        self.starts = np.concatenate(([0], np.cumsum([len(fact.sizes) for fact in facts])))
        """(n_partitions + 1,): part p has the queries numbered ``starts[p]:starts[p + 1]``."""
        self.n_features = first.n_features
        self.feature_names = first.feature_names
        self.dtype = first.dtype
        self.is_sparse = any(fact.is_sparse for fact in facts)
        self.has_labels = all(fact.has_labels for fact in facts)

    def __len__(self) -> int:
        return len(self.sizes)

    @property
    def n_documents(self) -> int:
        """How many documents there are in all parts."""
        return int(self.offsets[-1])

    @property
    def n_partitions(self) -> int:
        """How many parts there are."""
        return len(self.facts)

    @property
    def query_of_document(self) -> np.ndarray:
        """(n_documents,) number of the query each document belongs to."""
        return np.repeat(np.arange(len(self)), self.sizes)

    @abstractmethod
    def each(self, function: Callable[..., Any], *shared: Any, per_part: PerPart | None = None) -> list[Any]:
        """Return ``function(part, *arguments_of_the_part, *shared)`` for each part, called next to it, in order."""

    @abstractmethod
    def bind(
        self, factory: Callable[..., Any], *shared: Any, per_part: PerPart | None = None
    ) -> Callable[..., list[Any]]:
        """Return a function that calls, next to each part, what ``factory(part, *arguments, *shared)`` returned there.

        Its arguments are for all parts; by ``per_part=`` each has further ones of its own, which come first.

        The factory's result stays next to its part, as a cache: it is made again wherever it is missing, so that it
        must not remember anything between calls that matters.
        """

    @abstractmethod
    def mapped(
        self,
        function: Callable[..., Queries],
        *shared: Any,
        per_part: PerPart | None = None,
        facts: Sequence[PartFacts] | None = None,
    ) -> Self:
        """Return queries whose parts are ``function(part, *arguments_of_the_part, *shared)``, made when needed.

        ``facts`` are those of the new parts where they differ. Parts that have no queries left are dropped.
        """

    @abstractmethod
    def team(self, others: RemoteQueries | None = None) -> Team:
        """Return the machines that have parts, to work together; with them, each has some parts of ``others`` too."""

    @abstractmethod
    def vector(self, function: Callable[[Queries], np.ndarray], *shared: Any) -> Any:
        """Return the numbers, one per document, that a function returns for each part: lazily, in the caller's order.

        The function returns them in the grouped order of its part.
        """

    @abstractmethod
    def split(self, values: Any, name: str) -> list[Any]:
        """Return values, one per document in the caller's order, as arguments for each part in its caller's order."""

    @abstractmethod
    def group(self, values: np.ndarray) -> np.ndarray:
        """Bring values per document from the caller's row order to the grouped order."""

    def none(self) -> Queries:
        """Return no queries, with features like these."""
        empty = np.empty((0, self.n_features), self.dtype)
        return Queries(sparse.csr_matrix(empty) if self.is_sparse else empty, np.empty(0), sizes=[])

    def per_query(self, values: np.ndarray) -> list[np.ndarray]:
        """Return values, one per query, divided among the parts."""
        return [values[first:stop] for first, stop in zip(self.starts[:-1], self.starts[1:], strict=True)]

    def normalized(self, how: str) -> Self:
        """Return the same queries with features rescaled per query; see :meth:`podium.Queries.normalized`."""
        return self.mapped(Queries.normalized, how)

    def take(self, queries: Any) -> Self:
        """Return the chosen queries (a mask, or numbers in increasing order), each with all its documents."""
        chosen = np.asarray(queries)
        mask = chosen
        if chosen.dtype != bool:
            if len(chosen) > 1 and (np.diff(chosen) <= 0).any():
                raise ValueError("queries on a cluster keep their order: give increasing numbers, or a mask")
            mask = np.zeros(len(self), bool)
            mask[chosen] = True
        if mask.shape != (len(self),):
            raise ValueError(f"a mask of shape {mask.shape} for {len(self)} queries")
        masks = self.per_query(mask)
        facts = [_chosen_facts(fact, part) for fact, part in zip(self.facts, masks, strict=True)]
        return self.mapped(Queries.take, per_part=[(part,) for part in masks], facts=facts)

    def highest_grade(self) -> float:
        """Return the highest grade of all documents, at least 0."""
        return max(self.each(_highest_of_part))

    def sample(self, n_queries: int, *, random_state: int | None = None) -> Self:
        """Return this many queries, drawn at random, in their order."""
        if not 0 < n_queries <= len(self):
            raise ValueError(f"{n_queries} queries cannot be drawn from {len(self)}")
        drawn = np.random.default_rng(random_state).choice(len(self), n_queries, replace=False)
        return self.take(np.sort(drawn))

    def collect(self) -> Queries:
        """Return all documents to this process, as one set of queries in the grouped order."""
        return concatenated(self.each(_whole))

    def require_finite(self) -> None:
        """Raise an error that names query, document and feature if a feature is NaN or infinite."""
        if not self.__dict__.get("_is_finite", False):
            self.each(Queries.require_finite)
            self._is_finite = True

    def rows(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the features and the labels of documents numbered ``rows``, in increasing order, to this process."""
        edges = np.searchsorted(rows, self.offsets[self.starts])
        per_part = [
            (rows[low:high] - self.offsets[start],)
            for low, high, start in zip(edges[:-1], edges[1:], self.starts, strict=False)
        ]
        found = self.each(_rows_of, per_part=per_part)
        return np.concatenate([x for x, _ in found]), np.concatenate([y for _, y in found])

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({len(self)} queries, {self.n_documents} documents, {self.n_features} features, "
            f"{self.n_partitions} partitions)"
        )


AnyQueries = TypeVar("AnyQueries", Queries, RemoteQueries)
"""Queries, in this process or elsewhere."""


def concatenated(parts: Sequence[Queries]) -> Queries:
    """Return the queries of several parts, one after another, as one."""
    first = parts[0]
    if len(parts) == 1:
        return first
    if any(part.preferences is not None for part in parts):
        raise ValueError("queries with preferences instead of labels stay in the partitions in which they are")
    ids: Any = [part.document_ids for part in parts]
    stack = sparse.vstack if any(part.is_sparse for part in parts) else np.concatenate
    features = stack([part.features for part in parts])
    together = Queries(
        features if isinstance(features, np.ndarray) else features.tocsr(),
        np.concatenate([part.labels for part in parts]) if first.has_labels else None,
        sizes=np.concatenate([part.sizes for part in parts]),
        document_ids=None if any(own is None for own in ids) else np.concatenate(ids),
        feature_names=first.feature_names,
    )
    together.qids = np.concatenate([part.qids for part in parts])
    return together


def bytes_of(part: Queries) -> int:
    """Return the memory that the arrays of these queries take."""
    features = part.given.features if isinstance(part, ChangedQueries) else part.features
    arrays = [features] if isinstance(features, np.ndarray) else [features.data, features.indices, features.indptr]
    arrays += [part.offsets, part.qids]
    arrays += [array for array in (part.order, part.document_ids) if array is not None]
    arrays += [part.labels] if part.has_labels else []
    return int(sum(array.nbytes for array in arrays))


def _chosen_facts(fact: PartFacts, mask: np.ndarray) -> PartFacts:
    sizes = fact.sizes[mask]
    share = sizes.sum() / max(int(fact.sizes.sum()), 1)
    return replace(fact, qids=fact.qids[mask], sizes=sizes, n_bytes=int(fact.n_bytes * share), grouped=True)


def _highest_of_part(part: Queries) -> float:
    return float(part.labels.max(initial=0.0)) if part.has_labels else 0.0


def _whole(part: Queries) -> Queries:
    return part.between(0, len(part))


def _rows_of(part: Queries, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return part.features[rows], part.labels[rows]
