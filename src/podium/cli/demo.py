"""Show the way from judged lists to a model in use, on an invented shop.

Write search results of an invented shop, compare the methods of five papers on them, train the one that validation
picks, export it and rank one query. Each step prints the command that does the same with data of your own.

examples:
  podium demo
  podium demo --out my-demo
"""

from __future__ import annotations

import argparse
import csv
import io
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from podium.cli import options, output

if TYPE_CHECKING:
    from podium.data.queries import Queries
    from podium.experiments import Comparison

METHODS = "listnet,structrank,boltzrank,pmop,intervalrank,lambdamart"
"""One from each paper, and what most people use."""
METRICS = "ndcg@1,ndcg@3,ndcg@5,ndcg@10"
SEARCH: dict[str, Any] = {"search": "random", "budget": 2, "folds": 3}
"""Less than the defaults, for a first look within a minute."""
SHOWN = 6
"""Results of the query that is ranked."""


def configure(parser: options.Parser) -> None:
    parser.option("--out FOLDER", "where everything is written (default: podium-runs/demo)", type=Path)
    parser.option("--jobs N", "worker processes (default: one per core)", type=options.positive)
    parser.set_defaults(out=Path("podium-runs") / "demo")


def run(arguments: argparse.Namespace) -> int:
    from podium.data import make_search_results, read_table
    from podium.experiments import compare
    from podium.export import export

    folder: Path = arguments.out
    lists, model = folder / "lists.csv", folder / "model.podium"
    _write(lists, make_search_results(n_queries=90, n_documents=16, random_state=0))
    searched = " ".join(f"--{name} {value}" for name, value in SEARCH.items())
    _step(f"compare {lists} --methods {METHODS} --metrics {METRICS} {searched} --out {folder}")
    with output.Reporter(not sys.stderr.isatty(), folder) as reporter:
        given = {"metrics": METRICS.split(","), "out": folder, "jobs": arguments.jobs}
        comparison = compare(lists, METHODS, **given, **SEARCH, progress=reporter)
    output.print_comparison(comparison, hint=False)

    method = _for_solr(comparison)
    if method != comparison.pick:
        print(f"Solr cannot take {comparison.pick}, the pick; {method} is the best on validation that it takes.")
    _step(f"train --from-run {folder} --method {method} -o {model}")
    ranker = comparison.train(method, jobs=1)
    ranker.save(model)
    print(f"{method}, trained on all lists: {model}")

    exported = folder / "model.json"
    _step(f"export {model} --format solr -o {exported}")
    export(ranker, exported, format="solr")
    print(f"{exported}, and how to upload it: {exported}.README.md")

    queries = read_table(lists)
    one = queries.take([len(queries) - 1])
    _step(f"rank {model} {lists}")
    scores = ranker.predict(one)
    best = (-scores).argsort(kind="stable")[:SHOWN]
    assert one.document_ids is not None
    print(f"{one.qids[0]}:")
    shown = [[str(one.document_ids[i]), f"{scores[i]:.3f}", f"{one.labels[i]:.0f}"] for i in best]
    output.print_table(["title", "score", "grade"], shown, numbers=(1, 2))
    return int(bool(comparison.failed))


def _for_solr(comparison: Comparison) -> str:
    """Return the method that is best on the validation parts, among those whose models Solr takes."""
    from podium.export import export_formats
    from podium.rankers.methods import METHODS as TABLE

    taken = [row for row in comparison.learners if "solr" in export_formats(TABLE[row.method].build())]
    return max(taken, key=lambda row: row.validation).method


def _step(command: str) -> None:
    print(f"\n$ podium {command}", flush=True)


def _write(path: Path, queries: Queries) -> None:
    """Write lists as a CSV file, as a shop would export them."""
    from podium.data.io.files import writing

    assert queries.document_ids is not None
    assert queries.feature_names is not None
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(["qid", "document_id", "label", *queries.feature_names])
    qids = queries.qids[queries.query_of_document].tolist()
    features = [[f"{value:.6g}" for value in row] for row in queries.features.tolist()]
    grades = queries.labels.astype(int).tolist()
    for qid, title, grade, row in zip(qids, queries.document_ids.tolist(), grades, features, strict=True):
        rows.writerow([qid, title, grade, *row])
    path.parent.mkdir(parents=True, exist_ok=True)
    with writing(path) as file:
        file.write(text.getvalue().encode())
