"""Parquet files that are broken, change, or would end the process that reads them."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow
import pytest
from pyarrow.parquet import write_table as write_parquet

import podium
from podium.data.io import parquet, parquet_process, parquet_reader
from podium.data.io.parquet_footer import checked_chunks
from podium.data.io.parquet_pages import check_pages
from podium.data.io.tables import read_table


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "t.parquet"
    pl.DataFrame({"qid": [1, 1, 2], "label": [0, 1, 2], "a": [0.5, 0.25, 0.125]}).write_parquet(path)
    return path


def test_a_panic_of_polars_is_an_error(table, monkeypatch) -> None:
    panic = type("PanicException", (BaseException,), {})

    def fail(*_):
        raise panic("index out of bounds")

    monkeypatch.setattr(parquet, "read_elsewhere", fail)
    with pytest.raises(ValueError, match=r"t\.parquet: broken Parquet file: index out of bounds"):
        read_table(table)
    with pytest.raises(ValueError, match=r"t\.parquet: broken Parquet file"):
        podium.read_ratings(table)


@pytest.fixture
def other_reader(tmp_path, monkeypatch):
    """Return what replaces the program of the process that reads Parquet files."""

    def replace(program: str) -> None:
        (tmp_path / "reader.py").write_text(program)
        monkeypatch.setattr(parquet_reader, "__file__", str(tmp_path / "reader.py"))
        parquet_process._stop()

    yield replace
    parquet_process._stop()


def test_values_that_would_end_the_process(table, other_reader, monkeypatch) -> None:
    """The process that reads dies, as it does of memory that is not there; the next file is read again."""
    with monkeypatch.context() as patch:
        other_reader("import os; print('ready', flush=True); input(); os.abort()")
        with pytest.raises(ValueError, match=r"t\.parquet: broken Parquet file: reading it ends the process"):
            read_table(table)
        patch.setenv("PODIUM_TRUST_PARQUET", "1")
        assert read_table(table).n_documents == 3
    monkeypatch.undo()
    assert read_table(table).n_documents == 3


def test_where_no_process_can_be_started_files_are_read_in_this_one(table, other_reader) -> None:
    other_reader("raise SystemExit")
    assert read_table(table).n_documents == 3


def test_a_large_parquet_file_may_be_truncated_while_it_is_read(table, other_reader) -> None:
    """The file is mapped when it shrinks, and using the map ends a process (SIGBUS): the one that reads."""
    program = Path(parquet_reader.__file__).read_text()
    polars = "import polars as pl\n\n    lazy"
    assert polars in program
    shrinking = (
        "import mmap, os, polars as pl; f = open(path, 'r+b'); m = mmap.mmap(f.fileno(), 0); os.truncate(path, 0)"
    )
    other_reader(program.replace(polars, f"{shrinking}; m[0]\n    lazy"))
    with pytest.raises(ValueError, match=r"t\.parquet: the file changed while it was read"):
        read_table(table)


def test_a_parquet_file_that_changes_between_columns_is_an_error(table, monkeypatch) -> None:
    read = parquet.read_elsewhere

    def other(path, columns, *rows):
        found = read(path, columns, *rows)
        if columns is not None:
            pl.DataFrame({"qid": [1, 1, 2], "label": [5, 5, 5], "a": [7.0, 7.0, 7.0]}).write_parquet(path)
        return found

    monkeypatch.setattr(parquet, "read_elsewhere", other)
    with pytest.raises(ValueError, match=r"t\.parquet: the file changed while it was read"):
        read_table(table)


def test_ctrl_c_is_no_broken_file_and_leaves_no_answer_behind(table, monkeypatch) -> None:
    ask = parquet_process._ask

    def interrupt(reader, request):
        reader.stdin.write(request)
        reader.stdin.flush()
        raise KeyboardInterrupt

    monkeypatch.setattr(parquet_process, "_ask", interrupt)
    with pytest.raises(KeyboardInterrupt):
        read_table(table)
    monkeypatch.setattr(parquet_process, "_ask", ask)
    assert read_table(table).labels.tolist() == [0, 1, 2]


def test_names_of_parquet_files_are_no_patterns(table, tmp_path) -> None:
    other = table.rename(tmp_path / "year=7")
    (tmp_path / "[1]").mkdir()
    other = other.rename(tmp_path / "[1]" / "year=7*.parquet")
    assert read_table(other).feature_names == ("a",)


def test_modules_in_the_current_folder_are_not_run(table, tmp_path, monkeypatch) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit")
    monkeypatch.chdir(tmp_path)
    parquet_process._stop()
    process = parquet_process._reader()
    assert process.poll() is None


@pytest.mark.parametrize("cut", [5, 50, 300])
def test_a_parquet_file_that_is_cut_off(table, cut) -> None:
    table.write_bytes(table.read_bytes()[:-cut])
    with pytest.raises(ValueError, match=r"t\.parquet: broken Parquet file"):
        read_table(table)


@pytest.mark.parametrize("page_version", ["1.0", "2.0"])
@pytest.mark.parametrize("compression", ["none", "gzip"])
def test_values_that_disagree_with_their_checksum_are_an_error(tmp_path, compression, page_version) -> None:
    """Arrow writes the checksums, of pages or within gzip; polars does not look at them."""
    path, values = tmp_path / "t.parquet", [0.123, None, 0.125] * 50  # short pages would not be compressed
    table = pyarrow.table({"qid": [1] * 150, "label": [0, 1, 2] * 50, "a": values, "b": [1.5, 2.5, 3.5] * 50})
    write_parquet(
        table, path, compression=compression, use_dictionary=False, data_page_version=page_version,
        write_page_checksum=compression == "none", write_statistics=False,
    )  # fmt: skip
    np.testing.assert_array_equal(read_table(path).features[:, 0], np.array(values, float))
    chunk = next(chunk for chunk in chunks_of(path) if chunk.column == "a")
    content, place = bytearray(path.read_bytes()), chunk.start + chunk.size - 1
    content[place] ^= 1  # in the last value, or in gzip's length
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"t\.parquet: broken Parquet file: a page of column 'a' is damaged"):
        read_table(path)
    assert read_table(path, features=["b"]).feature_names == ("b",)


def chunks_of(path):
    with path.open("rb") as file:
        return checked_chunks(file, path.stat().st_size)


class CountingFile(io.FileIO):
    """A file that knows how much of it was read."""

    n_read = 0

    def read(self, size: int = -1, /) -> bytes:
        content = super().read(size)
        self.n_read += len(content)
        return content


@pytest.mark.parametrize("dictionary", [False, True])
def test_of_pages_without_checksums_only_the_heads_are_read(tmp_path, dictionary) -> None:
    path, values = tmp_path / "t.parquet", np.random.default_rng(0).integers(0, 10_000, 300_000)
    table = pyarrow.table({"a": values})
    write_parquet(table, path, compression="none", use_dictionary=dictionary)
    (chunk,) = chunks_of(path)
    with CountingFile(path) as file:
        check_pages(file, chunk)
        assert 0 < file.n_read < chunk.size / 10
        for other in (chunk._replace(size=chunk.size + 1), chunk._replace(n_values=1)):
            with pytest.raises(ValueError, match="a page of column 'a' is damaged"):
                check_pages(file, other)


@pytest.mark.parametrize("where", ["page", "footer"])
def test_a_fact_of_another_type_than_the_format_has_is_an_error(tmp_path, where) -> None:
    """Polars and Arrow look for the values behind the head of a page, but do not skip such a field alike.

    The byte 0x15 says: the next field, a number of 32 bits; 0x16 one of 64 bits. Both start with 0x15: the kind of the
    page, and the version of the file.
    """
    path = tmp_path / "t.parquet"
    write_parquet(pyarrow.table({"qid": [1], "label": [0], "a": [0.5]}), path, use_dictionary=False)
    content = bytearray(path.read_bytes())
    place = 4 if where == "page" else len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    assert content[place] == 0x15
    content[place] = 0x16
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"t\.parquet: broken Parquet file: .*it has a field that the format does not"):
        read_table(path)


def test_dates_that_polars_cannot_show_are_no_numbers(tmp_path) -> None:
    path = tmp_path / "t.parquet"
    days = pl.Series([0, 2**31 - 1], dtype=pl.Int32).cast(pl.Date)
    pl.DataFrame({"qid": [1, 1], "label": [0, 1], "day": days}).write_parquet(path)
    with pytest.raises(ValueError, match=r"t\.parquet: column 'day' holds Date, not numbers"):
        read_table(path)


def test_a_page_that_contradicts_itself_about_missing_values_is_an_error(tmp_path) -> None:
    """Polars goes by the number in its head, Arrow by the levels: 130 values, none of which is missing, or all."""
    path = tmp_path / "t.parquet"
    table = pyarrow.table({"qid": [1] * 130, "label": [0, 1] * 65, "a": [0.5, 0.25] * 65})
    write_parquet(table, path, compression="none", data_page_version="2.0", write_statistics=False)
    assert read_table(path).n_features == 1
    content = path.read_bytes()
    before, run_of_130_ones, after = content.rpartition(b"\x84\x02\x01")
    path.write_bytes(before + run_of_130_ones[:2] + b"\0" + after)
    with pytest.raises(ValueError, match=r"page of column 'a' is damaged: it says that more or fewer values are"):
        read_table(path)


@pytest.mark.parametrize("missing", [0.0, 0.02, 0.5, 0.98, 1.0])
def test_missing_values_in_pages_of_the_second_version(tmp_path, missing) -> None:
    path, rng = tmp_path / "t.parquet", np.random.default_rng(0)
    values = np.where(rng.random(1000) < missing, np.nan, np.arange(1000.0))
    columns = {"qid": [1] * 1000, "label": [0, 1] * 500, "a": pyarrow.array(values, from_pandas=True)}
    write_parquet(pyarrow.table(columns), path, data_page_version="2.0", data_page_size=500)
    np.testing.assert_array_equal(read_table(path).features[:, 0], values)
