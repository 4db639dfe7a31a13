"""Files without a single document, judgment, score or rating: an error that names them, never an empty result."""

from __future__ import annotations

import gzip

import polars as pl
import pytest

import podium
from podium.cli.evaluate import read_scores
from podium.data.io.judgments import read_judgments

READERS = {
    "letor.txt": podium.read_letor,
    "sparse.txt": lambda path: podium.read_letor(path, sparse=True, n_features=3),
    "table.csv": podium.read_table,
    "table.parquet": podium.read_table,
    "qrels.txt": podium.read_qrels,
    "judgments.csv": read_judgments,
    "run.txt": podium.read_run,
    "logged.jsonl": podium.read_logged,
    "ratings.tsv": podium.read_ratings,
    "ratings.csv": lambda path: podium.read_ratings(path, columns=["user", "item", "rating"]),
    "scores.txt": read_scores,
}
EMPTY = {
    "nothing": b"",
    "blank": b"\n \n\n",
    "mark": b"\xef\xbb\xbf",
    "comments": b"# a\n# b\n",
    "gzip": gzip.compress(b""),
}
HEADERS = {
    "table.csv": "qid,label,a",
    "judgments.csv": "qid,document_id,label",
    "ratings.tsv": "user\titem\trating\ttime",
    "ratings.csv": "user,item,rating",
}


@pytest.mark.parametrize("content", EMPTY.values(), ids=EMPTY)
@pytest.mark.parametrize("name", READERS)
def test_a_file_that_holds_nothing(tmp_path, name, content) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(ValueError, match=name):
        READERS[name](path)


@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
@pytest.mark.parametrize("name", HEADERS)
def test_a_file_that_has_a_header_only(tmp_path, name, end) -> None:
    path = tmp_path / name
    path.write_bytes((HEADERS[name] + end).encode())
    with pytest.raises(ValueError, match=rf"no (documents|judgments|ratings) in .*{name}$"):
        READERS[name](path)


@pytest.mark.parametrize("reader", [podium.read_table, podium.read_ratings])
def test_a_parquet_file_without_rows(tmp_path, reader) -> None:
    path = tmp_path / "t.parquet"
    pl.DataFrame({"qid": ["a"], "label": [1], "rating": [0.5]}).head(0).write_parquet(path)
    with pytest.raises(ValueError, match=r"no (documents|ratings) in .*t\.parquet$"):
        reader(path)
