"""Dividing the rows of a data file among other files, as they are, whatever else they hold."""

import io
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from podium.data.frames import require_columns
from podium.data.grouping import as_ids, number_by_first_appearance
from podium.data.io.files import FilePath, first_bytes, read_bytes, writing
from podium.data.io.formats import is_table
from podium.data.io.letor.reader import read_letor
from podium.data.io.parquet import MAGIC
from podium.data.io.tables import naming, read_frame, separator_of


def query_of_row(path: FilePath, qid: str | None = None) -> np.ndarray:
    """Return the number of the query of each row, (n_rows,); queries are numbered by first appearance.

    ``qid`` names the column of a table that holds query ids; ``qid`` by default.
    """
    if not is_table(path):
        if qid is not None:
            raise ValueError(f"{path} is in the LETOR format; naming columns is for CSV and Parquet files")
        queries = read_letor(path)
        return queries.restore(queries.query_of_document)
    qid = qid or "qid"
    frame = read_frame(path, [qid])
    with naming(path):
        require_columns(frame, [qid])
        return number_by_first_appearance(as_ids(frame[qid].to_numpy(), "query id"))[0]


def divide_rows(path: FilePath, part: np.ndarray, outs: Sequence[FilePath]) -> None:
    """Write row i of a data file to ``outs[part[i]]``, in the same format, with everything that the row holds.

    Files whose names end in ``.gz`` are packed. Comments on lines of their own in a LETOR file go to all files.
    """
    divide = _divide_table if is_table(path) else _divide_lines
    divide(path, part, outs)


def _divide_lines(path: FilePath, part: np.ndarray, outs: Sequence[FilePath]) -> None:
    rows = iter(part.tolist())
    with ExitStack() as stack:
        files = [stack.enter_context(writing(out)) for out in outs]
        for line in _lines(path):
            comment = line.lstrip().startswith(b"#")
            for file in files if comment else [files[next(rows)]]:
                file.write(line)


def _lines(path: FilePath) -> Iterator[bytes]:
    """Yield the lines of a file that are not blank, each with a line break."""
    for line in io.BytesIO(read_bytes(path)):
        if line.strip():
            yield line if line.endswith(b"\n") else line + b"\n"


def _divide_table(path: FilePath, part: np.ndarray, outs: Sequence[FilePath]) -> None:
    frame = read_frame(path, None)
    parquet = first_bytes(path).startswith(MAGIC)
    for number, out in enumerate(outs):
        rows = frame.filter(part == number)
        with writing(out) as file:
            if parquet:
                rows.write_parquet(file)
            else:
                rows.write_csv(file, separator=separator_of(path))


def ending_of(path: FilePath) -> str:
    """Return the ending of a file's name that says its format: ``.csv.gz`` of ``data.csv.gz``."""
    suffixes = Path(path).suffixes
    packed = suffixes.pop() if suffixes and suffixes[-1].lower() == ".gz" else ""
    return (suffixes[-1] if suffixes and not suffixes[-1][1:].isdigit() else "") + packed
