"""Where the folds of a comparison come from: a folder that has them, or queries that are dealt into folds."""

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from podium.data import Queries, make_queries
from podium.data.indexed import indexed
from podium.data.io.folds import find_folds, read_fold
from podium.data.io.formats import is_table, read_file
from podium.data.io.tables import read_table, read_times
from podium.data.remote import concatenated
from podium.experiments.plan.protocol import Average, Described, KFold, Letor, RepeatedHoldout, TimeSplit
from podium.experiments.plan.protocol import Protocol as Rules

Parts = tuple[Queries, Queries, Queries | None]
"""Training, validation and test queries; the last are None where a setting is searched for."""


class Source(Protocol):
    """Folds by name, loaded one at a time: together they may be several times as large as the data."""

    name: str
    """The name of the data set."""
    description: str
    fingerprint: str
    """Equal for equal data, read in the same way."""
    folds: list[str]

    @property
    def protocol(self) -> Described:
        """How the folds are made."""

    @property
    def average(self) -> Average:
        """What a data set's figure is the mean of: published tables average the folds' means."""

    def load(self, fold: str) -> Parts: ...


class WholeSource(Source, Protocol):
    """Folds that are made of queries which can be had all together."""

    def all_queries(self) -> Queries: ...


class FolderOfFolds:
    """A folder in LETOR's layout: one folder per fold, with a training, a validation and a test file."""

    average: Average = Letor.average

    def __init__(self, folder: Path) -> None:
        self.protocol = Letor()
        self._found = {fold.name: fold for fold in find_folds(folder)}
        self.folds = list(self._found)
        self.name = folder.resolve().name
        n = len(self.folds)
        self.description = f"{n} fold{'s' * (n != 1)} from the folder {folder.name or folder}"
        files = [path for fold in self._found.values() for path in (fold.train, fold.validation, fold.test)]
        self.fingerprint = _fingerprint(map(_file_bytes, files))

    def load(self, fold: str) -> Parts:
        read = read_fold(self._found[fold])
        return read.train, read.validation, read.test

    def all_queries(self) -> Queries:
        """Return every query of any fold once: each fold of LETOR's has all of them."""
        found: list[Queries] = []
        seen: set[str] = set()
        for fold in self.folds:
            for part in self.load(fold):
                assert part is not None
                new = [i for i, qid in enumerate(part.qids) if str(qid) not in seen]
                seen.update(map(str, part.qids))
                found += [part.take(new)] if new else []
        return concatenated(found)


class DealtQueries:
    """Queries divided by a protocol."""

    def __init__(
        self,
        queries: Queries,
        name: str,
        protocol: KFold | RepeatedHoldout | TimeSplit,
        random_state: int,
        times: np.ndarray | None = None,
    ) -> None:
        queries.labels  # noqa: B018  # raises, saying what is missing, if there are none
        self._queries = indexed(queries)
        self.protocol = protocol
        self.average = protocol.average
        self._parts = protocol.parts(len(queries), times, random_state)
        self.folds = list(self._parts)
        self.name = name
        self.description = described(queries, protocol)
        self.fingerprint = _fingerprint([*_arrays(queries), *([] if times is None else [times.view(np.uint8)])])

    def load(self, fold: str) -> Parts:
        train, validation, test = (self._queries.take(numbers) for numbers in self._parts[fold])
        return train, validation, test

    def all_queries(self) -> Queries:
        """Return all queries, whichever parts they are in."""
        return self._queries


def open_source(data: Any, *, protocol: Rules | None, random_state: int, columns: Mapping[str, Any]) -> WholeSource:
    """Return folds from a folder, a file, queries in memory, or (None) synthetic lists."""
    path = None if data is None or isinstance(data, Queries) else Path(data)
    if path is not None and path.is_dir():
        if columns:
            raise ValueError(f"{path} is a folder of folds; naming columns is for CSV and Parquet files")
        if not isinstance(protocol, Letor | None):
            raise ValueError(
                f"{path} is a folder, which has folds of its own: leave out the protocol {protocol}, or give one file"
            )
        return FolderOfFolds(path)
    dealt = protocol or KFold()
    if isinstance(dealt, Letor):
        raise ValueError("the protocol letor needs a folder of folds, Fold1, Fold2, …; for other data there is kfold")
    times = None
    if path is None:
        queries, name = (_demonstration(), "synthetic") if data is None else (data, "queries")
    elif isinstance(dealt, TimeSplit) and dealt.column is not None:
        queries, times = _read_timed(path, dealt.column, columns)
        name = path.name.split(".")[0]
    else:
        queries, name = read_file(path, columns), path.name.split(".")[0]
    if times is None and isinstance(dealt, TimeSplit) and dealt.column is not None:
        raise ValueError(f"{dealt}: a column of times is for CSV and Parquet files; leave it out to go by the order")
    return DealtQueries(queries, name, dealt, random_state, times)


def _read_timed(path: Path, column: str, columns: Mapping[str, Any]) -> tuple[Queries, np.ndarray | None]:
    """Return the queries of a table and the time of each, its latest document's; the times are no feature."""
    if not is_table(path):
        return read_file(path, columns), None
    qid = columns.get("qid", "qid")
    times = read_times(path, column, qid)
    queries = read_table(path, **columns, ignore=[column])
    return queries, np.array([times[str(qid)] for qid in queries.qids])


def _demonstration() -> Queries:
    """Return lists with ties, few enough for a first look within a minute, compilation included."""
    return make_queries(n_queries=150, n_documents=40, n_features=20, n_grades=3, random_state=0)


def described(queries: Queries, protocol: Described) -> str:
    """Return what the data are and how they are divided."""
    numbers = f"{len(queries)} queries, {queries.n_documents} documents, {queries.n_features} features"
    return f"{numbers}, {protocol.describe()}"


def fingerprint(queries: Queries) -> str:
    """Return a digest of features, labels and query ids."""
    return _fingerprint(_arrays(queries))


def _fingerprint(parts: Iterable[Any]) -> str:
    digest = hashlib.blake2b(digest_size=12)
    for part in parts:
        view = memoryview(part)
        digest.update(str(view.nbytes).encode())
        digest.update(view)
    return digest.hexdigest()


def _file_bytes(path: Path) -> bytes:
    """Return a digest of the file, read in pieces: data files can be larger than memory."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "blake2b").digest()


def _arrays(queries: Queries) -> Iterable[Any]:
    features = queries.features
    arrays: list[Any] = [features]
    if not isinstance(features, np.ndarray):
        arrays = [features.data, features.indices, features.indptr]
    for array in [*arrays, queries.labels, queries.offsets]:
        yield np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    yield "\n".join(map(str, queries.qids)).encode()
