"""List the methods.

List the methods: their names for --method and --methods, what they do, and where they come from.

examples:
  podium methods
  podium methods --json
  podium methods --ratings
"""

import argparse

from podium.cli import options, output

START = """\
Where to start: `podium train DATA --method auto` chooses among several and blends them. One model, quickly: listnet,
lambdarank or davidson; with thousands of queries or hundreds of features, lambdamart or gbdt. Measured on several
sets: docs/results/defaults.md."""


def configure(parser: options.Parser) -> None:
    parser.option("--ratings", "list those for `podium ratings train` and compare")
    parser.option("--json", "print JSON, with the grids that a comparison searches")


def run(arguments: argparse.Namespace) -> int:
    from podium.rankers.methods import METHODS
    from podium.ratings.estimator import RATING_METHODS

    methods = (RATING_METHODS if arguments.ratings else METHODS).values()
    if arguments.json:
        shown = ("name", "family", "kind", "summary", "reference", "grid")
        output.print_json([{name: getattr(m, name) for name in shown} | {"in_all": m.in_all} for m in methods])
        return 0
    rows = [[m.name, m.family, "yes" if m.in_all else "", m.summary, m.reference] for m in methods]
    output.print_table(["name", "family", "in all", "summary", "reference"], rows)
    if not arguments.ratings:
        print(f"\n{START}")
    return 0
