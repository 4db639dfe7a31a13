"""Ratings that are elsewhere, in parts of whole users: what rankers know of them."""

import numpy as np

from podium.data.queries import Queries
from podium.data.remote import RemoteQueries
from podium.ratings.data import Ratings
from podium.ratings.ids import Ids


class RemoteRatings:
    """Ratings in parts elsewhere; ids of users and items, and how many ratings a user has, are known here.

    ``queries`` are the users, in the order of ``user_ids``, with the features (number of the user, number of the item);
    :mod:`podium.dask` makes them.
    """

    def __init__(self, queries: RemoteQueries, user_ids: np.ndarray, item_ids: np.ndarray) -> None:
        self.queries = queries
        self.user_ids, self.item_ids = user_ids, item_ids

    def __len__(self) -> int:
        return self.queries.n_documents

    @property
    def n_users(self) -> int:
        """How many users there are."""
        return len(self.user_ids)

    @property
    def n_items(self) -> int:
        """How many items there are."""
        return len(self.item_ids)

    @property
    def n_partitions(self) -> int:
        """How many parts there are."""
        return self.queries.n_partitions

    def collect(self) -> Ratings:
        """Return all ratings to this process, without their times."""
        items, values = zip(*self.queries.each(_items_and_values), strict=True)
        arrays = {"offsets": self.queries.offsets, "items": np.concatenate(items), "values": np.concatenate(values)}
        return Ratings.from_arrays(arrays, Ids(self.user_ids), Ids(self.item_ids))

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({len(self)} ratings, {self.n_users} users, {self.n_items} items, "
            f"{self.n_partitions} partitions)"
        )


def _items_and_values(part: Queries) -> tuple[np.ndarray, np.ndarray]:
    return part.features[:, 1].astype(np.int64), part.labels
