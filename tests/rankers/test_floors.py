"""The floors of every comparison."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import podium


@pytest.fixture(scope="module")
def queries():
    return podium.make_queries(30, 12, 7, random_state=2)


def test_best_feature_is_the_best_of_all(queries) -> None:
    measure = podium.metric("ndcg@10")
    merits = {
        (j, sign): measure.per_query(
            sign * queries.features[:, j].astype(float), queries.labels, queries.offsets
        ).mean()
        for j in range(7)
        for sign in (1, -1)
    }
    ranker = podium.BestFeature().fit(queries)
    assert (ranker.feature_, ranker.direction_) == max(merits, key=merits.get)
    assert ranker.score(queries) == pytest.approx(max(merits.values()))
    np.testing.assert_allclose(ranker.predict(queries), ranker.direction_ * queries.features[:, ranker.feature_])
    assert f"feature {ranker.feature_ + 1} " in ranker.convergence_.message


def test_downwards_features_count(queries) -> None:
    good = podium.BestFeature().fit(queries)
    flipped = podium.BestFeature().fit(queries.with_features(-queries.features))
    assert (flipped.feature_, flipped.direction_) == (good.feature_, -good.direction_)


def test_validation_queries_decide_where_there_are_some(queries) -> None:
    other = queries.with_features(np.roll(queries.features, 1, axis=1))  # there, the good feature is the next one
    ranker = podium.BestFeature().fit(queries, eval_set=other)
    assert ranker.feature_ == (podium.BestFeature().fit(queries).feature_ + 1) % 7


def test_other_metrics_weights_and_sparse_features(queries) -> None:
    assert 0 <= podium.BestFeature(metric="map (letor)").fit(queries).feature_ < 7
    dense = podium.BestFeature().fit(queries)
    csr = podium.BestFeature().fit(queries.with_features(sparse.csr_matrix(queries.features)))
    assert (csr.feature_, csr.direction_) == (dense.feature_, dense.direction_)
    # With all weight on one query, it is the best feature of that query.
    weights = np.zeros(len(queries))
    weights[4] = 1.0
    alone = podium.BestFeature().fit(queries.take([4]))
    assert podium.BestFeature().fit(queries, sample_weight=weights).feature_ == alone.feature_


def test_random_is_as_good_as_chance(queries) -> None:
    many = podium.make_queries(300, 12, 7, random_state=3)
    scores = [podium.RandomRanker(random_state=seed).fit(many).score(many) for seed in range(10)]
    shuffled = np.random.default_rng(0)
    measure = podium.metric("ndcg@10")
    chance = [measure.per_query(shuffled.random(many.n_documents), many.labels, many.offsets).mean() for _ in range(10)]
    assert np.mean(scores) == pytest.approx(np.mean(chance), abs=0.02)


def test_random_without_a_seed_differs_from_fit_to_fit_but_not_from_call_to_call(queries) -> None:
    first, second = (podium.RandomRanker().fit(queries) for _ in range(2))
    assert (first.predict(queries) != second.predict(queries)).any()
    np.testing.assert_array_equal(first.predict(queries), first.predict(queries))
