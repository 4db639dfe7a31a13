"""Slow tests of Auto: those that grow many trees."""

from __future__ import annotations

import numpy as np

import podium


def test_a_far_better_method_is_picked_alone():
    # Only products of two features matter: linear models know nothing.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80 * 15, 3))
    y = (X[:, 0] * X[:, 1] > 0.5).astype(float)
    queries = podium.Queries(X, y, sizes=[15] * 80)
    auto = podium.Auto(methods=["gbdt", "regression", "ranknet"], folds=3, repeats=1, random_state=0).fit(queries)
    assert all(name.startswith("gbdt") for name in auto.choice_.members)
