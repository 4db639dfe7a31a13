"""Make training data of features that a search engine logged and their judgments.

Join features that a search engine logged with relevance judgments. LOGGED are responses of Solr with [features], of
OpenSearch or Elasticsearch with _ltrlog, or JSON lines {"query": …, "document": …, "features": …}, any number per file,
plain or gzipped. Ids are compared as text. DATA is written as Parquet, CSV or, with any other name, as LETOR text.

examples:
  podium join logged.json --judgments qrels.txt -o data.parquet
  podium join logs/*.json.gz --judgments grades.csv --query-pattern '{query}.json.gz' -o data.txt
  podium join rambo.json --query rambo --judgments grades.csv --unjudged zero -o data.csv

A response belongs to the query that is found first: --query; the file's name by --query-pattern; around the response,
{"query": "ID", "response": …}; Solr's echoed parameter, or a field of its documents, named qid (--query-field names
another); in OpenSearch and Elasticsearch, a log or a named query called qid:ID.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from podium.cli import options, output

if TYPE_CHECKING:
    from podium.data.io.judgments import Joined
    from podium.data.io.logged import Log


def configure(parser: options.Parser) -> None:
    parser.option("logged LOGGED", "files that hold what the engine answered, or JSON lines", nargs="+")
    parser.option(
        "--judgments FILE",
        "TREC qrels, or CSV, TSV or Parquet with columns of query, document and grade",
        required=True,
    )
    parser.option("-o --out DATA", "where the data go: .parquet, .csv, .tsv or LETOR text, also .gz", required=True)
    parser.option(
        "--unjudged {drop,zero}",
        "leave out documents of judged queries that have no judgment, or give them grade 0 (default: drop). Queries "
        "without any judgment are left out",
        default="drop",
    )
    parser.option("--query ID", "the query of all responses")
    parser.option("--query-pattern PATTERN", "file names in which {query} stands for the query id: '{query}.json'")
    parser.option("--query-field NAME", "echoed parameter or document field with the query id (default: qid)")
    parser.option("--document-field NAME", "document field with the document id (default: id, or _id)")
    parser.option("--features-field NAME", "document field with Solr's features, if fl renames it")
    parser.option("--feature-names FILE", "the features to keep, one per line, in this order (default: all that occur)")
    parser.option(
        "--missing VALUE",
        "value of a feature that was not logged for a document, may be nan (default: 0, as in the engines)",
        type=float,
        default=0.0,
    )
    parser.option(
        "--keep-logarithms",
        "keep features log_NAME that an exported model had the engine derive from others (default: leave them out)",
    )
    parser.option("--json", "print the account as JSON")
    group = parser.add_argument_group("columns of a table of judgments (default: those with a usual name)")
    parser.option("--qid-column NAME", "query ids", group)
    parser.option("--document-column NAME", "document ids", group)
    parser.option("--label-column NAME", "grades", group)


def run(arguments: argparse.Namespace) -> int:
    from podium.data import join_judgments, write_queries
    from podium.data.io.derived import derived_logarithms, without_features
    from podium.data.io.logged import LogSource, read_log

    source = LogSource(
        query=arguments.query,
        query_pattern=arguments.query_pattern,
        qid=arguments.query_field or "qid",
        document_id=arguments.document_field,
        features=arguments.features_field or "[features]",
    )
    names = arguments.feature_names and _names(arguments.feature_names)
    log = read_log(arguments.logged, source, names, arguments.missing)
    derived = {} if names or arguments.keep_logarithms else derived_logarithms(log.queries)
    joined = join_judgments(
        without_features(log.queries, derived) if derived else log.queries,
        arguments.judgments,
        unjudged=arguments.unjudged,
        qid=arguments.qid_column,
        label=arguments.label_column,
        document_id=arguments.document_column,
    )
    write_queries(joined.queries, arguments.out)
    names_file = _write_names(joined, arguments.out)
    if arguments.json:
        output.print_json(_as_json(log, joined, arguments, names_file, derived))
    else:
        _print_account(log, joined, arguments, names_file, derived)
    return 0


def _names(path: str) -> list[str]:
    from podium.data.io.files import read_text

    names = [line.strip() for line in read_text(path).splitlines() if line.strip()]
    repeated = next((name for i, name in enumerate(names) if name in names[:i]), None)
    if repeated is not None or not names:
        raise ValueError(f"{path}: {f'{repeated!r} is named twice' if names else 'it names no feature'}")
    return names


def _write_names(joined: Joined, out: str) -> str | None:
    """Write feature names beside a LETOR file, which has no place for them; return that file's name."""
    from podium.core.atomic import atomic_write
    from podium.data.io.tables import TABLE_SUFFIXES, suffix_of

    if joined.queries.feature_names is None or suffix_of(out) in TABLE_SUFFIXES:
        return None
    path = f"{out}.names.txt"
    with atomic_write(path) as file:
        file.writelines(f"{name}\n" for name in joined.queries.feature_names)
    return path


