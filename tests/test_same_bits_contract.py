"""Same seed, same bits: wherever arrays lie in memory, and however many threads BLAS and Podium have."""

from __future__ import annotations

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

import podium
from podium.losses import Loss
from podium.numerics.pool import threads

from .test_loss_contract import ALL

N = 203
RNG = np.random.default_rng(0)
SCORES, LABELS = RNG.normal(size=N), RNG.integers(0, 4, N).astype(np.float64)
OFFSETS = np.array([0, 100, 101, N])


def placed(values: np.ndarray, behind: int) -> np.ndarray:
    """Return a copy that begins so many entries behind a multiple of 64 bytes."""
    room = np.empty(len(values) + 64, values.dtype)
    first = -(room.ctypes.data // values.itemsize) % (64 // values.itemsize) + behind
    copy = room[first : first + len(values)]
    copy[:] = values
    return copy


@pytest.mark.parametrize("loss", ALL, ids=repr)
def test_places_in_memory_do_not_change_a_bit(loss: Loss) -> None:
    found = set()
    for scores_at, labels_at, gradient_at in [(0, 0, 0), (1, 3, 5), (3, 6, 0), (5, 1, 2), (7, 7, 1)]:
        bound = loss.bind(placed(LABELS, labels_at), OFFSETS)
        gradient = placed(SCORES, gradient_at)
        result = bound.value_and_gradient(placed(SCORES, scores_at), gradient=gradient)
        found.add((result.value, gradient.tobytes(), result.d_parameters.tobytes()))
    side_by_side = np.concatenate((SCORES, SCORES))
    result = bound.value_and_gradient(side_by_side[:N], gradient=side_by_side[N:])
    found.add((result.value, result.d_scores.tobytes(), result.d_parameters.tobytes()))
    assert len(found) == 1


def test_threads_of_blas_and_of_the_pool_do_not_change_a_bit_of_structrank() -> None:
    lists = podium.make_queries(n_queries=12, n_documents=25, n_features=20, random_state=0)
    found = set()
    for blas, own in ((1, 1), (2, 1), (4, 3)):
        with threadpool_limits(blas, user_api="blas"), threads(own):
            ranker = podium.StructRank(epochs=2, restarts=1, random_state=0).fit(lists)
            found.add((ranker.model_.theta.tobytes(), ranker.predict(lists).tobytes()))
    assert len(found) == 1
