from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from podium import Ratings, read_ratings


@pytest.mark.parametrize(
    ("text", "users"),
    [
        ("1\t10\t4\t100\n2\t10\t5\t90\n", [1, 2]),
        ("1::10::4::100\r\n2::10::5::90", [1, 2]),
        ("userId,movieId,rating,timestamp\n1,10,4,100\n2,10,5,90\n", [1, 2]),
        ("ann 10 4\nbob 10 5\n", ["ann", "bob"]),
        ("007;10;4\n7;10;5\n", ["007", "7"]),
    ],
)
def test_separators_and_headers(tmp_path: Path, text: str, users: list) -> None:
    (tmp_path / "r").write_text(text)
    with gzip.open(tmp_path / "r.gz", "wt") as file:
        file.write(text)
    for name in ("r", "r.gz"):
        r = read_ratings(tmp_path / name)
        assert r.user_ids.tolist() == users
        assert r.item_ids.tolist() == [10]
        assert r.values.tolist() == [4, 5]


def test_errors_name_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "bad.csv"
    path.write_text("1,2,3\n1,3,good\n")
    with pytest.raises(ValueError, match=r"bad.csv:2: the rating 'good' is not a number"):
        read_ratings(path)
    path.write_text("1,2,3\n1,3\n")
    with pytest.raises(ValueError, match=r"bad.csv:2: expected 'user item rating \[time\]'"):
        read_ratings(path)
    with pytest.raises(ValueError, match="row 1 is nan"):
        Ratings([1, 2], [1, 2], [1, np.nan])


def test_duplicates_are_decided_and_counted() -> None:
    users, items, values, times = [1, 2, 1, 1], [5, 5, 5, 6], [2, 3, 4, 1], [20, 1, 10, 1]
    assert Ratings(users, items, values).values.tolist() == [3, 4, 1]  # the later row
    by_time = Ratings(users, items, values, times)
    assert by_time.values.tolist() == [2, 3, 1]  # the later time
    assert by_time.n_duplicates == 1
    assert Ratings(users, items, values, duplicates="first").values.tolist() == [2, 3, 1]
    assert sorted(Ratings(users, items, values, duplicates="mean").values) == [1, 3, 3]
    with pytest.raises(ValueError, match="user 1 rates item 5 more than once"):
        Ratings(users, items, values, duplicates="error")


def test_movielens(shared_data: Path) -> None:
    r = read_ratings(shared_data / "movielens-100k" / "u.data.gz")
    assert (len(r), r.n_users, r.n_items, r.n_duplicates) == (100_000, 943, 1_682, 0)
