"""Reading the rows that search engines log: features of documents, per query.

Three forms are read, also mixed, many per file, one per line or printed over several lines:

- responses of Solr's ``/select`` with ``[features]`` in ``fl``;
- responses of OpenSearch and Elasticsearch with the ``_ltrlog`` of their learning-to-rank plugins;
- rows ``{"query": …, "document": …, "features": {name: value} or [value, …]}``.

A row says its query itself. A response belongs to the query that is found first: ``query=``; the file's name by
``query_pattern=``; ``{"query": …, "response": …}`` around it; the echoed parameter or the documents' field ``qid``; a
log or a named query called ``qid:ID``.
"""

import json
import re
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from podium.core.texts import text_array
from podium.core.wording import advice
from podium.data.io.files import FilePath, flat_paths, read_text
from podium.data.io.judgments import join_judgments
from podium.data.queries import Queries

__all__ = ["read_logged"]

_QUERY_KEYS, _DOCUMENT_KEYS = ("query", "qid"), ("document", "docid", "id", "_id")
_NAMED = "qid:"
_FORMS = (
    "expected a Solr response with [features], an OpenSearch or Elasticsearch response with _ltrlog, or "
    '{"query": …, "document": …, "features": …}'
)
_HOW_TO_NAME = (
    "send the parameter qid=ID with the request (Solr echoes it with echoParams=explicit), call the log or a query "
    '"qid:ID" (OpenSearch, Elasticsearch), wrap it as {"query": "ID", "response": …}, or give '
)


def read_logged(
    *paths: FilePath | Sequence[FilePath],
    judgments: FilePath | None = None,
    unjudged: str = "drop",
    query: str | None = None,
    query_pattern: str | None = None,
    qid: str = "qid",
    document_id: str | None = None,
    features: str = "[features]",
    feature_names: Sequence[str] | None = None,
    missing: float = 0.0,
) -> Queries:
    """Read features logged by Solr, OpenSearch or Elasticsearch, or JSON lines of them, as queries.

    All ids are kept as text. A document logged twice for a query counts once, with its last values.

    Parameters
    ----------
    *paths : path or sequence of paths
        Files, or lists of files, plain or gzipped: responses of an engine or rows
        ``{"query": …, "document": …, "features": …}``, any number per file.
    judgments : path, optional
        TREC qrels or a table, see :func:`podium.join_judgments`: its grades become the labels.
    unjudged : "drop" or "zero"
        What becomes of logged documents without a judgment.
    query : str, optional
        The query of all responses. Without it, a response must say its query: see the next three.
    query_pattern : str, optional
        File names in which ``{query}`` stands for the query id: ``"{query}.json"``.
    qid : str
        Name of the parameter that Solr echoes, or of a field of its documents, that holds the query id.
    document_id : str, optional
        Field of the documents that holds their ids; by default ``id`` (Solr) or ``_id``.
    features : str
        Field of Solr's documents that holds the features, if it was renamed in ``fl``.
    feature_names : list of str, optional
        The features to keep, in this order. By default all, in order of first appearance.
    missing : float
        Value of a feature that was not logged for a document. 0 is what the engines themselves use.

    Returns
    -------
    Queries
        With document ids and names of the features.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp(), "logged.jsonl")
    >>> _ = file.write_text('{"query": "q1", "document": "007", "features": {"bm25": 1.5, "age": 3}}')
    >>> q = read_logged(file)
    >>> q.qids.tolist(), q.document_ids.tolist(), q.feature_names, q.features.tolist()
    (['q1'], ['007'], ('bm25', 'age'), [[1.5, 3.0]])
    """
    source = LogSource(query, query_pattern, qid, document_id, features)
    log = read_log(flat_paths(paths), source, feature_names, missing)
    return log.queries if judgments is None else join_judgments(log.queries, judgments, unjudged=unjudged).queries


