"""Logs of clicks: what is made of their rows, and what is refused."""

import logging

import numpy as np
import polars as pl
import pytest
from scipy import sparse

import podium
from podium import Clicks, Queries

COLUMNS = {
    "features": [[0.5], [0.1], [0.1], [0.5], [0.7]],
    "clicks": [1, 0, 1, 0, 0],
    "qid": ["a", "a", "a", "a", "b"],
    "position": [1, 2, 1, 2, 1],
    "document": ["x", "y", "y", "x", "x"],
}
"""Two queries; in the first, x and y are shown in both orders."""


def log(**changes):
    return Clicks(**(COLUMNS | changes))


def test_documents_of_a_query_are_one_list():
    c = log()
    assert c.queries.qids.tolist() == ["a", "b"]
    assert c.queries.document_ids.tolist() == ["x", "y", "x"]
    assert c.queries.offsets.tolist() == [0, 2, 3]
    assert c.queries.features.tolist() == [[0.5], [0.1], [0.7]]
    assert not c.queries.has_labels
    assert c.row.tolist() == [0, 1, 1, 0, 2]
    assert c.query.tolist() == [0, 0, 0, 0, 1]
    assert c.impressions.tolist() == [1] * 5
    assert c.n_places == 2
    assert c.n_sessions.tolist() == [2, 1]
    assert {values.dtype for values in (c.row, c.query, c.position, c.clicks, c.impressions)} == {np.dtype(np.int64)}


def test_queries_in_turns_are_grouped():
    c = Clicks(None, [0, 1, 0], qid=["a", "b", "a"], position=[1, 1, 2], document=["x", "x", "y"])
    assert c.queries.document_ids.tolist() == ["x", "y", "x"]
    assert c.row.tolist() == [0, 2, 1]
    assert c.queries.n_features == 0


def test_rows_in_another_order_are_the_same_log():
    def rows(c):
        return sorted(zip(c.queries.qids[c.query], c.queries.document_ids[c.row], c.position, c.clicks, strict=True))

    assert rows(log()) == rows(log(**{name: values[::-1] for name, values in COLUMNS.items()}))


def test_without_ids_equal_features_are_one_document(caplog):
    with caplog.at_level(logging.WARNING, "podium"):
        c = log(document=None)
    assert "rows of one query with equal features are one document, without ids: 5 rows, 3 documents" in caplog.text
    assert c.row.tolist() == [0, 1, 1, 0, 2]
    assert c.queries.document_ids is None


def test_nan_equals_nan_and_zero_minus_zero():
    features = np.array([[np.nan, 0.0], [-np.nan, -0.0], [np.nan, 1.0]], np.float32)
    c = Clicks(features, [0, 0, 0], qid=[1, 1, 1], position=[1, 2, 3])
    assert c.row.tolist() == [0, 0, 1]
    assert c.queries.features.dtype == np.float32


def test_the_last_features_of_a_document_count():
    c = log(features=[[0.0], [0.1], [0.1], [0.5], [0.7]])
    assert c.queries.features[0, 0] == 0.5


@pytest.mark.parametrize("make", [pl.DataFrame, lambda columns: __import__("pandas").DataFrame(columns)])
def test_features_of_a_frame_keep_their_names(make):
    c = log(features=make({"bm25": [0.5, 0.1, 0.1, 0.5, 0.7]}))
    assert c.queries.feature_names == ("bm25",)


def test_sparse_features():
    c = log(features=sparse.csr_matrix([[0.5], [0.0], [0.0], [0.5], [0.7]]))
    assert c.queries.features.toarray().tolist() == [[0.5], [0.0], [0.7]]


def test_features_found_by_query_and_document():
    known = Queries([[1.0], [2.0], [3.0], [4.0]], qid=["b", "a", "a", "a"], document_ids=["x", "z", "y", "x"])
    c = log(features=known)
    assert c.queries.features.ravel().tolist() == [4.0, 3.0, 1.0]
    with pytest.raises(ValueError, match=r"1 of the 3 documents of the log have no features.*'y' of query 'a'"):
        log(features=known.only(np.array([1, 1, 0, 1], bool)))
    with pytest.raises(ValueError, match="give document="):
        log(features=known, document=None)
    fewer = log(features=None).with_features(known.only(np.array([1, 1, 0, 1], bool)), missing="drop")
    assert fewer.queries.document_ids.tolist() == ["x", "x"]
    assert fewer.row.tolist() == [0, 0, 1]
    assert fewer.n_sessions.tolist() == [2, 1]


def test_ids_are_found_as_text():
    known = Queries([[1.0], [2.0]], qid=["7", "7"], document_ids=["1", "2"])
    c = Clicks(known, [0, 1], qid=[7, 7], position=[1, 2], document=[2, 1])
    assert c.queries.features.ravel().tolist() == [2.0, 1.0]


