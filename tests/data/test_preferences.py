from __future__ import annotations

import numpy as np
import pytest

from podium import Preferences


def test_duplicates_are_merged_with_their_weights() -> None:
    p = Preferences([0, 1, 0], [1, 0, 1], [1.0, 2.0, 0.5])
    assert p.winner.tolist() == [0, 1]
    assert p.loser.tolist() == [1, 0]
    assert p.weight.tolist() == [1.5, 2.0]


def test_pairs_are_sorted_by_query() -> None:
    winner, loser, weight, first = Preferences([4, 0, 3], [3, 1, 4]).by_query(np.array([0, 2, 2, 5]))
    assert winner.tolist() == [0, 1, 2]
    assert loser.tolist() == [1, 2, 1]
    assert weight.tolist() == [1, 1, 1]
    assert first.tolist() == [0, 1, 1, 3]


def test_rows_follow_a_regrouping() -> None:
    # Rows 0 1 2 grouped as 2 0 1: row 0 is now document 1.
    p = Preferences([0], [2]).among(np.array([2, 0, 1]), 3)
    assert (p.winner[0], p.loser[0]) == (1, 0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0, 1], [1]), "2 winners for 1 losers"),
        (([0], [0]), "prefers document 0 to itself"),
        (([0.5], [1.0]), "row numbers"),
        (([-1], [1]), "negative row number"),
        (([0], [1], [np.nan]), "finite and not negative"),
        (([0], [1], [1, 2]), "one entry for each of the 1 pairs"),
    ],
)
def test_bad_pairs_are_refused(arguments: tuple, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Preferences(*arguments)


def test_pairs_must_stay_within_a_query_and_the_data() -> None:
    with pytest.raises(ValueError, match="documents 0 and 2 are in different queries"):
        Preferences([0], [2]).by_query(np.array([0, 2, 4]))
    with pytest.raises(ValueError, match="names document 9, but there are only 4"):
        Preferences([9], [2]).by_query(np.array([0, 2, 4]))
    with pytest.raises(ValueError, match="names document 9, but there are only 4"):
        Preferences([9], [2]).among(np.arange(4), 4)
