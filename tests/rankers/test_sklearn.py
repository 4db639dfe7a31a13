"""Rankers among scikit-learn's tools: its own checks, pipelines, searches and metadata routing."""

from __future__ import annotations

import pickle

import numpy as np
import sklearn
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import podium
from podium.losses import ListNetLoss
from podium.scorers import Linear
from podium.training import Stochastic


class _AsOneList:
    """scikit-learn's checks know no query ids: here all rows are one list. A ranker itself insists on being told."""

    def fit(self, X, y=None, **settings):
        return super().fit(X, y, qid=np.zeros(_n_rows(X)), **settings)

    def score(self, X, y, **settings):
        return super().score(X, y, qid=np.zeros(_n_rows(X)), **settings)


def _n_rows(X) -> int:
    return X.shape[0] if hasattr(X, "shape") else len(X)


class ListNetOnOneList(_AsOneList, podium.ListNet):
    pass


class RankerOnOneList(_AsOneList, podium.Ranker):
    pass


class RandomOnOneList(_AsOneList, podium.RandomRanker):
    pass


class BestFeatureOnOneList(_AsOneList, podium.BestFeature):
    pass


EXPECTED = {"check_dtype_object": "features that are no numbers are a ValueError here, naming what is wrong"}


@parametrize_with_checks(
    [
        ListNetOnOneList(),
        RankerOnOneList(ListNetLoss(), trainer=Stochastic(epochs=2)),
        RandomOnOneList(random_state=0),
        BestFeatureOnOneList(),
    ],
    expected_failed_checks=lambda estimator: EXPECTED,
)
def test_scikit_learns_own_checks(estimator, check) -> None:
    check(estimator)


def data(n_queries=40):
    queries = podium.make_queries(n_queries, 8, 5, random_state=0)
    return queries.features, queries.labels, queries.query_of_document


def test_nested_parameters() -> None:
    ranker = podium.Ranker(ListNetLoss(temperature=2.0), scorer=Linear(l2=0.5))
    assert ranker.get_params()["loss__temperature"] == 2.0
    assert ranker.get_params()["scorer__l2"] == 0.5
    ranker.set_params(loss__temperature=1.0, scorer__l2=0.25)
    assert (ranker.loss.temperature, ranker.scorer.l2) == (1.0, 0.25)
    copy = clone(ranker)
    assert copy.loss == ranker.loss
    assert copy.loss is not ranker.loss


def test_parameters_of_parts_that_were_left_out() -> None:
    ranker = podium.Ranker(ListNetLoss()).set_params(scorer__l2=0.25, trainer__max_iter=7)
    assert ranker.scorer == Linear(l2=0.25)
    assert ranker.trainer.max_iter == 7


def test_pipeline_with_step_parameters() -> None:
    X, y, qid = data()
    pipeline = Pipeline([("scale", StandardScaler()), ("rank", podium.ListNet(normalize=None))])
    pipeline.fit(X, y, rank__qid=qid)
    alone = podium.ListNet(normalize="standard").fit(X, y, qid=qid)
    np.testing.assert_allclose(pipeline.predict(X), alone.predict(X) - alone.coef_ @ X.mean(axis=0), atol=1e-3)


def test_pipeline_with_routing() -> None:
    X, y, qid = data()
    with sklearn.config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(StandardScaler(), podium.ListNet()).fit(
            X, y, qid=qid
        )  # rankers ask for qid by default
        assert pipeline.score(X, y, qid=qid) > 0.8
        assert pipeline.predict(X, qid=qid).shape == y.shape


def test_grid_search_keeps_queries_whole() -> None:
    X, y, qid = data()
    with sklearn.config_context(enable_metadata_routing=True):
        ranker = podium.ListNet().set_fit_request(qid=True).set_score_request(qid=True)
        search = GridSearchCV(ranker, {"l2": [1e-3, 1e-1, 1e4]}, cv=GroupKFold(4))
        search.fit(X, y, groups=qid, qid=qid)
        assert search.best_params_["l2"] < 1e4
        # The same by hand: each fold holds out whole queries.
        expected = []
        for train, test in GroupKFold(4).split(X, y, groups=qid):
            assert not set(qid[train]) & set(qid[test])
            fitted = podium.ListNet(l2=1e-1).fit(X[train], y[train], qid=qid[train])
            expected.append(fitted.score(X[test], y[test], qid=qid[test]))
        found = [search.cv_results_[f"split{k}_test_score"][1] for k in range(4)]
        np.testing.assert_allclose(found, expected, rtol=1e-12)
        assert search.best_estimator_.score(X, y, qid=qid) > 0.8


def test_search_reaches_into_parts_and_weights_follow_their_documents() -> None:
    X, y, qid = data()
    weights = 1.0 + qid % 2  # one per document, so that scikit-learn can cut it with the rows
    with sklearn.config_context(enable_metadata_routing=True):
        ranker = podium.Ranker(ListNetLoss()).set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        grid = {"loss__temperature": [0.5, 1.0], "scorer__l2": [1e-3, 1e-1]}
        search = GridSearchCV(ranker, grid, cv=GroupKFold(3))
        search.fit(X, y, groups=qid, qid=qid, sample_weight=weights)
        assert len(search.cv_results_["params"]) == 4
        assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_cross_val_score() -> None:
    X, y, qid = data()
    with sklearn.config_context(enable_metadata_routing=True):
        ranker = podium.ListNet()
        scores = cross_val_score(ranker, X, y, cv=GroupKFold(4), params={"qid": qid, "groups": qid})
    assert (scores > 0.7).all()


def test_pickle_works_as_for_any_estimator() -> None:
    X, y, qid = data()
    ranker = podium.ListNet().fit(X, y, qid=qid)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(ranker)).predict(X), ranker.predict(X))


def test_repr_and_html() -> None:
    assert "l2=0.5" in repr(podium.ListNet(l2=0.5))
    assert "ListNet" in podium.ListNet()._repr_html_()
    assert "temperature=2" in repr(podium.Ranker(ListNetLoss(temperature=2)))
