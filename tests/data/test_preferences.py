from __future__ import annotations

import numpy as np
import pytest

from podium import Preferences, Queries


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


def test_ties_are_distinct_unordered_and_follow_their_documents() -> None:
    given = Preferences([0], [1], tied=[(3, 2), (2, 3), (1, 3)])
    assert (given.tied.tolist(), given.tied_weight.tolist()) == ([[1, 3], [2, 3]], [1.0, 2.0])
    assert repr(given) == "Preferences(1 distinct pairs, total weight 1, 2 tied)"
    turned = given.among(np.array([3, 2, 1]), 4)
    assert (turned.tied.tolist(), turned.tied_weight.tolist()) == ([[0, 1], [0, 2]], [2.0, 1.0])
    # A tie is half a win: document 1 lost one pair and tied one, 3 tied three.
    assert given.shares_of_wins(5)[:4].tolist() == [1.0, 0.25, 0.5, 0.5]
    for wrong, says in (
        ([1, 2], "two row numbers per pair"),
        ([(1, 1)], "ties document 1 with itself"),
        ([(0, -1)], "negative"),
    ):
        with pytest.raises(ValueError, match=says):
            Preferences([0], [1], tied=wrong)
    with pytest.raises(ValueError, match="different queries"):
        Queries(np.zeros((4, 1)), Preferences([0], [1], tied=[(1, 2)]), sizes=[2, 2])


def test_grades_beside_preferences_become_pairs_and_ties() -> None:
    # Rows of two queries, mixed: "a" has the grades 1, 1, 0 and unknown, "b" the grades 0 and 2.
    qid = ["a", "b", "a", "a", "b", "a"]
    grades = [1.0, 0.0, np.nan, 1.0, 2.0, 0.0]
    queries = Queries(np.arange(6.0)[:, np.newaxis], grades, qid=qid, preferences=Preferences([2, 0], [5, 5]))
    pairs, row = queries.preferences, queries.features[:, 0].astype(int)
    assert pairs is not None
    found = {(row[i], row[j]): w for i, j, w in zip(pairs.winner, pairs.loser, pairs.weight, strict=True)}
    assert found == {(2, 5): 1.0, (0, 5): 2.0, (3, 5): 1.0, (4, 1): 1.0}  # 0 over 5 is said twice
    assert row[pairs.tied].tolist() == [[0, 3]]
    with pytest.raises(ValueError, match="give preferences once"):
        Queries(np.zeros((2, 1)), Preferences([0], [1]), sizes=[2], preferences=Preferences([0], [1]))
    with pytest.raises(ValueError, match="the label of row 1 is inf"):
        Queries(np.zeros((2, 1)), [0.0, np.inf], sizes=[2], preferences=Preferences([0], [1]))
