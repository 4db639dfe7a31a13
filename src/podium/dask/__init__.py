"""Queries and ratings on a Dask cluster: `pip install podium-rank[dask]`."""

from podium.core.rooms import public_names
from podium.dask.queries import *
from podium.dask.ratings import *
from podium.dask.reading import *

__all__ = public_names(__name__)