@dataclass(frozen=True, slots=True)
class LogSource:
    """Where responses have what a row needs; see :func:`read_logged`."""

    query: str | None = None
    query_pattern: str | None = None
    qid: str = "qid"
    document_id: str | None = None
    features: str = "[features]"

    def query_of_file(self, path: FilePath) -> str | None:
        """Return the query id that the options give to a file's responses, or None."""
        if self.query is not None or self.query_pattern is None:
            return self.query
        before, placeholder, after = self.query_pattern.partition("{query}")
        if not placeholder or "{query}" in after:
            raise ValueError(f"the pattern {self.query_pattern!r} must contain {{query}} once, as in '{{query}}.json'")
        found = re.fullmatch(f"{re.escape(before)}(.+){re.escape(after)}", Path(path).name)
        if found is None:
            raise ValueError(f"{path}: the file's name does not match the pattern {self.query_pattern!r}")
        return found[1]


@dataclass(frozen=True, slots=True)
class Log:
    """The rows of logged files, and what is worth saying about them."""

    queries: Queries
    n_repeated: int
    """Rows of documents that were logged again, and of which the last counts."""
    n_missing: int
    """Values that were not logged and are ``missing`` now."""
    features_left_out: tuple[str, ...]


def read_log(
    paths: Iterable[FilePath], source: LogSource, feature_names: Sequence[str] | None = None, missing: float = 0.0
) -> Log:
    """Read logged files; see :func:`read_logged`."""
    table = _Table(feature_names)
    files = list(paths)
    for path in files:
        query = source.query_of_file(path)
        for value, line in _values(path):
            try:
                for row in _rows(value, query, source):
                    table.add(*row)
            except ValueError as error:
                raise ValueError(f"{path}:{line}: {error}") from None
    if not table.rows:
        raise ValueError(f"no documents in {', '.join(map(str, files)) or 'no files'}; {_FORMS}")
    return table.finish(missing)


def _values(path: FilePath) -> Iterator[tuple[Any, int]]:
    """Yield the JSON values of a file, one after another with whitespace between them, and the line each begins at."""
    text = read_text(path)
    decoder, blanks = json.JSONDecoder(), re.compile(r"\s*")
    position, counted, line = 0, 0, 1
    while (position := blanks.match(text, position).end()) < len(text):  # type: ignore[union-attr]
        line += text.count("\n", counted, position)
        counted = position
        try:
            value, position = decoder.raw_decode(text, position)
        except json.JSONDecodeError as error:
            raise ValueError(f"{path}:{error.lineno}: this is not JSON ({error.msg}); {_FORMS}") from None
        except RecursionError:
            raise ValueError(f"{path}:{line}: this JSON is nested too deeply") from None
        yield from ((item, line) for item in (value if isinstance(value, list) else [value]))


_Row = tuple[str, str, Mapping[str, Any] | Sequence[Any]]


def _rows(value: Any, query: str | None, source: LogSource) -> Iterator[_Row]:
    """Yield query, document and features of each document in a row or response."""
    if not isinstance(value, dict):
        raise ValueError(f"found {_shown(value)}; {_FORMS}")
    if "features" in value and not isinstance(value.get("response"), dict):
        yield _row(value, query)
    elif "error" in value:
        raise ValueError(f"the engine answered with an error, {_shown(value['error'])}; log the request again")
    elif isinstance(value.get("responses"), list):  # of _msearch
        for response in value["responses"]:
            yield from _rows(response, query, source)
    elif isinstance(value.get("hits"), dict):
        yield from _opensearch_rows(value, query, source)
    elif isinstance(value.get("docs"), list):
        yield from _solr_rows(value["docs"], query, source)
    elif isinstance(value.get("response"), dict):
        yield from _rows(value["response"], query or _query_around(value, source), source)
    elif "grouped" in value:
        raise ValueError("a grouped response has no plain list of documents: ask again with group.main=true")
    else:
        raise ValueError(f"found an object with {', '.join(map(repr, list(value)[:6])) or 'nothing'}; {_FORMS}")


def _row(value: Mapping[str, Any], query: str | None) -> _Row:
    found = query if query is not None else _first(value, _QUERY_KEYS)
    if found is None:
        raise ValueError('this row has no "query"')
    document = _first(value, _DOCUMENT_KEYS)
    if document is None:
        raise ValueError('this row has no "document"')
    return _id(found, "query"), _id(document, "document"), _features(value["features"])


