"""Seconds per pass over synthetic ratings of MovieLens 1M's size, for each loss and for growing numbers of users.

    python benchmarks/factors.py [--quick]

6,040 users, 3,706 items, 1,000,209 ratings, ten factors and item biases. "full batch": one evaluation of the objective
and its gradient, of which an L-BFGS iteration needs about one; "stochastic": one epoch of Adam steps on 256 users at a
time. Compilation is not counted. For comparison, one epoch of BPR and of ALS of the package `implicit` with ten factors
on the same pairs. These solve another problem (they learn who rates what, not how users order what they rate), so this
shows only whether learning from lists costs more than the usual methods.
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any

import numpy as np

import podium
from podium import losses
from podium.ratings.synthetic import make_ratings
from podium.training import LBFGS, Stochastic

LOSSES: dict[str, Any] = {
    "PMOP arithmetic": losses.PMOPLoss(),
    "Plackett-Luce (ListMLE)": losses.ListMLELoss(),
    "ListNet": losses.ListNetLoss(),
    "RankNet": losses.RankNetLoss(),
    "Davidson": losses.DavidsonLoss(),
    "Rao-Kupper": losses.RaoKupperLoss(),
}


def full_batch(loss: Any, ratings: podium.Ratings, n: int) -> float:
    """Return the seconds per evaluation: a long run minus a short one, so that one-time work does not count."""
    seconds, evaluations = [], []
    for iterations in (1, 1 + n):
        ranker = podium.FactorRanker(loss, trainer=LBFGS(max_iter=iterations, tolerance=0.0), random_state=0)
        start = time.perf_counter()
        ranker.fit(ratings)
        seconds.append(time.perf_counter() - start)
        evaluations.append(ranker.convergence_.n_evaluations)
    return (seconds[1] - seconds[0]) / (evaluations[1] - evaluations[0])


def stochastic(loss: Any, ratings: podium.Ratings, n: int) -> float:
    """Return the seconds per epoch: the fastest of several, from one progress report to the next."""
    ends: list[float] = []
    trainer = Stochastic(epochs=n + 1, batch_size=256, learning_rate=0.01, patience=None)
    ranker = podium.FactorRanker(loss, trainer=trainer, random_state=0)
    ranker.fit(ratings, callback=lambda _: ends.append(time.perf_counter()))
    return float(np.diff(ends).min())


def implicit_epochs(ratings: podium.Ratings, n: int) -> dict[str, float]:
    try:
        from implicit.als import AlternatingLeastSquares
        from implicit.bpr import BayesianPersonalizedRanking
    except ImportError:
        print("implicit is not installed: its BPR and ALS are left out (pip install implicit)")
        return {}
    from scipy.sparse import csr_matrix
    from threadpoolctl import threadpool_limits

    shape = (ratings.n_users, ratings.n_items)
    pairs = csr_matrix((np.ones(len(ratings), np.float32), (ratings.user, ratings.item)), shape)
    result = {}
    for name, model in (("implicit BPR", BayesianPersonalizedRanking), ("implicit ALS", AlternatingLeastSquares)):
        taken = []
        for iterations in (1, 1 + n):
            with threadpool_limits(1, "blas"):  # as the package recommends
                start = time.perf_counter()
                model(factors=10, iterations=iterations, random_state=0).fit(pairs, show_progress=False)
                taken.append(time.perf_counter() - start)
        result[name] = (taken[1] - taken[0]) / n
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer passes: noisier figures")
    n = 3 if parser.parse_args().quick else 10
    warnings.simplefilter("ignore")  # a run of few iterations is not expected to converge
    small = make_ratings(100, 80, random_state=0)
    ratings = make_ratings(6040, 3706, 1_000_209, random_state=0)
    print(f"{ratings}\n{'seconds per pass':28}{'full batch':>12}{'stochastic':>12}")
    for name, loss in LOSSES.items():
        full_batch(loss, small, 1), stochastic(loss, small, 1)  # compiles
        print(f"{name:28}{full_batch(loss, ratings, n):12.4f}{stochastic(loss, ratings, n):12.4f}", flush=True)
    for name, seconds in implicit_epochs(ratings, n).items():
        print(f"{name:28}{seconds:12.4f}", flush=True)
    print(f"\n{'users':>10}{'ratings':>12}{'full batch':>12}{'stochastic':>12}   PMOP arithmetic")
    for users in (1510, 3020, 6040, 12080):
        part = make_ratings(users, 3706, users * 165, random_state=0)
        times = full_batch(losses.PMOPLoss(), part, n), stochastic(losses.PMOPLoss(), part, n)
        print(f"{users:10,}{len(part):12,}{times[0]:12.4f}{times[1]:12.4f}", flush=True)


if __name__ == "__main__":
    main()
