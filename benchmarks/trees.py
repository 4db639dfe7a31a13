"""Boosted trees: LambdaMART on Podium's loss against the ranking objectives of LightGBM, XGBoost and CatBoost.

    python benchmarks/trees.py [--quick] [--trees N] [--only NAME,NAME,…]

6,000 training lists of 20 to 215 documents, 705,000 in all, 136 float32 features, five grades as skewed as those of web
search; 1,000 more lists are held out. Every contestant grows 100 trees of 31 leaves at a learning rate of 0.1, with at
least 20 documents per leaf, in one process, one after the other. The first tree is not timed. The contestants:

podium        ``podium.LambdaMART()``: gradients by LambdaRankLoss, bitwise identical for any number of threads.
podium fast   The same with ``deterministic=False``.
lambdarank    LightGBM's own, with its normalization (``lambdarank_norm``) and its default truncation, as in Podium.
xendcg        LightGBM's rank_xendcg.
l2            LightGBM's regression on 2^grade − 1, which ignores lists.
xgboost       rank:ndcg, 31 leaves, histograms.
catboost      YetiRank, if it is installed.

``wall`` and ``cpu`` are seconds per tree: other work on the machine disturbs the first more than the second. ``memory``
is how much the process grew at its peak, beyond the features themselves, which all share.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import os
import time
from collections.abc import Callable
from pathlib import Path

import lightgbm
import numpy as np

import podium
from podium.data.queries import Queries

LEAVES, RATE, MIN_DOCUMENTS = 31, 0.1, 20
LIGHTGBM = {"num_leaves": LEAVES, "learning_rate": RATE, "min_data_in_leaf": MIN_DOCUMENTS, "seed": 0, "verbosity": -1}


class Clock:
    """The time between the first tree and the last."""

    def __init__(self) -> None:
        self.wall: list[float] = []
        self.cpu: list[float] = []

    def __call__(self, *_: object) -> None:
        self.wall.append(time.perf_counter())
        self.cpu.append(time.process_time())

    def per_tree(self) -> tuple[float, float]:
        n = len(self.wall) - 1
        return (self.wall[-1] - self.wall[0]) / n, (self.cpu[-1] - self.cpu[0]) / n


def lists(n_queries: int, rng: np.random.Generator, weights: np.ndarray) -> Queries:
    """Return lists whose grades depend on thresholds, products and sums of some features, shifted per query."""
    sizes = rng.integers(20, 216, n_queries)
    n, query = int(sizes.sum()), np.repeat(np.arange(n_queries), sizes)
    x = rng.standard_normal((n, 136), dtype=np.float32)
    hidden = (
        x[:, :20] @ weights[:20] + (x[:, 20:40] > 0.5) @ weights[20:40] + x[:, 40:50] * x[:, 50:60] @ weights[40:50]
    )
    hidden = hidden / hidden.std() + rng.standard_normal(n) + 0.5 * rng.standard_normal(n_queries)[query]
    grades = np.searchsorted(np.quantile(hidden, [0.52, 0.84, 0.97, 0.99]), hidden)
    x += rng.standard_normal((n_queries, 136), dtype=np.float32)[query] * np.float32(0.5)
    return Queries(x, grades, sizes=sizes)


Contestant = Callable[[Queries, int, Clock], Callable[[np.ndarray], np.ndarray]]


def by_podium(**tree_options: object) -> Contestant:
    def run(train: Queries, n_trees: int, clock: Clock) -> Callable[[np.ndarray], np.ndarray]:
        ranker = podium.LambdaMART(
            n_trees=n_trees,
            n_leaves=LEAVES,
            learning_rate=RATE,
            min_documents_in_leaf=MIN_DOCUMENTS,
            tree_options={"query_fraction": 1.0, "feature_fraction": 1.0, **tree_options},  # as LightGBM's defaults
            random_state=0,
        )
        return ranker.fit(train, callback=clock).predict

    return run


def by_lightgbm(objective: str) -> Contestant:
    def run(train: Queries, n_trees: int, clock: Clock) -> Callable[[np.ndarray], np.ndarray]:
        labels = 2.0**train.labels - 1 if objective == "regression" else train.labels
        data = lightgbm.Dataset(train.features, labels, group=train.sizes)
        settings = {**LIGHTGBM, "objective": objective, "lambdarank_norm": True, "metric": "none"}
        return lightgbm.train(settings, data, n_trees, callbacks=[clock]).predict

    return run


def by_xgboost(train: Queries, n_trees: int, clock: Clock) -> Callable[[np.ndarray], np.ndarray]:
    import xgboost

    class Tell(xgboost.callback.TrainingCallback):
        def after_iteration(self, *_: object) -> bool:
            clock()
            return False

    data = xgboost.QuantileDMatrix(train.features, train.labels, qid=train.query_of_document)
    settings = {"objective": "rank:ndcg", "max_leaves": LEAVES, "max_depth": 0, "grow_policy": "lossguide"}
    settings |= {"eta": RATE, "tree_method": "hist", "seed": 0, "disable_default_eval_metric": True}
    booster = xgboost.train(settings, data, n_trees, callbacks=[Tell()])
    return lambda x: booster.predict(xgboost.DMatrix(x))


def by_catboost(train: Queries, n_trees: int, clock: Clock) -> Callable[[np.ndarray], np.ndarray]:
    import catboost

    class Tell:
        def after_iteration(self, _: object) -> bool:
            clock()
            return True

    model = catboost.CatBoost(
        {"loss_function": "YetiRank", "iterations": n_trees, "learning_rate": RATE, "grow_policy": "Lossguide"}
        | {"max_leaves": LEAVES, "min_data_in_leaf": MIN_DOCUMENTS, "random_seed": 0, "logging_level": "Silent"}
    )
    model.fit(train.features, train.labels, group_id=train.query_of_document, callbacks=[Tell()])
    return model.predict


CONTESTANTS: dict[str, Contestant] = {
    "podium": by_podium(),
    "lambdarank": by_lightgbm("lambdarank"),
    "podium fast": by_podium(deterministic=False),
    "xendcg": by_lightgbm("rank_xendcg"),
    "l2": by_lightgbm("regression"),
    "xgboost": by_xgboost,
    "catboost": by_catboost,
}


def status(name: str) -> float:
    """Return an entry of this process's memory status in megabytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(float(line.split()[1]) / 1024 for line in lines if line.startswith(f"{name}:"))