def _query_around(value: Mapping[str, Any], source: LogSource) -> str | None:
    """Return the query that surrounds a response, or that Solr's header echoes."""
    header = value.get("responseHeader")
    parameters = header.get("params") if isinstance(header, dict) else None
    found = value.get("query", value.get(source.qid))
    if found is None and isinstance(parameters, dict):
        found = parameters.get(source.qid)
        if isinstance(found, list):
            raise ValueError(f"the parameter {source.qid!r} was sent {len(found)} times: {_shown(found)}")
    return None if found is None else _id(found, "query")


def _document_id() -> str:
    return advice("document_id=", "--document-field")


def _query(*candidates: Any) -> str:
    """Return the first query id that there is."""
    found = next((given for given in candidates if given is not None), None)
    if found is None:
        options = advice("query= or query_pattern=", "--query or --query-pattern")
        raise ValueError(f"the response does not say its query: {_HOW_TO_NAME}{options}")
    return _id(found, "query")


def _solr_rows(documents: Sequence[Any], query: str | None, source: LogSource) -> Iterator[_Row]:
    for document in documents:
        how = f"name another field with {_document_id()}"
        name = _id(_field(document, source.document_id or "id", how), "document")
        found = _query(query, _only(document.get(source.qid)))
        hint = f"ask for it with fl={source.document_id or 'id'},{source.features}, or name it with "
        hint += advice("features=", "--features-field")
        yield found, name, _features(_field(document, source.features, hint))


def _opensearch_rows(response: Mapping[str, Any], query: str | None, source: LogSource) -> Iterator[_Row]:
    for hit in response["hits"].get("hits", ()):
        inner = hit.get("_source") or {}
        place = hit if source.document_id is None or source.document_id in hit else inner
        name = _id(_field(place, source.document_id or "_id", f"name a field with {_document_id()}"), "document")
        logs = (hit.get("fields") or {}).get("_ltrlog")
        if logs is None:
            raise ValueError(f'the hit {name!r} has no _ltrlog: send "ext": {{"ltr_log": …}} with the request')
        features: dict[str, float] = {}
        names = [str(named) for named in hit.get("matched_queries") or ()]
        for log in logs:
            for log_name, entries in log.items():
                names.append(log_name)
                logged = _features(entries)
                clash = next((f for f in logged if f in features), None) if isinstance(logged, dict) else None
                if clash is not None:
                    raise ValueError(f"the hit {name!r} has the feature {clash!r} in two logs: ask for one of them")
                features.update(logged)
        named = next((text.removeprefix(_NAMED) for text in names if text.startswith(_NAMED)), None)
        yield _query(query, named, _only(inner.get(source.qid))), name, features


def _features(value: Any) -> Mapping[str, Any] | Sequence[Any]:
    """Return features by name, or a list of their values, from the forms in which they are logged.

    A feature that is named without a value, as the plugins log one that did not match, is left out.
    """
    if isinstance(value, str):
        pairs = [part.rpartition("=") for part in value.split(",")] if value.strip() else []
        bad = next((part for name, _, part in pairs if not name), None)
        if bad is not None:
            raise ValueError(f"expected features as 'name=value,name=value', found {_shown(bad)} in {_shown(value)}")
        return _named(((name.strip(), number) for name, _, number in pairs), len(pairs))
    if isinstance(value, dict):
        return {name: number for name, number in value.items() if number is not None}
    if isinstance(value, list) and all(isinstance(item, dict) and "name" in item for item in value) and value:
        return _named(((str(item["name"]), item.get("value")) for item in value), len(value))
    if isinstance(value, list):
        return value
    raise ValueError(f"features must be a mapping, a list or 'name=value,…', not {_shown(value)}")


def _named(pairs: Iterable[tuple[str, Any]], n: int) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < n:
        raise ValueError("a feature is named twice for one document")
    return {name: number for name, number in found.items() if number is not None}


