"""Ratings on a Dask cluster, in partitions of whole users."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from distributed import Client

from podium.core.parameters import require_choice
from podium.dask.cluster import Part, as_client
from podium.dask.moving import cut_queries, refuse_cut
from podium.dask.queries import DistributedQueries, from_queries
from podium.dask.reading import Addresses, addresses, asked_of_files, local_file
from podium.data.grouping import number_by_first_appearance
from podium.data.queries import Queries
from podium.data.remote import PartFacts
from podium.ratings import files
from podium.ratings.data import DUPLICATES, Ratings
from podium.ratings.factors.scorer import as_queries
from podium.ratings.ids import Ids
from podium.ratings.remote import RemoteRatings

__all__ = ["DistributedRatings", "from_ratings", "read_ratings"]


class DistributedRatings(RemoteRatings):
    """Ratings in partitions of whole users on the workers of a Dask cluster.

    ``fit`` of :class:`podium.FactorRanker`, :class:`podium.PMOPFactors` and :class:`podium.PlackettLuceFactors` takes
    it in place of :class:`podium.Ratings`. It is made by :func:`podium.dask.from_ratings` and
    :func:`podium.dask.read_ratings`.

    Parameters
    ----------
    queries : DistributedQueries
        The users, in the order of their ids, with the features (number of the user, number of the item).
    user_ids, item_ids : array
        The ids behind the numbers.

    Examples
    --------
    >>> import podium, podium.dask
    >>> from dask.distributed import Client
    >>> with Client(processes=False, dashboard_address=":0"):
    ...     podium.dask.from_ratings(podium.make_ratings(40, 30, 800), n_partitions=2).repartitioned(3)
    DistributedRatings(800 ratings, 40 users, 30 items, 3 partitions)
    """

    queries: DistributedQueries

    def repartitioned(self, n_partitions: int) -> Self:
        """Return the same ratings in about this many partitions; see ``repartitioned`` of queries."""
        return type(self)(self.queries.repartitioned(n_partitions), self.user_ids, self.item_ids)


def from_ratings(
    ratings: Ratings, n_partitions: int | None = None, *, client: Client | None = None
) -> DistributedRatings:
    """Send ratings of this process to the workers of a cluster, in partitions of whole users.

    Parameters
    ----------
    ratings : Ratings
        Kept by this process, which sends a partition again if its worker is lost.
    n_partitions, client : Any
        As in :func:`podium.dask.from_queries`.

    Returns
    -------
    DistributedRatings
        What factor models take in place of ``Ratings``.

    Examples
    --------
    >>> import podium, podium.dask
    >>> from dask.distributed import Client
    >>> with Client(processes=False, dashboard_address=":0"):
    ...     podium.dask.from_ratings(podium.make_ratings(40, 30, 800), n_partitions=2)
    DistributedRatings(800 ratings, 40 users, 30 items, 2 partitions)
    """
    sent = from_queries(_users(ratings, ratings.user, ratings.item), n_partitions, client=client)
    return DistributedRatings(sent, ratings.user_ids, ratings.item_ids)


def read_ratings(
    paths: Addresses,
    *,
    columns: Sequence[str] | None = None,
    separator: str | None = None,
    duplicates: str = "last",
    cut: str = "error",
    client: Client | None = None,
) -> DistributedRatings:
    """Read files of ratings on the workers of a cluster, one partition per file.

    Users and items have the numbers that they would have if the files, one after another, were one.

    Parameters
    ----------
    paths : str or sequence of str
        Text or Parquet files as every worker finds them, see :func:`podium.dask.read_letor`.
    columns, separator, duplicates : Any
        As in :func:`podium.read_ratings`.
    cut : {"error", "shuffle"}
        What to do with a user who has ratings in several files: raise an error that names the user, or move the
        ratings to the first of them.
    client : dask.distributed.Client, optional
        By default the one that was started last.

    Returns
    -------
    DistributedRatings
        One partition per file.

    Examples
    --------
    >>> import podium, podium.dask, tempfile
    >>> from pathlib import Path
    >>> from dask.distributed import Client
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "a.csv").write_text("ann,up,5\\nann,alien,2\\n"), (folder / "b.csv").write_text("bob,up,4\\n")
    >>> with Client(processes=False, dashboard_address=":0"):
    ...     podium.dask.read_ratings(f"{folder}/*.csv")
    DistributedRatings(3 ratings, 2 users, 2 items, 2 partitions)
    """
    require_choice("cut", cut, ("error", "shuffle"))
    require_choice("duplicates", duplicates, DUPLICATES)
    client, names = as_client(client), addresses(paths)
    options = {"columns": columns, "separator": separator, "duplicates": duplicates}
    parts = [Part.computed(client, number, _read, name, options) for number, name in enumerate(names)]
    facts = asked_of_files(client, _known_of, parts, names)
    filled = [number for number, fact in enumerate(facts) if len(fact.users)]
    if not filled:
        raise ValueError(f"there is no rating in {', '.join(names)}")
    parts, names = [parts[number] for number in filled], [names[number] for number in filled]
    facts = [facts[number] for number in filled]
    texts = _has_text([fact.users for fact in facts]), _has_text([fact.items for fact in facts])
    facts = [fact.with_text(*texts) for fact in facts]
    items = np.concatenate([fact.items for fact in facts])
    item_ids = items[number_by_first_appearance(items)[1]]
    divided = cut_queries([fact.users for fact in facts])
    if divided:
        if cut == "error":
            refuse_cut(divided, names, "user", "users", "ratings")
        if duplicates == "mean":
            raise ValueError(
                'duplicates="mean" cannot be had with cut="shuffle": files are read, and duplicates merged, before '
                "ratings are moved. Give files of whole users, or another choice"
            )
        parts, facts = _shuffled(client, parts, facts, divided, duplicates, texts)
    return _numbered(client, parts, facts, item_ids)


class _Known(NamedTuple):
    """What this process knows of a part."""

    users: np.ndarray
    items: np.ndarray

    def with_text(self, users: bool, items: bool) -> _Known:
        """Return the same with ids as texts where this is True."""
        return _Known(self.users.astype(str) if users else self.users, self.items.astype(str) if items else self.items)


def _numbered(
    client: Client, parts: Sequence[Part], facts: Sequence[_Known], item_ids: np.ndarray
) -> DistributedRatings:
    """Return ratings in these parts, with the numbers of users and items among all."""
    user_ids, numbers = np.concatenate([fact.users for fact in facts]), Ids(item_ids)
    starts = np.concatenate(([0], np.cumsum([len(fact.users) for fact in facts]))).tolist()
    made = [
        Part.computed(client, n, _as_part, starts[n], numbers.numbers(fact.items), sources=[part])
        for n, (part, fact) in enumerate(zip(parts, facts, strict=True))
    ]
    part_facts = client.gather([client.submit(PartFacts.of, part.future, pure=False) for part in made])
    for part in parts:
        part.release()
    return DistributedRatings(DistributedQueries(client, made, part_facts), user_ids, item_ids)


def _shuffled(
    client: Client,
    parts: Sequence[Part],
    facts: Sequence[_Known],
    divided: dict[Any, list[int]],
    duplicates: str,
    texts: tuple[bool, bool],
) -> tuple[list[Part], list[_Known]]:
    """Move the ratings of users who are cut to the first part that has some; return the new parts that have users."""
    owner = {user: places[0] for user, places in divided.items()}
    goes_to = [np.array([owner.get(user, here) for user in fact.users.tolist()]) for here, fact in enumerate(facts)]
    merged = []
    for there in range(len(parts)):
        pieces = [
            Part.computed(client, here, Ratings.take_users, np.flatnonzero(to == there), sources=[parts[here]])
            for here, to in enumerate(goes_to)
            if (to == there).any()
        ]
        if pieces:
            merged.append(Part.computed(client, there, _merged, duplicates, sources=pieces))
    found = client.gather([client.submit(_known_of, part.future, pure=False) for part in merged])
    return merged, [fact.with_text(*texts) for fact in found]


def _has_text(ids: Sequence[np.ndarray]) -> bool:
    """Return whether ids are texts: in one of the files one is no number."""
    return any(of_part.dtype.kind in "OU" for of_part in ids)


# ---- what runs on the workers


def _read(address: str, options: dict[str, Any]) -> Ratings:
    with local_file(address) as path:
        return files.read_part(path, **options)


def _known_of(part: Ratings) -> _Known:
    return _Known(part.user_ids, part.item_ids)


def _merged(*pieces_and_rest: Any) -> Ratings:
    *pieces, duplicates = pieces_and_rest
    users, items, values = (
        np.concatenate([getattr(piece, name) for piece in pieces]) for name in ("users", "items", "values")
    )
    times = [piece.times for piece in pieces]
    when = np.concatenate(times) if all(given is not None for given in times) else None
    return Ratings(users, items, values, when, duplicates=duplicates)


def _as_part(part: Ratings, first_user: int, item_numbers: np.ndarray) -> Queries:
    return _users(part, part.user + first_user, item_numbers[part.item])


def _users(ratings: Ratings, user: np.ndarray, item: np.ndarray) -> Queries:
    """Return the users as queries, named by their ids, with these numbers of users and items."""
    queries = as_queries(ratings.replace(item=item), user)
    queries.qids = ratings.user_ids
    return queries
