"""Blends as rankers: shares, predictions, parameters, files."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import rankdata
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import podium
from podium import Blend
from podium.models.blend import kind_of
from podium.models.evidence import evidence_shares
from podium.numerics.forward import mean_ranks
from podium.rankers.methods import METHODS

from ..feature_ranker import Feature


@pytest.fixture(scope="module")
def queries():
    return podium.make_queries(n_queries=30, n_documents=8, n_features=5, random_state=3)


@pytest.fixture(scope="module")
def members():
    trees = podium.GBDT(n_trees=5, random_state=0)
    return [podium.ListNet(normalize="minmax"), ("ridge", podium.Regression()), ("trees", trees)]


@pytest.fixture(scope="module")
def fitted(queries, members):
    return Blend(members, weights="equal").fit(queries, eval_set=queries, eval_metric="map")


def test_ranks_within_queries():
    rng = np.random.default_rng(0)
    sizes = [3, 0, 1, 40]
    scores = np.concatenate([[1.0, 3.0, 1.0], [5.0], rng.integers(0, 9, 40)])
    found = mean_ranks(scores, np.cumsum([0, *sizes]))
    assert found[:4].tolist() == [2.5, 1.0, 2.5, 1.0]  # by hand
    assert found[4:].tolist() == rankdata(-scores[4:]).tolist()


def test_kinds_are_those_of_the_table():
    for method in METHODS.values():
        assert kind_of(method.build()) == method.kind, method.name
    assert kind_of(Feature()) != kind_of(Feature(1))


def test_it_is_the_weighted_geometric_mean_of_ranks(fitted, queries):
    assert fitted.weights_.tolist() == [0.25, 0.25, 0.5]  # two kinds; two members of one of them
    expected = np.zeros(queries.n_documents)
    for weight, (_, ranker) in zip(fitted.weights_, fitted.rankers_, strict=True):
        expected -= weight * np.log(mean_ranks(ranker.predict(queries), queries.offsets))
    np.testing.assert_allclose(fitted.predict(queries), expected)
    assert fitted.score(queries) > 0.5
    assert [name for name, _ in fitted.rankers_] == ["listnet", "ridge", "trees"]


def test_members_are_those_fitted_alone_and_stay_as_they_were(fitted, queries, members):
    alone = podium.ListNet(normalize="minmax").fit(queries, eval_set=queries, eval_metric="map")
    assert fitted.rankers_[0][1].predict(queries).tolist() == alone.predict(queries).tolist()
    assert not hasattr(members[0], "model_")


def test_arrays_in_any_order_give_the_same(fitted, queries):
    shuffled = np.random.default_rng(0).permutation(queries.n_documents)
    qid = queries.query_of_document[shuffled]
    scores = fitted.predict(queries.features[shuffled], qid=qid)
    np.testing.assert_allclose(scores, fitted.predict(queries)[shuffled])
    with pytest.raises(ValueError, match="give predict the query ids"):
        fitted.predict(queries.features)


def test_a_saved_blend_predicts_the_same(fitted, queries, tmp_path):
    fitted.save(tmp_path / "blend.podium")
    loaded = podium.load(tmp_path / "blend.podium")
    assert loaded.predict(queries).tolist() == fitted.predict(queries).tolist()
    assert [name for name, _ in loaded.rankers_] == ["listnet", "ridge", "trees"]
    nested = Blend([fitted, Feature()]).fit(queries)
    assert nested.predict(queries).shape == (queries.n_documents,)
    with pytest.raises(ValueError, match=r"Feature"):
        nested.save(tmp_path / "own.podium")


def test_with_validation_queries_shares_follow_their_evidence(queries):
    members = [Feature(0), podium.RandomRanker(random_state=0), podium.ListNet()]
    fitted = Blend(members).fit(queries, eval_set=queries, eval_metric="map")
    judge = podium.metrics.metric("map")
    scores = [np.asarray(ranker.predict(queries), float) for _, ranker in fitted.rankers_]
    values = np.array([judge.per_query(s, queries.labels, queries.offsets) for s in scores])
    assert fitted.weights_.tolist() == evidence_shares(values).tolist()
    assert fitted.weights_.tolist() != Blend(members).fit(queries).weights_.tolist()
    equal = Blend(members, weights="equal").fit(queries, eval_set=queries)
    assert equal.weights_.tolist() == Blend(members).fit(queries).weights_.tolist()
    with pytest.raises(ValueError, match="give eval_set"):
        Blend(members, weights="evidence").fit(queries)


def test_own_rankers_and_weights(queries):
    blend = Blend([Feature(0), Feature(1)], weights=[1.0, 0.0]).fit(queries)
    ranks = mean_ranks(np.asarray(queries.features[:, 0], float), queries.offsets)
    np.testing.assert_allclose(blend.predict(queries), -np.log(ranks))
    copy = clone(blend)
    assert copy.weights == [1.0, 0.0]
    assert copy.members[0] is not blend.members[0]
    with pytest.raises(NotFittedError):
        copy.predict(queries)


@pytest.mark.parametrize(
    ("blend", "message"),
    [
        (Blend([]), "at least one member"),
        (Blend([("x", 3)]), "the member 'x' of the blend, 3, has no fit and predict"),
        (Blend([Feature()], weights=[1.0, 2.0]), "weights must be 1 numbers"),
        (Blend([Feature()], weights=[-1.0]), "weights must be 1 numbers"),
    ],
)
def test_bad_requests_are_refused(blend, message, queries):
    with pytest.raises(ValueError, match=message):
        blend.fit(queries)
