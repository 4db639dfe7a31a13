"""A short, repeatable slice of what ``make fuzz`` does for minutes, and every file that it once found a fault with."""

from __future__ import annotations

import random
from pathlib import Path

import polars as pl
import pytest

from podium.data.io.parquet import ParquetFile

from .mutations import damaged
from .run import NAMES
from .targets import ACCEPTED, models, outcome, targets

CORPUS = Path(__file__).parent / "corpus"
N_FILES = 150


@pytest.fixture(scope="module")
def readers(tmp_path_factory):
    return targets(tmp_path_factory.mktemp("sound"), predict=False)


@pytest.mark.parametrize("name", NAMES)
def test_damaged_files_are_read_right_or_refused_by_name(name, readers, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("PODIUM_MAX_MB", "64")
    target, rng, path = readers[name], random.Random(name), tmp_path / f"file{readers[name].suffix}"
    outcomes = []
    for _ in range(N_FILES):
        path.write_bytes(target.make(rng))
        outcomes.append(outcome(target, path))
        assert outcomes[-1] in ACCEPTED, path.read_bytes()[:500]
    assert min(outcomes.count("read"), outcomes.count("refused")) > N_FILES // 20  # both happen


@pytest.mark.parametrize("file", sorted(CORPUS.iterdir()), ids=lambda path: path.name)
def test_past_findings_stay_mended(file, readers, tmp_path, monkeypatch) -> None:
    """The reader's name is the first word of a file's name."""
    monkeypatch.setenv("PODIUM_MAX_MB", "64")
    target = readers[file.name.partition("-")[0]]
    path = tmp_path / f"file{target.suffix}"
    path.write_bytes(file.read_bytes())
    assert outcome(target, path) in ACCEPTED


def test_sound_files_are_read(readers, tmp_path) -> None:
    """Otherwise the others would show nothing."""
    for number, (header, content) in enumerate(models()):
        from podium.files.archive import write_archive

        path = tmp_path / f"{number}.podium"
        write_archive(path, header, content)
        assert outcome(readers["model"], path) == "read", header["class"]


def test_a_wrong_value_would_be_noticed(readers, tmp_path, monkeypatch) -> None:
    import podium.data.io.letor.reader as reader

    path = tmp_path / "file.txt"
    path.write_bytes(b"1 qid:1 1:0.5\n0 qid:1 1:0.25\n")
    parse = reader.kernels.parse

    def wrong(buffer, start, stop, row, slot, rows, values):
        result = parse(buffer, start, stop, row, slot, rows, values)
        values.data[:] *= 2
        return result

    monkeypatch.setattr(reader.kernels, "parse", wrong)
    assert outcome(readers["letor"], path) == "wrong: other features"


def test_a_wrong_value_in_a_parquet_file_would_be_noticed(readers, tmp_path, monkeypatch) -> None:
    path = tmp_path / "file.parquet"
    pl.DataFrame({"qid": [1, 1], "label": [0, 1], "a": [0.5, None]}).write_parquet(path)
    assert outcome(readers["parquet"], path) == "read"
    read = ParquetFile.read
    monkeypatch.setattr(ParquetFile, "read", lambda file, names: read(file, names).fill_null(0))
    assert outcome(readers["parquet"], path) == "wrong: other values of a"


def test_the_same_seed_damages_in_the_same_way() -> None:
    assert damaged(b"1 qid:1 1:0.5\n", random.Random(3)) == damaged(b"1 qid:1 1:0.5\n", random.Random(3))
