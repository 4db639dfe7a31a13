"""Estimators of other libraries as rankers. XGBoost and CatBoost are imitated by their parameters of ``fit``."""

from __future__ import annotations

import types

import lightgbm
import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import podium
from podium.rankers import AdaptedRanker


@pytest.fixture(scope="module")
def queries():
    return podium.make_queries(40, 8, 5, random_state=0)


@pytest.fixture(scope="module")
def rows(queries):
    """Rows in no order, as users have them."""
    order = np.random.default_rng(0).permutation(queries.n_documents)
    return queries.features[order], queries.labels[order], queries.qids[queries.query_of_document][order]


class Recording(BaseEstimator):
    """An estimator that learns nothing and remembers what it was given."""

    def __init__(self, alpha=1.0):
        self.alpha = alpha

    def predict(self, X):
        return np.asarray(X)[:, 0]

    def remember(self, **given):
        self.given_ = given


class LikeXGBoost(Recording):
    def fit(self, X, y, *, group=None, qid=None, sample_weight=None, eval_set=None, eval_qid=None, verbose=True):
        return self.remember(
            X=X, qid=qid, group=group, weight=sample_weight, eval=(eval_set, eval_qid), verbose=verbose
        )


class Pool:
    def __init__(self, X, y, group_id):
        self.X, self.y, self.group_id = X, y, group_id


class LikeCatBoost(Recording):
    def fit(self, X, y, group_id=None, sample_weight=None, group_weight=None, eval_set=None, verbose=None):
        self.remember(X=X, group_id=group_id, weight=group_weight, eval=eval_set)
        return self


class Wide(Recording):
    def fit(self, X, y):
        return self

    def predict(self, X):
        return np.zeros((len(X), 2))


@pytest.mark.parametrize(
    "estimator", [Ridge(), RandomForestRegressor(10), lightgbm.LGBMRanker(n_estimators=20, verbose=-1)], ids=repr
)
def test_it_is_a_ranker(estimator, queries, rows):
    X, y, qid = rows
    ranker = podium.adapt(estimator).set_params(random_state=0)
    assert ranker.fit(X, y, qid=qid) is ranker
    scores = ranker.predict(X)
    assert scores.shape == (len(X),)
    assert ranker.score(X, y, qid=qid) > podium.RandomRanker(0).fit(X, y, qid=qid).score(X, y, qid=qid) + 0.1
    ranks = ranker.rank(X, qid=qid)
    best = {q: int(np.flatnonzero((qid == q) & (ranks == 1))[0]) for q in set(qid)}
    assert all(scores[row] == scores[qid == q].max() for q, row in best.items())
    again = clone(ranker).fit(queries)
    assert again.score(queries) == pytest.approx(ranker.score(X, y, qid=qid), abs=0.1)
    assert not hasattr(estimator, "n_features_in_")  # a clone was fitted
    with pytest.raises(ValueError, match="6 features"):
        ranker.predict(np.zeros((2, 6)))


def test_a_regressor_learns_the_grades(queries):
    theirs = LinearRegression().fit(queries.features, queries.labels)
    ours = podium.adapt(LinearRegression()).fit(queries)
    np.testing.assert_allclose(ours.predict(queries), theirs.predict(queries.features))
    assert isinstance(ours.estimator_, LinearRegression)


@pytest.mark.filterwarnings("ignore:X does not have valid feature names:UserWarning")  # of LightGBM 4.6's own predict
def test_lightgbm_gets_groups_in_order(queries, rows):
    settings = {"n_estimators": 10, "verbose": -1, "random_state": 3, "deterministic": True, "n_jobs": 1}
    theirs = lightgbm.LGBMRanker(**settings).fit(queries.features, queries.labels, group=queries.sizes)
    X, y, qid = rows
    ranker = podium.adapt(lightgbm.LGBMRanker(**settings))
    grouped = podium.Queries(X, y, qid=qid)
    np.testing.assert_allclose(ranker.fit(queries).predict(queries), theirs.predict(queries.features))
    np.testing.assert_array_equal(ranker.fit(X, y, qid=qid).predict(X), clone(ranker).fit(grouped).predict(grouped))


def test_lightgbm_stops_early_on_validation_queries(queries):
    settings = {"n_estimators": 300, "verbose": -1, "early_stopping_round": 5, "random_state": 0}
    train, valid = queries.take(range(25)), queries.take(range(25, 40))
    for estimator in (lightgbm.LGBMRanker(**settings), lightgbm.LGBMRegressor(**settings)):
        ranker = podium.adapt(estimator).fit(train, eval_set=valid)
        assert 0 < ranker.estimator_.best_iteration_ < 300