def test_features_given_twice_are_refused():
    known = Queries([[1.0], [2.0]], qid=["a", "a"], document_ids=["x", "x"])
    with pytest.raises(ValueError, match="query 'a' has document 'x' more than once among the features"):
        log(features=known)


def test_documents_of_any_hashable_type():
    c = log(document=[("x", 1), 2, 2, ("x", 1), "z"])
    assert c.queries.document_ids.tolist() == [("x", 1), 2, "z"]


def test_sessions_are_of_one_query():
    c = log(session=["s", "s", "t", "t", "s"])
    assert c.session.tolist() == [0, 0, 1, 1, 2]
    assert c.n_sessions.tolist() == [2, 1]


def test_aggregated():
    c = log(clicks=[1, 0, 1, 0, 0], position=[1, 2, 2, 1, 1], session=None).aggregated()
    assert c.row.tolist() == [0, 1, 2]
    assert c.position.tolist() == [1, 2, 1]
    assert c.impressions.tolist() == [2, 2, 1]
    assert c.clicks.tolist() == [1, 1, 0]
    assert c.clicks.dtype == np.int64


def test_aggregated_of_a_log_with_one_far_place_is_the_same():
    c = Clicks(None, [1, 0, 1], qid=[1, 1, 1], position=[1, 900, 900], document=[1, 2, 2]).aggregated()
    assert c.position.tolist() == [1, 900]
    assert c.clicks.tolist() == [1, 1]
    assert c.impressions.tolist() == [1, 2]


def test_take_may_repeat_queries():
    c = log(session=[1, 1, 2, 2, 3]).take([1, 0, 0])
    assert c.queries.qids.tolist() == ["b", "a", "a"]
    assert c.row.tolist() == [0, 1, 2, 2, 1, 3, 4, 4, 3]
    assert c.session.tolist() == [0, 1, 1, 2, 2, 3, 3, 4, 4]
    assert c.n_sessions.tolist() == [1, 2, 2]
    assert c.take(np.array([True, False, False])).queries.qids.tolist() == ["b"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"position": [1, 0, 1, 2, 1]}, r"row 1 \(from 0\): position is 0 \(1 such rows\).* the top is place 1"),
        ({"position": [1, 1.5, 1, 2, 1]}, r"row 1 \(from 0\): position is 1.5"),
        ({"position": [1, 2, 1, np.nan, 1]}, r"row 3 \(from 0\): position is nan"),
        ({"position": [1, 2]}, r"position must have one entry for each of the 5 rows of the log; got shape \(2,\)"),
        ({"clicks": [1, 0, 2, 0, 0]}, r"row 2 \(from 0\): 2 clicks in 1 impressions"),
        ({"clicks": [1, 0, -1, 0, 0]}, r"row 2 \(from 0\): clicks is -1"),
        ({"clicks": [1, 0, np.inf, 0, 0]}, r"row 2 \(from 0\): clicks is inf"),
        ({"clicks": list("10100")}, "clicks must be numbers"),
        ({"clicks": []}, "there is none"),
        ({"impressions": [1, 1, 0, 1, 1]}, r"row 2 \(from 0\): impressions is 0"),
        ({"clicks": [3, 0, 0, 0, 0], "impressions": [2, 1, 1, 1, 1]}, r"row 0 \(from 0\): 3 clicks in 2 impressions"),
        ({"qid": ["a", "a", None, "a", "b"]}, "the query id of row 2 is missing"),
        ({"qid": ["a", "a"]}, "qid must have one entry for each of the 5"),
        ({"document": ["x", None, "y", "x", "x"]}, "the document id of row 1 is missing"),
        ({"document": ["x"]}, "document must have one entry for each of the 5"),
        ({"features": [[1.0]]}, "features have 1 rows for the 5 rows of the log"),
        (
            {"session": [1, 1, 1, 2, 3]},
            r"rows 0 and 2 \(from 0\), query a: two documents at place 1 of one session",
        ),
        (
            {"session": [1, 1, 2, 1, 3], "position": [1, 2, 1, 3, 1]},
            r"rows 0 and 3 \(from 0\), query a: document x at two places of one session",
        ),
        ({"session": [1, 1, 2, 2, 3], "impressions": [1, 1, 1, 1, 2]}, "2 impressions in one session"),
        ({"session": [1, 1]}, "session must have one entry"),
        ({"features": None, "document": None}, "needs document="),
        ({"features": sparse.csr_matrix((5, 2)), "document": None}, "sparse features needs document="),
    ],
)
def test_bad_logs_are_told_apart(changes, message):
    with pytest.raises(ValueError, match=message):
        log(**changes)


def test_it_is_a_name_of_podium():
    assert podium.Clicks is Clicks
