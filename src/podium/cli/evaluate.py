"""``podium evaluate``: metrics of scores or of a TREC run."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from podium.cli import options, output

if TYPE_CHECKING:
    import numpy as np

    from podium.metrics import Evaluation

HELP = "evaluate scores, or a TREC run"
DESCRIPTION = """\
Evaluate scores against the grades in DATA, or a TREC run against relevance judgements. Each figure is printed with the
convention it follows and its 95 % bootstrap interval over queries."""
EXAMPLES = """\
examples:
  podium evaluate test.txt scores.txt --convention letor
  podium evaluate test.txt scores.txt --metrics ndcg@1,ndcg@10,map,mrr --per-query
  podium rank model.podium test.txt | podium evaluate test.txt -
  podium evaluate test.txt scores.txt --groups hosts.txt --per-group 2
  podium evaluate --qrels qrels.txt --run run.trec

With --qrels the convention is trec unless named otherwise, else standard."""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("data", nargs="?", metavar="DATA", help=f"graded documents ({options.DATA_HELP})")
    parser.add_argument(
        "scores",
        nargs="?",
        metavar="SCORES",
        help="one score a line, in the order of DATA's rows; - reads standard input",
    )
    parser.add_argument("--qrels", metavar="FILE", help="TREC relevance judgements, instead of DATA")
    parser.add_argument("--run", metavar="FILE", dest="run_file", help="TREC run, instead of SCORES")
    parser.add_argument(
        "--groups",
        metavar="FILE",
        help="a group id (a host, a seller) a line, in the order of DATA's rows; see --per-group",
    )
    parser.add_argument(
        "--per-group",
        type=options.positive,
        metavar="N",
        help="show at most N documents of a group in a list (default: 2); needs --groups",
    )
    options.add_metrics_options(parser, "ndcg@1,ndcg@5,ndcg@10,map,mrr", "standard; trec with --qrels")
    parser.add_argument(
        "--complete", action="store_true", help="count judged queries that are not in the run as nothing found"
    )
    parser.add_argument("--per-query", action="store_true", help="also print each query's values")
    parser.add_argument("--json", action="store_true", help="print the results as JSON")
    options.add_data_options(parser)


def run(arguments: argparse.Namespace) -> int:
    result = _evaluate(arguments)
    if arguments.json:
        output.print_json(_as_json(result, arguments.per_query))
        return 0
    if arguments.per_query:
        names = list(result.per_query)
        rows = [
            [str(qid), *(f"{result.per_query[name][q]:.4f}" for name in names)] for q, qid in enumerate(result.qids)
        ]
        output.print_table(["qid", *names], rows, numbers=range(1, len(names) + 1))
        print()
    print(result.table())
    return 0


def _evaluate(arguments: argparse.Namespace) -> Evaluation:
    of_scores = arguments.data is not None and arguments.scores is not None
    of_run = arguments.qrels is not None and arguments.run_file is not None
    mixed = arguments.data is not None and (arguments.qrels or arguments.run_file)
    if of_scores == of_run or mixed:
        raise ValueError("give either DATA and SCORES, or both --qrels and --run; see podium evaluate --help")
    if arguments.per_group is not None and arguments.groups is None:
        raise ValueError("--per-group needs --groups: the group of each document")
    if of_run and arguments.groups is not None:
        raise ValueError("--groups goes with DATA and SCORES: the documents of a run are in no fixed order")
    return _of_run(arguments) if of_run else _of_scores(arguments)


def _of_scores(arguments: argparse.Namespace) -> Evaluation:
    from podium.metrics import evaluate

    queries = options.read(arguments.data, arguments)
    scores = read_scores(arguments.scores, queries.n_documents, arguments.data)
    collapse = None
    if arguments.groups is not None:
        groups = Path(arguments.groups).read_text("utf-8").splitlines()
        if len(groups) != queries.n_documents:
            raise ValueError(
                f"{arguments.groups} has {len(groups)} lines, but {arguments.data} has {queries.n_documents} documents"
            )
        collapse = groups, arguments.per_group or 2
    convention = arguments.convention or "standard"
    return evaluate(queries, scores, metrics=arguments.metrics, convention=convention, collapse=collapse)


def _of_run(arguments: argparse.Namespace) -> Evaluation:
    import numpy as np

    from podium.data.io.trec import judged_run, read_qrels, read_run
    from podium.metrics import evaluate

    joined = judged_run(read_qrels(arguments.qrels), read_run(arguments.run_file), complete=arguments.complete)
    if joined.queries_not_judged:
        output.note(f"left out: {len(joined.queries_not_judged)} queries of the run that have no judgements")
    if joined.queries_not_in_run:
        fate = "count as nothing found" if arguments.complete else "left out; --complete counts them as nothing found"
        output.note(f"{len(joined.queries_not_in_run)} judged queries are not in the run: {fate}")
    return evaluate(
        joined.labels,
        joined.scores,
        qid=np.repeat(joined.qids, np.diff(joined.offsets)),
        document_ids=joined.document_ids,
        metrics=arguments.metrics,
        convention=arguments.convention or "trec",
    )


def read_scores(path: str, n_documents: int, data: str) -> np.ndarray:
    """One number a line; blank lines are skipped."""
    import numpy as np

    text = sys.stdin.read() if path == "-" else Path(path).read_text("utf-8")
    scores = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            scores.append(float(line))
        except ValueError:
            where = "standard input" if path == "-" else path
            raise ValueError(
                f"{where}:{number}: {line.strip()!r} is not a score; one number a line is expected"
            ) from None
    if len(scores) != n_documents:
        raise ValueError(f"{path} has {len(scores)} scores, but {data} has {n_documents} documents")
    return np.array(scores)


def _as_json(result: Evaluation, per_query: bool) -> dict[str, object]:
    summary: dict[str, object] = {
        "convention": result.convention,
        "n_queries": len(result.qids),
        "mean": result.mean,
        "interval": {name: list(result.interval(name)) for name in result.mean},
    }
    if per_query:
        summary["qids"] = [str(qid) for qid in result.qids]
        summary["per_query"] = {name: values.tolist() for name, values in result.per_query.items()}
    return summary
