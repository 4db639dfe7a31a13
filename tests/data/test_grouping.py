"""Turning query ids into slices, and places within them."""

from __future__ import annotations

import numpy as np

from podium.data.grouping import places_within


def test_places_within_lists_by_two_keys() -> None:
    offsets = np.array([0, 3, 3, 5])
    first, second = np.array([1, 0, 1, 2, 2]), np.array([0.5, 9.0, 0.1, 0.2, 0.1])
    assert places_within(offsets, first, second).tolist() == [2, 0, 1, 1, 0]
    assert places_within(offsets, first).tolist() == [1, 0, 2, 0, 1]  # equal ones in their order
