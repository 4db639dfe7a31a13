"""One epoch and the best items of all users on ratings of MovieLens 20M's size, beside the package implicit.

    python benchmarks/ratings_scale.py [--ratings 20000000] [--factors 64] [--threads 2] [--rounds 3]

Synthetic: 138,000 users × 27,000 items (fewer with fewer ``--ratings``, by the square root), drawn in blocks of users;
what is drawn twice counts once, so more are drawn.
The popularity of items is a power of their rank with a cut-off, p(r) ∝ (r + 60)^−1.1 · e^(−r / 4000), about that of
MovieLens 20M: half of the users rate the most popular item, the median item has a dozen of 20 million ratings. Users
give 20 ratings and a log-normal number of more (σ = 1.2). Stars are the item's quality plus the user's taste in three
directions plus noise, cut at fixed points.

Ours and the other's turns alternate in one process, with equal numbers of threads; the fastest round of each counts and
the ratio of every pair of rounds is shown. An epoch of PMOP goes over all ratings once, one of BPR draws as many pairs.
"""

from __future__ import annotations

import argparse
import os
import resource
import time
from collections.abc import Callable

import numpy as np

import podium
from podium.losses import PMOPLoss
from podium.numerics import pool
from podium.ratings.recommending import top_blocks
from podium.training import Stochastic

N_RATINGS, N_USERS, N_ITEMS = 20_000_000, 138_000, 27_000
CUTS = (-1.6, -0.9, 0.0, 1.0)
BLOCK = 2_000
"""Users drawn at once."""


def synthetic(n_ratings: int, seed: int = 0) -> podium.Ratings:
    """Return ratings with the popularity and activity of MovieLens 20M, drawn in blocks of users."""
    rng = np.random.default_rng(seed)
    shrink = np.sqrt(n_ratings / N_RATINGS)
    n_users, n_items = int(N_USERS * shrink), int(N_ITEMS * shrink)
    rank = np.arange(n_items)
    weight = (rank + 60.0) ** -1.1 * np.exp(-rank / (4000.0 * shrink))
    bounds = np.cumsum(weight / weight.sum())
    more = np.exp(1.2 * rng.standard_normal(n_users))
    sizes = 20 + np.round(more * max(1.27 * n_ratings - 20 * n_users, 0) / more.sum()).astype(np.int64)
    sizes = np.minimum(sizes, n_items // 3)
    quality = 0.5 * rng.standard_normal(n_items) + 0.3 * np.log(weight / weight.mean()) / 3.0
    users, items = (rng.standard_normal((n, 3)).astype(np.float32) for n in (n_users, n_items))
    drawn = []
    for first in range(0, n_users, BLOCK):
        wanted = sizes[first : first + BLOCK]
        user = np.repeat(np.arange(first, first + len(wanted)), wanted)
        item = np.minimum(np.searchsorted(bounds, rng.random(len(user))), n_items - 1)
        pair = np.unique(user * n_items + item)  # what is drawn twice counts once
        user, item = pair // n_items, pair % n_items
        liking = quality[item] + 0.4 * np.einsum("ij,ij->i", users[user], items[item])
        stars = 1 + np.searchsorted(CUTS, liking + 0.7 * rng.standard_normal(len(item)))
        drawn.append((user, item, stars.astype(np.float64)))
    user, item, stars = (np.concatenate(column) for column in zip(*drawn, strict=True))
    start = time.perf_counter()
    ratings = podium.Ratings.from_numbers(user, item, stars, user_ids=np.arange(n_users), item_ids=np.arange(n_items))
    counts = np.sort(ratings.item_counts())
    print(
        f"{ratings}, of one item {counts[-1]} at most and {counts[n_items // 2]} in the median; "
        f"grouped in {time.perf_counter() - start:.1f} s; {memory()}",
        flush=True,
    )
    return ratings


def memory() -> str:
    return f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.1f} GB at most so far"


class OurEpochs:
    """Epochs of PMOP with factors, one per call: the training waits between them."""

    def __init__(self, ratings: podium.Ratings, n_factors: int, rounds: int) -> None:
        import threading

        self.turn, self.done = threading.Semaphore(0), threading.Semaphore(0)
        trainer = Stochastic(epochs=rounds + 1, batch_size=1024, learning_rate=40.0, optimizer="sgd", patience=None)
        ranker = podium.FactorRanker(PMOPLoss(), n_factors, 1.0, trainer=trainer, random_state=0)

        def wait(_: object) -> None:
            self.done.release()
            self.turn.acquire()

        def train() -> None:
            self.ranker = ranker.fit(ratings, callback=wait)

        self.thread = threading.Thread(target=train)
        self.thread.start()
        self.done.acquire()  # the first epoch compiles, and is not counted

    def __call__(self) -> None:
        self.turn.release()
        self.done.acquire()

    def finish(self) -> podium.FactorRanker:
        self.turn.release()
        self.thread.join()
        return self.ranker


def alternate(name: str, ours: Callable[[], object], theirs: Callable[[], object], rounds: int) -> None:
    """Print the seconds of both, in turns, and their ratios."""
    seconds: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds):
        for taken, run in zip(seconds, (ours, theirs), strict=True):
            start = time.perf_counter()
            run()
            taken.append(time.perf_counter() - start)
    ratios = ", ".join(f"{a / b:.2f}" for a, b in zip(*seconds, strict=True))
    best = min(seconds[0]) / min(seconds[1])
    print(
        f"{name:28} ours {min(seconds[0]):7.2f} s   implicit {min(seconds[1]):7.2f} s   ratio {best:.2f} ({ratios})   "
        f"load {os.getloadavg()[0]:.1f}   {memory()}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ratings", type=int, default=N_RATINGS)
    parser.add_argument("--factors", type=int, default=64)
    parser.add_argument("--threads", type=int, default=pool.available_cores())
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()
    from implicit.bpr import BayesianPersonalizedRanking
    from threadpoolctl import threadpool_limits

    ratings = synthetic(asked.ratings)
    pairs = ratings.to_csr(np.ones(len(ratings), np.float32))
    with pool.threads(asked.threads), threadpool_limits(1, "blas"):
        bpr = BayesianPersonalizedRanking(
            factors=asked.factors, iterations=1, num_threads=asked.threads, random_state=0
        )
        bpr.fit(pairs, show_progress=False)
        epochs = OurEpochs(ratings, asked.factors, asked.rounds)
        alternate("one epoch", epochs, lambda: bpr.fit(pairs, show_progress=False), asked.rounds)
        ranker = epochs.finish()
    users = np.arange(ratings.n_users)

    def ours() -> None:
        for _ in top_blocks(ranker.model_, ratings, users, 10):
            pass

    def theirs() -> None:
        for first in range(0, len(users), 4096):
            some = users[first : first + 4096]
            bpr.recommend(some, pairs[some], N=10, filter_already_liked_items=True)

    with pool.threads(asked.threads), threadpool_limits(1, "blas"):  # both have threads of their own
        next(top_blocks(ranker.model_, ratings, users, 10))  # compiles
        alternate("ten best items of all users", ours, theirs, asked.rounds)


if __name__ == "__main__":
    main()
