"""Queries and ratings on a Dask cluster: `pip install podium[dask]`."""

from podium.dask.queries import DistributedQueries, from_queries

__all__ = [
    "DistributedQueries",
    "from_queries",
]
