"""What a file may ask for, and everything that can be wrong with one: one kind of error, with its name and line."""

from __future__ import annotations

import os
import tracemalloc
from pathlib import Path

import polars as pl
import pytest

import podium
from podium.data.io.files import TextSource
from podium.data.io.letor import kernels
from podium.data.io.letor.reader import read_letor
from podium.data.io.parsing.lines import CHUNK_BYTES, chunks_of_lines
from podium.data.io.tables import read_table
from podium.data.io.trec import read_qrels, read_run

MEGABYTE = 1 << 20


def _refuse(path: Path) -> None:
    with pytest.raises(ValueError, match="unpacks"):
        read_letor(path)


def peak(function, *args) -> int:
    """The memory that a call takes beyond what was there."""
    tracemalloc.start()
    try:
        function(*args)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


# ---- sizes


def test_a_gzip_file_of_much_more_than_its_size(file, monkeypatch) -> None:
    monkeypatch.setenv("PODIUM_MAX_MB", "4")
    path = file(b"1 qid:1 1:0\n" * 500_000, "data.txt.gz")
    assert path.stat().st_size < 40_000
    with pytest.raises(ValueError, match=r"data\.txt\.gz: this gzip file unpacks to more than 4 MB.*PODIUM_MAX_MB=16"):
        read_letor(path)
    assert peak(_refuse, path) < 16 * MEGABYTE
    monkeypatch.setenv("PODIUM_MAX_MB", "16")
    assert read_letor(path).n_documents == 500_000
    table = file(b"qid,label,a\n" + b"1,1,0\n" * 1_000_000, "table.csv.gz")
    monkeypatch.setenv("PODIUM_MAX_MB", "4")
    with pytest.raises(ValueError, match=r"table\.csv\.gz: this gzip file"):
        read_table(table)


def test_a_limit_that_is_no_number(file, monkeypatch) -> None:
    monkeypatch.setenv("PODIUM_MAX_MB", "much")
    with pytest.raises(ValueError, match="PODIUM_MAX_MB is 'much'"):
        read_letor(file(b"1 qid:1 1:0\n", "a.gz"))


def test_a_long_line_is_looked_through_once(file, monkeypatch) -> None:
    path = file("1 qid:1 " + "x" * (5 * CHUNK_BYTES))
    source, read = TextSource(path), []
    span = TextSource.span
    monkeypatch.setattr(
        TextSource, "span", lambda self, a, b, **options: (read.append(b - a), span(self, a, b, **options))[1]
    )
    assert chunks_of_lines(source) == [(0, path.stat().st_size)]
    assert sum(read) <= path.stat().st_size
    monkeypatch.setenv("PODIUM_MAX_LINE_MB", "1")
    with pytest.raises(ValueError, match=r"data\.txt:1: a line of \d+ MB or more; .*PODIUM_MAX_LINE_MB="):
        chunks_of_lines(source)


def test_a_long_id(file, monkeypatch, tmp_path) -> None:
    long = "u" * 20_000
    letor = file(f"1 qid:1 1:1\n0 qid:{long} 1:0\n")
    with pytest.raises(ValueError, match=r"data\.txt:2: an id of 20000 bytes; .*PODIUM_MAX_ID=20000"):
        read_letor(letor)
    monkeypatch.setenv("PODIUM_MAX_ID", "20000")
    assert read_letor(letor).qids.tolist() == ["1", long]
    lines = "".join(f"{k}\titem{k}\t3\n" for k in range(5000))
    ratings = file(f"{lines}{long}\titem\t3\n", "ratings.tsv")
    qrels = file("".join(f"{k} 0 d{k} 1\n" for k in range(5000)) + f"{long} 0 d 1\n", "qrels.txt")
    for read, path in ((podium.read_ratings, ratings), (read_qrels, qrels)):  # fixed widths would take 400 MB
        assert peak(read, path) < 60 * MEGABYTE


def test_a_quote_that_is_never_closed_is_looked_through_once(file, monkeypatch) -> None:
    from podium.data.io import batches

    monkeypatch.setattr(batches, "PIECE", 300_000)
    monkeypatch.setenv("PODIUM_MAX_LINE_MB", "1")
    path = file('qid,label,a\n1,1,"1\n' + "1,1,1\n" * 500_000, "t.csv")
    read = batches.read_batches(path, {}, n_features=1, whole_queries=False)
    with pytest.raises(ValueError, match=r"t\.csv:2: a line of 1 MB or more"):
        list(read)


