"""Weights that leave nothing to learn from, and seeds that are NumPy's integers."""

from __future__ import annotations

import numpy as np
import pytest

import podium


def test_weights_that_are_all_zero_are_refused():
    queries = podium.make_queries(n_queries=5, n_documents=4, n_features=2, random_state=0)
    for weights in (np.zeros(5), np.zeros(queries.n_documents)):
        with pytest.raises(ValueError, match="0 for every query"):
            podium.ListNet().fit(queries, sample_weight=weights)


def test_integers_of_numpy_are_seeds():
    assert podium.LambdaMART(random_state=np.int64(7))._loss().random_state == 7
