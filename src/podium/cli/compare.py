"""``podium compare``: methods on the same folds, a table, and a report."""

from __future__ import annotations

import argparse
from pathlib import Path

from podium.cli import options, output

HELP = "train, select and test methods on the same folds"
DESCRIPTION = """\
Compare methods on the same folds. Hyper-parameters are selected on the validation part alone; the test part is
evaluated once. Finished trials are stored: give the same command again to continue a run that was stopped."""
EXAMPLES = """\
examples:
  podium compare
  podium compare OHSUMED --convention letor --metrics ndcg@1,ndcg@5,ndcg@10,map
  podium compare train.txt.gz --methods pmop,listnet --folds 5 --jobs 2
  podium compare clicks.parquet --qid-column session --label-column grade --protocol time:day
  podium compare OHSUMED --search random --budget 20 --seeds 5
  podium compare OHSUMED --methods all,blend --rehearse
  podium compare OHSUMED --methods lambdamart,mine:ranker --metrics map,mine:metric
  podium compare OHSUMED --json > results.json

The floor of every table, best-feature and random, is always included.
Exit code 1 means that a method failed; its row says why, the others are complete."""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "data",
        nargs="?",
        metavar="DATA",
        help=f"a folder of folds, or a file ({options.DATA_HELP}) to deal into folds; "
        "without it, synthetic lists with ties",
    )
    parser.add_argument(
        "--methods",
        metavar="A,B,…",
        help="methods by name, see `podium methods`; all; blend, the average of the others; module:name, a ranker of "
        "your own (default: all; without DATA, some quick ones)",
    )
    options.add_metrics_options(parser, "ndcg@1,ndcg@5,ndcg@10,map")
    options.add_normalize_option(parser, "minmax")
    parser.add_argument(
        "--protocol",
        metavar="P",
        help="how queries train, validate and test: letor (the folds of a folder), kfold:K, holdout:N,TEST,VALID, "
        "time:COLUMN,TEST,VALID,WINDOWS (default: letor for a folder, else kfold:5)",
    )
    parser.add_argument("--folds", type=options.positive, metavar="K", help="short for --protocol kfold:K")
    options.add_search_options(parser, "map if among the metrics, else ndcg@10, else the first")
    parser.add_argument(
        "--seeds",
        type=options.positive,
        default=1,
        metavar="N",
        help="repeat methods that depend on a seed with N of them, from --seed on (default: 1)",
    )
    parser.add_argument(
        "--rehearse",
        action="store_true",
        help="first compare without the test parts, to pick one method fairly: half of each validation part judges "
        "what the other half selected; takes three times as long in all",
    )
    options.add_run_options(parser)
    options.add_data_options(parser)


def run(arguments: argparse.Namespace) -> int:
    from podium.experiments import compare

    out = Path(arguments.out) if arguments.out else Path("podium-runs") / _name(arguments.data)
    with output.Reporter(arguments.quiet, out) as reporter:
        comparison = compare(
            arguments.data,
            arguments.methods,
            **options.study(arguments),
            normalize=options.normalization(arguments),
            folds=arguments.folds,
            protocol=arguments.protocol,
            seeds=arguments.seeds,
            rehearse=arguments.rehearse,
            columns=options.columns(arguments),
            out=out,
            progress=reporter,
        )
    if arguments.json:
        output.print_json(comparison.to_dict())
    else:
        output.print_comparison(comparison)
    return 1 if comparison.failed else 0


def _name(data: str | None) -> str:
    if data is None:
        return "synthetic"
    path = Path(data).resolve()
    return path.name if path.is_dir() else path.name.split(".")[0]
