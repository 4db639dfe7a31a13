"""Features of users and items, encoded as numbers: standardized numbers, and one column per label of texts.

Every column has mean 0 over the table that was fitted on, so that an unknown value, or a user or item without features,
is the average one: all zeros.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from podium.core.later import narwhals
from podium.core.wording import did_you_mean
from podium.data.frames import as_numbers, as_table, as_values, is_frame
from podium.data.grouping import as_ids
from podium.data.io.files import FilePath, first_bytes
from podium.data.io.parquet import MAGIC, parquet_columns
from podium.data.io.tables import csv_header, integers_if_plain, read_frame

__all__ = ["FeatureTable", "read_features"]

_FEWEST = 2
"""A label must occur this often to have a column: one that a single item has says nothing of others."""
_MOST = 10_000
"""The most labels of a column: more are hardly features."""


@dataclass(frozen=True)
class Column:
    """How one column of a table becomes numbers."""

    name: str
    center: list[float]
    """The mean of each encoded column."""
    scale: float = 1.0
    """A number's standard deviation."""
    labels: list[str] | None = None
    """The labels of a column of texts; None for numbers."""
    has_missing: bool = False
    """Whether the last encoded column says that the value is missing."""

    def encode(self, values: Any) -> np.ndarray:
        """(n_rows, n_encoded) numbers of a column's values, as :func:`_values_of` returns them."""
        if self.labels is None:
            missing = np.isnan(values)
            columns = [np.where(missing, self.center[0], values)]
        else:
            place = {label: j for j, label in enumerate(self.labels)}
            missing = np.array([labels is None for labels in values])
            matrix = np.zeros((len(self.labels), len(values)))
            for row, labels in enumerate(values):
                for label in labels or ():
                    if label in place:
                        matrix[place[label], row] = 1.0
            columns = list(matrix)
        if self.has_missing:
            columns.append(missing.astype(np.float64))
        encoded = np.column_stack(columns) if columns else np.zeros((len(values), 0))
        encoded -= self.center
        if self.labels is None:
            encoded[:, 0] /= self.scale
        else:  # a row without a value is the average one, but for the column that says so
            encoded[missing, : len(self.labels)] = 0.0
        return encoded

    def names(self) -> list[str]:
        """Return the names of the encoded columns."""
        own = [self.name] if self.labels is None else [f"{self.name}={label}" for label in self.labels]
        return [*own, f"{self.name} is missing"] if self.has_missing else own


@dataclass(frozen=True)
class Encoding:
    """How a table becomes a matrix of features; made of the table that is fitted on."""

    columns: tuple[Column, ...]
    separator: str = "|"

    @classmethod
    def of(cls, table: FeatureTable) -> Encoding:
        """Return the encoding of a table of features."""
        return cls(tuple(_column_of(name, table.column(name), table.where) for name in table.names), table.separator)

    def __call__(self, table: FeatureTable) -> np.ndarray:
        """(n_rows, n_features) of a table with the same columns; others are ignored."""
        for column in self.columns:
            if column.name not in table.names:
                hint = did_you_mean(repr(column.name), map(repr, table.names))
                raise ValueError(f"{table.where}: there is no column {column.name!r}, which the ranker learned.{hint}")
        parts = []
        for column in self.columns:
            values = table.column(column.name, as_labels=column.labels is not None)
            parts.append(column.encode(values))
        return np.ascontiguousarray(np.column_stack(parts)) if parts else np.zeros((len(table.ids), 0))

    def names(self) -> list[str]:
        """Return the names of the features."""
        return [name for column in self.columns for name in column.names()]

    def to_json(self) -> dict[str, Any]:
        """Return what :meth:`from_json` takes."""
        return {"separator": self.separator, "columns": [asdict(column) for column in self.columns]}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Encoding:
        """Return the encoding that was stored; raise ValueError if there is none."""
        try:
            columns = tuple(Column(**facts) for facts in stored["columns"])
            separator = str(stored["separator"])
        except (KeyError, TypeError) as error:
            raise ValueError(f"the model's features are not described: {error}") from None
        for column in columns:
            if len(column.center) != len(column.names()) or not column.scale > 0:
                raise ValueError(f"the model's feature {column.name!r} contradicts itself")
        return cls(columns, separator)


class FeatureTable:
    """Features of users or items: ids, and columns of numbers, texts or lists of texts.

    Parameters
    ----------
    data : pandas, polars or pyarrow frame; or (ids, matrix)
        One row per user or item. Columns of a matrix are numbers, named by their place from 0.
    id : str
        The column of ids in a frame.
    separator : str
        Separates the labels of a text that has several, such as ``"Comedy|Drama"``.
    where : str
        What messages call the table.

    Examples
    --------
    >>> import podium, polars
    >>> frame = polars.DataFrame({"item": [1, 2, 3], "year": [1990, 2000, 2010], "genre": ["a|b", "a", None]})
    >>> table = podium.FeatureTable(frame)
    >>> table.names, table.column("genre")
    (['year', 'genre'], [['a', 'b'], ['a'], None])
    """

    def __init__(self, data: Any, id: str = "item", *, separator: str = "|", where: str = "features") -> None:
        if not separator:
            raise ValueError("separator must be a text that separates labels; got an empty one")
        self.where, self.separator = where, separator
        if is_frame(data):
            table = as_table(data)
            if id not in table.columns:
                hint = did_you_mean(repr(id), map(repr, table.columns))
                raise ValueError(
                    f"{where}: there is no column {id!r} of ids; the columns are "
                    f"{', '.join(map(repr, table.columns))}.{hint}"
                )
            self.ids = as_ids(as_values(table[id]), id)
            self._columns = {name: table[name] for name in table.columns if name != id}
        else:
            self.ids, self._columns = _from_pair(data, id, where)
        if len(set(self.ids.tolist())) < len(self.ids):
            twice = Counter(self.ids.tolist()).most_common(1)[0][0]
            raise ValueError(f"{where}: {id} {twice!r} is in more than one row")

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return list(self._columns)

    def column(self, name: str, as_labels: bool | None = None) -> Any:
        """Return a column: an array of numbers, NaN if missing, or a list with a list of labels per row, or None."""
        return _values_of(self._columns[name], self.separator, f"{self.where}: column {name!r}", as_labels)


