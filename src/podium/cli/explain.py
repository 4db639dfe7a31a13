"""Say why a model ranks one document above another.

Show what each feature contributes to the difference between the scores of two documents of a query: exactly for linear
models and rules, SHAP values for trees, Shapley values or integrated gradients for the others. The contributions add up
to the difference.

examples:
  podium explain model.podium test.txt --query 42                          the first two of the ranking
  podium explain model.podium test.txt --query 42 --documents doc7 doc12
  podium explain model.podium test.txt --query 42 --documents 1 5          the query's first and fifth row in DATA
  podium explain model.podium test.txt --query 42 --documents doc7         against the mean of the query's documents
  podium explain model.podium test.txt --query 42 --html why.html
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from podium.cli import options, output

if TYPE_CHECKING:
    from podium.data.queries import Queries


def configure(parser: options.Parser) -> None:
    parser.option("model MODEL", "a file that `podium train` wrote")
    parser.option("data DATA", f"the documents ({options.DATA_HELP}); grades are not needed")
    parser.option("--query ID", "the query; needed if DATA has several")
    parser.option(
        "--documents ID",
        "ids of two documents of the query, or of one to compare with the mean; or their numbers in the query, "
        "from 1 in the order of DATA (default: the first and the second of the ranking)",
        nargs="+",
    )
    parser.option("--top N", "features to show (default: 20)", type=options.positive, default=20)
    parser.option("--html FILE", "also write a page with a picture, with nothing to fetch")
    parser.option("--json", "print the explanation, with all features, as JSON")
    options.add_part_option(parser)
    options.add_data_options(parser)


def run(arguments: argparse.Namespace) -> int:
    ranker = options.load_document_model(arguments)
    if not hasattr(ranker, "explain"):
        raise ValueError(f"{arguments.model} is a {type(ranker).__name__}, whose scores are not made of features")
    queries = options.read_documents(arguments.data, arguments, ranker)
    number = _query(queries, arguments)
    rows = None if arguments.documents is None else _rows(queries, number, arguments.documents)
    if queries.document_ids is None:
        places = range(1, queries.n_documents + 1) - queries.offsets[queries.query_of_document]
        queries = queries.with_document_ids([f"document {place}" for place in places])
    why = ranker.explain(queries, query=queries.qids[number], documents=rows)
    if arguments.html:
        from podium.core.atomic import atomic_write

        with atomic_write(arguments.html) as file:
            file.write(why.to_html(arguments.top))
        output.note(f"{arguments.html}: written")
    if arguments.json:
        output.print_json(why.to_dict())
    else:
        print(why.to_text(arguments.top))
    return 0


def _query(queries: Queries, arguments: argparse.Namespace) -> int:
    ids = [str(qid) for qid in queries.qids]
    if arguments.query is None and len(ids) > 1:
        raise ValueError(f"{arguments.data} has {len(ids)} queries: name one with --query, such as --query {ids[0]}")
    if arguments.query is None:
        return 0
    if arguments.query not in ids:
        some = ", ".join(ids[:5]) + (", …" if len(ids) > 5 else "")
        raise ValueError(f"{arguments.data} has no query {arguments.query!r}; it has {some}")
    return ids.index(arguments.query)


def _rows(queries: Queries, number: int, documents: list[str]) -> list[int]:
    """Return the rows in the data, from 0, of documents named by their ids or their numbers within the query."""
    if len(documents) > 2:
        raise ValueError(f"--documents takes two documents, or one; got {len(documents)}")
    first, stop = int(queries.offsets[number]), int(queries.offsets[number + 1])
    ids = [] if queries.document_ids is None else [str(name) for name in queries.document_ids[first:stop]]
    places = [_place(name, ids, stop - first, str(queries.qids[number])) for name in documents]
    if len(set(places)) < len(places):
        raise ValueError(f"--documents names document {places[0] + 1} of the query twice")
    return [first + p if queries.order is None else int(queries.order[first + p]) for p in places]


def _place(name: str, ids: list[str], n: int, query: str) -> int:
    """Return a document's place in the query, from 0. An id comes before a number."""
    if ids.count(name) > 1:
        raise ValueError(
            f"query {query} has {ids.count(name)} documents with the id {name!r}: name them by number, from 1"
        )
    if name in ids:
        return ids.index(name)
    if name.isdecimal() and 1 <= int(name) <= n:
        return int(name) - 1
    some = f"; its ids are {', '.join(ids[:5])}{', …' * (len(ids) > 5)}" if ids else ""
    raise ValueError(f"query {query} has no document {name!r}: give an id or a number from 1 to {n}{some}")
