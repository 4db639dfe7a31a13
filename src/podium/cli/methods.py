"""``podium methods``: what there is to train and compare."""

from __future__ import annotations

import argparse
from typing import Any

from podium.cli import output

HELP = "list the methods"
DESCRIPTION = "List the methods: their names for --method and --methods, what they are, and where they come from."
EXAMPLES = """\
examples:
  podium methods
  podium methods --json
  podium methods --ratings"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--ratings", action="store_true", help="those for `podium ratings compare`")
    parser.add_argument("--json", action="store_true", help="as JSON, with the grids that `podium compare` searches")


def run(arguments: argparse.Namespace) -> int:
    methods = _methods(arguments.ratings)
    if arguments.json:
        output.print_json(
            [
                {
                    "name": method.name,
                    "family": method.family,
                    "summary": method.summary,
                    "reference": method.reference,
                    "grid": method.grid,
                    "in_all": not method.variant,
                }
                for method in methods
            ]
        )
        return 0
    rows = [[m.name, m.family, "" if m.variant else "yes", m.summary, m.reference] for m in methods]
    output.print_table(["name", "family", "in all", "summary", "reference"], rows)
    return 0


def _methods(of_ratings: bool) -> list[Any]:
    if of_ratings:
        from podium.ratings.methods import RATING_METHODS

        return list(RATING_METHODS.values())
    from podium.rankers.methods import METHODS

    return list(METHODS.values())
