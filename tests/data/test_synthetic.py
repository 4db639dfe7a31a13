from __future__ import annotations

import numpy as np
import pytest

from podium import make_queries


def test_same_seed_same_bits_and_ties_are_the_rule() -> None:
    a, b = make_queries(random_state=3), make_queries(random_state=3)
    assert np.array_equal(a.features, b.features)
    assert np.array_equal(a.labels, b.labels)
    assert not np.array_equal(a.features, make_queries(random_state=4).features)
    counts = np.bincount(a.labels.astype(int))
    assert len(counts) == 3
    assert counts[0] > counts[1]


def test_shape_is_as_asked() -> None:
    q = make_queries(n_queries=7, n_documents=10, n_features=3, n_grades=5, vary_sizes=False)
    assert q.sizes.tolist() == [10] * 7
    assert q.n_features == 3
    assert set(q.labels) == {0, 1, 2, 3, 4}
    assert make_queries(n_queries=2, n_documents=1, n_grades=1).labels.max() == 0
    with pytest.raises(ValueError, match="at least 1"):
        make_queries(n_grades=0)
