"""Compare rankers of users' ratings.

Compare rankers of users' ratings; every user is a query. Some ratings of each user are known, the others are ranked, or
with --candidates catalogue all items that the user has not rated. Hyper-parameters are chosen on a part of the known
ratings; the chosen ranker is fitted on all of them and evaluated once. Finished trials are stored: repeat the command
to continue a run that was stopped.

examples:
  podium ratings compare u.data --protocol given-n --n 10,20,50
  podium ratings compare ratings.csv --methods pmf,cofirank --n 20 --replicates 3 --metrics ndcg@5,ndcg@10,err
  podium ratings compare u.data --protocol held-out-users --n 10
  podium ratings compare u.data --protocol time
  podium ratings compare u.data --protocol leave-last-out --candidates catalogue --methods pmf,implicit-softmax
  podium ratings compare u.data --protocol random --candidates catalogue --metrics recall@20,ndcg@20,coverage@20
  podium ratings compare u.data --protocol random --candidates catalogue --methods implicit.als,cornac.bpr,surprise.svd

The floor of every table, item-mean and popularity, is always included. Methods of other packages, such as implicit.als,
need these installed.
Exit code 1 means that a method failed; its row says why, and the other rows are complete.
"""

import argparse
from pathlib import Path

from podium.cli import options, output
from podium.cli.ratings.evaluate import CATALOGUE, RATED, add_relevance_options


def configure(parser: options.Parser) -> None:
    what = "text with user, item, rating and perhaps time on each line (also .gz), or Parquet"
    parser.option("data FILE", what)
    parser.option(
        "--methods A,B,…", "methods by name, see `podium methods --ratings`, or module:name for your own (default: all)"
    )
    parser.option(
        "--protocol {given-n,held-out-users,leave-last-out,random,time}",
        "given-n: train on N ratings of each user and test on the others; held-out-users: the same for users not "
        "trained on; leave-last-out: test on the last N of each user by time; random: test on a fifth of each user's; "
        "time: test on the latest fifth of all ratings (default: given-n)",
        default="given-n",
    )
    parser.option(
        "--candidates {rated,catalogue}",
        "what is ranked for a user: the items rated in the test part, or all items not rated in training "
        "(default: rated)",
        default="rated",
    )
    parser.option(
        "--n N,…",
        "ratings given per user, or with leave-last-out tested, one table per number (default: 10,20,50; "
        "leave-last-out: 1)",
        type=options.positive_list,
    )
    draws = "number of draws, each with its own seed (default: 10; random: 5; leave-last-out and time: 1)"
    parser.option("--replicates K", draws, type=options.positive)
    dropped = "users with fewer than N + M ratings are dropped by given-n and held-out-users (default: 10)"
    parser.option("--min-test M", dropped, type=options.positive, default=10)
    add_relevance_options(parser)
    options.add_metrics_options(parser, f"{RATED}; of a catalogue {CATALOGUE}")
    parser.set_defaults(metrics=None)
    options.add_search_options(parser, "ndcg@10 if among the metrics, else the first")
    options.add_run_options(parser)


def run(arguments: argparse.Namespace) -> int:
    from podium.ratings.compare import compare_ratings, dataset_name

    out = arguments.out or Path("podium-runs") / dataset_name(Path(arguments.data))
    with output.Reporter(arguments.quiet, out) as reporter:
        comparisons = compare_ratings(
            arguments.data,
            **options.study(arguments, "protocol", "n", "min_test", "replicates", "candidates", "relevant", "binary"),
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
