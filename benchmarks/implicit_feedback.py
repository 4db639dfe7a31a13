"""Quality of recommendations from implicit feedback: ImplicitFactors beside ALS and BPR of the package `implicit`.

    python benchmarks/implicit_feedback.py RATINGS [--seeds 3] [--relevant 4] [--quick]

Ratings of at least --relevant are what was seen. A random fifth of each user's seen items is for testing, a fifth of
the rest for choosing a setting; the setting chosen is fitted on both again. All items that a user has not seen in
training are ranked, none is sampled. Every method has the same number of settings, of factors and of epochs (for ALS,
rounds), and the setting is chosen by NDCG@10 on the validation part. All in one process, on one thread.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Mapping
from itertools import product
from typing import Any, NamedTuple

import numpy as np

import podium
from podium.metrics import Evaluation
from podium.ratings.splits import hold_out

N_FACTORS, EPOCHS = 32, 30
METRICS = ("recall@10", "ndcg@10", "coverage@10")


class Scored(NamedTuple):
    """What evaluating takes of another package's model: all scores of some users."""

    users: np.ndarray
    items: np.ndarray

    def score_matrix(self, users: Any, items: Any = None) -> np.ndarray:
        """(n_users, n_items) scores of these users for these items; ids are numbers from 0."""
        rows = self.items if items is None else self.items[items]
        return np.asarray(self.users[users] @ rows.T, dtype=np.float64)


def own(loss: str, seen: podium.Ratings, epochs: int, **setting: Any) -> Any:
    """Return a fitted ranker of Podium's."""
    return podium.ImplicitFactors(loss, n_factors=N_FACTORS, epochs=epochs, random_state=0, **setting).fit(seen)


def popularity(seen: podium.Ratings, epochs: int) -> Any:
    """Return the floor: the same list for everybody."""
    return podium.GlobalRanking().fit(seen)


def als(seen: podium.Ratings, epochs: int, **setting: Any) -> Scored:
    """Return implicit's alternating least squares (Hu, Koren and Volinsky, ICDM 2008)."""
    from implicit.als import AlternatingLeastSquares

    model = AlternatingLeastSquares(factors=N_FACTORS, iterations=epochs, random_state=0, num_threads=1, **setting)
    return _peer(model, seen)


def bpr(seen: podium.Ratings, epochs: int, **setting: Any) -> Scored:
    """Return implicit's Bayesian personalized ranking."""
    from implicit.bpr import BayesianPersonalizedRanking

    model = BayesianPersonalizedRanking(factors=N_FACTORS, iterations=epochs, random_state=0, num_threads=1, **setting)
    return _peer(model, seen)


def _peer(model: Any, seen: podium.Ratings) -> Scored:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of BLAS's threads
        model.fit(seen.to_csr(np.ones(len(seen))).astype(np.float32), show_progress=False)
    return Scored(model.user_factors, model.item_factors)


def _grid(**values: tuple[float, ...]) -> list[dict[str, float]]:
    return [dict(zip(values, setting, strict=True)) for setting in product(*values.values())]


class Entry(NamedTuple):
    """A method and its settings, of which every method that learns has six."""

    fit: Callable[..., Any]
    settings: list[dict[str, float]]


def _own(loss: str, *strengths: float) -> Entry:
    def fit(seen: podium.Ratings, epochs: int, **setting: Any) -> Any:
        return own(loss, seen, epochs, **setting)

    return Entry(fit, _grid(regularization=strengths))


