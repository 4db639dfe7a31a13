"""Evaluate scores, or a TREC run.

Evaluate scores against the grades in DATA, or a TREC run against relevance judgments. Each figure is printed with the
convention it follows and its 95 % bootstrap interval over queries.

examples:
  podium evaluate test.txt scores.txt --convention letor
  podium evaluate test.txt scores.txt --metrics ndcg@1,ndcg@10,map,mrr --per-query
  podium evaluate test.txt scores.txt --metrics ndcg@10,mine:clicks     (clicks is a function in mine.py)
  podium rank model.podium test.txt | podium evaluate test.txt -
  podium evaluate test.txt scores.txt --groups hosts.txt --per-group 2
  podium evaluate data.txt podium-runs/data/runs/listnet.run            (a TREC run of DATA's documents)
  podium evaluate --qrels qrels.txt --run run.trec --metrics bpref,map
  podium evaluate --list-metrics

The default convention is trec with --qrels, otherwise standard.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from podium.cli import options, output

if TYPE_CHECKING:
    from podium.data.queries import Queries
    from podium.metrics import Evaluation


def configure(parser: options.Parser) -> None:
    parser.option("data DATA", f"graded documents ({options.DATA_HELP})", nargs="?")
    parser.option(
        "scores SCORES",
        "one score per line, in the order of DATA's rows, or a TREC run of its documents; - reads standard input",
        nargs="?",
    )
    parser.option("--qrels FILE", "TREC relevance judgments, instead of DATA")
    parser.option("--run FILE", "TREC run, instead of SCORES", dest="run_file")
    parser.option(
        "--groups FILE", "one group id (a host, a seller) per line, in the order of DATA's rows; see --per-group"
    )
    shown = "show at most N documents of a group in a list (default: 2); needs --groups"
    parser.option("--per-group N", shown, type=options.positive)
    options.add_metrics_options(parser, "ndcg@1,ndcg@5,ndcg@10,map,mrr", convention=None)
    parser.option("--list-metrics", "list all metrics and conventions, then exit")
    parser.option("--complete", "count judged queries that are not in the run as nothing found")
    parser.option("--per-query", "also print each query's values")
    parser.option("--json", "print the results as JSON")
    options.add_data_options(parser)


def run(arguments: argparse.Namespace) -> int:
    if arguments.list_metrics:
        _list_metrics()
        return 0
    return show(_evaluate(arguments), arguments)


def show(result: Evaluation, arguments: argparse.Namespace) -> int:
    """Print an evaluation as ``--json`` and ``--per-query`` say."""
    if arguments.json:
        output.print_json(_as_json(result, arguments.per_query))
        return 0
    if arguments.per_query:
        values = zip(*result.per_query.values(), strict=True)
        lines = [[str(qid), *(f"{v:.4f}" for v in row)] for qid, row in zip(result.qids, values, strict=True)]
        output.print_table(["qid", *result.per_query], lines, numbers=range(1, len(result.per_query) + 1))
        print()
    print(result.table())
    return 0


def _list_metrics() -> None:
    from podium.metrics import CONVENTIONS, FAMILIES

    cutoff = {"required": "@K", "optional": "[@K]", "none": ""}
    needs = {True: "; needs to know which documents were judged", False: ""}
    families = [[f.name + cutoff[f.cutoff], f.summary + needs[f.judged_only]] for f in FAMILIES.values()]
    output.print_table(["metric", "meaning"], families)
    print(f"\nconventions: {', '.join(CONVENTIONS)}")


def _evaluate(arguments: argparse.Namespace) -> Evaluation:
    scores = arguments.data is not None and arguments.scores is not None
    run = arguments.qrels is not None and arguments.run_file is not None
    mixed = arguments.data is not None and (arguments.qrels or arguments.run_file)
    if scores == run or mixed:
        raise ValueError("give either DATA and SCORES, or both --qrels and --run; see podium evaluate --help")
    if arguments.per_group is not None and arguments.groups is None:
        raise ValueError("--per-group needs --groups: the group of each document")
    if run and arguments.groups is not None:
        raise ValueError("--groups goes with DATA and SCORES: the documents of a run are in no fixed order")
    return _evaluate_run(arguments) if run else _evaluate_scores(arguments)


def _evaluate_scores(arguments: argparse.Namespace) -> Evaluation:
    from podium.data.io.files import read_text
    from podium.metrics import evaluate, import_metrics

    queries = options.read(arguments.data, arguments)
    scores = _scores_of_run(arguments.scores, queries) if _is_run(arguments.scores) else read_scores(arguments.scores)
    groups = None if arguments.groups is None else read_text(arguments.groups).splitlines()
    for path, what, values in ((arguments.scores, "scores", scores), (arguments.groups, "groups", groups)):
        if values is not None and len(values) != queries.n_documents:
            n = queries.n_documents
            raise ValueError(f"{path}: it has {len(values)} {what} for the {n} documents of {arguments.data}")
    collapse = groups and (groups, arguments.per_group or 2)
    metrics, convention = import_metrics(arguments.metrics), arguments.convention or "standard"
    return evaluate(queries, scores, metrics=metrics, convention=convention, collapse=collapse)


def _is_run(path: str) -> bool:
    """Return whether this is a file whose first line has the six columns of a run."""
    from podium.data.io.scored import is_run

    return path != "-" and Path(path).is_file() and is_run(path)


def _scores_of_run(path: str, queries: Queries) -> list[float]:
    """Return the scores that a run gives the documents of DATA, in the order of its rows; say what does not fit."""
    import numpy as np

    from podium.data.io.run_scores import ListedDocuments, scores_in
    from podium.data.io.trec import read_run

    run = read_run(path)
    ids = queries.document_ids
    if ids is None and all(name.isdigit() for name in run.document_ids.tolist()):
        ids = queries.group(np.arange(1, queries.n_documents + 1))  # the rows of DATA, as podium rank writes them
    documents = ListedDocuments(queries.qids, queries.offsets, ids)
    found = scores_in(run, documents)
    if found.missing_queries:
        n, named = len(found.missing_queries), ", ".join(found.missing_queries[:3])
        raise ValueError(f"{path}: the run has no document of {n} of the {len(queries)} queries of the data: {named}")
    n_other = len(set(run.qids.tolist()) - set(documents.run_qids()))
    other = [f"{n_other} queries of the run are not in the data and are left out"] if n_other else []
    for line in [*found.notes(), *other]:
        output.note(line)
    return [float(score) for score in queries.restore(found.scores)]


def _evaluate_run(arguments: argparse.Namespace) -> Evaluation:
    import numpy as np

    from podium.data.io.trec import judged_run, read_qrels, read_run
    from podium.metrics import evaluate, import_metrics

    joined = judged_run(read_qrels(arguments.qrels), read_run(arguments.run_file), complete=arguments.complete)
    if joined.queries_not_judged:
        output.note(f"left out: {len(joined.queries_not_judged)} queries of the run that have no judgments")
    if joined.queries_not_in_run:
        fate = "count as nothing found" if arguments.complete else "left out; --complete counts them as nothing found"
        output.note(f"{len(joined.queries_not_in_run)} judged queries are not in the run: {fate}")
    return evaluate(
        joined.labels,
        joined.scores,
        qid=np.repeat(joined.qids, np.diff(joined.offsets)),
        document_ids=joined.document_ids,
        judged=joined.judged,
        metrics=import_metrics(arguments.metrics),
        convention=arguments.convention or "trec",
    )


def read_scores(path: str) -> list[float]:
    """Read one number per line; blank lines are skipped."""
    from podium.data.io.files import read_text

    where, text = ("standard input", sys.stdin.read()) if path == "-" else (path, read_text(path))
    scores = []
    for number, line in enumerate(map(str.strip, text.split("\n")), 1):
        try:
            scores += [float(line)] if line else []
        except ValueError:
            shown = line if len(line) <= 40 else f"{line[:40]}…"
            raise ValueError(f"{where}:{number}: {shown!r} is not a score; expected one number per line") from None
    if not scores:
        raise ValueError(f"no scores in {where}")
    return scores


def _as_json(result: Evaluation, per_query: bool) -> dict[str, object]:
    summary: dict[str, object] = {
        "convention": result.convention,
        "n_queries": len(result.qids),
        "mean": result.mean,
        "interval": {name: list(result.interval(name)) for name in result.mean},
        "notes": list(result.notes),
    }
    if per_query:
        summary["qids"] = [str(qid) for qid in result.qids]
        summary["per_query"] = {name: values.tolist() for name, values in result.per_query.items()}
    return summary
