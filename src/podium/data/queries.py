"""Lists of documents: the data structure that everything else works on.

``Queries`` holds the rows of all queries one query after another, without padding: query ``q`` is the slice
``offsets[q]:offsets[q + 1]``. Query ids of any type, in any order, are grouped here once; ``restore`` brings results
per document back to the caller's row order.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, Self

import numpy as np
from scipy import sparse

from podium.core.feature_names import feature_name
from podium.data.features import Features, as_features, first_not_finite
from podium.data.frames import as_matrix, as_numbers, as_table, as_values, is_frame, kind_of, require_columns
from podium.data.grouping import as_column, group_by_query, offsets_from_sizes, permute_rows
from podium.data.normalize import normalize
from podium.data.preferences import Preferences

__all__ = ["Queries"]


class Queries:
    """Documents grouped by query.

    Queries are ordered by first appearance; documents keep their order within a query.

    Parameters
    ----------
    features : (n_documents, n_features) array, sparse matrix or frame
        Array, SciPy sparse matrix, or a pandas / polars / pyarrow frame (its column names are kept). float32 stays
        float32; anything else becomes float64. NaN is kept: whether it is allowed depends on the scorer.
    labels : (n_documents,) array or Preferences, optional
        Grades, higher is better: any finite numbers, also fractional and negative ones. Or pairs of rows of which one
        is better, see :class:`podium.Preferences`.
    qid : (n_documents,) array, optional
        The query each document belongs to: integers, strings or any hashable values, in any order.
    sizes : (n_queries,) integers, optional
        Instead of ``qid``: the number of documents of each query, in order. Zero is allowed.
    preferences : Preferences, optional
        Pairs beside grades, which may then be NaN where unknown: documents of known and unequal grades become pairs,
        those of equal ones ties, and the queries have preferences only.
    document_ids, feature_names : sequence, optional
        What documents and features are called.

    Examples
    --------
    >>> q = Queries([[1.0], [2.0], [3.0]], labels=[0, 2, 1], qid=["b", "a", "b"])
    >>> len(q), q.n_documents, q.qids.tolist(), q.offsets.tolist(), q.labels.tolist()
    (2, 3, ['b', 'a'], [0, 2, 3], [0.0, 1.0, 2.0])
    >>> q.restore(q.labels).tolist()
    [0.0, 2.0, 1.0]
    """

    features: Features
    offsets: np.ndarray
    qids: np.ndarray
    order: np.ndarray | None
    """The caller's row of each document, or None if the caller's rows were grouped already."""
    preferences: Preferences | None
    """Pairs of grouped documents, if these were given instead of grades."""
    document_ids: np.ndarray | None
    feature_names: tuple[str, ...] | None
    frame_kind: str | None = None
    """The package of the frame that they were made of, if any: results come as frames of the same kind."""

    def __init__(
        self,
        features: Any,
        labels: Any = None,
        *,
        qid: Any = None,
        sizes: Any = None,
        preferences: Preferences | None = None,
        document_ids: Any = None,
        feature_names: Sequence[str] | None = None,
    ) -> None:
        if is_frame(features):
            self.frame_kind = kind_of(features)
            table = as_table(features)
            features = as_matrix(table, table.columns)
            feature_names = table.columns if feature_names is None else feature_names
        features = as_features(features)
        n = features.shape[0]
        if (qid is None) == (sizes is None):
            raise ValueError("give either qid (one query id per document) or sizes (documents per query)")
        if qid is not None:
            self.qids, self.offsets, self.order = group_by_query(qid, n)
        else:
            self.offsets = offsets_from_sizes(sizes, n)
            self.qids = np.arange(len(self.offsets) - 1)
            self.order = None
        self.features = features if self.order is None else features[self.order]
        self._labels, self.preferences = None, None
        if isinstance(labels, Preferences) or preferences is not None:
            self.preferences = self._grouped_preferences(labels, preferences)
        elif labels is not None:
            self._labels = self.group(_as_labels(labels, n))
        self.document_ids = None if document_ids is None else self.group(as_column(document_ids, n, "document_ids"))
        self.feature_names = None if feature_names is None else tuple(map(str, feature_names))
        if self.feature_names is not None and len(self.feature_names) != self.n_features:
            raise ValueError(f"{len(self.feature_names)} feature names for {self.n_features} features")

    def _grouped_preferences(self, labels: Any, preferences: Preferences | None) -> Preferences:
        """Return the pairs given as labels, or beside grades, with the documents numbered as they are here."""
        pairs = labels if preferences is None else preferences
        if not isinstance(pairs, Preferences) or (pairs is preferences and isinstance(labels, Preferences)):
            raise ValueError("give preferences once: as labels, or as preferences= beside grades (NaN where unknown)")
        pairs = pairs if self.order is None else pairs.among(self.order, self.n_documents)
        if preferences is not None and labels is not None:
            grades = self.group(_as_labels(labels, self.n_documents, unknown=True))
            pairs = pairs.with_grades(grades, self.offsets)
        for by_query in (pairs.by_query, pairs.ties_by_query):
            by_query(self.offsets)  # raises if a pair does not stay within a query
        return pairs

    @classmethod
    def of_own_rows(cls, features: np.ndarray, labels: Any = None, *, qid: Any, **others: Any) -> Self:
        """Return queries that take over the matrix given: its rows are grouped in place, without a second matrix."""
        qids, offsets, order = group_by_query(qid, len(features))
        labels = None if labels is None else _as_labels(labels, len(features))
        if order is not None:
            permute_rows(features, order)
            labels = None if labels is None else labels[order]
            ids = others.get("document_ids")
            others["document_ids"] = None if ids is None else ids[order]
        return cls(features, labels, sizes=np.diff(offsets), **others)._replace(qids=qids, order=order)

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        qid: str = "qid",
        label: str | None = "label",
        document_id: str | None = None,
        features: Sequence[str] | None = None,
    ) -> Self:
        """Make queries from a pandas, polars or pyarrow frame with named columns.

        Parameters
        ----------
        frame : pandas, polars or pyarrow frame
            One row per document.
        qid, label, document_id : str
            Names of the columns; ``label=None`` reads documents without labels, ``document_id=None`` without ids.
        features : sequence of str, optional
            Names of the features; by default the numeric columns that are left.

        Returns
        -------
        Queries
            With the columns' names as those of the features.
        """
        table = as_table(frame)
        named = [name for name in (qid, label, document_id) if name is not None]
        require_columns(table, [*named, *(features or ())])
        if features is None:
            features = [name for name in table.columns if name not in named and table.schema[name].is_numeric()]
        if not features:
            raise ValueError(f"no column of numbers is left for features besides {', '.join(map(repr, named))}")
        labels = None if label is None else as_numbers(table[label])
        ids = None if document_id is None else as_values(table[document_id])
        matrix = as_matrix(table, features)
        made = cls(matrix, labels, qid=as_values(table[qid]), document_ids=ids, feature_names=features)
        made.frame_kind = kind_of(frame)
        return made

    @property
    def labels(self) -> np.ndarray:
        """(n_documents,) float64 grades, grouped by query."""
        if self.preferences is not None:
            raise ValueError("these queries have preference pairs, not grades; metrics and most losses need grades")
        if self._labels is None:
            raise ValueError("these queries have no labels; give labels= to train on or evaluate them")
        return self._labels

    @property
    def has_labels(self) -> bool:
        """Whether there are grades."""
        return self._labels is not None

    @property
    def targets(self) -> np.ndarray | Preferences:
        """What to learn from: the preferences if they were given, else the labels."""
        return self.labels if self.preferences is None else self.preferences

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def n_documents(self) -> int:
        """How many documents there are in all queries."""
        return int(self.offsets[-1])

    @property
    def n_features(self) -> int:
        """How many features a document has."""
        return int(self.features.shape[1])

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the features."""
        return self.features.dtype

    @property
    def n_values(self) -> int:
        """How many feature values there are; of a sparse matrix, those it stores."""
        return int(self.features.size)

    @property
    def sizes(self) -> np.ndarray:
        """(n_queries,) number of documents of each query."""
        return np.diff(self.offsets)

    @property
    def is_sparse(self) -> bool:
        """Whether the features are a sparse matrix."""
        return bool(sparse.issparse(self.features))

    @property
    def query_of_document(self) -> np.ndarray:
        """(n_documents,) number of the query each document belongs to."""
        return np.repeat(np.arange(len(self)), self.sizes)

    def group(self, values: np.ndarray) -> np.ndarray:
        """Bring values per document from the caller's row order to the grouped order."""
        return values if self.order is None else values[self.order]

    def restore(self, values: np.ndarray) -> np.ndarray:
        """Bring values per document from the grouped order back to the caller's row order."""
        if self.order is None:
            return values
        restored = np.empty_like(values)
        restored[self.order] = values
        return restored

    def slices(self) -> Iterator[slice]:
        """Yield the slice of documents of each query, in order."""
        for start, stop in zip(self.offsets[:-1].tolist(), self.offsets[1:].tolist(), strict=True):
            yield slice(start, stop)

    def take(self, queries: Any) -> Self:
        """Return some of the queries, each with all its documents.

        Parameters
        ----------
        queries : (n,) integers or (n_queries,) bool
            Numbers of queries, in the order wanted, or a mask.

        Returns
        -------
        Queries
            The chosen ones.
        """
        chosen = np.asarray(queries)
        chosen = np.flatnonzero(chosen) if chosen.dtype == bool else chosen.astype(np.int64)
        sizes = self.sizes[chosen]
        offsets = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
        rows = np.repeat(self.offsets[chosen] - offsets[:-1], sizes) + np.arange(offsets[-1])
        return self._selected(rows, offsets, self.qids[chosen])

    def only(self, documents: np.ndarray) -> Self:
        """Return the queries with some of their documents, chosen by a mask in grouped order; a query may keep none."""
        ends = np.concatenate(([0], np.cumsum(documents)))[self.offsets]
        return self._selected(np.flatnonzero(documents), ends, self.qids)

    def between(self, first: int, stop: int) -> Self:
        """Return the queries numbered ``first`` to ``stop − 1``; dense features and labels are not copied."""
        start, end = int(self.offsets[first]), int(self.offsets[stop])
        return self._selected(slice(start, end), self.offsets[first : stop + 1] - start, self.qids[first:stop])

    def in_blocks(self, n_values: int) -> Iterator[Self]:
        """Yield all queries, in blocks of consecutive ones that together have about so many feature values."""
        n_blocks = max(1, round(self.n_documents * self.n_features / n_values))
        ends = np.searchsorted(self.offsets, np.linspace(0, self.n_documents, n_blocks + 1)[1:-1])
        for first, stop in pairwise([0, *np.unique(ends[(ends > 0) & (ends < len(self))]).tolist(), len(self)]):
            yield self.between(first, stop)

    def _selected(self, rows: Any, offsets: np.ndarray, qids: np.ndarray) -> Self:
        pairs = self.preferences
        if pairs is not None:
            pairs = pairs.among(np.arange(self.n_documents)[rows], self.n_documents)
        return self._replace(
            **self._selected_features(rows),
            _labels=None if self._labels is None else self._labels[rows],
            preferences=pairs,
            document_ids=None if self.document_ids is None else self.document_ids[rows],
            offsets=offsets,
            qids=qids,
            order=None,
        )

    def _selected_features(self, rows: Any) -> dict[str, Any]:
        return {"features": self.features[rows]}

    def bare(self) -> Self:
        """Return the same features and grades without any names."""
        numbers = np.arange(len(self))
        return self._replace(qids=numbers, order=None, document_ids=None, feature_names=None, preferences=None)

    def without_labels(self) -> Self:
        """Return the same documents without labels."""
        return self._replace(_labels=None, preferences=None)

    def with_features(self, features: Any, feature_names: Sequence[str] | None = None) -> Self:
        """Return the same queries and labels with other features, given in the grouped order."""
        features = as_features(features)
        if features.shape[0] != self.n_documents:
            raise ValueError(f"{features.shape[0]} rows of features for {self.n_documents} documents")
        return self._replace(features=features, feature_names=feature_names and tuple(feature_names))

    def with_labels(self, labels: Any) -> Self:
        """Return the same documents with other labels, given in the grouped order."""
        return self._replace(_labels=_as_labels(labels, self.n_documents), preferences=None)

    def with_document_ids(self, document_ids: Any) -> Self:
        """Return the same documents with other ids, given in the grouped order; None: without any."""
        ids = None if document_ids is None else as_column(document_ids, self.n_documents, "document_ids")
        return self._replace(document_ids=ids)

    def normalized(self, how: str) -> Self:
        """Return the same queries with each feature rescaled within each query.

        Parameters
        ----------
        how : {"minmax", "zscore"}
            To [0, 1], or to mean 0 and standard deviation 1; a feature that is constant in a query becomes 0 there.

        Returns
        -------
        Queries
            With the same labels and ids.
        """
        return self._replace(features=normalize(self.features, self.offsets, how))

    def require_finite(self) -> None:
        """Raise an error that names query, document and feature if a feature is NaN or infinite."""
        found = self._first_not_finite()
        if found is None:
            return
        row, column, value = found
        q = int(np.searchsorted(self.offsets, row, side="right")) - 1
        place = row - self.offsets[q] + 1
        document = place if self.document_ids is None else self.document_ids[row] or place
        raise ValueError(
            f"query {self.qids[q]}, document {document}: {feature_name(column, self.feature_names)} is {value}. "
            "Fill missing values and replace infinities, or use a scorer that accepts missing values."
        )

    def _first_not_finite(self) -> tuple[int, int, float] | None:
        return first_not_finite(self.features)

    def _replace(self, **changes: Any) -> Self:
        copy = object.__new__(type(self))
        copy.__dict__.update(self.__dict__)
        copy.__dict__.update(changes)
        return copy

    def _repr_html_(self) -> str:
        from podium.data.notebook import html

        return html(self)

    def __repr__(self) -> str:
        labels = "no labels" if self._labels is None else f"{len(np.unique(self._labels))} grades"
        labels = labels if self.preferences is None else f"{len(self.preferences)} preferences"
        return f"Queries({len(self)} queries, {self.n_documents} documents, {self.n_features} features, {labels})"


def _as_labels(labels: Any, n: int, *, unknown: bool = False) -> np.ndarray:
    """Return labels as numbers; NaN is refused unless labels may be unknown."""
    try:
        array = as_column(labels, n, "labels").astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"labels must be numbers: {error}") from None
    bad = np.flatnonzero(np.isinf(array) if unknown else ~np.isfinite(array))
    if len(bad):
        raise ValueError(
            f"the label of row {bad[0]} is {array[bad[0]]} ({len(bad)} such labels); "
            "labels must be finite: drop unjudged documents or give them a grade"
        )
    return array