@pytest.mark.parametrize("n_rows", [2**40, -1, 2**62])
def test_a_parquet_file_that_claims_many_rows(tmp_path, n_rows) -> None:
    """The number of rows, 3 of 1 byte, is replaced within the footer."""
    path = tmp_path / "t.parquet"
    pl.DataFrame({"qid": [1, 1, 2], "label": [0, 1, 2], "a": [0.5, 0.25, 0.125]}).write_parquet(path)
    content = path.read_bytes()
    length = int.from_bytes(content[-8:-4], "little")
    body, footer = content[: -8 - length], content[-8 - length : -8]
    zigzag, number = 2 * n_rows if n_rows >= 0 else -2 * n_rows - 1, b""
    while zigzag >= 0x80:
        number += bytes([zigzag & 0x7F | 0x80])
        zigzag >>= 7
    footer = footer.replace(b"\x16\x06", b"\x16" + number + bytes([zigzag]))  # every i64 of 3
    path.write_bytes(body + footer + len(footer).to_bytes(4, "little") + content[-4:])
    with pytest.raises(ValueError, match=r"t\.parquet: broken Parquet file: it claims"):
        read_table(path)


# ---- ids stay apart


def test_ids_that_differ_only_in_zeros_at_their_end(file) -> None:
    q = podium.Queries([[1.0], [2.0]], [0, 1], qid=["a", "a\0"], document_ids=["x", "x\0"])
    assert len(q) == 2
    assert q.document_ids.tolist() == ["x", "x\0"]
    assert read_qrels(file(b"a 0 x 1\na\0 0 x 1\n")).qids.tolist() == ["a", "a\0"]
    assert read_table(file(b"qid,label,f\na,1,1\na\0,1,1\n", "t.csv")).qids.tolist() == ["a", "a\0"]
    assert podium.read_ratings(file(b"a\tx\t1\na\0\tx\t1\n", "r.tsv")).n_users == 2


def test_leading_zeros_under_a_header_of_more_than_64_kilobytes(file) -> None:
    names = ["label", *(f"{'long' * 20}_{j}" for j in range(900)), "qid"]
    row = ",".join(["1"] * 901)
    path = file(f"{','.join(names)}\n{row},007\n{row},7\n", "wide.csv")
    assert path.stat().st_size > 1 << 16
    assert read_table(path).qids.tolist() == ["007", "7"]


def test_a_repeated_column_is_an_error(file) -> None:
    with pytest.raises(ValueError, match=r"t\.csv:1: two columns are named 'label'"):
        read_table(file("qid,label,a,label\n1,1,2,3\n", "t.csv"))


# ---- files that cannot be read


@pytest.mark.parametrize(
    "read", [read_letor, read_table, read_qrels, read_run, podium.read_ratings, podium.read_queries]
)
def test_a_folder_is_no_file(tmp_path, read) -> None:
    with pytest.raises(ValueError, match="a folder, a pipe or a device"):
        read(tmp_path)


def test_a_pipe_cannot_be_read_twice(tmp_path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ValueError, match=r"pipe: a folder, a pipe or a device"):
        read_letor(tmp_path / "pipe")


@pytest.mark.parametrize(
    ("read", "text", "line"),
    [
        (read_table, b"qid,label,a\n1,1,1\n\xff,1,1\n", 3),
        (read_table, b"qid,label,\xff\n1,1,1\n", 1),
        (read_qrels, b"1 0 a 1\n1 0 \xff 1\n", 2),
        (read_run, b"\xff Q0 a 1 1.0 tag\n", 1),
        (podium.read_ratings, b"1\t2\t3\n\xff\t2\t3\n", 2),
    ],
)
def test_text_that_is_not_utf8_is_an_error_with_its_line(file, read, text, line) -> None:
    with pytest.raises(ValueError, match=rf"data\.csv:{line}: not UTF-8 text \(byte 0xff\)"):
        read(file(text, "data.csv"))


@pytest.mark.parametrize(
    "text", ['qid,label,"a\n1,1,1\n', "qid,label,a\n1,1,1,1\n", "qid,label,a\n1,1,x\n2,2,1\n", "qid\n"]
)
def test_errors_of_csv_name_the_file(file, text) -> None:
    with pytest.raises(ValueError, match=r"t\.csv"):
        read_table(file(text, "t.csv"))


# ---- files that change


def test_a_file_that_shrinks_is_an_error(file) -> None:
    path = file("1 qid:1 1:0.5\n" * 1000)
    source = TextSource(path)
    os.truncate(path, 100)
    with pytest.raises(ValueError, match=r"data\.txt: the file changed while it was read"):
        source.span(source.start, source.stop)


def test_a_file_that_changes_between_the_passes_is_an_error(file, monkeypatch) -> None:
    path = file("1 qid:1 1:0.5\n" * 1000)
    survey = kernels.survey

    def change(*args):
        found = survey(*args)
        path.write_text("1 qid:1 \n1 1:1" * 1000)  # as long, but with more lines than there is room for
        return found

    monkeypatch.setattr(kernels, "survey", change)
    with pytest.raises(ValueError, match=r"data\.txt: the file changed while it was read"):
        read_letor(path)
