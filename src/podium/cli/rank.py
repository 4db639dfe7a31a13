"""Score documents with a saved model.

Score documents with a saved model: one score per line, higher is better, in the order of the data's rows. A file named
.trec or .run gets a TREC run instead.

The data are read some megabytes at a time, so a file may be larger than memory. Where a score depends on the whole
list (features rescaled within the query, pairwise potentials), and for a TREC run, the rows of a query must not be
spread over a file that large: sort it by query.

examples:
  podium rank model.podium test.txt > scores.txt
  podium rank model.podium test.txt -o run.trec
  podium rank model.podium test.txt | podium evaluate test.txt -
  podium rank model.podium large.parquet -o scores.txt
  podium rank model.podium test.txt --part mine:Loss
"""

from __future__ import annotations

import argparse
import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING

from podium.cli import options
from podium.cli.output import FileProgress

if TYPE_CHECKING:
    import numpy as np

_RUNS = (".trec", ".run", ".trec.gz", ".run.gz")


def configure(parser: options.Parser) -> None:
    parser.option("model MODEL", "a file that `podium train` wrote")
    parser.option("data DATA", f"the documents ({options.DATA_HELP}); grades are not needed")
    parser.option("-o --out FILE", "where scores go (default: standard output); .trec or .run: a TREC run")
    options.add_part_option(parser)
    parser.option("--tag NAME", "name of the run in a TREC file (default: podium)", default="podium")
    options.add_data_options(parser)


def run(arguments: argparse.Namespace) -> int:
    from podium.data.io.files import writing
    from podium.data.io.trec import add_to_run

    ranker = options.load_document_model(arguments)
    as_run = bool(arguments.out) and arguments.out.endswith(_RUNS)
    needs_lists = getattr(ranker, "_needs_lists", lambda: True)()
    batches = options.read_documents_in_batches(arguments.data, arguments, ranker, as_run or needs_lists)
    with ExitStack() as stack:
        progress = stack.enter_context(FileProgress(arguments.data))
        file = stack.enter_context(writing(arguments.out)) if arguments.out else None
        for batch in batches:
            scores = ranker.predict(batch.queries)
            if file is None:
                sys.stdout.write(_lines(scores))
            elif as_run:
                add_to_run(file, batch.queries, batch.queries.group(scores), arguments.tag)
            else:
                file.write(_lines(scores).encode())
            progress.show(batch.read)
    return 0


def _lines(scores: np.ndarray) -> str:
    return "".join(f"{score!r}\n" for score in scores.tolist())
