"""Rows that tell right from wrong decisions, and what counts as the same scores."""

from __future__ import annotations

from typing import Any

import numpy as np

import podium
from podium.export.portable import Trees, portable
from podium.numerics.trees.forest import Forest

LINEAR = ("linear", "linear with an intercept", "best feature", "AdaRank")
TREES = ("RankBoost", "FRank", "trees", "trees, missing values", "one leaf")
NETWORKS = ("tanh network", "relu network", "tanh output")


def around_thresholds(forest: Forest, X: np.ndarray, dtype: type = np.float32) -> np.ndarray:
    """Return rows that reach each split (that any row of X reaches) with values on its threshold and next to it."""
    rows, down, up = [], dtype(-np.inf), dtype(np.inf)
    for tree in range(forest.n_trees):
        first, stop = forest.node_offsets[tree : tree + 2]
        reaching = {first: np.arange(len(X))} if stop > first else {}
        for node in range(first, stop):
            here = reaching.get(node, np.empty(0, int))
            if len(here) == 0:
                continue
            feature, threshold = forest.feature[node], forest.threshold[node]
            near = dtype(threshold)
            for value in (near, np.nextafter(near, down), np.nextafter(near, up)):
                row = X[here[0]].astype(dtype)
                row[feature] = value
                rows.append(row)
            left = X[here, feature].astype(np.float64) <= threshold
            for child, chosen in ((forest.left[node], here[left]), (forest.right[node], here[~left])):
                if child >= 0:
                    reaching[first + child] = chosen
    return np.array(rows, dtype).reshape(-1, X.shape[1])


def rows_for(ranker: Any, queries: podium.Queries, dtype: type = np.float32) -> np.ndarray:
    """Return the training rows and, for trees, rows with values on and next to every threshold."""
    model = portable(ranker)
    rows = queries.features.astype(dtype)
    return np.vstack((rows, around_thresholds(model.forest, rows, dtype))) if isinstance(model, Trees) else rows


def assert_same_scores(engine: np.ndarray, ours: np.ndarray, tolerance: float, constant: float = 0.0) -> None:
    """Check scores up to a constant, relative to the largest; and that no pair of documents changes places by more."""
    allowed = tolerance * max(np.abs(ours).max(), np.abs(engine).max(), np.finfo(float).tiny)
    assert np.abs(engine + constant - ours).max() <= allowed
    order = np.argsort(-ours, kind="stable")
    best_below = np.maximum.accumulate(engine[order][::-1])[::-1]
    assert (engine[order] >= best_below - 2 * allowed).all()
