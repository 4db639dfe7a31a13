"""Compare rankers of users' ratings.

Compare rankers of users' ratings; every user is a query. Some ratings of each user are known, the others are ranked.
Hyper-parameters are chosen on three tenths of the known ratings; the chosen ranker is fitted on all of them and
evaluated once. Finished trials are stored: repeat the command to continue a run that was stopped.

examples:
  podium ratings compare u.data --protocol given-n --n 10,20,50
  podium ratings compare ratings.csv --methods pmf,cofirank --n 20 --replicates 3 --metrics ndcg@5,ndcg@10,err
  podium ratings compare u.data --protocol held-out-users --n 10
  podium ratings compare u.data --protocol time

The floor of every table, item-mean and popularity, is always included.
Exit code 1 means that a method failed; its row says why, and the other rows are complete.
"""

import argparse
from pathlib import Path

from podium.cli import options, output


def configure(parser: options.Parser) -> None:
    what = "text with user, item, rating and perhaps time on each line (also .gz), or Parquet"
    parser.option("data FILE", what)
    parser.option(
        "--methods A,B,…", "methods by name, see `podium methods --ratings`, or module:name for your own (default: all)"
    )
    parser.option(
        "--protocol {given-n,held-out-users,time}",
        "given-n: train on N ratings of each user and test on the others; held-out-users: the same for users not "
        "trained on; time: test on the latest fifth of all ratings (default: given-n)",
        default="given-n",
    )
    parser.option(
        "--n N,…",
        "ratings given per user, one table per number (default: %(default)s)",
        type=options.positive_list,
        default="10,20,50",
    )
    draws = "number of draws, each with its own seed (default: 10)"
    parser.option("--replicates K", draws, type=options.positive)
    dropped = "users with fewer than N + M ratings are dropped (default: 10)"
    parser.option("--min-test M", dropped, type=options.positive, default=10)
    options.add_metrics_options(parser, "ndcg@1,ndcg@5,ndcg@10,err")
    options.add_search_options(parser, "ndcg@10 if among the metrics, else the first")
    options.add_run_options(parser)


def run(arguments: argparse.Namespace) -> int:
    from podium.ratings.compare import compare_ratings, dataset_name

    out = arguments.out or Path("podium-runs") / dataset_name(Path(arguments.data))
    with output.Reporter(arguments.quiet, out) as reporter:
        comparisons = compare_ratings(
            arguments.data,
            **options.study(arguments, "protocol", "n", "min_test"),
            replicates=arguments.replicates or (1 if arguments.protocol == "time" else 10),
            out=out,
            progress=reporter,
        )
    if arguments.json:
        output.print_json({n: comparison.to_dict() for n, comparison in comparisons.items()})
    else:
        for comparison in comparisons.values():
            print(f"\n{comparison.configuration.protocol.text}")
            output.print_comparison(comparison)
    return 1 if any(comparison.failed for comparison in comparisons.values()) else 0
