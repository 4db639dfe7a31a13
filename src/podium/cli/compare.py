"""Train, select and test methods on the same folds.

Compare methods on the same folds. Hyper-parameters are selected on the validation part alone; the test part is
evaluated once. Finished trials are stored: give the same command again to continue a run that was stopped.

examples:
  podium compare
  podium compare OHSUMED --convention letor --metrics ndcg@1,ndcg@5,ndcg@10,map
  podium compare train.txt.gz --methods pmop,listnet --folds 5 --jobs 2
  podium compare clicks.parquet --qid-column session --label-column grade --protocol time:day
  podium compare OHSUMED --search random --budget 20 --seeds 5
  podium compare OHSUMED --methods all,blend --rehearse
  podium compare OHSUMED --methods listnet --run published=LTR.run --run theirs=other.run
  podium compare --qrels qrels.txt --run bm25=a.run --run ours=b.run --metrics ndcg@10,map
  podium compare OHSUMED --methods lambdamart,mine:ranker --metrics map,mine:metric
  podium compare log.parquet --clicks --bias swaps --methods listnet,pmop,lambdamart --metrics dcg@10
  podium compare OHSUMED --dask tcp://scheduler:8786
  podium compare OHSUMED --json > results.json

The floor of every table, best-feature and random, is always included.
With --clicks, methods learn from a log of clicks and are judged by the clicks on other queries; every table names the
estimator, and the row production is what the log showed.
Exit code 1 means that a method failed; its row says why, the others are complete.
"""

import argparse
from functools import partial
from pathlib import Path

from podium.cli import compared_clicks, options, output

METRICS = compared_clicks.Default(["ndcg@1", "ndcg@5", "ndcg@10", "map"])


def configure(parser: options.Parser) -> None:
    parser.option(
        "data DATA",
        f"a folder of folds, or a file ({options.DATA_HELP}) to deal into folds; without it, synthetic lists with ties",
        nargs="?",
    )
    parser.option(
        "--methods A,B,…",
        "methods by name, see `podium methods`; all; blend, an average of the others "
        "(default: all; without DATA, some quick ones)",
    )
    options.add_metrics_options(parser, str(METRICS))
    parser.set_defaults(metrics=METRICS)
    options.add_normalize_option(parser)
    parser.option(
        "--protocol P",
        "how queries train, validate and test: letor (the folds of a folder), kfold:K, holdout:N,TEST,VALID, "
        "time:COLUMN,TEST,VALID,WINDOWS (default: letor for a folder, else kfold:5)",
    )
    parser.option("--folds K", "short for --protocol kfold:K", type=options.positive)
    options.add_search_options(parser, "map if among the metrics, else ndcg@10, else the first")
    seeds = "repeat methods that depend on a seed with N of them, from --seed on (default: 1)"
    parser.option("--seeds N", seeds, type=options.positive, default=1)
    parser.option(
        "--rehearse",
        "first compare without the test parts, half of each validation part judging what the other half chose: "
        "a fair way to pick one method; about three times the time in all",
    )
    parser.repeated(
        "--run NAME=FILE",
        "a TREC run: a ranking of the test queries made elsewhere, as one more row",
        dest="runs",
        type=partial(options.named, form="NAME=FILE"),
    )
    parser.option("--qrels FILE", "TREC judgments instead of DATA: compare the runs alone, on the judged queries")
    options.add_run_options(parser)
    options.add_data_options(parser)
    compared_clicks.add_options(parser)


def run(arguments: argparse.Namespace) -> int:
    from podium.experiments import compare

    compared_clicks.check(arguments)
    out = arguments.out or Path("podium-runs") / options.data_name(arguments.qrels or arguments.data)
    with output.Reporter(arguments.quiet, out) as reporter:
        if arguments.clicks:
            comparison = compared_clicks.compared(arguments, out, reporter)
        else:
            comparison = compare(
                arguments.data,
                **options.study(arguments, "folds", "protocol", "seeds", "rehearse"),
                normalize=options.normalization(arguments),
                columns=options.columns(arguments),
                runs=_by_name(arguments.runs),
                qrels=arguments.qrels,
                out=out,
                progress=reporter,
            )
    if arguments.json:
        output.print_json(comparison.to_dict())
    else:
        output.print_comparison(comparison)
    return int(bool(comparison.failed))


def _by_name(runs: list[tuple[str, str]]) -> dict[str, str]:
    repeated = {name for i, (name, _) in enumerate(runs) if name in dict(runs[:i])}
    if repeated:
        raise ValueError(f"--run names {min(repeated)!r} twice; each run is a row with a name of its own")
    return dict(runs)
