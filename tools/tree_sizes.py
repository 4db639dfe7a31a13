"""Numbers of trees and leaves that suit data of different sizes, on synthetic lists.

    python tools/tree_sizes.py [--documents 5000,20000,60000] [--noise 0.7,2.0]

Each setting is fitted once; the metric on 800 other lists is printed after several numbers of trees.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import podium

sys.path.insert(0, str(Path(__file__).parent))
from defaults import made

N_TREES = (100, 150, 200, 300, 400)
LEAVES = (7, 15, 31, 63)
N_TEST = 800


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", default="5000,20000,60000", help="sizes of the training part")
    parser.add_argument("--noise", default="0.7,2.0", help="in the hidden score, whose deviation is 1")
    options = parser.parse_args()
    for n_documents in map(int, options.documents.split(",")):
        for noise in map(float, options.noise.split(",")):
            queries = made(n_documents // 20 + N_TEST, 20, 30, shape="nonlinear", noise=noise, seed=5)
            train = queries.take(range(len(queries) - N_TEST))
            test = queries.take(range(len(queries) - N_TEST, len(queries)))
            for preset in (podium.LambdaMART, podium.GBDT):
                for leaves in LEAVES:
                    ranker = preset(n_trees=max(N_TREES), n_leaves=leaves, patience=None, random_state=0)
                    curve = ranker.fit(train, eval_set=test).convergence_.validation
                    figures = "  ".join(f"{n}: {curve[min(n, len(curve)) - 1]:.4f}" for n in N_TREES)
                    print(
                        f"{n_documents} documents, noise {noise}, {preset.__name__}, {leaves} leaves: {figures}",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
