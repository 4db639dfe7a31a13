"""Logs of clicks in files and frames."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import podium
from podium.data import grouping

COLUMNS = {
    "query": ["a", "a", "b", "a"],
    "document": ["x", "y", "x", "y"],
    "position": [1, 2, 1, 1],
    "clicked": [1, 0, 0, 1],
    "bm25": [0.5, 0.1, 0.7, 0.1],
}


def rows(c):
    return sorted(zip(c.queries.qids[c.query], c.queries.document_ids[c.row], c.position, c.clicks, strict=True))


EXPECTED = [("a", "x", 1, 1), ("a", "y", 1, 1), ("a", "y", 2, 0), ("b", "x", 1, 0)]


@pytest.mark.parametrize("make", [pl.DataFrame, pd.DataFrame, pa.table])
def test_frames(make):
    assert rows(podium.read_clicks(make(COLUMNS))) == EXPECTED
    c = podium.read_clicks(make(COLUMNS), features=["bm25"])
    assert rows(c) == EXPECTED
    assert c.queries.feature_names == ("bm25",)
    assert c.queries.features.ravel().tolist() == [0.5, 0.1, 0.7]


@pytest.mark.parametrize("kind", ["csv", "parquet", "tsv"])
def test_files(kind, tmp_path):
    path = tmp_path / f"log.{kind}"
    frame = pl.DataFrame(COLUMNS)
    frame.write_parquet(path) if kind == "parquet" else frame.write_csv(path, separator="\t" if kind == "tsv" else ",")
    assert rows(podium.read_clicks(path)) == EXPECTED
    assert podium.read_clicks(path, features=["bm25"]).queries.n_features == 1
    assert podium.read_clicks(path).queries.n_features == 0


def test_ids_of_a_csv_file_are_text_unless_all_are_plain_integers(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("qid,docid,rank,click\n1,007,1,1\n1,7,2,0\n")
    c = podium.read_clicks(path)
    assert c.queries.qids.tolist() == [1]
    assert c.queries.document_ids.tolist() == ["007", "7"]


def test_counts_sessions_and_names_of_columns(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("q,d,p,c,n\na,x,1,3,10\na,x,2,1,10\n")
    c = podium.read_clicks(path, qid="q", document="d", position="p", clicks="c", impressions="n")
    assert c.impressions.tolist() == [10, 10]
    assert c.clicks.tolist() == [3, 1]
    path.write_text("query,document,position,clicks,session\na,x,1,1,s\na,y,2,0,s\na,x,1,0,t\n")
    assert podium.read_clicks(path).session.tolist() == [0, 0, 1]


def test_features_of_another_table(tmp_path):
    log, features = tmp_path / "log.parquet", tmp_path / "features.csv"
    pl.DataFrame(COLUMNS).drop("bm25").write_parquet(log)
    features.write_text("query,document,length\na,y,2\na,x,1\nb,x,3\nc,x,4\n")
    c = podium.read_clicks(log, features=features)
    assert c.queries.features.ravel().tolist() == [1.0, 2.0, 3.0]
    assert c.queries.feature_names == ("length",)
    features.write_text("query,document,length\na,y,2\nb,x,3\n")
    with pytest.raises(ValueError, match="1 of the 3 documents of the log have no features"):
        podium.read_clicks(log, features=features)
    assert rows(podium.read_clicks(log, features=features, missing="drop")) == EXPECTED[1:]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("query,document,position,clicked\na,x,0,1\n", r"log\.csv: row 0 \(from 0\): position is 0"),
        ("query,document,position,clicked\na,x,1,2\n", r"log\.csv: row 0 \(from 0\): 2 clicks in 1 impressions"),
        ("query,document,position,clicked\na,,1,1\n", r"log\.csv: column 'document', row 0 .*: an id is missing"),
        ("query,document,position,clicked\na,y,2,1\na,x,,1\n", r"log\.csv: row 1 \(from 0\): position is nan"),
        ("query,document,position,clicked\na,x,top,1\n", "'top' is not a number"),
        ("query,document,clicked\na,x,1\n", r"no column of the position \(one named position, place, rank"),
        ("query,position,clicked\na,1,1\n", "no column of the document"),
        ("query,document,position,clicked\n", "log.csv: .*there is none"),
        ("1 qid:1 1:0.5\n", "a log of clicks is a table"),
    ],
)
def test_bad_files(text, message, tmp_path):
    path = tmp_path / "log.csv"
    if "qid:" in text:
        path = tmp_path / "log.txt"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        podium.read_clicks(path)


def test_a_column_that_is_named_must_be_there():
    with pytest.raises(ValueError, match="there is no column 'place'"):
        podium.read_clicks(pl.DataFrame(COLUMNS), position="place")
    with pytest.raises(ValueError, match="there is no column 'bm26'"):
        podium.read_clicks(pl.DataFrame(COLUMNS), features=["bm26"])


def test_many_integers_are_numbered_as_few_are(monkeypatch):
    ids = np.random.default_rng(0).integers(-(2**40), 2**40, 1000)[np.random.default_rng(1).integers(1000, size=70_000)]
    ids = np.concatenate([ids, np.arange(70_000)])  # the table grows
    expected = grouping.number_by_first_appearance(ids)
    monkeypatch.setattr(grouping, "_MANY", 1)
    for found, sorted_out in zip(grouping.number_by_first_appearance(ids), expected, strict=True):
        np.testing.assert_array_equal(found, sorted_out)