def forget() -> None:
    """Release the last contestant's memory and reset the peak (on Linux)."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the lists, 20 trees")
    parser.add_argument("--trees", type=int)
    parser.add_argument("--only", help="names of contestants, separated by commas")
    options = parser.parse_args()
    n_trees = options.trees or (20 if options.quick else 100)
    rng = np.random.default_rng(0)
    weights = rng.standard_normal(60).astype(np.float32)
    train = lists(600 if options.quick else 6000, rng, weights)
    test = lists(300 if options.quick else 1000, rng, weights)
    print(
        f"{train.n_documents:,} × {train.n_features} in {len(train):,} lists, {n_trees} trees, {os.cpu_count()} cores"
    )
    by_podium()(podium.make_queries(30, 20, 136), 2, Clock())  # compiles, or loads compiled code
    print(
        f"{'':12s} {'wall':>7s} {'cpu':>7s} {'ratio':>6s} {'total':>7s} {'memory':>9s}   ndcg@10 (standard), held out"
    )
    reference = None
    for name, contestant in CONTESTANTS.items():
        if options.only and name not in options.only.split(","):
            continue
        forget()
        before, clock, began = status("VmRSS"), Clock(), time.perf_counter()
        try:
            predict = contestant(train, n_trees, clock)
        except ImportError as error:
            print(f"{name:12s} skipped: {error}")
            continue
        total, memory = time.perf_counter() - began, status("VmHWM") - before
        wall, cpu = clock.per_tree()
        reference = reference or wall
        ndcg = podium.evaluate(test, predict(test.features), metrics=["ndcg@10"]).mean["ndcg@10"]
        print(
            f"{name:12s} {wall:7.3f} {cpu:7.3f} {wall / reference:6.2f} {total:6.1f}s {memory:6.0f} MB   {ndcg:.4f}",
            flush=True,
        )
    print("ratio: time per tree over that of the first line")


if __name__ == "__main__":
    main()
