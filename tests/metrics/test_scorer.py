"""Metrics as scorers in scikit-learn's own searches."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import config_context
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_validate

import podium

QUERIES = podium.make_queries(n_queries=12, n_documents=6, n_features=3, random_state=0)
X, Y, QID = QUERIES.features, QUERIES.labels, QUERIES.query_of_document


def test_a_grid_search_is_judged_by_whole_queries():
    folds, grid, scorer = GroupKFold(3), {"l2": [0.01, 10.0]}, podium.make_scorer("ndcg@5", convention="letor")
    with config_context(enable_metadata_routing=True):
        search = GridSearchCV(podium.ListNet(), grid, scoring=scorer, cv=folds, error_score="raise")
        search.fit(X, Y, qid=QID, groups=QID)
    for i, (train, test) in enumerate(folds.split(X, groups=QID)):
        assert not set(QID[train]) & set(QID[test])
        for j, l2 in enumerate(grid["l2"]):
            ranker = podium.ListNet(l2=l2).fit(X[train], Y[train], qid=QID[train])
            by_hand = podium.evaluate(
                Y[test], ranker.predict(X[test]), qid=QID[test], metrics="ndcg@5", convention="letor"
            )
            assert search.cv_results_[f"split{i}_test_score"][j] == pytest.approx(by_hand.mean["ndcg@5"], abs=1e-12)


def test_rankers_of_whole_lists_and_other_estimators():
    scorer = podium.make_scorer("map")
    listwise = podium.ListNet(normalize="minmax").fit(X, Y, qid=QID)
    expected = podium.evaluate(Y, listwise.predict(X, qid=QID), qid=QID, metrics="map").mean["map"]
    assert scorer(listwise, X, Y, qid=QID) == expected
    with config_context(enable_metadata_routing=True):
        found = cross_validate(Ridge(), X, Y, scoring=scorer, cv=GroupKFold(3), params={"qid": QID, "groups": QID})
    assert np.isfinite(found["test_score"]).all()


def test_without_query_ids_it_says_how_to_route_them():
    scorer = podium.make_scorer("ndcg@5 (letor)")
    assert repr(scorer) == "make_scorer('ndcg@5 (letor)')"
    with pytest.raises(ValueError, match="enable_metadata_routing=True"):
        scorer(podium.ListNet().fit(X, Y, qid=QID), X, Y)
