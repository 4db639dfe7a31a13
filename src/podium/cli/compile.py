"""Compile what serving a model needs, so that processes start quickly.

Compile the functions that podium.serving needs for a model and keep them beside the installed package, or in
$NUMBA_CACHE_DIR; the folder may be read-only afterwards. Run it where the model will be served, for instance when
building a container image: the cache holds code for this processor and these versions of Python and Numba. Models
without trees have nothing to compile.

examples:
  podium compile model.podium
  NUMBA_CACHE_DIR=/srv/cache podium compile model.podium
"""

import argparse
import time

from podium.cli import options


def configure(parser: options.Parser) -> None:
    parser.option("model MODEL", "a file that `podium train` or ranker.save wrote")


def run(arguments: argparse.Namespace) -> int:
    import logging

    import numpy as np

    from podium.serving import load

    logging.getLogger("podium.serving").setLevel(logging.ERROR)  # that it compiles is the point here
    scorer = load(arguments.model)
    for dtype in (np.float32, np.float64):
        started = time.perf_counter()
        scorer.score(np.zeros((2, scorer.n_features), dtype))
        print(f"{arguments.model}: ready for {np.dtype(dtype).name} rows ({time.perf_counter() - started:.1f} s)")
    return 0
