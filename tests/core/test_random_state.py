"""What a user gives as ``random_state``: integers of any kind are seeds; None and generators are never the seed 0."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import podium
from podium.core.random_state import seed_of

from ..feature_ranker import Feature


@pytest.fixture(scope="module")
def queries():
    return podium.make_queries(n_queries=15, n_documents=8, n_features=3, random_state=1)


def test_seeds():
    assert seed_of(7) == seed_of(np.int64(7)) == seed_of(np.uint8(7)) == 7
    assert len({seed_of(None) for _ in range(5)} | {0}) == 6
    one, same, other = (np.random.default_rng(seed) for seed in (1, 1, 2))
    assert seed_of(one) == seed_of(same) != seed_of(other)
    assert seed_of(one) == seed_of(same)  # the generator has moved on
    assert seed_of(np.random.RandomState(1)) == seed_of(np.random.RandomState(1)) != 0
    with pytest.raises(ValueError, match="random_state must be"):
        seed_of("zero")


def scores(random_state, queries):
    return podium.ListMLE(random_state=random_state).fit(queries).predict(queries).tolist()


def test_a_ranker_that_draws_the_order_of_ties(queries):
    by_zero = scores(0, queries)
    assert scores(np.int64(0), queries) == by_zero
    assert scores(None, queries) != by_zero
    assert scores(None, queries) != scores(None, queries)
    assert scores(np.random.default_rng(3), queries) == scores(np.random.default_rng(3), queries) != by_zero


def parts(random_state, queries):
    return [test.tolist() for *_, test in podium.k_folds(len(queries), 3, random_state=random_state)]


def test_splits_comparisons_and_searches(queries):
    assert parts(np.int64(4), queries) == parts(4, queries) == parts(np.int32(4), queries)
    assert parts(np.random.RandomState(4), queries) == parts(np.random.RandomState(4), queries)

    def compared(random_state, **options):
        return podium.compare(queries, {"a": Feature()}, folds=3, jobs=1, random_state=random_state, **options)

    four = compared(np.int64(4), seeds=np.int64(2))
    assert (four.configuration.seed, four.seeds) == (4, [4, 5])
    assert four.qids == compared(4).qids
    drawn = compared(None)
    assert drawn.configuration.seed != 0
    assert drawn.qids == compared(drawn.configuration.seed).qids
    assert compared(np.random.default_rng(1)).qids == compared(np.random.default_rng(1)).qids
    tuned = podium.tune("regression", queries, space={"l2": [0.1]}, folds=3, random_state=None)
    assert tuned.tuning_.seed != 0


@pytest.mark.parametrize("ranker", [podium.ListNet(), podium.BestFeature(), podium.Blend([podium.ListNet()])])
def test_weights_that_are_all_zero_are_an_error(ranker, queries):
    with warnings.catch_warnings(), pytest.raises(ValueError, match="0 for every query"):
        ranker.fit(queries, sample_weight=np.zeros(len(queries)))
