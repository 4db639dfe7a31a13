"""The table of methods that learn from ratings. Each is added beside the class that implements it."""

from __future__ import annotations

from podium.rankers.methods import MethodTable

RATING_METHODS = MethodTable()
FLOORS = ("item-mean", "popularity")
"""Methods that every table of results has: the same ranking for everybody."""
