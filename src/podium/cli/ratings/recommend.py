"""Write the best items of many users to a file.

Write the items with the highest scores for users, without those they have rated: the columns user, item, score and
rank, as CSV, JSON lines or Parquet by the name of the file. Users are ranked some thousands at a time, so a model may
have millions of them. The file is written completely or not at all.

examples:
  podium ratings recommend model.podium -o recs.csv
  podium ratings recommend model.podium --users all -n 20 -o recs.parquet
  podium ratings recommend model.podium --users users.txt -n 5 -o recs.jsonl
  podium ratings recommend model.podium --users users.csv --include-seen | head

A file of users has one id per line, or a header with a column named user. Who was not in the training data gets the
items of the average user, and a note says how many these are; a model trained with --set cold=error refuses them.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from podium.cli import options, output
from podium.core.atomic import require_writable

if TYPE_CHECKING:
    import numpy as np

ALL = "all"
STDOUT = "-"


def configure(parser: options.Parser) -> None:
    parser.option("model MODEL", "a file that `podium ratings train` wrote")
    parser.option("--users FILE", "file of users, or all of those trained on (default: all)", default=ALL)
    parser.option("-n --number N", "items per user (default: 10)", type=options.positive, default=10)
    parser.option("--include-seen", "recommend also what a user has rated")
    parser.option("-o --out FILE", "where they go: .csv, .jsonl or .parquet (default: CSV on standard output)")
    parser.option("--quiet", "show no progress on standard error")
    options.add_part_option(parser)


def run(arguments: argparse.Namespace) -> int:
    from podium.ratings.recommendation_files import Blocks, format_of, write_recommendations

    to_file = arguments.out is not None and arguments.out != STDOUT
    if to_file:  # what cannot be written should not surface after the work
        format_of(arguments.out)
        require_writable(arguments.out)
    ranker = options.load_rating_model(arguments)
    users = None if arguments.users == ALL else _users(arguments.users, ranker)
    total = len(ranker.user_ids_ if users is None else users)
    with output.Counter("recommending", total, quiet=arguments.quiet) as counter:
        how: dict[str, Any] = {"n": arguments.number, "exclude_seen": not arguments.include_seen}
        if not to_file:
            Blocks(ranker, users, progress=counter.show, **how).write_text(sys.stdout.buffer, "csv")
            return 0
        n_rows = write_recommendations(ranker, arguments.out, users, progress=counter.show, **how)
    if not arguments.quiet:
        output.note(f"{n_rows:,} recommendations for {total:,} users written to {arguments.out}")
    return 0


def _users(path: str, ranker: Any) -> np.ndarray:
    """Return the users that a file names, and say what is not as one would expect."""
    import numpy as np

    from podium.ratings.users import read_users

    named = read_users(path, ranker.user_ids_)
    if named.n_repeated:
        n = named.n_repeated
        output.note(f"podium: {path} names {n:,} id{'s' * (n > 1)} again: every user is written once")
    unknown = np.flatnonzero(ranker.seen_.user_numbers.numbers(named.ids, "users") < 0)
    if not len(unknown):
        return named.ids
    first = f"{named.where(unknown[0])}: user {named.ids[unknown[0]]}"
    of = f"{len(unknown):,} of {len(named.ids):,} users"
    if ranker.cold == "error":
        raise ValueError(
            f"{first} was not in the training data, as {of} were not, and this model was trained to refuse them: "
            "leave them out, or train with --set cold=average"
        )
    output.note(f"podium: {of} were not in the training data ({first}): they get the items of the average user")
    return named.ids
