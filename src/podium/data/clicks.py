"""What people clicked: a log of documents shown for queries, at places, with clicks or without.

A log is stored as columns beside the :class:`podium.Queries` of the documents that it shows: row ``i`` of the log
showed document ``row[i]`` of these at ``position[i]``, ``impressions[i]`` times, and ``clicks[i]`` clicks followed.
"""

import logging
from collections.abc import Mapping
from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy import sparse

from podium.core.parameters import require_choice
from podium.data.features import Features
from podium.data.grouping import as_column, as_ids, number_by_first_appearance
from podium.data.joining import found_rows, joined
from podium.data.queries import Queries

__all__ = ["Clicks"]


class Clicks:
    """A log of clicks: documents shown for queries, the places at which they were, and how often they were clicked.

    One row per impression, or one per query, document and place with numbers of impressions and clicks. Not clicked is
    not irrelevant: the document may not have been seen. Queries are ordered by first appearance, and so are the
    documents of a query.

    Parameters
    ----------
    features : (n_rows, n_features) array, sparse matrix or frame; Queries; or None
        Features of the document in each row; where those of one document differ, the last ones count. Or queries with
        document ids, in which the features are looked up by query and document, ids compared as text. Or None: there
        are none, which is enough to estimate a bias.
    clicks : (n_rows,) integers or bool
        Whether the document was clicked, or how often.
    qid : (n_rows,) array
        The query: integers, strings or any hashable values, in any order.
    position : (n_rows,) integers
        The place at which the document was shown. 1 is the top.
    document : (n_rows,) array, optional
        The document: any hashable values. Without it, rows of one query with equal features are one document.
    impressions : (n_rows,) integers, optional
        How often the document was shown there, 1 by default.
    session : (n_rows,) array, optional
        Which rows were shown together: one session is one list shown for one query, once. The same id with another
        query is another session.
    feature_names : sequence of str, optional
        What features are called; a frame's columns have names already.

    Attributes
    ----------
    queries : Queries
        The distinct documents, one list per query, without labels.
    row : (n_rows,) int64
        The document of each row of the log: its row in ``queries``.
    position, clicks, impressions : (n_rows,) int64
        As given.
    session : (n_rows,) int64 or None
        Numbers of sessions, from 0 by first appearance.

    Examples
    --------
    >>> c = Clicks(
    ...     [[0.5], [0.1], [0.1], [0.5]], [1, 0, 1, 0], qid=["a"] * 4, position=[1, 2, 1, 2], document=list("xyyx")
    ... )
    >>> c
    Clicks(4 rows: 1 queries, 2 documents, 2 places, 4 impressions, 2 clicks)
    >>> c.queries.document_ids.tolist(), c.row.tolist(), c.n_sessions.tolist()
    (['x', 'y'], [0, 1, 1, 0], [2])
    """

    queries: Queries
    row: np.ndarray
    position: np.ndarray
    clicks: np.ndarray
    impressions: np.ndarray
    session: np.ndarray | None
    truth: Any = None
    """What a simulation knows of the log that it made (:class:`podium.clicks.Truth`); parts of a log have none."""

    def __init__(
        self,
        features: Any,
        clicks: Any,
        *,
        qid: Any,
        position: Any,
        document: Any = None,
        impressions: Any = None,
        session: Any = None,
        feature_names: Any = None,
    ) -> None:
        n = _require_rows(np.shape(clicks)[0] if np.ndim(clicks) else 0)
        counts = {"clicks": clicks, "position": position, "impressions": impressions}
        ids = {"query": _numbered(qid, n, "qid", "query id")}
        if document is not None:
            ids["document"] = _numbered(document, n, "document", "document id")
        if session is not None:
            ids["session"] = _numbered(session, n, "session", "session")
        self._set(features, feature_names, n, ids, **counts)

    @classmethod
    def of_numbers(cls, features: Any, ids: Mapping[str, tuple[np.ndarray, np.ndarray]], **counts: Any) -> Self:
        """Return a log whose ids are numbered already, which is most of the work where there are millions of rows.

        ``ids`` has the numbers of each row's query, document and session, by first appearance, and the ids behind the
        numbers. ``counts`` are clicks, position, and impressions or None.
        """
        self = object.__new__(cls)
        self._set(features, None, _require_rows(len(ids["query"][0])), ids, **counts)
        return self

    def _set(
        self,
        features: Any,
        feature_names: Any,
        n: int,
        ids: Mapping[str, tuple[np.ndarray, np.ndarray]],
        *,
        clicks: Any,
        position: Any,
        impressions: Any,
    ) -> None:
        self.position = _counts(position, n, "position", 1, "the top is place 1")
        self.clicks = _counts(clicks, n, "clicks", 0, "a row is clicked (1) or not (0), or counts clicks")
        self.impressions = np.ones(n, np.int64)
        if impressions is not None:
            self.impressions = _counts(impressions, n, "impressions", 1, "leave out what was never shown")
        if isinstance(features, Queries) and "document" not in ids:
            raise ValueError("features of queries are found by query and document: give document=")
        absent = features is None or isinstance(features, Queries)
        n_given = n if absent else np.shape(features)[0]
        if n_given != n:
            raise ValueError(f"features have {n_given} rows for the {n} rows of the log")
        rows = Queries(np.empty((n, 0)) if absent else features, sizes=[n], feature_names=feature_names)
        (query, qids), (document, names) = ids["query"], ids.get("document", (None, None))
        self.row, shown_in, sizes = _distinct_documents(
            query, _equal_rows(rows.features) if document is None else document
        )
        self.queries = Queries(
            rows.features[shown_in],
            sizes=sizes,
            document_ids=None if document is None or names is None else names[document[shown_in]],
            feature_names=rows.feature_names,
        )
        self.queries.qids, self.queries.frame_kind = qids, rows.frame_kind
        self.session = None
        if "session" in ids:
            given, known = ids["session"]
            self.session = number_by_first_appearance(query * len(known) + given)[0]
        self._check()
        if isinstance(features, Queries):
            self.queries = joined(self.queries, features)
        if document is None:
            logging.getLogger("podium").warning(
                "podium: rows of one query with equal features are one document, without ids: %d rows, %d documents",
                n,
                self.queries.n_documents,
            )

    @classmethod
    def of_rows(
        cls,
        queries: Queries,
        row: np.ndarray,
        position: np.ndarray,
        clicks: np.ndarray,
        impressions: np.ndarray,
        session: np.ndarray | None = None,
    ) -> Self:
        """Return a log that shows rows of these queries, which are known to be right: nothing is checked."""
        self = object.__new__(cls)
        self.queries, self.row, self.position = queries, row, position
        self.clicks, self.impressions, self.session = clicks, impressions, session
        return self

    def _check(self) -> None:
        more = np.flatnonzero(self.clicks > self.impressions)
        if len(more):
            i = more[0]
            raise ValueError(
                f"row {i} (from 0): {self.clicks[i]} clicks in {self.impressions[i]} impressions ({len(more)} such "
                "rows); an impression is clicked or not, so count it once however often it was"
            )
        if self.session is None:
            return
        several = np.flatnonzero(self.impressions > 1)
        if len(several):
            i = several[0]
            raise ValueError(
                f"row {i} (from 0): {self.impressions[i]} impressions in one session; with session= a row is one "
                "impression"
            )
        for values, what in ((self.position, "two documents at place {}"), (self.row, "{} at two places")):
            again = _first_repeated(self.session, values)
            if again is not None:
                i, j = again
                name = self.position[j] if values is self.position else f"document {self._name(int(self.row[j]))}"
                raise ValueError(
                    f"rows {i} and {j} (from 0), query {self.queries.qids[self.query[j]]}: {what.format(name)} of one "
                    "session; a session is one list shown once, so give each showing its own id"
                )

    def _name(self, row: int) -> Any:
        return row if self.queries.document_ids is None else self.queries.document_ids[row]

    @cached_property
    def query(self) -> np.ndarray:
        """(n_rows,) number of each row's query in ``queries``."""
        return self.queries.query_of_document[self.row]

    @cached_property
    def n_places(self) -> int:
        """The lowest place that was shown."""
        return int(self.position.max(initial=0))

    @cached_property
    def n_sessions(self) -> np.ndarray:
        """(n_queries,) how often each query's list was shown.

        Sessions are counted where they are known. Elsewhere it is the impressions of the place that has most of them,
        which is right if some place, such as the first, is filled whenever the list is shown.
        """
        n = len(self.queries)
        if self.session is not None:
            of_session = np.empty(int(self.session.max()) + 1, np.int64)
            of_session[self.session] = self.query
            return np.bincount(of_session, minlength=n)
        place = self.query * self.n_places + self.position - 1
        return np.bincount(place, self.impressions, n * self.n_places).reshape(n, -1).max(axis=1).astype(np.int64)

    def __len__(self) -> int:
        return len(self.row)

    def aggregated(self) -> Self:
        """Return the same log with one row per query, document and place, without sessions, sorted by these."""
        places = self.n_places
        cell = self.row * places + self.position - 1
        n_cells = self.queries.n_documents * places
        if n_cells <= 8 * len(self):
            counts = np.bincount(cell, self.impressions, n_cells)
            filled = np.flatnonzero(counts)
            shown, clicked = counts[filled], np.bincount(cell, self.clicks, n_cells)[filled]
        else:
            filled, number = np.unique(cell, return_inverse=True)
            shown, clicked = (np.bincount(number, values) for values in (self.impressions, self.clicks))
        columns = (values.astype(np.int64) for values in (filled // places, filled % places + 1, clicked, shown))
        made = self.of_rows(self.queries, *columns)
        made.__dict__["n_sessions"] = self.n_sessions
        return made

    def take(self, queries: Any) -> Self:
        """Return the log of some of the queries.

        Parameters
        ----------
        queries : (n,) integers or (n_queries,) bool
            Numbers of queries, in the order wanted, or a mask. A number given twice is two queries.

        Returns
        -------
        Clicks
            The chosen ones.
        """
        chosen = np.asarray(queries)
        chosen = np.flatnonzero(chosen) if chosen.dtype == bool else chosen.astype(np.int64)
        order = np.argsort(self.query, kind="stable")
        n_rows = np.bincount(self.query, minlength=len(self.queries))
        starts = np.cumsum(n_rows) - n_rows
        number = np.repeat(np.arange(len(chosen)), n_rows[chosen])
        within = np.arange(len(number)) - np.repeat(np.cumsum(n_rows[chosen]) - n_rows[chosen], n_rows[chosen])
        rows = order[starts[chosen][number] + within]
        taken = self.queries.take(chosen)
        session = self.session
        if session is not None:
            session = number_by_first_appearance(number * (session.max(initial=0) + 1) + session[rows])[0]
        row = self.row[rows] - self.queries.offsets[chosen][number] + taken.offsets[number]
        made = self.of_rows(taken, row, self.position[rows], self.clicks[rows], self.impressions[rows], session)
        made.__dict__["n_sessions"] = self.n_sessions[chosen]
        return made

    def with_features(self, features: Queries, *, missing: str = "error") -> Self:
        """Return the same log with features looked up by query and document; ids are compared as text.

        Parameters
        ----------
        features : Queries
            With document ids.
        missing : {"error", "drop"}
            What to do with rows of the log whose documents are not among these.

        Returns
        -------
        Clicks
            With the features of the documents that the log shows.
        """
        require_choice("missing", missing, ("error", "drop"))
        log = self._only(found_rows(self.queries, features) >= 0) if missing == "drop" else self
        queries = joined(log.queries, features)
        made = self.of_rows(queries, log.row, log.position, log.clicks, log.impressions, log.session)
        made.__dict__["n_sessions"] = log.n_sessions
        return made

    def _only(self, documents: np.ndarray) -> Self:
        """Return the log of some of the documents; each query has as many sessions as before."""
        kept = documents[self.row]
        if not kept.any():
            raise ValueError("none of the documents of the log is among the documents that have features")
        queries = self.queries.only(documents)
        filled = queries.sizes > 0
        row = (np.cumsum(documents) - 1)[self.row[kept]]
        session = None if self.session is None else number_by_first_appearance(self.session[kept])[0]
        columns = (self.position[kept], self.clicks[kept], self.impressions[kept], session)
        made = self.of_rows(queries.take(filled), row, *columns)
        made.__dict__["n_sessions"] = self.n_sessions[filled]
        return made

    def __repr__(self) -> str:
        return (
            f"Clicks({len(self)} rows: {len(self.queries)} queries, {self.queries.n_documents} documents, "
            f"{self.n_places} places, {self.impressions.sum()} impressions, {self.clicks.sum()} clicks)"
        )


def _require_rows(n: int) -> int:
    if n == 0:
        raise ValueError("clicks must have one entry per row of the log, and there is none")
    return n


def _numbered(ids: Any, n: int, name: str, what: str) -> tuple[np.ndarray, np.ndarray]:
    """Return each row's number, by first appearance, and the ids behind the numbers."""
    values = as_column(as_ids(ids, what), n, name)
    numbers, first = number_by_first_appearance(values)
    return numbers, values[first]


def _counts(values: Any, n: int, name: str, least: int, hint: str) -> np.ndarray:
    """Return whole numbers of at least ``least`` as int64; raise with the first row that has none."""
    array = np.asarray(values)
    if array.shape != (n,):
        raise ValueError(f"{name} must have one entry for each of the {n} rows of the log; got shape {array.shape}")
    if array.dtype.kind not in "buif":
        raise ValueError(f"{name} must be numbers; got {array.dtype}")
    good = array >= least
    if array.dtype.kind == "f":
        good &= (array == np.floor(array)) & (array < 2**53)
    bad = np.flatnonzero(~good)
    if len(bad):
        raise ValueError(
            f"row {bad[0]} (from 0): {name} is {array[bad[0]]} ({len(bad)} such rows); expected a whole number of at "
            f"least {least}: {hint}"
        )
    return array.astype(np.int64)


def _equal_rows(features: Features) -> np.ndarray:
    """Number the rows so that equal ones have the same number; NaN equals NaN, and −0 equals 0."""
    if sparse.issparse(features):
        raise ValueError("a log with sparse features needs document=; rows are not compared")
    if features.shape[1] == 0:
        raise ValueError("a log without features needs document=")
    plain = np.where(np.isnan(features), np.nan, features + 0)
    words = plain.view(np.dtype((np.void, plain.itemsize * plain.shape[1]))).ravel()
    return np.unique(words, return_inverse=True)[1]


def _distinct_documents(query: np.ndarray, document: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Number the pairs of query and document, those of one query together.

    Return the number of each row's pair, the last row of each pair, and how many pairs each query has.
    """
    pair, first = number_by_first_appearance(query * (document.max() + 1) + document)
    grouped = np.argsort(query[first], kind="stable")
    number = np.empty(len(first), np.int64)
    number[grouped] = np.arange(len(first))
    row = number[pair]
    last = np.empty(len(first), np.int64)
    last[row] = np.arange(len(row))  # of several rows, the last is kept
    return row, last, np.bincount(query[first])


def _first_repeated(session: np.ndarray, values: np.ndarray) -> tuple[int, int] | None:
    """Return two rows with the same session and value, or None if there are none."""
    keys = session * (int(values.max()) + 1) + values
    ordered = np.sort(keys)
    same = np.flatnonzero(ordered[1:] == ordered[:-1])
    if not len(same):
        return None
    first, second = np.flatnonzero(keys == ordered[same[0]])[:2]
    return int(first), int(second)