def _from_pair(data: Any, id: str, where: str) -> tuple[np.ndarray, dict[str, Any]]:
    if not isinstance(data, tuple | list) or len(data) != 2:
        raise ValueError(f"{where} must be a pandas, polars or pyarrow frame, or a pair (ids, matrix)")
    ids, matrix = as_ids(data[0], id), np.asarray(data[1], dtype=np.float64)
    if matrix.ndim != 2 or len(matrix) != len(ids):
        raise ValueError(f"{where}: the matrix must have one row for each of the {len(ids)} ids; got {matrix.shape}")
    return ids, {str(j): column for j, column in enumerate(matrix.T)}


def _values_of(column: Any, separator: str, where: str, as_labels: bool | None) -> Any:
    """Return numbers, or labels if the column has texts or lists."""
    values = column if isinstance(column, np.ndarray) else None
    is_number = values is not None or column.dtype.is_numeric() or column.dtype == narwhals.Boolean
    if as_labels is not None and as_labels is is_number:
        kind = "texts" if as_labels else "numbers"
        raise ValueError(f"{where} had {kind} when the ranker was fitted; now it has not")
    if is_number:
        numbers = np.asarray(as_numbers(column) if values is None else values, dtype=np.float64)
        if np.isinf(numbers).any():
            raise ValueError(f"{where}, row {int(np.flatnonzero(np.isinf(numbers))[0])} (from 0): infinite")
        return numbers
    return [_labels(value, separator, f"{where}, row {row} (from 0)") for row, value in enumerate(column.to_list())]


def _labels(value: Any, separator: str, where: str) -> list[str] | None:
    """Return the labels of one value; None if it is missing, and an empty list if it has none."""
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return None
    if isinstance(value, str):
        value = value.split(separator)
    if not isinstance(value, list | tuple | set | np.ndarray) or not all(isinstance(x, str) for x in value):
        raise ValueError(f"{where}: {value!r} is neither a number, a text nor a list of texts")
    return sorted({label.strip() for label in value} - {""})


def _column_of(name: str, values: Any, where: str) -> Column:
    """Return how a column is to be encoded."""
    if isinstance(values, np.ndarray):
        missing = np.isnan(values)
        known = values[~missing]
        if not len(known):
            raise ValueError(f"{where}: column {name!r} has no value at all")
        share = [float(missing.mean())] if missing.any() else []
        return Column(name, [float(known.mean()), *share], float(known.std()) or 1.0, has_missing=bool(share))
    count = Counter(label for labels in values for label in labels or ())
    labels = sorted(label for label, n in count.items() if n >= _FEWEST)
    if len(labels) > _MOST:
        raise ValueError(f"{where}: column {name!r} has {len(labels)} labels, more than {_MOST}: leave it out")
    n_missing = sum(labels_of_row is None for labels_of_row in values)
    known_rows = max(len(values) - n_missing, 1)
    center = [count[label] / known_rows for label in labels]
    share = [n_missing / len(values)] if n_missing else []
    return Column(name, center + share, labels=labels, has_missing=bool(share))


def as_feature_tables(features: Mapping[str, Any]) -> Iterator[tuple[str, FeatureTable]]:
    """Return the tables of ``features={"items": …, "users": …}``, by side."""
    if not isinstance(features, Mapping) or not set(features) <= {"items", "users"}:
        raise ValueError('features must be a mapping with the keys "items" and "users", or one of them')
    for side, data in features.items():
        if not isinstance(data, FeatureTable):
            data = FeatureTable(data, side.removesuffix("s"), where=f"features of {side}")
        yield side, data


def read_features(path: FilePath, id: str | None = None, *, separator: str = "|") -> FeatureTable:
    """Read features of users or items from a text file with a header, or from Parquet.

    Parameters
    ----------
    path : path
        Fields are separated by commas, tabs, semicolons or ``|``, whichever is most frequent in the header; the file
        may be gzipped.
    id : str, optional
        The column of ids; by default ``item`` or ``user`` if there is one, otherwise the first. Ids are integers if all
        of them are, otherwise texts, as in :func:`podium.read_ratings`.
    separator : str
        Separates the labels of a text that has several.

    Returns
    -------
    FeatureTable
        For ``fit(ratings, features={"items": table})``.

    Examples
    --------
    >>> import podium, tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp(), "films.csv")
    >>> _ = file.write_text("item,year,genres\\n1,1979,Horror|Sci-Fi\\n2,2009,Comedy\\n")
    >>> podium.read_features(file).column("genres")
    [['Horror', 'Sci-Fi'], ['Comedy']]
    """
    is_parquet = first_bytes(path).startswith(MAGIC)
    names = parquet_columns(path) if is_parquet else csv_header(path)[1]
    if id is None:
        id = next((name for name in ("item", "user") if name in names), names[0])
    frame = read_frame(path, [id])
    if id in frame.columns:
        frame = frame.with_columns(integers_if_plain(frame[id]))
    return FeatureTable(frame, id, separator=separator, where=str(path))
