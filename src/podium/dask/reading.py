"""Queries read by the workers of a cluster, from files or from a Dask data frame."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import fsspec
import numpy as np
from distributed import Client, KilledWorker

from podium.core.parameters import require_choice
from podium.dask.cluster import Part, as_client
from podium.dask.moving import cut_queries, refuse_cut, shuffled
from podium.dask.queries import DistributedQueries
from podium.dask.working import out_of_memory
from podium.data.io import tables
from podium.data.io.letor import reader as letor
from podium.data.queries import Queries
from podium.data.remote import PartFacts

__all__ = ["from_dataframe", "read_letor", "read_table"]

Addresses = str | Path | Sequence[str | Path]


def read_letor(
    paths: Addresses,
    *,
    n_features: int | None = None,
    dtype: Any = np.float32,
    sparse: bool = False,
    zero_based: bool = False,
    labeled: bool = True,
    cut: str = "error",
    client: Client | None = None,
) -> DistributedQueries:
    """Read files in the LETOR format on the workers of a cluster, one partition per file.

    Parameters
    ----------
    paths : str or sequence of str
        Files, plain or gzipped, as every worker finds them: paths in a file system that all share, or addresses that
        `fsspec <https://filesystem-spec.readthedocs.io>`_ knows, such as ``s3://bucket/train/*.txt``. ``*`` is allowed.
    n_features, dtype, sparse, zero_based, labeled : Any
        As in :func:`podium.read_letor`. Without ``n_features``, it is the largest index in any of the files.
    cut : {"error", "shuffle"}
        What to do with a query that has documents in several files: raise an error that names it, or move its
        documents to the first of them.
    client : dask.distributed.Client, optional
        By default the one that was started last.

    Returns
    -------
    DistributedQueries
        One partition per file.

    Examples
    --------
    >>> import podium, podium.dask, tempfile
    >>> from dask.distributed import Client
    >>> folder, queries = tempfile.mkdtemp(), podium.make_queries(4, 5, n_features=2, vary_sizes=False)
    >>> podium.write_letor(queries.take([0, 1]), f"{folder}/1.txt")
    >>> podium.write_letor(queries.take([2]), f"{folder}/2.txt")
    >>> with Client(processes=False, dashboard_address=":0"):
    ...     podium.dask.read_letor(f"{folder}/*.txt")
    DistributedQueries(3 queries, 15 documents, 2 features, 2 partitions)
    """
    options = {"dtype": dtype, "sparse": sparse, "zero_based": zero_based, "labeled": labeled}
    client, files = as_client(client), addresses(paths)
    parts, facts = _made(client, files, [(_read_letor, file, {**options, "n_features": n_features}) for file in files])
    width = max(fact.n_features for fact in facts)
    narrow = [number for number, fact in enumerate(facts) if fact.n_features < width]
    if narrow:  # a file need not have the last feature
        again = [(_read_letor, files[number], {**options, "n_features": width}) for number in narrow]
        wider = _made(client, [files[number] for number in narrow], again)
        for number, part, fact in zip(narrow, *wider, strict=True):
            parts[number], facts[number] = part, fact
    return _whole_queries(client, parts, facts, files, cut)


def read_table(
    paths: Addresses,
    *,
    qid: str = "qid",
    label: str | None = "label",
    document_id: str | None = tables.DOCUMENT_ID,
    features: Sequence[str] | None = None,
    cut: str = "error",
    client: Client | None = None,
) -> DistributedQueries:
    """Read tables, CSV or Parquet, on the workers of a cluster, one partition per file.

    Parameters
    ----------
    paths : str or sequence of str
        Files with the same columns, as every worker finds them, see :func:`podium.dask.read_letor`.
    qid, label, document_id, features : str or sequence of str
        As in :func:`podium.read_table`.
    cut, client : Any
        As in :func:`podium.dask.read_letor`.

    Returns
    -------
    DistributedQueries
        One partition per file.

    Examples
    --------
    >>> import podium, podium.dask, tempfile
    >>> from pathlib import Path
    >>> from dask.distributed import Client
    >>> path = Path(tempfile.mkdtemp(), "train.csv")
    >>> _ = path.write_text("qid,label,bm25\\nq1,2,0.5\\nq1,0,0.25\\nq2,1,0.75\\n")
    >>> with Client(processes=False, dashboard_address=":0"):
    ...     podium.dask.read_table(path)
    DistributedQueries(2 queries, 3 documents, 1 features, 1 partitions)
    """
    options = {"qid": qid, "label": label, "document_id": document_id, "features": features}
    client, files = as_client(client), addresses(paths)
    parts, facts = _made(client, files, [(_read_table, file, options) for file in files])
    return _whole_queries(client, parts, facts, files, cut)


def from_dataframe(
    frame: Any,
    *,
    qid: str = "qid",
    label: str | None = "label",
    document_id: str | None = None,
    features: Sequence[str] | None = None,
    cut: str = "error",
    client: Client | None = None,
) -> DistributedQueries:
    """Make queries of the partitions of a Dask data frame.

    Parameters
    ----------
    frame : dask.dataframe.DataFrame
        One row per document.
    qid, label, document_id, features : str or sequence of str
        Names of the columns, as in :meth:`podium.Queries.from_frame`.
    cut : {"error", "shuffle"}
        What to do with a query that is cut by a border of partitions: raise an error that names it, or move its rows
        to the first partition that has some of them. Scores are in the order of the frame's rows in both cases.
    client : dask.distributed.Client, optional
        By default the one that was started last.

    Returns
    -------
    DistributedQueries
        One partition per partition of the frame.

    Examples
    --------
    >>> import dask.dataframe, pandas, podium, podium.dask
    >>> from dask.distributed import Client
    >>> frame = pandas.DataFrame({"qid": [1, 1, 2], "label": [1, 0, 2], "bm25": [0.5, 0.25, 0.75]})
    >>> with Client(processes=False, dashboard_address=":0"):
    ...     podium.dask.from_dataframe(dask.dataframe.from_pandas(frame, npartitions=1))
    DistributedQueries(2 queries, 3 documents, 1 features, 1 partitions)
    """
    from dask import delayed

    client = as_client(client)
    options = {"qid": qid, "label": label, "document_id": document_id, "features": features}
    make = delayed(_from_frame, pure=False)
    pieces = frame.to_delayed()
    names = [f"partition {number}" for number in range(len(pieces))]
    parts = [Part(partial(client.compute, make(piece, options))) for piece in pieces]
    return _whole_queries(client, parts, _facts(client, parts, names), names, cut)


def addresses(paths: Addresses) -> list[str]:
    """Return the files that paths and patterns name, sorted within each pattern."""
    found: list[str] = []
    for path in [paths] if isinstance(paths, str | Path) else paths:
        system, inside = fsspec.core.url_to_fs(str(path))
        files = sorted(system.glob(inside)) if "*" in inside else [inside]
        missing = [file for file in files if not system.isfile(file)]
        if missing or not files:
            raise FileNotFoundError(f"{path}: there is no such file{'; give dir/*.parquet' if files else ''}")
        found += [system.unstrip_protocol(file) for file in files]
    return found


@contextmanager
def local_file(address: str) -> Iterator[str]:
    """Return the path of a file at an address: its own if it is in a file system here, else that of a copy."""
    system, inside = fsspec.core.url_to_fs(address)
    if "file" in ([system.protocol] if isinstance(system.protocol, str) else system.protocol):
        yield inside
        return
    with TemporaryDirectory() as folder:
        path = f"{folder}/{Path(inside).name}"
        system.get_file(inside, path)
        try:
            yield path
        except ValueError as error:
            raise ValueError(str(error).replace(path, address)) from None


def _read_letor(address: str, options: dict[str, Any]) -> Queries:
    with local_file(address) as path:
        return letor.read_letor(path, **options)


def _read_table(address: str, options: dict[str, Any]) -> Queries:
    with local_file(address) as path:
        return tables.read_table(path, **options)


def _from_frame(frame: Any, options: dict[str, Any]) -> Queries:
    return Queries.from_frame(frame, **options)


def _with_text_ids(part: Queries) -> Queries:
    other = copy(part)
    other.qids = part.qids.astype(str)
    return other


def _made(
    client: Client, names: Sequence[str], calls: Sequence[tuple[Callable[..., Any], str, dict[str, Any]]]
) -> tuple[list[Part], list[PartFacts]]:
    parts = [Part.computed(client, number, *call) for number, call in enumerate(calls)]
    return parts, _facts(client, parts, names)


def _facts(client: Client, parts: Sequence[Part], names: Sequence[str]) -> list[PartFacts]:
    return asked_of_files(client, PartFacts.of, parts, names)


def asked_of_files(
    client: Client, question: Callable[[Any], Any], parts: Sequence[Part], names: Sequence[str]
) -> list[Any]:
    """Return the answers of parts that are read from files; if a worker dies of that, the error names the file."""
    asked = [client.submit(question, part.future, pure=False) for part in parts]
    facts = []
    for name, future in zip(names, asked, strict=True):
        try:
            facts.append(future.result())
        except KilledWorker as error:
            message = f"workers died again and again. Most likely {out_of_memory(f'{name}{_size(name)}')}"
            raise MemoryError(message) from error
    return facts


def _size(name: str) -> str:
    """Return the size of a file, in parentheses; nothing if it is not one."""
    if "://" not in name:
        return ""
    system, inside = fsspec.core.url_to_fs(name)
    return f" ({system.size(inside) / 1e6:.3g} MB)"


def _whole_queries(
    client: Client, parts: Sequence[Part], facts: Sequence[PartFacts], names: Sequence[str], cut: str
) -> DistributedQueries:
    """Return the queries in partitions of whole queries; those that are cut are refused or moved."""
    require_choice("cut", cut, ("error", "shuffle"))
    filled = [number for number, fact in enumerate(facts) if len(fact.sizes)]
    parts, facts = [parts[number] for number in filled], [facts[number] for number in filled]
    if not parts:
        raise ValueError(f"there is no document in {', '.join(names)}")
    if len({fact.qids.dtype.kind in "OU" for fact in facts}) > 1:  # ids are texts if one of them is no number
        parts = [Part.computed(client, number, _with_text_ids, sources=[part]) for number, part in enumerate(parts)]
        facts = [replace(fact, qids=fact.qids.astype(str)) for fact in facts]
    divided = cut_queries([fact.qids for fact in facts])
    if not divided:
        return DistributedQueries(client, parts, facts)
    if cut == "error":
        refuse_cut(divided, [names[number] for number in filled])
    return DistributedQueries(client, *shuffled(client, parts, facts, divided))
