from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pandas
import polars
import pyarrow
import pytest
from scipy import sparse

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


def test_columns_by_name_quotes_blank_lines_and_parquet(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_text('stars,who,title,when\n4,ann,"Alien, again",7\n\n5,bob,Up,8\n')
    r = read_ratings(path, columns=["who", "title", "stars"])
    assert r.item_ids.tolist() == ["Alien, again", "Up"]
    assert r.values.tolist() == [4, 5]
    assert r.times is None
    assert read_ratings(path, columns=["who", "title", "stars", "when"]).times.tolist() == [7, 8]
    with pytest.raises(ValueError, match=r"r.csv: there is no column 'user'; the header reads stars, who"):
        read_ratings(path, columns=["user", "title", "stars"])
    polars.read_csv(path).drop_nulls().select("who", "title", "stars").write_parquet(tmp_path / "r.parquet")
    assert read_ratings(tmp_path / "r.parquet").user_ids.tolist() == ["ann", "bob"]


def test_grouped_by_user_in_order_of_appearance() -> None:
    r = Ratings(["b", "a", "b", "c"], [7, 7, 8, 9], [1, 2, 3, 4], times=[4, 3, 2, 1])
    assert r.user_ids.tolist() == ["b", "a", "c"]
    assert r.offsets.tolist() == [0, 2, 3, 4]
    assert r.values.tolist() == [1, 3, 2, 4]
    assert r.times.tolist() == [4, 2, 3, 1]
    assert r.user.tolist() == [0, 0, 1, 2]
    assert r.user_numbers.numbers(["c", "x"]).tolist() == [2, -1]
    np.testing.assert_array_equal(r.users, r.user_ids[r.user])
    np.testing.assert_array_equal(r.items, r.item_ids[r.item])
    with pytest.raises(ValueError, match="read-only"):
        r.user_ids[0] = "z"
    few = r.take([3, 0])  # users and items keep their numbers
    assert (few.n_users, few.n_items, few.offsets.tolist(), few.values.tolist()) == (3, 3, [0, 1, 1, 2], [1, 4])
    assert r.take_users([2, 0]).values.tolist() == [4, 1, 3]


def test_from_frames_triples_numbers_and_sparse_matrices() -> None:
    columns = {"user": [1, 1, 2], "item": ["x", "y", "x"], "rating": [3, 4, 5], "day": [9, 8, 7]}
    frames = [pandas.DataFrame(columns), polars.DataFrame(columns), pyarrow.table(columns)]
    made = [Ratings.from_frame(frame, time="day") for frame in frames]
    made.append(Ratings.from_triples(zip(*columns.values(), strict=True)))
    for r in made:
        assert (r.values.tolist(), r.item.tolist(), r.times.tolist()) == ([3, 4, 5], [0, 1, 0], [9, 8, 7])
    with pytest.raises(ValueError, match="there is no column 'stars'"):
        Ratings.from_frame(frames[0], rating="stars")
    with pytest.raises(ValueError, match="every row must be"):
        Ratings.from_triples([(1, 2, 3), (1, 2)])

    matrix = sparse.csr_array(np.array([[0.0, 4.0, 0.0], [0.0, 0.0, 0.0], [2.0, 0.0, 1.0]]))
    r = Ratings.from_csr(matrix, item_ids=["x", "y", "z"])
    assert (r.n_users, r.offsets.tolist(), r.item.tolist(), r.values.tolist()) == (
        3,
        [0, 1, 1, 3],
        [1, 0, 2],
        [4, 2, 1],
    )
    np.testing.assert_array_equal(r.to_csr().toarray(), matrix.toarray())
    with pytest.raises(ValueError, match="item numbers must lie between 0 and 1"):
        Ratings.from_numbers([0], [2], [3], user_ids=["a"], item_ids=["x", "y"])


def test_ids_of_any_type_and_none_missing() -> None:
    mixed = Ratings.from_triples([(1, ("a", 1), 3), ("1", ("a", 1), 4)])
    assert mixed.user_ids.tolist() == [1, "1"]
    assert mixed.n_items == 1
    with pytest.raises(ValueError, match="the user of row 1 is missing"):
        Ratings([1, None], [1, 1], [1, 1])
    with pytest.raises(ValueError, match="the time of row 0 is missing"):
        Ratings([1], [1], [1], times=[np.nan])


def test_errors_name_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "bad.csv"
    path.write_text("1,2,3\n1,3,good\n")
    with pytest.raises(ValueError, match=r"bad.csv:2: the rating 'good' is not a finite number"):
        read_ratings(path)
    path.write_text("1,2,3\n1,3\n")
    with pytest.raises(ValueError, match=r"bad.csv:2: expected 'user item rating \[time\]'"):
        read_ratings(path)
    path.write_text("user,item,rating\n1,2,3\n\n1,3,inf\n")  # a header and a blank line are lines too
    with pytest.raises(ValueError, match=r"bad.csv:4: the rating 'inf' is not a finite number"):
        read_ratings(path)
    path.write_text("1,2,3\n,3,4\n")
    with pytest.raises(ValueError, match=r"bad.csv:2: the user is missing"):
        read_ratings(path)
    path.write_text("1,2,3\n1,3,4,5\n")
    with pytest.raises(ValueError, match=r"bad.csv:2: .*found 4 fields, not 3"):
        read_ratings(path)
    with pytest.raises(ValueError, match="row 1 is nan"):
        Ratings([1, 2], [1, 2], [1, np.nan])


def test_duplicates_are_decided_and_counted() -> None:
    users, items, values, times = [1, 2, 1, 1], [5, 5, 5, 6], [2, 3, 4, 1], [20, 1, 10, 1]
    assert Ratings(users, items, values).values.tolist() == [4, 1, 3]  # user 1's, the later row; then user 2's
    by_time = Ratings(users, items, values, times)
    assert by_time.values.tolist() == [2, 1, 3]  # the later time
    assert by_time.n_duplicates == 1
    assert Ratings(users, items, values, duplicates="first").values.tolist() == [2, 1, 3]
    assert sorted(Ratings(users, items, values, duplicates="mean").values) == [1, 3, 3]
    with pytest.raises(ValueError, match="user 1 rates item 5 more than once"):
        Ratings(users, items, values, duplicates="error")


def test_movielens(shared_data: Path) -> None:
    r = read_ratings(shared_data / "movielens-100k" / "u.data.gz")
    assert (len(r), r.n_users, r.n_items, r.n_duplicates) == (100_000, 943, 1_682, 0)
