"""``podium rank``: scores for documents from a saved model."""

from __future__ import annotations

import argparse
import sys

from podium.cli import options

HELP = "score documents with a saved model"
DESCRIPTION = """\
Score documents with a saved model: one score per line, higher is better, in the order of the data's rows. A file named
.trec or .run gets a TREC run instead."""
EXAMPLES = """\
examples:
  podium rank model.podium test.txt > scores.txt
  podium rank model.podium test.txt -o run.trec
  podium rank model.podium test.txt | podium evaluate test.txt -
  podium rank model.podium test.txt --part mine:Loss"""


def configure(parser: options.Parser) -> None:
    parser.option("model MODEL", "a file that `podium train` wrote")
    parser.option("data DATA", f"the documents ({options.DATA_HELP}); grades are not needed")
    parser.option("-o --out FILE", "where scores go (default: standard output); .trec or .run: a TREC run")
    options.add_part_option(parser)
    parser.option("--tag NAME", "name of the run in a TREC file (default: podium)", default="podium")
    options.add_data_options(parser)


def run(arguments: argparse.Namespace) -> int:
    ranker = options.load_model(arguments)
    queries = options.read_documents(arguments.data, arguments, ranker)
    scores = ranker.predict(queries)
    if arguments.out and arguments.out.endswith((".trec", ".run", ".trec.gz", ".run.gz")):
        from podium.data.io.trec import write_run

        write_run(arguments.out, queries, queries.group(scores), tag=arguments.tag)
        return 0
    lines = "".join(f"{score!r}\n" for score in scores.tolist())
    if arguments.out:
        from podium.core.atomic import atomic_write

        with atomic_write(arguments.out) as file:
            file.write(lines)
    else:
        sys.stdout.write(lines)
    return 0
