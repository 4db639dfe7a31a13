"""Files read some rows at a time, against the same files read at once."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import podium
from podium.data.io import batches
from podium.data.io.batches import read_batches

N, F = 200, 3


@pytest.fixture(scope="module")
def rows() -> pl.DataFrame:
    rng = np.random.default_rng(0)
    features = {f"f{j}": rng.normal(size=N).astype(np.float32) for j in range(F)}
    return pl.DataFrame({"qid": [f"q{i // 15}" for i in range(N)], "label": np.arange(N) % 3, **features})


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch) -> None:
    monkeypatch.setattr(batches, "PIECE", 1000)


def write(frame: pl.DataFrame, path: Path) -> Path:
    """Write a table, or LETOR lines with comments and blank lines between them."""
    if path.suffix == ".parquet":
        frame.write_parquet(path)
    elif ".csv" in path.suffixes:
        podium.write_table(podium.Queries.from_frame(frame), path) if path.suffix == ".gz" else frame.write_csv(path)
    else:
        lines = ["# a comment", ""]
        for qid, label, *values in frame.rows():
            lines.append(f"{label} qid:{qid} " + " ".join(f"{j}:{v}" for j, v in enumerate(values, 1)))
        text = "\n".join(lines) + "\n\n# the end"
        if path.suffix == ".gz":
            import gzip

            path.write_bytes(gzip.compress(text.encode()))
        else:
            path.write_text(text)
    return path


KINDS = ["txt", "txt.gz", "csv", "csv.gz", "parquet"]


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_batches_have_all_rows_in_their_order(rows, kind, whole, tmp_path: Path) -> None:
    path = write(rows, tmp_path / f"data.{kind}")
    found = list(read_batches(path, {}, n_features=F, features=rows.columns[2:], whole_queries=whole))
    assert len(found) > 3
    features = np.concatenate([batch.queries.features for batch in found])
    np.testing.assert_array_equal(features.astype(np.float32), rows[:, 2:].to_numpy())
    qids = np.concatenate([batch.queries.qids[batch.queries.query_of_document] for batch in found])
    assert qids.tolist() == rows["qid"].to_list()
    ids = np.concatenate([batch.queries.document_ids for batch in found])
    assert ids.tolist() == list(range(1, N + 1))
    assert found[-1].read == path.stat().st_size
    assert all(a.read <= b.read for a, b in pairwise(found))
    if whole:
        per_batch = [set(batch.queries.qids.tolist()) for batch in found]
        assert sum(map(len, per_batch)) == len(set.union(*per_batch))


@pytest.mark.parametrize(("kind", "place"), [("txt", ":203"), ("csv", ":202"), ("parquet", ", row 200")])
def test_a_query_that_comes_back_is_named_with_its_line(rows, kind, place, tmp_path: Path) -> None:
    path = write(pl.concat([rows, rows[:1]]), tmp_path / f"data.{kind}")
    given = {"n_features": F, "features": rows.columns[2:]}
    assert sum(b.queries.n_documents for b in read_batches(path, {}, **given, whole_queries=False)) == N + 1
    with pytest.raises(ValueError, match=f"data.{kind}{place}.*query q0 goes on here"):
        list(read_batches(path, {}, **given, whole_queries=True))


def test_a_file_that_is_read_at_once_may_have_queries_in_any_order(rows, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(batches, "PIECE", 1 << 20)
    path = write(rows.sort("label", maintain_order=True), tmp_path / "data.txt")
    (batch,) = read_batches(path, {}, n_features=F, whole_queries=True)
    assert len(batch.queries) == rows["qid"].n_unique()
    expected = podium.read_letor(path)
    np.testing.assert_array_equal(batch.queries.features, expected.features)


@pytest.mark.filterwarnings("ignore::podium.core.wording.LeftOutWarning")  # the column of grades
def test_errors_name_lines_of_the_whole_file(rows, tmp_path: Path) -> None:
    path = write(rows, tmp_path / "data.txt")
    path.write_text(path.read_text() + "\n0 qid:z 1:x\n")
    with pytest.raises(ValueError, match=r"data.txt:205: the value of '1:x' is not a number"):
        list(read_batches(path, {}, n_features=F, whole_queries=False))
    path = write(rows, tmp_path / "data.csv")
    path.write_text(path.read_text() + "z,0,1\n")
    with pytest.raises(ValueError, match=r"data.csv:202: 3 fields, but the header has 5"):
        list(read_batches(path, {}, n_features=F, whole_queries=False))
    (tmp_path / "empty.txt").write_text("# nothing\n")
    with pytest.raises(ValueError, match=r"no documents in .*empty.txt"):
        list(read_batches(tmp_path / "empty.txt", {}, n_features=F, whole_queries=False))


def test_quotes_around_line_ends_and_columns_without_values(tmp_path: Path) -> None:
    lines = [f'{i // 10},"a\nb",{"" if i < 100 else i},1' for i in range(N)]
    (tmp_path / "data.csv").write_text("qid,title,late,f\n" + "\n".join(lines) + "\n")
    given = {"n_features": 2, "features": ["late", "f"], "whole_queries": True}
    found = list(read_batches(tmp_path / "data.csv", {}, **given))
    late = np.concatenate([batch.queries.features[:, 0] for batch in found])
    np.testing.assert_array_equal(late, [np.nan] * 100 + list(range(100, N)))
