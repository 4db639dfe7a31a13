"""Same seed, same bits, however many threads BLAS and Podium have."""

from __future__ import annotations

from threadpoolctl import threadpool_limits

import podium
from podium.numerics.pool import threads


def test_threads_of_blas_and_of_the_pool_do_not_change_a_bit_of_structrank() -> None:
    lists = podium.make_queries(n_queries=12, n_documents=25, n_features=20, random_state=0)
    found = set()
    for blas, own in ((1, 1), (2, 1), (4, 3)):
        with threadpool_limits(blas, user_api="blas"), threads(own):
            ranker = podium.StructRank(epochs=2, restarts=1, random_state=0).fit(lists)
            found.add((ranker.model_.theta.tobytes(), ranker.predict(lists).tobytes()))
    assert len(found) == 1


def test_threads_of_blas_do_not_change_a_bit_of_what_a_network_predicts() -> None:
    lists = podium.make_queries(n_queries=60, n_documents=125, n_features=60, random_state=0)
    network = podium.scorers.MLP(hidden=(64, 32))
    ranker = podium.Ranker(podium.losses.ListNetLoss(), network, podium.training.Stochastic(1), random_state=0)
    ranker.fit(lists)
    found = set()
    for blas, own in ((1, 1), (2, 1), (4, 3)):
        with threadpool_limits(blas, user_api="blas"), threads(own):
            found.add(ranker.predict(lists).tobytes())
    assert len(found) == 1
