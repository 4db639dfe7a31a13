"""Time to train a linear ranker on each loss with L-BFGS, to the tolerance of the PMOP paper.

    python benchmarks/training.py [--quick] [FOLDS]

FOLDS is a folder of folds, such as OHSUMED; without it, synthetic lists of the same shape are used. Training stops at a
relative improvement below 1e-5 or after 100 iterations, as in Truyen, Phung & Venkatesh (SDM 2011), whose claim is that
the linear-time losses train fastest. Seconds for all folds, the best of several rounds; the methods take turns, so that
a busy machine slows all of them.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np

import podium
from podium import losses
from podium.data.io.folds import find_folds, read_fold
from podium.scorers import Linear
from podium.training import LBFGS

LOSSES = {
    "PMOP arithmetic": losses.PMOPLoss(),
    "ListMLE": losses.ListMLELoss(),
    "ListNet": losses.ListNetLoss(),
    "RankNet": losses.RankNetLoss(),
    "Rank Regress": losses.RankRegressLoss(),
    "Ranking SVM, squared": losses.RankSVMLoss(squared=True),
    "Davidson": losses.DavidsonLoss(),
    "Rao-Kupper": losses.RaoKupperLoss(),
    "StructRank full": losses.StructRankLoss(learn_weights=False),
}


def training_sets(folder: str | None) -> list[podium.Queries]:
    if folder is None:
        return [podium.make_queries(63, 150, 25, 3, random_state=fold) for fold in range(5)]
    return [read_fold(paths).train for paths in find_folds(folder)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folds", nargs="?", metavar="FOLDS")
    parser.add_argument("--quick", action="store_true", help="fewer rounds: noisier figures")
    arguments = parser.parse_args()
    folds = training_sets(arguments.folds)
    warnings.simplefilter("ignore")  # stopping after 100 iterations is part of the protocol
    seconds: dict[str, list[float]] = {name: [] for name in LOSSES}
    iterations = dict.fromkeys(LOSSES, 0)
    for _ in range(2 if arguments.quick else 5):
        for name, loss in LOSSES.items():
            ranker = podium.Ranker(loss, Linear(l2=1e-3), LBFGS(max_iter=100, tolerance=1e-5))
            start = time.perf_counter()
            iterations[name] = sum(ranker.fit(fold).n_iter_ for fold in folds)
            seconds[name].append(time.perf_counter() - start)
    fastest = min(min(s) for s in seconds.values())
    print(f"{'loss':24}{'seconds':>10}{'median':>10}{'iterations':>12}{'× fastest':>11}")
    for name, taken in sorted(seconds.items(), key=lambda item: min(item[1])):
        best = min(taken)
        print(f"{name:24}{best:10.3f}{np.median(taken):10.3f}{iterations[name]:12}{best / fastest:11.2f}")


if __name__ == "__main__":
    main()
