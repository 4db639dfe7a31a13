"""Moving queries between partitions: those that a border cuts, or all of them to new borders."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from distributed import Client

from podium.dask.cluster import Part
from podium.data.grouping import number_by_first_appearance
from podium.data.queries import Queries
from podium.data.remote import PartFacts, concatenated


def cut_queries(qids_of_parts: Sequence[np.ndarray]) -> dict[Any, list[int]]:
    """Return the partitions of each query that is in several, by query id."""
    qids = np.concatenate(qids_of_parts)
    part = np.repeat(np.arange(len(qids_of_parts)), [len(ids) for ids in qids_of_parts])
    numbers, first = number_by_first_appearance(qids)
    counts = np.bincount(numbers)
    places = np.split(part[np.argsort(numbers, kind="stable")], np.cumsum(counts)[:-1])
    repeated = np.flatnonzero(counts > 1)
    ids = qids[first[repeated]].tolist()
    return {qid: places[number].tolist() for qid, number in zip(ids, repeated.tolist(), strict=True)}


def refuse_cut(
    cut: dict[Any, list[int]], names: Sequence[str], one: str = "query", all_of: str = "queries", has: str = "documents"
) -> None:
    """Raise an error that names a query, or whatever else is to be whole, in several partitions."""
    qid, places = next(iter(cut.items()))
    where = " and ".join(names[place] for place in places[:2])
    more = f" ({len(cut)} such {all_of})" if len(cut) > 1 else ""
    raise ValueError(
        f"{one} {qid!r} has {has} in {where}{more}: a partition must hold whole {all_of}. "
        f'cut="shuffle" moves these {has} to one partition'
    )


def shuffled(
    client: Client, parts: Sequence[Part], facts: Sequence[PartFacts], cut: dict[Any, list[int]]
) -> tuple[list[Part], list[PartFacts], np.ndarray]:
    """Move the documents of queries that are cut to the first partition that has some of them.

    Return the new partitions, their facts, and the caller's row of each document.
    """
    owner = {qid: places[0] for qid, places in cut.items()}
    starts = np.concatenate(([0], np.cumsum([int(fact.sizes.sum()) for fact in facts])))
    goes_to = [np.array([owner.get(qid, here) for qid in fact.qids.tolist()]) for here, fact in enumerate(facts)]
    arriving: list[list[Part]] = [[] for _ in parts]
    for here, (part, to) in enumerate(zip(parts, goes_to, strict=True)):
        for there in np.unique(to[to != here]).tolist():
            moving = Part.computed(client, here, _piece, np.flatnonzero(to == there), int(starts[here]), sources=[part])
            arriving[there].append(moving)
    merged = []
    for here, (part, to) in enumerate(zip(parts, goes_to, strict=True)):
        staying, sources = np.flatnonzero(to == here), [part, *arriving[here]]
        merged.append(Part.computed(client, here, _merged, staying, int(starts[here]), sources=sources))
    new_parts = [Part.computed(client, here, _first, sources=[both]) for here, both in enumerate(merged)]
    found = client.gather([client.submit(_facts_and_rows, both.future, pure=False) for both in merged])
    kept = [here for here, (fact, _) in enumerate(found) if len(fact.sizes)]
    order = np.concatenate([found[here][1] for here in kept])
    return [new_parts[here] for here in kept], [found[here][0] for here in kept], order


def cut_at(
    client: Client, parts: Sequence[Part], starts: np.ndarray, bounds: np.ndarray
) -> tuple[list[Part], list[PartFacts]]:
    """Return partitions of the queries ``bounds[p]:bounds[p + 1]``; part i has those numbered from ``starts[i]``."""
    pieces_of: list[list[Part]] = []
    for low, high in pairwise(bounds.tolist()):
        pieces = []
        for here, (first, stop) in enumerate(pairwise(starts.tolist())):
            a, b = max(low, first), min(high, stop)
            if a < b:
                pieces.append(Part.computed(client, here, Queries.between, a - first, b - first, sources=[parts[here]]))
        pieces_of.append(pieces)
    new = [Part.computed(client, number, _joined, sources=pieces) for number, pieces in enumerate(pieces_of)]
    return new, client.gather([client.submit(PartFacts.of, part.future, pure=False) for part in new])


def caller_rows(part: Queries, start: int) -> np.ndarray:
    """Return the caller's row of each document of a part whose first row is number ``start``."""
    rows = np.arange(part.n_documents) if part.order is None else part.order
    return rows + start


Moved = tuple[Queries, np.ndarray]
"""Queries, and the caller's row of each of their documents."""


def _piece(part: Queries, chosen: np.ndarray, start: int) -> Moved:
    rows = part.with_document_ids(caller_rows(part, start)).take(chosen).document_ids
    assert rows is not None
    return part.take(chosen), rows


def _merged(part: Queries, *pieces_and_rest: Any) -> Moved:
    *pieces, kept, start = pieces_and_rest
    lists, rows = zip(_piece(part, kept, start), *pieces, strict=True)
    apart = concatenated(lists)
    together = Queries(
        apart.features,
        apart.labels if apart.has_labels else None,
        qid=np.repeat(apart.qids, apart.sizes),
        document_ids=apart.document_ids,
        feature_names=apart.feature_names,
    )
    return together.take(np.arange(len(together))), together.group(np.concatenate(rows))


def _first(both: Moved) -> Queries:
    return both[0]


def _facts_and_rows(both: Moved) -> tuple[PartFacts, np.ndarray]:
    return PartFacts.of(both[0]), both[1]


def _joined(*pieces: Queries) -> Queries:
    return concatenated(pieces)
