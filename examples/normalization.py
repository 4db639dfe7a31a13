"""Features standardized over the training set against features rescaled within each query, on validation parts alone.

In each fold every setting of a method's grid (``podium methods``) is trained on the training part. Half of the
validation queries choose the setting, the other half judge it, both ways round; test parts are not read. ``standard``
can be computed by a search engine, as can ``robust``, the default of ``podium train`` and ``podium compare``, which
takes features with heavy tails as logarithms first; this is what not looking at the whole list costs.

    python examples/normalization.py OHSUMED [--mslr MSLR/train.txt] [--methods a,b,…]

OHSUMED is a folder of folds, MSLR a file whose queries are dealt into five folds.
"""

from __future__ import annotations

import argparse
from itertools import product

import numpy as np

import podium
from podium.data.io.folds import find_folds
from podium.metrics.significance import randomization_test
from podium.rankers.methods import METHODS

Fold = tuple[podium.Queries, podium.Queries]


def judged(method: str, normalize: str, folds: list[Fold], metric: str, primary: str) -> np.ndarray:
    """Return the metric of every validation query, under the setting that the other half of its part chose."""
    grid, found = METHODS[method].grid, []
    for train, validation in folds:
        halves = np.arange(len(validation)) % 2
        values = []
        for combination in product(*grid.values()):
            settings = dict(zip(grid, combination, strict=True))
            # No early stopping: it would choose on the half that judges.
            ranker = METHODS[method].build(**settings, normalize=normalize, random_state=0).fit(train)
            scores = ranker.predict(validation)
            evaluated = podium.evaluate(validation, scores, metrics=[metric, primary])
            values.append((evaluated.per_query[metric], evaluated.per_query[primary]))
        value = np.empty(len(validation))
        for half in (0, 1):
            best = max(range(len(values)), key=lambda i: np.nanmean(values[i][1][halves != half]))
            value[halves == half] = values[best][0][halves == half]
        found.append(value)
    return np.concatenate(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("ohsumed")
    parser.add_argument("--mslr")
    parser.add_argument("--methods", default="listnet,ranksvm,pmop,lambdamart")
    options = parser.parse_args()
    folds = [(podium.read_letor(f.train), podium.read_letor(f.validation)) for f in find_folds(options.ohsumed)]
    sets = {"OHSUMED": (folds, "ndcg@10", "map")}
    if options.mslr:
        dealt = podium.k_folds(podium.read_letor(options.mslr), 5, random_state=0)
        sets["MSLR sample"] = ([(train, validation) for train, validation, _ in dealt], "ndcg@10", "ndcg@10")
    print("| data | method | standard | within the query | difference | p |\n|---|---|---:|---:|---:|---:|")
    for name, (parts, metric, primary) in sets.items():
        for method in options.methods.split(","):
            a, b = (judged(method, how, parts, metric, primary) for how in ("standard", "minmax"))
            p = randomization_test(a, b)
            row = f"{np.nanmean(a):.4f} | {np.nanmean(b):.4f} | {np.nanmean(a - b):+.4f} | {p:.2f}"
            print(f"| {name} | {method} | {row} |", flush=True)


if __name__ == "__main__":
    main()
