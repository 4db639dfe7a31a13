"""Ratings as notebooks show them: how many each user gave, and which."""

from __future__ import annotations

from typing import TYPE_CHECKING

from podium.core.showing.html import output, remarks
from podium.data.notebook import grades_table, sizes_table

if TYPE_CHECKING:
    from podium.ratings.data import Ratings


def html(ratings: Ratings) -> str:
    """Return the numbers of ratings per user and per item, and how often each rating was given."""
    merged = f"{ratings.n_duplicates:,} ratings of the same item by the same user were merged."
    return output(
        f"Ratings: {len(ratings):,} ratings, {ratings.n_users:,} users, {ratings.n_items:,} items",
        sizes_table("ratings per user", ratings.sizes),
        sizes_table("ratings per item", ratings.item_counts()),
        grades_table("rating", ratings.values),
        remarks([merged] if ratings.n_duplicates else []),
    )
