"""Reading queries from files of any format: LETOR / SVMlight text, CSV or Parquet."""

from collections.abc import Mapping, Sequence
from typing import Any

from podium.data.io.files import FilePath, first_bytes, flat_paths
from podium.data.io.letor.reader import read_letor
from podium.data.io.letor.writer import write_letor
from podium.data.io.parquet import MAGIC
from podium.data.io.tables import SEPARATORS, TABLE_SUFFIXES, read_table, suffix_of, write_table
from podium.data.queries import Queries

__all__ = ["read_queries", "write_queries"]


def read_queries(*paths: FilePath | Sequence[FilePath], **options: Any) -> Queries:
    """Read files whose format is found from their content and names: LETOR / SVMlight, CSV or Parquet.

    Parameters
    ----------
    *paths : path or sequence of paths
        Files, all of the same format.
    **options : Any
        Those of :func:`podium.read_letor` or :func:`podium.read_table`.

    Returns
    -------
    Queries
        All files together.

    Examples
    --------
    >>> import podium, tempfile
    >>> from pathlib import Path
    >>> path = Path(tempfile.mkdtemp(), "train.txt")
    >>> podium.write_queries(podium.make_queries(n_queries=3, n_documents=4, n_features=2), path)
    >>> podium.read_queries(path)
    Queries(3 queries, 15 documents, 2 features, 3 grades)
    """
    files = list(flat_paths(paths))
    kinds = {is_table(path) for path in files}
    if len(kinds) > 1:
        raise ValueError(f"{', '.join(map(str, files))}: some are tables and some LETOR files; read them separately")
    return read_table(files, **options) if kinds == {True} else read_letor(files, **options)


def write_queries(queries: Queries, path: FilePath) -> None:
    """Write queries in the format that the file's name says: CSV, TSV or Parquet, else LETOR; ``.gz`` packs it.

    See :func:`podium.write_table` and :func:`podium.write_letor`.

    Parameters
    ----------
    queries : Queries
        What to write.
    path : path
        The file, which is written completely or not at all.

    Examples
    --------
    >>> import podium, tempfile
    >>> from pathlib import Path
    >>> path = Path(tempfile.mkdtemp(), "train.csv")
    >>> podium.write_queries(podium.Queries([[0.5], [0.2]], labels=[1, 0], qid=["a", "a"]), path)
    >>> print(path.read_text(), end="")
    qid,label,feature_1
    a,1,0.5
    a,0,0.2
    """
    (write_table if suffix_of(path) in TABLE_SUFFIXES else write_letor)(queries, path)


def read_file(
    path: FilePath,
    columns: Mapping[str, Any],
    *,
    table: Mapping[str, Any] | None = None,
    letor: Mapping[str, Any] | None = None,
) -> Queries:
    """Read a table with columns named as given, or a LETOR file, for which naming columns is an error.

    ``table`` and ``letor`` are further options for the one or the other format, whichever the file has.
    """
    if is_table(path):
        return read_table(path, **{**(table or {}), **columns})
    if columns:
        raise ValueError(f"{path} is in the LETOR format; naming columns is for CSV and Parquet files")
    return read_letor(path, **(letor or {}))


def is_table(path: FilePath) -> bool:
    """Return whether the file is a table with named columns, or else in the LETOR format; raise if it is neither."""
    head = first_bytes(path)
    if head.startswith(MAGIC) or suffix_of(path) in TABLE_SUFFIXES:
        return True
    lines = [line for line in head.decode("utf-8", "replace").splitlines() if line.strip() and line.lstrip()[0] != "#"]
    if not lines:
        return False  # an empty file: the LETOR reader says so
    tokens = lines[0].partition("#")[0].split()
    if any(":" in token for token in tokens[1:]):
        return False
    if any(separator in lines[0] for separator in SEPARATORS):
        return True
    raise ValueError(
        f"{path}: unknown format; expected LETOR lines ('grade qid:ID 1:0.5 …') or a table (CSV with a header, "
        f"Parquet), but the first line is {lines[0][:60]!r}"
    )
