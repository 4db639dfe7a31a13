"""Words that streams begin with: NumPy's own are the oracle, so that figures with a seed stay what they are."""

from __future__ import annotations

import numpy as np
import pytest

from podium.numerics.random import streams


@pytest.mark.parametrize("n", [0, 1, 2, 3, 7, 1000, 1025])
@pytest.mark.parametrize(("random_state", "epoch", "number"), [(0, 0, 0), (5, 3, 2), (2**40, 7, 0)])
def test_streams_are_numpys_states(n: int, random_state: int, epoch: int, number: int) -> None:
    entropy = [random_state, epoch, *([number] if number else [])]
    expected = np.random.SeedSequence(entropy).generate_state(n, np.uint64)
    found = streams(random_state, epoch, n, number)
    assert found.dtype == np.uint64
    np.testing.assert_array_equal(found, expected)
    some = np.arange(n)[::-2]
    np.testing.assert_array_equal(streams(random_state, epoch, some, number), expected[some])