ENTRIES: Mapping[str, Entry] = {
    "ImplicitFactors, softmax": _own("softmax", 4.0, 6.0, 8.0, 10.0, 13.0, 17.0),
    "ImplicitFactors, pmop": _own("pmop", 4.0, 6.0, 8.0, 10.0, 13.0, 17.0),
    "ImplicitFactors, bpr": _own("bpr", 0.3, 0.6, 1.0, 1.7, 3.0, 5.0),
    "ImplicitFactors, warp": _own("warp", 8.0, 15.0, 25.0, 35.0, 50.0, 80.0),
    "implicit ALS": Entry(als, _grid(regularization=(10.0, 30.0, 90.0), alpha=(2.0, 6.0))),
    "implicit BPR": Entry(bpr, _grid(regularization=(0.003, 0.03), learning_rate=(0.01, 0.03, 0.1))),
    "popularity": Entry(popularity, [{}]),
}


def seen_items(ratings: podium.Ratings, relevant: float) -> podium.Ratings:
    """Return what was liked, by numbers from 0, of users who liked at least two items."""
    liked = ratings.at_least(relevant)
    liked = liked.take_users(liked.sizes >= 2)
    users, items = np.arange(liked.n_users), np.arange(liked.n_items)
    return podium.Ratings.from_numbers(liked.user, liked.item, np.ones(len(liked)), user_ids=users, item_ids=items)


def judged(model: Any, seen: podium.Ratings, test: podium.Ratings) -> Evaluation:
    """Return the metrics over the whole catalogue."""
    return podium.evaluate_catalogue(model, test, metrics=METRICS, relevant=1.0, binary=True, seen=seen)


def measure(name: str, liked: podium.Ratings, seed: int, epochs: int = EPOCHS) -> dict[str, Any]:
    """Return a method's chosen setting, its metrics on the test part, users' NDCG@10, and processor seconds per fit."""
    entry = ENTRIES[name]
    train, test = hold_out(liked, 0.2, (seed, 0))
    rest, validation = hold_out(train, 0.2, (seed, 1))
    found, seconds = [], []
    for setting in entry.settings if len(entry.settings) > 1 else []:
        start = time.process_time()
        model = entry.fit(rest, epochs, **setting)
        seconds.append(time.process_time() - start)
        found.append(judged(model, rest, validation).mean["ndcg@10"])
    chosen = entry.settings[int(np.argmax(found)) if found else 0]
    evaluation = judged(entry.fit(train, epochs, **chosen), train, test)
    return {
        "setting": chosen,
        "validation": found,
        "seconds": float(np.mean(seconds)) if seconds else 0.0,
        "means": {metric: float(evaluation.mean[metric]) for metric in METRICS},
        "users": dict(zip(map(int, evaluation.qids), evaluation.per_query["ndcg@10"].tolist(), strict=True)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ratings", help="a file of ratings, such as MovieLens' u.data, or `synthetic`")
    parser.add_argument("--relevant", type=float, default=4.0, help="the lowest rating that counts as seen (4)")
    parser.add_argument("--seeds", type=int, default=3, help="how many splits (3)")
    parser.add_argument("--quick", action="store_true", help="one split and two epochs, to see that it works")
    options = parser.parse_args()
    if options.ratings == "synthetic":
        ratings = podium.make_ratings(1000, 1500, 90_000, n_factors=8, taste=1.5)
    else:
        ratings = podium.read_ratings(options.ratings)
    liked = seen_items(ratings, options.relevant)
    print(f"{len(liked)} seen items of {liked.n_users} users and {liked.n_items} items")
    print(f"{'method':26} " + " ".join(f"{m:>11}" for m in METRICS) + "  s per fit  settings chosen")
    for name in ENTRIES:
        runs = [
            measure(name, liked, seed, 2 if options.quick else EPOCHS)
            for seed in range(1 if options.quick else options.seeds)
        ]
        means = " ".join(f"{np.mean([run['means'][m] for run in runs]):11.4f}" for m in METRICS)
        chosen = "; ".join(", ".join(f"{k} {v:g}" for k, v in run["setting"].items()) for run in runs)
        print(f"{name:26} {means} {np.mean([run['seconds'] for run in runs]):10.2f}  {chosen}", flush=True)


if __name__ == "__main__":
    main()
