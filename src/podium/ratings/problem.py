"""What a ranker of ratings learns from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from podium.ratings.lists import RatingLists
from podium.training.base import Progress, Validation


@dataclass(frozen=True)
class RatingProblem:
    """Training ratings and, if there are any, ratings held out to choose an iteration by."""

    lists: RatingLists
    validation: Validation | None = None
    """Held-out ratings as queries with the features (user, item); numbers as in ``lists``, −1 for unknown ones."""
    callback: Callable[[Progress], Any] | None = None
    """Called after each iteration; returning True stops the training."""