class _Table:
    """The rows read so far: values, and the columns they belong to."""

    def __init__(self, names: Sequence[str] | None) -> None:
        self.fixed = names is not None
        self.columns = {name: j for j, name in enumerate(names or ())}
        self.left_out: dict[str, None] = {}
        self.n_unnamed: int | None = None
        self.rows: dict[tuple[str, str], tuple[np.ndarray | None, array[float]]] = {}
        self.n_repeated = 0
        self._known: dict[tuple[str, ...], np.ndarray] = {}

    def add(self, query: str, document: str, features: Mapping[str, Any] | Sequence[Any]) -> None:
        """Keep a row; the last one of a document counts, at the place of the first."""
        values: array[float] = array("d")
        self.n_repeated += (query, document) in self.rows
        if isinstance(features, Mapping):
            if self.n_unnamed is not None:
                raise ValueError("these features have names, and those before them have none: read them separately")
            for name, value in features.items():
                values.append(_number(value, f"feature {name!r}"))
            self.rows[query, document] = self._columns_of(tuple(features)), values
            return
        if self.columns and not self.fixed:
            raise ValueError("these features have no names, and those before them have: read them separately")
        self.n_unnamed = len(features) if self.n_unnamed is None else self.n_unnamed
        expected = len(self.columns) if self.fixed else self.n_unnamed
        if len(features) != expected:
            what = "names were given" if self.fixed else "the rows before had"
            raise ValueError(f"{len(features)} features without names, but {what} {expected}")
        values.extend(_number(value, f"feature {j}") for j, value in enumerate(features, 1))
        self.rows[query, document] = None, values

    def _columns_of(self, names: tuple[str, ...]) -> np.ndarray:
        """Return the column of each name, −1 for features that are left out; mostly, rows have the same names."""
        known = self._known.get(names)
        if known is None:
            for name in names:
                if name not in self.columns and self.fixed:
                    self.left_out[name] = None
                elif name not in self.columns:
                    self.columns[name] = len(self.columns)
            known = self._known[names] = np.array([self.columns.get(name, -1) for name in names], np.int64)
        return known

    def finish(self, missing: float) -> Log:
        n_features = len(self.columns) or self.n_unnamed or 0
        if not n_features:
            raise ValueError("the logged documents have no features at all: is the feature store empty?")
        matrix = np.full((len(self.rows), n_features), np.nan)
        there = np.zeros(matrix.shape, bool)
        for i, (columns, values) in enumerate(self.rows.values()):
            row = np.frombuffer(values) if len(values) else np.empty(0)
            if columns is None:
                matrix[i], there[i] = row, True
            else:
                kept = columns >= 0
                matrix[i, columns[kept]] = row[kept]
                there[i, columns[kept]] = True
        matrix[~there] = missing
        qid, documents = (text_array(column) for column in zip(*self.rows, strict=True))
        queries = Queries(
            matrix, qid=qid, document_ids=documents, feature_names=list(self.columns) if self.columns else None
        )
        return Log(queries, self.n_repeated, int((~there).sum()), tuple(self.left_out))


def _number(value: Any, what: str) -> float:
    if not isinstance(value, (bool, list, dict)):
        try:
            return float(value)
        except (TypeError, ValueError):
            pass
    raise ValueError(f"{what} is {_shown(value)}, not a number")


def _id(value: Any, what: str) -> str:
    if isinstance(value, (str, int)) and not isinstance(value, bool) and str(value):
        return str(value)
    raise ValueError(f"the {what} id is {_shown(value)}; expected text or an integer")


def _only(value: Any) -> Any:
    """Return the value of a field that may be stored as a list of one."""
    return value[0] if isinstance(value, list) and len(value) == 1 else value


def _first(value: Mapping[str, Any], keys: Sequence[str]) -> Any:
    return next((value[key] for key in keys if value.get(key) is not None), None)


def _field(document: Any, name: str, hint: str) -> Any:
    if not isinstance(document, dict):
        raise ValueError(f"found {_shown(document)} among the documents")
    if document.get(name) is None:
        listed = ", ".join(map(repr, list(document)[:8]))
        raise ValueError(f"a document has no field {name!r}, only {listed or 'none at all'}: {hint}")
    return _only(document[name]) if name != "[features]" else document[name]


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=repr)
    return text if len(text) <= 60 else f"{text[:60]}…"
