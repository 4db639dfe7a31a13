"""Methods that draw: another order of rows or lists makes no more difference to the metric than another seed.

Ten seeds, paired. Slow rather than in need of a package, which is why it is here and not in ``make test``; see
``test_row_order_contract.py``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import podium
from podium.rankers.methods import METHODS, accepted

from .test_row_order_contract import lists_in_order, shuffled

FEW: dict[str, Any] = {"n_trees": 10, "epochs": 3, "restarts": 1, "n_landmarks": 60}
SEEDS = range(10)


@pytest.fixture(scope="module")
def lists() -> podium.Queries:
    """Rows sorted by grade: the order that would help most if it were learned."""
    queries = podium.make_queries(n_queries=24, n_documents=10, n_features=5, random_state=5)
    order = np.lexsort((-queries.labels, queries.query_of_document))
    return podium.Queries(queries.features[order].round(1), queries.labels[order], sizes=queries.sizes)


def merits(name: str, lists: podium.Queries, rows: np.ndarray, seeds: range) -> np.ndarray:
    """Return NDCG@10 of fits on rows in this order; judged with ties averaged, in one order."""
    make, qid, found = METHODS[name].build, lists.query_of_document, []
    for seed in seeds:
        ranker = make(**accepted(make, FEW | {"random_state": seed}))
        ranker.fit(lists.features[rows], lists.labels[rows], qid=qid[rows])
        found.append(ranker.score(lists.features, lists.labels, qid=qid))
    return np.array(found)


@pytest.mark.parametrize("name", [name for name in METHODS if METHODS[name].stochastic and name != "random"])
def test_row_order_matters_no_more_than_a_seed(name: str, lists: podium.Queries) -> None:
    as_sorted = merits(name, lists, np.arange(lists.n_documents), SEEDS)
    other_seeds = merits(name, lists, np.arange(lists.n_documents), range(100, 110))
    noise = (as_sorted - other_seeds).std(ddof=1) / np.sqrt(len(SEEDS))
    by_list, _ = lists_in_order(lists.offsets, np.random.default_rng(1).permutation(len(lists)))
    for rows in (shuffled(lists.offsets), by_list):
        difference = as_sorted - merits(name, lists, rows, SEEDS)
        spread = max(noise, difference.std(ddof=1) / np.sqrt(len(SEEDS)))
        # Nine degrees of freedom: 4.3 standard errors are p = .002.
        assert abs(difference.mean()) <= 4.3 * spread + 1e-9
