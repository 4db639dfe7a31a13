"""Fitting on features rescaled within queries: as on ``queries.normalized(how)``, to the bit, without that matrix."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

import podium
from podium.data.rescaled import RescaledQueries
from podium.losses import ListNetLoss
from podium.scorers import Linear, Trees
from podium.training import Stochastic

HOW = ["minmax", "zscore"]


def lists(sizes: list[int], *, seed: int = 0, missing: bool = False) -> podium.Queries:
    rng = np.random.default_rng(seed)
    features = (rng.normal(size=(sum(sizes), 7)) * 10.0 ** np.arange(-3, 4)).astype(np.float32)
    features[: sizes[0], 2] = -1.5  # constant in the first list
    features[:, 3] = np.where(rng.random(len(features)) < 0.9, 0.0, features[:, 3])
    grades = np.clip(np.round(features[:, 3] + features[:, 4] / 10), 0, 3)
    if missing:
        features[rng.random(features.shape) < 0.05] = np.nan
    return podium.Queries(features, grades, sizes=sizes)


def few_trees(n_sampled: int) -> Trees:
    """Return trees whose bins, and which features are any use, hang on the rows sampled and the size of leaves."""
    settings = {"bin_construct_sample_cnt": n_sampled}
    return Trees(n_trees=2, min_documents_in_leaf=30, feature_fraction=0.6, lightgbm_params=settings)


SIZES = [40, 1, 0, 5, 33, 150, 32, 7, 66, *[9] * 12]
"""On both sides of the length up to which maps are made anew, and of the number of rows rescaled at once."""


@pytest.fixture
def no_copies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("podium.data.rescaled.COPIED", 0)
    whole = RescaledQueries.features.func

    def small_only(self: RescaledQueries) -> np.ndarray:
        assert self.n_documents <= 300, "the rescaled matrix was made"
        return whole(self)

    monkeypatch.setattr(RescaledQueries.features, "func", small_only)


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize(
    "ranker",
    [
        podium.ListNet(random_state=0),
        podium.Ranker(ListNetLoss(), Linear(), Stochastic(epochs=3, batch_size=4), random_state=0),
        podium.Ranker(ListNetLoss(), few_trees(50), random_state=0),
    ],
    ids=["linear", "stochastic", "trees"],
)
def test_models_are_those_of_the_rescaled_matrix(ranker, how, no_copies) -> None:
    missing = ranker._scorer().accepts_missing
    train, other = lists(SIZES, missing=missing), lists(SIZES[::-1], seed=1, missing=missing)
    fitted = ranker.set_params(normalize=how).fit(train, eval_set=other)
    again = ranker.__class__(**ranker.get_params(deep=False)).set_params(normalize=None)
    again.fit(train.normalized(how), eval_set=other.normalized(how))
    assert fitted.convergence_ == again.convergence_
    ours, expected = fitted.model_.to_arrays(), again.model_.to_arrays()
    assert ours.keys() == expected.keys()
    for name in ours:
        np.testing.assert_array_equal(ours[name], expected[name])


@pytest.mark.parametrize("how", HOW)
def test_a_list_that_is_shared_among_threads(how, no_copies) -> None:
    queries = lists([3000, *SIZES])  # scores, loss and gradient then go over all documents one after the other
    ours = podium.ListNet(normalize=how).fit(queries)
    expected = podium.ListNet(normalize=None).fit(queries.normalized(how))
    np.testing.assert_array_equal(ours.coef_, expected.coef_)


def test_trees_are_added_to_trees(no_copies, monkeypatch) -> None:
    queries = lists(SIZES, missing=True)
    matrix = queries.normalized("minmax")
    monkeypatch.setattr("podium.scorers.trees.growth.VALUES_AT_ONCE", 1000)
    ours = podium.Ranker(ListNetLoss(), few_trees(50), normalize="minmax", random_state=0)
    expected = podium.Ranker(ListNetLoss(), few_trees(50), normalize=None, random_state=0)
    ours.fit(queries, init=ours.fit(queries))
    expected.fit(matrix, init=expected.fit(matrix))
    assert ours.model_.n_trees == 4
    assert ours.model_.text == expected.model_.text


@pytest.mark.parametrize("how", HOW)
def test_parts_of_rescaled_queries_are_rescaled(how) -> None:
    queries = lists(SIZES)
    lazy, matrix = RescaledQueries(queries, how), queries.normalized(how)
    for part in (lambda q: q, lambda q: q.take([5, 0]), lambda q: q.between(3, 7), lambda q: q.with_labels(-q.labels)):
        ours, expected = part(lazy), part(matrix)
        assert isinstance(ours, RescaledQueries)
        assert (ours.n_features, ours.n_documents, ours.n_values) == (7, expected.n_documents, expected.features.size)
        np.testing.assert_array_equal(ours.features, expected.features)
        np.testing.assert_array_equal(ours.labels, expected.labels)
    with_others = lazy.with_features(np.ones((lazy.n_documents, 2)))
    assert not isinstance(with_others, RescaledQueries)
    assert with_others.features.sum() == 2 * lazy.n_documents


@pytest.mark.parametrize(
    "ranker",
    [
        podium.ListNet(normalize="minmax"),
        podium.ListNet(normalize="zscore"),
        podium.Ranker(ListNetLoss(), few_trees(500), normalize="minmax", random_state=0),
    ],
    ids=["minmax", "zscore", "trees"],
)
def test_there_is_no_second_matrix(ranker, monkeypatch) -> None:
    monkeypatch.setattr("podium.data.rescaled.COPIED", 2**20)
    features = np.random.default_rng(0).random((40_000, 136), np.float32)  # 22 MB
    queries = podium.Queries(features, np.round(2 * features[:, 0]), sizes=[40] * 1000)
    ranker.fit(queries.take(np.arange(200)))  # compiles
    tracemalloc.start()
    try:
        ranker.fit(queries)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most < 0.3 * features.nbytes
