"""Ranking films from few ratings: the tables of docs/results/ratings.md.

    python examples/movielens.py u.data [--replicates 10] [--n 10,20,50] [--part paper|best]

u.data is from MovieLens 100K (or any file of ratings from 1 to 5). N ratings of each user are for training and all
others for testing; users with fewer than N + 10 are left out. The first part repeats Table 3 of Truyen, Phung and
Venkatesh (SDM 2011): five factors, no biases, no regularization. The second compares Podium's best method with the
baseline and with others, whose settings are chosen for each N on a third of the training ratings of three replicates.
Significance: paired randomization test over users, with each user's values averaged over the replicates.
"""

from __future__ import annotations

import argparse
import itertools
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import podium
from podium.losses import ListMLELoss, PMOPLoss
from podium.metrics.significance import randomization_test
from podium.ratings.evaluation import evaluate_ratings, log_likelihoods
from podium.ratings.splits import given_n
from podium.training import LBFGS, Stochastic

METRICS = ("ndcg@1", "ndcg@5", "ndcg@10", "err")
Build = Callable[..., Any]


def bare(loss: Any, trainer: Any) -> Any:
    """Return the model of the paper."""
    return podium.FactorRanker(
        loss, n_factors=5, regularization=0.0, biases=False, init="uniform", trainer=trainer, random_state=0
    )


# The paper does not say when its training stops, which matters without regularization. L-BFGS stops as it does there
# for documents; fifty epochs of Adam stop well before the optimum.
BATCH = LBFGS(max_iter=100, tolerance=1e-5)
STEPS = Stochastic(epochs=50, batch_size=10, learning_rate=0.01, patience=None)
PAPER: dict[str, dict[str, Build]] = {
    "L-BFGS": {
        "Plackett-Luce": lambda: bare(ListMLELoss(), BATCH),
        "PMOP-FD": lambda: bare(PMOPLoss(), BATCH),
    },
    "Adam": {
        "Plackett-Luce": lambda: bare(ListMLELoss(), STEPS),
        "PMOP-FD": lambda: bare(PMOPLoss(), STEPS),
    },
}

BEST: dict[str, tuple[Build, dict[str, list[Any]]]] = {
    "item mean (floor)": (podium.ItemMean, {}),
    "popularity": (podium.GlobalRanking, {}),
    "PMF": (podium.PMF, {"l2": [5.0, 9.0, 15.0]}),
    "CoFiRank": (podium.CoFiRank, {"regularization": [3.0, 10.0, 30.0]}),
    "PL factors": (lambda: podium.PlackettLuceFactors(random_state=0), {}),
    "PMOP-FD factors": (lambda: podium.PMOPFactors(random_state=0), {}),
    "PMOP-FD on priors and own": (
        lambda **given: podium.PMOPFactors(priors="standard", bias_regularization=20.0, **given),
        {"n_factors": [0, 5], "regularization": [2.5]},
    ),
    "PMOP-FD on priors": (lambda: podium.PMOPFactors(n_factors=0, biases=False, priors="standard", random_state=0), {}),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ratings")
    parser.add_argument("--replicates", type=int, default=10)
    parser.add_argument("--n", default="10,20,50")
    parser.add_argument("--part", choices=("paper", "best", "both"), default="both")
    parser.add_argument("--only", help="rows of the second part, separated by commas; the baseline is always shown")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")  # stopping after 100 iterations is part of the paper's protocol
    ratings = podium.read_ratings(arguments.ratings)
    for n in map(int, arguments.n.split(",")):
        splits = [given_n(ratings, n, random_state=seed) for seed in range(arguments.replicates)]
        print(f"\nN = {n}: {splits[0].test.n_users} users, {len(splits)} replicates\n", flush=True)
        if arguments.part != "best":
            for trainer, builds in PAPER.items():
                print(f"\nAs in the paper, {trainer}:")
                report(splits, builds, against="Plackett-Luce")
        if arguments.part != "paper":
            asked = BEST if arguments.only is None else [*BEST][:1] + arguments.only.split(",")
            chosen = {name: choose(name, *BEST[name], splits[:3]) for name in asked}
            report(splits, chosen, against="item mean (floor)")


def choose(name: str, build: Build, grid: dict[str, list[Any]], splits: list[Any]) -> Build:
    """Return the settings with the best NDCG@5 on a third of each user's training ratings, held out."""
    candidates = [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]
    if len(candidates) == 1:
        return build
    merits = [np.mean([judge(build, settings, split.train) for split in splits]) for settings in candidates]
    best = candidates[int(np.argmax(merits))]
    print(
        f"- {name}: {best} of",
        ", ".join(f"{list(c.values())} {m:.4f}" for c, m in zip(candidates, merits, strict=True)),
    )
    return lambda: build(**best, **seeded(build, best))


def judge(build: Build, settings: dict[str, Any], train: podium.Ratings) -> float:
    smallest = int(train.sizes.min())
    inner = given_n(train, smallest - smallest // 3, random_state=0, min_test=1)
    return float(build(**settings, **seeded(build, settings)).fit(inner.train).score(inner.test, metric="ndcg@5"))


def seeded(build: Build, settings: dict[str, Any]) -> dict[str, int]:
    return {"random_state": 0} if settings else {}


def report(splits: list[Any], builds: dict[str, Build], against: str) -> None:
    """Print a table of means over users and replicates, with p-values against one of the rows."""
    values = {name: dict(measured(build, splits)) for name, build in builds.items()}
    print(f"\n| | {' | '.join(METRICS)} | log-likelihood | p of ndcg@5 | seconds per fit |")
    print("|---" * (len(METRICS) + 4) + "|")
    for name, found in values.items():
        reference = values[against]
        cells = [f"{found[m].mean():.4f}{star(found[m], reference[m], name == against)}" for m in METRICS]
        likelihood = f"{found['likelihood'].mean():.2f}" if "likelihood" in found else ""
        p = "" if name == against else f"{randomization_test(found['ndcg@5'], reference['ndcg@5']):.4f}"
        print(f"| {name} | {' | '.join(cells)} | {likelihood} | {p} | {found['seconds'][0]:.2f} |", flush=True)


def star(mine: np.ndarray, reference: np.ndarray, same: bool) -> str:
    """Return the sign of a difference that is significant at 0.01, else nothing."""
    if same or randomization_test(mine, reference) >= 0.01:
        return ""
    return " +" if mine.mean() > reference.mean() else " −"


def measured(build: Build, splits: list[Any]) -> Iterator[tuple[str, np.ndarray]]:
    """Return each user's metrics averaged over replicates, likelihoods where available, and the mean time per fit."""
    found: dict[str, list[np.ndarray]] = {name: [] for name in METRICS}
    likelihoods, seconds = [], []
    for train, test in splits:
        start = time.perf_counter()
        ranker = build().fit(train)
        seconds.append(time.perf_counter() - start)
        evaluation = evaluate_ratings(ranker, test, metrics=METRICS, scale=(1.0, 5.0))
        order = np.argsort(test.user_ids)
        for name in METRICS:
            key = next(k for k in evaluation.per_query if k.startswith(name))
            found[name].append(evaluation.per_query[key][order])
        if hasattr(ranker, "log_likelihood"):
            likelihoods.append(log_likelihoods(ranker, test)[order])
    yield from ((name, np.mean(rows, axis=0)) for name, rows in found.items())
    if likelihoods:
        yield "likelihood", np.mean(likelihoods, axis=0)
    yield "seconds", np.array([np.mean(seconds)])


if __name__ == "__main__":
    main()
