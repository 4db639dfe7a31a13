"""``podium methods``: what there is to train and compare."""

from __future__ import annotations

import argparse

from podium.cli import output

HELP = "list the methods"
DESCRIPTION = "List the methods: their names for --method and --methods, what they are, and where they come from."
EXAMPLES = """\
examples:
  podium methods
  podium methods --json"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="as JSON, with the grids that `podium compare` searches")


def run(arguments: argparse.Namespace) -> int:
    from podium.rankers.methods import METHODS

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
                for method in METHODS.values()
            ]
        )
        return 0
    rows = [[m.name, m.family, "" if m.variant else "yes", m.summary, m.reference] for m in METHODS.values()]
    output.print_table(["name", "family", "in all", "summary", "reference"], rows)
    return 0
