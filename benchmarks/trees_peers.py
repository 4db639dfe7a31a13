"""Trees on YetiRank and StochasticRank: Podium's losses against CatBoost's, which come from the same authors.

    python benchmarks/trees_peers.py [--quick] [--threads N]

1,000 of the lists of ``benchmarks/trees.py``, 120,000 documents, 136 float32 features; 300 more lists are held out.
Both grow trees of depth 5 on the same documents, all features, 254 borders per feature, at a learning rate of 0.1, with
10 rankings per list for YetiRank and one draw for StochasticRank (NDCG), on the same number of threads, one after the
other in one process. CatBoost neither samples documents nor computes a metric meanwhile. The first tree is not timed.

What differs: CatBoost's trees are symmetric, with one condition per level, so that all of their 32 leaves are at depth
5; Podium's are LightGBM's, with at most 32 leaves at depth 5 or less, each split where it gains most, and at least 20
documents in a leaf. ``wall`` and ``cpu`` are seconds per tree.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np

import podium
from podium.data.queries import Queries
from podium.losses import Loss, StochasticRankLoss, YetiRankLoss
from podium.numerics import pool
from podium.rankers.presets.boosted import LossOnTrees
from trees import MIN_DOCUMENTS, RATE, Clock, lists

DEPTH, BORDERS = 5, 254
Predict = Callable[[np.ndarray], np.ndarray]


def by_podium(loss: Loss, train: Queries, n_trees: int, clock: Clock) -> Predict:
    ranker = LossOnTrees(
        loss,
        n_trees=n_trees,
        n_leaves=2**DEPTH,
        learning_rate=RATE,
        min_documents_in_leaf=MIN_DOCUMENTS,
        tree_options={
            "query_fraction": 1.0,
            "feature_fraction": 1.0,
            "max_depth": DEPTH,
            "lightgbm_params": {"max_bin": BORDERS + 1},
        },
        random_state=0,
    )
    return ranker.fit(train, callback=clock).predict


def by_catboost(loss: str, train: Queries, n_trees: int, clock: Clock, n_threads: int) -> Predict:
    import catboost

    class Tell:
        def after_iteration(self, _: object) -> bool:
            clock()
            return True

    settings = {"loss_function": loss, "iterations": n_trees, "learning_rate": RATE, "depth": DEPTH}
    settings |= {"border_count": BORDERS, "bootstrap_type": "No", "thread_count": n_threads, "random_seed": 0}
    model = catboost.CatBoost(
        settings | {"metric_period": n_trees, "logging_level": "Silent", "allow_writing_files": False}
    )
    model.fit(train.features, train.labels, group_id=train.query_of_document, callbacks=[Tell()])
    return model.predict


ROWS: dict[str, tuple[Loss, str, int]] = {
    "YetiRank": (YetiRankLoss(n_permutations=10), "YetiRank:mode=Classic;permutations=10", 40),
    "StochasticRank": (StochasticRankLoss("ndcg"), "StochasticRank:metric=NDCG;num_estimations=1", 6),
}
"""Loss, CatBoost's, and trees to grow."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a fifth of the lists")
    parser.add_argument("--threads", type=int, default=pool.n_threads())
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    weights = rng.standard_normal(60).astype(np.float32)
    train, test = lists(200 if options.quick else 1000, rng, weights), lists(300, rng, weights)
    print(f"{train.n_documents:,} × {train.n_features} in {len(train):,} lists, {options.threads} threads")
    print(f"{'':24s} {'trees':>5s} {'wall':>7s} {'cpu':>7s} {'ratio':>6s}   ndcg@10 (standard), held out")
    for name, (loss, theirs, n_trees) in ROWS.items():
        with pool.threads(options.threads):
            by_podium(loss, podium.make_queries(30, 20, 136), 2, Clock())  # compiles, or loads compiled code
            ours = None
            for whose in ("Podium", "CatBoost"):
                clock = Clock()
                if whose == "Podium":
                    predict = by_podium(loss, train, n_trees, clock)
                else:
                    predict = by_catboost(theirs, train, n_trees, clock, options.threads)
                wall, cpu = clock.per_tree()
                ours = ours or wall
                ndcg = podium.evaluate(test, predict(test.features), metrics=["ndcg@10"]).mean["ndcg@10"]
                print(
                    f"{name:15s}{whose:9s} {n_trees:5d} {wall:7.3f} {cpu:7.3f} {wall / ours:6.2f}   {ndcg:.4f}",
                    flush=True,
                )
    print("ratio: time per tree over Podium's")


if __name__ == "__main__":
    main()
