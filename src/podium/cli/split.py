"""Divide the queries of a file into a training and a test part.

Divide the queries of a file at random into a training and a test part and, with --valid, a validation part. A query is
never torn apart. Rows are copied as they are, comments and other columns included, in the format of DATA.

examples:
  podium split data.txt --test 0.2                          data-split/train.txt and data-split/test.txt
  podium split data.csv.gz --qid-column session --test 0.2 --valid 0.2 -o parts
  podium split data.txt --test 0.2 --valid 0.2 -o fold && podium train fold --method lambdamart -o model.podium

The same seed gives the same parts, and those that podium.train_test_split gives in Python.
"""

import argparse
from functools import partial
from pathlib import Path

from podium.cli import options, output


def configure(parser: options.Parser) -> None:
    parser.option("data DATA", f"the data to divide ({options.DATA_HELP})")
    share = partial(options.number, what="a share of the queries, between 0 and 1", below=1.0)
    parser.option("--test SHARE", "the share of queries that test (default: 0.2)", type=share, default=0.2)
    parser.option("--valid SHARE", "the share of queries that validate (default: no such part)", type=share)
    options.add_seed_option(parser)
    parser.option(
        "-o --out FOLDER",
        "where train, test and vali files go (default: the name of DATA and -split, in the current folder)",
        type=Path,
    )
    parser.option("--qid-column NAME", "query ids in CSV and Parquet files (default: qid)")
    parser.option("--json", "print the account as JSON")


def run(arguments: argparse.Namespace) -> int:
    import numpy as np

    from podium.data.io.dividing import divide_rows, ending_of, query_of_row
    from podium.data.splits import random_parts

    path = Path(arguments.data)
    query = query_of_row(path, arguments.qid_column)
    n_queries = int(query.max()) + 1 if len(query) else 0
    shares = {"test": arguments.test} | ({"vali": arguments.valid} if arguments.valid else {})
    part_of_query = random_parts(n_queries, list(shares.values()), random_state=arguments.seed)
    part = part_of_query[query]
    ending = ending_of(path)
    folder = arguments.out or Path(f"{path.name.removesuffix(ending)}-split")
    files = [folder / f"{name}{ending}" for name in ("train", *shares)]
    if any(file.exists() and file.samefile(path) for file in files):
        raise ValueError(f"{path} would be replaced by a part of itself: choose another folder with -o")
    divide_rows(path, part, files)
    account = [
        {"file": str(file), "queries": int(np.sum(part_of_query == i)), "rows": int(np.sum(part == i))}
        for i, file in enumerate(files)
    ]
    if arguments.json:
        output.print_json({"seed": arguments.seed, "parts": account})
    else:
        for found in account:
            print(f"{found['file']}: {found['queries']} queries, {found['rows']} documents")
    return 0
