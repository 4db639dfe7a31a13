"""Files divided by whole queries, with everything that their rows hold."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import polars
import pytest

import podium


def test_the_parts_are_those_of_python(podium_command, files, tmp_path):
    result = podium_command("split", files.paths["txt"], "--test", 0.25, "--seed", 3, "-o", tmp_path)
    assert result.code == 0, result.err
    train, test = podium.train_test_split(podium.read_letor(files.paths["txt"]), 0.25, random_state=3)
    for expected, name in ((train, "train"), (test, "test")):
        found = podium.read_letor(tmp_path / f"{name}.txt", n_features=4)
        assert found.qids.tolist() == expected.qids.tolist()
        assert (found.features == expected.features).all()
        assert f"{name}.txt: {len(expected)} queries, {expected.n_documents} documents" in result.out


def test_lines_are_copied_with_their_comments(podium_command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = [f"{i % 3} qid:q{i % 7} 1:{i}e-1 # doc={i} é" for i in range(50)]  # queries torn apart
    with gzip.open("data.txt.gz", "wt") as file:
        file.write("# a header\n\n" + "\r\n".join(lines))
    result = podium_command("split", "data.txt.gz", "--test", "0.3", "--valid", "0.3", "--json")
    assert result.code == 0, result.err
    parts = {
        path.name: gzip.decompress(path.read_bytes()).decode().splitlines() for path in Path("data-split").iterdir()
    }
    assert sorted(parts) == ["test.txt.gz", "train.txt.gz", "vali.txt.gz"]
    assert all(part[0] == "# a header" for part in parts.values())
    assert sorted(line for part in parts.values() for line in part[1:]) == sorted(lines)
    queries = [{line.split()[1] for line in part[1:]} for part in parts.values()]
    assert sum(map(len, queries)) == 7
    assert sum(part["rows"] for part in json.loads(result.out)["parts"]) == 50


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_tables_keep_all_their_columns(podium_command, files, tmp_path, kind):
    frame = getattr(polars, f"read_{kind}")(files.paths[kind])
    frame = frame.with_columns(session=polars.lit("00") + frame["session"].cast(str), title=polars.lit('a, "b"'))
    data = tmp_path / f"data.{kind}"
    getattr(frame, f"write_{kind}")(data)
    result = podium_command("split", data, "--qid-column", "session", "-o", tmp_path / "parts")
    assert result.code == 0, result.err
    ids = {"schema_overrides": {"session": polars.String}} if kind == "csv" else {}
    train, test = (
        getattr(polars, f"read_{kind}")(tmp_path / "parts" / f"{part}.{kind}", **ids) for part in ("train", "test")
    )
    assert not set(train["session"]) & set(test["session"])
    assert len(set(test["session"])) == 5
    together = polars.concat([train, test]).sort(frame.columns)
    assert together.equals(frame.sort(frame.columns))


def test_what_cannot_be_split(podium_command, files, tmp_path):
    few = tmp_path / "train.txt"
    few.write_text("1 qid:1 1:0\n0 qid:2 1:1\n")
    for arguments, message in {
        (few, "--test", "0.01"): "2 queries cannot give a part of 1%",
        (few, "--test", "0.5", "-o", tmp_path): "replaced by a part of itself",
        (files.paths["csv"],): "no column 'qid'",
        (few, "--qid-column", "q"): "LETOR format",
    }.items():
        result = podium_command("split", *arguments)
        assert result.code == 2
        assert message in result.err
    assert few.read_text().count("qid") == 2
