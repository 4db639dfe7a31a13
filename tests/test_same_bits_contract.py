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