def _print_account(
    log: Log, joined: Joined, arguments: argparse.Namespace, names_file: str | None, derived: Mapping[str, str]
) -> None:
    queries = joined.queries
    print(f"{arguments.out}: {_count(queries.n_documents, 'document')} of {_count(len(queries), 'query', 'queries')}, "
          f"{_count(queries.n_features, 'feature')}, {joined.n_judged} judged")  # fmt: skip
    if names_file:
        print(f"{names_file}: the names of the features, which LETOR text has no place for")
    if joined.unjudged:
        fate = "dropped; --unjudged zero gives them grade 0" if arguments.unjudged == "drop" else "given grade 0"
        print(f"logged, but not judged: {_count(len(joined.unjudged), 'document')} ({_first(joined.unjudged)}): {fate}")
    if joined.unjudged_queries:
        listed = _listed(list(joined.unjudged_queries))
        n = _count(len(joined.unjudged_queries), "query", "queries")
        documents = _count(joined.n_in_unjudged_queries, "document")
        print(f"logged, but without any judgment: {n} with {documents} ({listed}): dropped")
    if joined.missing:
        print(f"judged, but never logged: {_count(len(joined.missing), 'document')} ({_first(joined.missing)})")
    if log.n_repeated:
        print(f"logged more than once: {_count(log.n_repeated, 'row')}; of each document the last counts")
    if log.n_missing:
        print(f"features not logged for a document: {_count(log.n_missing, 'value')}, set to {arguments.missing:g}")
    if log.features_left_out:
        print(f"features not in {arguments.feature_names}: {_listed(list(log.features_left_out))}: left out")
    if derived:
        print(f"logarithms of other features: {_listed(list(derived))}: left out; --keep-logarithms keeps them")


def _as_json(
    log: Log, joined: Joined, arguments: argparse.Namespace, names_file: str | None, derived: Mapping[str, str]
) -> dict[str, Any]:
    queries = joined.queries
    return {
        "data": arguments.out,
        "feature_names_file": names_file,
        "n_queries": len(queries),
        "n_documents": queries.n_documents,
        "n_features": queries.n_features,
        "feature_names": queries.feature_names and list(queries.feature_names),
        "n_judged": joined.n_judged,
        "unjudged": arguments.unjudged,
        "logged_not_judged": [list(pair) for pair in joined.unjudged],
        "queries_without_judgments": list(joined.unjudged_queries),
        "judged_not_logged": [list(pair) for pair in joined.missing],
        "n_logged_again": log.n_repeated,
        "n_missing_values": log.n_missing,
        "features_left_out": [*log.features_left_out, *derived],
    }


def _count(n: int, one: str, many: str | None = None) -> str:
    return f"{n:,} {one if n == 1 else many or f'{one}s'}"


def _first(pairs: Sequence[tuple[str, str]]) -> str:
    return _listed([f"{document} of query {query}" for query, document in pairs])


def _listed(texts: Sequence[str], n: int = 5) -> str:
    return ", ".join(texts[:n]) + (", …" if len(texts) > n else "")
