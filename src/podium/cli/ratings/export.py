"""Write the factors of a model for other programs.

Write the factors of a model of ratings to a folder: as tables in Parquet, and as matrices of float32 (.npy) with the
biases folded in as one more dimension, so that the inner product of a user's row and an item's row is the score. An
index for inner products, such as HNSW's, takes items.npy as it is.

examples:
  podium ratings export model.podium -o factors
  podium ratings export model.podium -o factors --json

The folder has items.parquet, users.parquet, items.npy, users.npy, the ids of their rows in item_ids.json and
user_ids.json, and factors.json, which describes them. It is written completely or not at all; one that this command
wrote before is replaced, and any other is refused.
"""

import argparse
from pathlib import Path

from podium.cli import options, output
from podium.core.atomic import require_writable


def configure(parser: options.Parser) -> None:
    parser.option("model MODEL", "a file that `podium ratings train` wrote")
    parser.option("-o --out DIR", "the folder to write", required=True)
    parser.option("--json", "print JSON")
    options.add_part_option(parser)


def run(arguments: argparse.Namespace) -> int:
    from podium.ratings.export import export_factors, require_replaceable

    require_replaceable(Path(arguments.out))
    require_writable(arguments.out)
    ranker = options.load_rating_model(arguments)
    files = export_factors(ranker, arguments.out)
    if arguments.json:
        output.print_json({"model": arguments.model, "files": list(map(str, files))})
        return 0
    users, items, dimensions = len(ranker.user_ids_), len(ranker.item_ids_), ranker.model_.item_factors.shape[1] + 1
    print(
        f"{arguments.model}: {items:,} items and {users:,} users in {dimensions} dimensions, written to {arguments.out}"
    )
    for file in files:
        print(f"  {file}")
    return 0