def test_xgboost_gets_query_ids(queries, rows):
    X, y, qid = rows
    weights = 1.0 + np.arange(len(queries))
    ranker = podium.adapt(LikeXGBoost()).fit(X, y, qid=qid, sample_weight=weights, eval_set=queries)
    given = ranker.estimator_.given_
    assert given["group"] is None
    assert (np.diff(given["qid"]) >= 0).all()  # it wants them sorted
    grouped = podium.Queries(X, y, qid=qid)
    np.testing.assert_array_equal(given["X"], grouped.features)
    np.testing.assert_array_equal(np.bincount(given["qid"]), grouped.sizes)
    np.testing.assert_array_equal(given["weight"], weights)  # one per query
    (pair,), (ids,) = given["eval"]
    np.testing.assert_array_equal(pair[1], queries.labels)
    np.testing.assert_array_equal(ids, queries.query_of_document)
    assert given["verbose"] is False


def test_catboost_gets_group_ids(queries):
    weights = 1.0 + np.arange(len(queries))
    given = podium.adapt(LikeCatBoost()).fit(queries, sample_weight=weights, eval_set=queries).estimator_.given_
    np.testing.assert_array_equal(given["group_id"], queries.query_of_document)
    np.testing.assert_array_equal(given["weight"], weights[queries.query_of_document])  # one per document
    assert isinstance(given["eval"], Pool)
    np.testing.assert_array_equal(given["eval"].group_id, queries.query_of_document)


@pytest.mark.parametrize("library", ["xgboost.XGBRanker", "catboost.CatBoostRanker"])
def test_the_real_libraries(library, queries, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # CatBoost writes a folder about its training to where it is run
    module, _, name = library.partition(".")
    estimator = getattr(pytest.importorskip(module), name)(n_estimators=20)
    train, valid = queries.take(range(25)), queries.take(range(25, 40))
    ranker = podium.adapt(estimator).fit(train, eval_set=valid, sample_weight=1.0 + np.arange(25) % 2)
    assert ranker.score(valid) > 0.7


def test_weights_count_or_are_refused(queries):
    weights = np.where(np.arange(len(queries)) < 20, 1.0, 0.0)
    weighed = podium.adapt(Ridge()).fit(queries, sample_weight=weights)
    first_half = podium.adapt(Ridge()).fit(queries.take(range(20)))
    np.testing.assert_allclose(weighed.predict(queries), first_half.predict(queries), atol=1e-5)
    with pytest.raises(ValueError, match="takes no sample_weight"):
        podium.adapt(KNeighborsRegressor()).fit(queries, sample_weight=weights)


def test_parameters_reach_into_the_estimator():
    ranker = podium.adapt(Ridge(alpha=2.0))
    assert ranker.get_params()["estimator__alpha"] == 2.0
    assert ranker.set_params(estimator__alpha=5.0).estimator.alpha == 5.0
    assert clone(ranker).get_params()["estimator__alpha"] == 5.0
    assert repr(ranker) == "AdaptedRanker(estimator=Ridge(alpha=5.0))"


def test_features_are_normalized_on_request(queries):
    scaled = queries.normalized("zscore")
    expected = podium.adapt(KNeighborsRegressor()).fit(scaled).predict(scaled)
    ranker = AdaptedRanker(KNeighborsRegressor(), normalize="zscore").fit(queries)
    np.testing.assert_array_equal(ranker.predict(queries), expected)
    with pytest.raises(ValueError, match="qid"):
        ranker.predict(queries.features)
    pipeline = podium.adapt(make_pipeline(StandardScaler(), KNeighborsRegressor())).fit(queries)
    standard = AdaptedRanker(KNeighborsRegressor(), normalize="standard").fit(queries)
    np.testing.assert_allclose(standard.predict(queries), pipeline.predict(queries))


def test_seeds(queries):
    ranker = podium.adapt(RandomForestRegressor(5))
    one, two, other = (clone(ranker).set_params(random_state=k).fit(queries).predict(queries) for k in (1, 1, 2))
    np.testing.assert_array_equal(one, two)
    assert (one != other).any()


def test_empty_lists_do_no_harm(queries):
    with_empty = podium.Queries(queries.features, queries.labels, sizes=np.insert(queries.sizes, [0, 5, 40], 0))
    ranker = podium.adapt(lightgbm.LGBMRanker(n_estimators=3, verbose=-1)).fit(with_empty, eval_set=with_empty)
    assert np.isfinite(ranker.predict(with_empty)).all()
    given = podium.adapt(LikeXGBoost()).fit(with_empty, sample_weight=np.arange(43)).estimator_.given_
    assert len(given["weight"]) == 40


def test_what_it_cannot_do_it_says(queries, tmp_path):
    ranker = podium.adapt(Ridge()).fit(queries)
    with pytest.raises(ValueError, match=r"Ridge is not Podium's.*save ranker\.estimator_ .*joblib\.dump"):
        ranker.save(tmp_path / "model.podium")
    assert not list(tmp_path.iterdir())
    with pytest.raises(ValueError, match="not fitted"):
        podium.adapt(Ridge()).save(tmp_path / "model.podium")
    with pytest.raises(ValueError, match="estimator must have a method predict"):
        podium.adapt(types.SimpleNamespace(fit=print)).fit(queries)
    with pytest.raises(ValueError, match="one score per document"):
        podium.adapt(Wide()).fit(queries).predict(queries)
    listnet = podium.ListNet()
    assert podium.adapt(listnet) is listnet
