"""Queries: ids of any type and order, grouped once, brought back in the caller's order."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from podium import Queries, k_folds, train_test_split


def features(n: int, width: int = 2) -> np.ndarray:
    return np.arange(n * width, dtype=np.float32).reshape(n, width)


@given(
    st.one_of(
        st.lists(st.integers(-3, 3), min_size=1, max_size=30),
        st.lists(st.sampled_from(["a", "b", "long id", ""]), min_size=1, max_size=30),
        st.lists(st.sampled_from([1, "1", (1, 2), None.__class__]), min_size=1, max_size=30),
    )
)
def test_grouping_matches_a_dictionary(ids: list) -> None:
    qid = np.empty(len(ids), dtype=object)
    qid[:] = ids
    q = Queries(features(len(ids)), np.arange(len(ids)), qid=qid)
    expected: dict = {}  # the oracle: Python's own dictionary keeps first appearance and order
    for row, key in enumerate(ids):
        expected.setdefault(key, []).append(row)
    assert q.qids.tolist() == list(expected)
    assert [q.labels[s].tolist() for s in q.slices()] == list(expected.values())
    assert q.restore(q.labels).tolist() == list(range(len(ids)))
    assert np.array_equal(q.restore(q.features), features(len(ids)))


@pytest.mark.parametrize(
    "qid",
    [
        [3, 1, 3, 2],
        np.array([3, 1, 3, 2], np.uint8),
        [0.5, 1.0, 0.5, 2.0],
        ["x", "y", "x", "z"],
        np.array(["2020-01-02", "2020-01-01", "2020-01-02", "2021-01-01"], "datetime64[D]"),
        pd.Series(["x", "y", "x", "z"], dtype="category"),
        pd.Series(["x", "y", "x", "z"], index=[9, 8, 7, 6]),
        pl.Series(["x", "y", "x", "z"]),
        [("a", 1), ("b", 1), ("a", 1), ("a", 2)],
    ],
    ids=lambda v: type(v).__name__,
)
def test_any_dtype_of_query_ids(qid: object) -> None:
    q = Queries(features(4), [0, 1, 2, 3], qid=qid)
    assert q.offsets.tolist() == [0, 2, 3, 4]
    assert q.labels.tolist() == [0, 2, 1, 3]


def test_grouped_input_is_not_copied() -> None:
    x = features(4)
    q = Queries(x, qid=["b", "b", "a", "a"])
    assert q.order is None
    assert np.shares_memory(q.features, x)
    assert q.features.dtype == np.float32


def test_sizes_may_be_zero_and_must_add_up() -> None:
    q = Queries(features(3), sizes=[2, 0, 1])
    assert q.offsets.tolist() == [0, 2, 2, 3]
    assert len(q) == 3
    with pytest.raises(ValueError, match="add up to 2, but there are 3"):
        Queries(features(3), sizes=[1, 1])
    with pytest.raises(ValueError, match="non-negative integers"):
        Queries(features(3), sizes=[4, -1])
    with pytest.raises(ValueError, match=r"either qid .* or sizes"):
        Queries(features(3))


@pytest.mark.parametrize("missing", [None, float("nan")])
def test_missing_query_id_names_the_row(missing: object) -> None:
    with pytest.raises(ValueError, match="query id of row 1 is missing"):
        Queries(features(3), qid=np.array(["a", missing, "b"], dtype=object))
    with pytest.raises(ValueError, match="query id of row 2 is missing"):
        Queries(features(3), qid=[1.0, 2.0, np.nan])


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_labels_must_be_finite(bad: float) -> None:
    with pytest.raises(ValueError, match=r"label of row 1 is .*finite"):
        Queries(features(3), [0, bad, 1], sizes=[3])


def test_fractional_and_negative_grades_are_kept() -> None:
    assert Queries(features(3), [-1.5, 0.25, 2], sizes=[3]).labels.tolist() == [-1.5, 0.25, 2.0]


def test_wrong_lengths_and_types() -> None:
    with pytest.raises(ValueError, match="labels must have one entry for each of the 3"):
        Queries(features(3), [1, 2], sizes=[3])
    with pytest.raises(ValueError, match="qid must have one entry for each of the 3"):
        Queries(features(3), qid=[1, 2])
    with pytest.raises(ValueError, match="two dimensions"):
        Queries(np.zeros(3), sizes=[3])
    with pytest.raises(ValueError, match="features must be numbers"):
        Queries([["a"], ["b"]], sizes=[2])
    with pytest.raises(ValueError, match="labels must be numbers"):
        Queries(features(2), ["good", "bad"], sizes=[2])
    with pytest.raises(ValueError, match="1 feature names for 2 features"):
        Queries(features(2), sizes=[2], feature_names=["only"])


def test_no_documents_at_all() -> None:
    q = Queries(np.empty((0, 3)), [], qid=[])
    assert (len(q), q.n_documents, q.n_features) == (0, 0, 3)


def test_unlabelled_queries_say_so_when_labels_are_needed() -> None:
    q = Queries(features(2), sizes=[2])
    assert not q.has_labels
    with pytest.raises(ValueError, match="no labels"):
        _ = q.labels


def test_sparse_rows_are_grouped_like_dense_ones() -> None:
    x = np.array([[0, 1.0], [2, 0], [0, 3], [0, 0]])
    q = Queries(sparse.coo_array(x), qid=[1, 2, 1, 2])
    assert q.is_sparse
    assert np.array_equal(q.features.toarray(), x[[0, 2, 1, 3]])


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "pyarrow"])
def test_frames_with_named_columns(make: object) -> None:
    columns = {
        "query": ["b", "a", "b"],
        "grade": [0, 1, 2],
        "title": ["x", "y", "z"],
        "f1": np.array([1, 2, 3], np.float32),
        "f2": np.array([4, 5, 6], np.float32),
    }
    frame = make(columns)  # type: ignore[operator]
    q = Queries.from_frame(frame, qid="query", label="grade", document_id="title")
    assert q.feature_names == ("f1", "f2")
    assert q.features.dtype == np.float32
    assert q.features.tolist() == [[1, 4], [3, 6], [2, 5]]
    assert list(q.document_ids) == ["x", "z", "y"]
    with pytest.raises(ValueError, match=r"no column 'quer'.*Did you mean 'query'"):
        Queries.from_frame(frame, qid="quer", label="grade")
    with pytest.raises(ValueError, match=r"column 'title', row 0 \(from 0\): 'x' is not a number"):
        Queries.from_frame(frame, qid="query", label="grade", features=["title"])


def test_feature_names_come_from_a_frame() -> None:
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": [3, 4]})
    q = Queries(frame, [0, 1], sizes=[2])
    assert q.feature_names == ("a", "b")
    assert q.features.dtype == np.float64


def test_take_keeps_whole_queries() -> None:
    q = Queries(features(6), np.arange(6), qid=["a", "b", "a", "c", "c", "b"], document_ids=list("uvwxyz"))
    part = q.take([2, 0])
    assert part.qids.tolist() == ["c", "a"]
    assert part.labels.tolist() == [3, 4, 0, 2]
    assert part.document_ids is not None
    assert part.document_ids.tolist() == ["x", "y", "u", "w"]
    assert q.take(np.array([False, True, False])).labels.tolist() == [1, 5]


def test_not_finite_features_are_located() -> None:
    x = features(4).copy()
    x[3, 1] = np.inf
    q = Queries(x, qid=["a", "b", "a", "b"], feature_names=["bm25", "clicks"])
    with pytest.raises(ValueError, match="query b, document 2: clicks is inf"):
        q.require_finite()
    s = sparse.csr_array(np.array([[0.0, 1], [np.nan, 0]]))
    with pytest.raises(ValueError, match="query 0, document 2: feature 1 is nan"):
        Queries(s, sizes=[2]).require_finite()
    Queries(features(3), sizes=[3]).require_finite()


def test_a_million_document_query() -> None:
    n = 1_000_000
    q = Queries(np.zeros((n, 1), np.float32), np.zeros(n), qid=np.zeros(n, np.int8))
    assert len(q) == 1
    q.require_finite()
    assert q.normalized("minmax").features.max() == 0


def test_splits_never_cut_a_query() -> None:
    q = Queries(features(40), np.zeros(40), qid=np.tile(np.arange(10), 4))
    train, test = train_test_split(q, 0.3, random_state=1)
    assert (len(train), len(test)) == (7, 3)
    assert not set(train.qids) & set(test.qids)
    assert (train.sizes == 4).all()
    tested = []
    for train_part, validation, test_part in k_folds(10, 5, random_state=0):
        assert sorted([*train_part, *validation, *test_part]) == list(range(10))
        tested += test_part.tolist()
    assert sorted(tested) == list(range(10))
    for parts, numbers in zip(k_folds(q, 5, random_state=0), k_folds(10, 5, random_state=0), strict=True):
        assert [part.qids.tolist() for part in parts] == [q.qids[chosen].tolist() for chosen in numbers]
    with pytest.raises(ValueError, match="at least 3 folds"):
        list(k_folds(10, 2))
    with pytest.raises(ValueError, match="4 queries cannot be dealt into 5 folds"):
        list(k_folds(4, 5))
    with pytest.raises(ValueError, match="between 0 and 1"):
        train_test_split(q, 3)


def test_preferences_as_labels_follow_their_rows() -> None:
    from podium import Preferences

    q = Queries(features(5), Preferences([0, 3], [2, 1]), qid=["a", "b", "a", "b", "c"])
    assert q.preferences is not None
    assert q.preferences.winner.tolist() == [0, 3]  # rows 0 2 | 1 3 | 4
    assert q.preferences.loser.tolist() == [1, 2]
    part = q.take([1, 2])
    assert part.preferences is not None
    assert (part.preferences.winner.tolist(), part.preferences.loser.tolist()) == ([1], [0])
    assert repr(part) == "Queries(2 queries, 3 documents, 2 features, 1 preferences)"
    with pytest.raises(ValueError, match="preference pairs, not grades"):
        _ = q.labels
    with pytest.raises(ValueError, match="different queries"):
        Queries(features(2), Preferences([0], [1]), qid=["a", "b"])
