"""``podium methods``: the methods that can be trained and compared."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from podium.cli import output

if TYPE_CHECKING:
    from podium.rankers.methods import Method

HELP = "list the methods"
DESCRIPTION = "List the methods: their names for --method and --methods, what they do, and where they come from."
EXAMPLES = """\
examples:
  podium methods
  podium methods --json
  podium methods --ratings"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--ratings", action="store_true", help="list those for `podium ratings compare`")
    parser.add_argument("--json", action="store_true", help="print JSON, with the grids that a comparison searches")


def run(arguments: argparse.Namespace) -> int:
    methods = _methods(arguments.ratings)
    if arguments.json:
        shown = ("name", "family", "kind", "summary", "reference", "grid")
        output.print_json([{name: getattr(m, name) for name in shown} | {"in_all": not m.variant} for m in methods])
        return 0
    rows = [[m.name, m.family, "" if m.variant else "yes", m.summary, m.reference] for m in methods]
    output.print_table(["name", "family", "in all", "summary", "reference"], rows)
    return 0


def _methods(of_ratings: bool) -> list[Method]:
    if of_ratings:
        from podium.ratings.methods import RATING_METHODS

        return list(RATING_METHODS.values())
    from podium.rankers.methods import METHODS

    return list(METHODS.values())
