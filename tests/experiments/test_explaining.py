"""Contributions of features that a run keeps for its report: of the chosen method, as its scores say."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

import podium
from podium.experiments import Comparison
from podium.experiments.report.page_data import page_data
from podium.experiments.report.rankings import explained_method
from podium.experiments.run import explaining
from podium.experiments.run.explaining import explain_part
from podium.scorers import MLP


@pytest.fixture(scope="module")
def compared(queries, tmp_path_factory):
    named = podium.Queries(queries.features, queries.labels, sizes=queries.sizes, feature_names=list("abcde"))
    return podium.compare(named, ["listnet", "listmle", "blend"], folds=3, out=tmp_path_factory.mktemp("run"), jobs=1)


def test_a_run_explains_the_chosen_method(compared):
    method = explained_method(compared)
    assert method in ("listnet", "listmle")  # a blend has no model of its own
    again = Comparison.load(compared.folder)
    for result in (r for r in again.results if r.method == method):
        part, arrays = again.store.explanation(result.trial), again.arrays(result)
        assert len(part.queries) == len(result.qids)
        offsets, scores = arrays.part.offsets, arrays.scores
        for i, q in enumerate(part.queries):
            listed = scores[offsets[q] : offsets[q + 1]]
            documents = part.documents[i][part.documents[i] >= 0]
            np.testing.assert_array_equal(documents, np.argsort(-listed, kind="stable")[:20])
            above = part.contributions[i].sum(axis=1) + part.others[i]
            np.testing.assert_allclose(above[: len(documents)], listed[documents] - listed.mean(), atol=1e-5)
    assert not [r for r in again.results if r.method == "blend" and again.store.explanation(r.trial)]


def test_the_page_has_the_values_and_contributions(compared):
    content = page_data(compared)
    assert content["explained"] == {
        "method": explained_method(compared),
        "how": "exact: the model is linear; against the mean of the query",
        "queries": 30,
    }
    query = content["rankings"][4]
    why, order = (
        query["why"],
        query["orders"][[m["name"] for m in content["methods"]].index(explained_method(compared))],
    )
    assert why["documents"] == order
    assert len(why["features"]) == len(why["values"][0]) == len(why["parts"][0]) <= 5
    embedded = re.search(r'id="data">(.*?)</script>', compared.to_html(), re.DOTALL)[1]
    assert json.loads(embedded)["rankings"][4]["why"] == why


def test_a_second_run_keeps_what_is_there(compared, queries, monkeypatch):
    monkeypatch.setattr(explaining, "explain_part", lambda *_: pytest.fail("it is stored already"))
    named = podium.Queries(queries.features, queries.labels, sizes=queries.sizes, feature_names=list("abcde"))
    podium.compare(named, ["listnet", "listmle", "blend"], folds=3, out=compared.folder, jobs=1)


def test_models_that_are_no_sum_are_explained_against_the_middle(queries):
    trainer = podium.training.Stochastic(epochs=2)
    ranker = podium.Ranker(podium.losses.RankNetLoss(), MLP(hidden=2), trainer, random_state=0).fit(queries)
    part = explain_part(ranker, queries, np.array([3, 1]), deadline=np.inf)
    assert part.queries.tolist() == [3, 1]
    assert part.how == "exact Shapley values; against the {item} in the middle of the ranking"
    scores = ranker.predict(queries)[queries.offsets[3] : queries.offsets[4]]
    documents = part.documents[0][part.documents[0] >= 0]
    above = part.contributions[0].sum(axis=1) + part.others[0]
    middle = np.sort(scores)[::-1][len(scores) // 2]
    np.testing.assert_allclose(above[: len(documents)], scores[documents] - middle, atol=1e-5)
    np.testing.assert_array_equal(
        part.values[0, 0, 0], queries.features[queries.offsets[3] + documents[0], part.features[0, 0]]
    )


def test_when_time_is_over_at_least_one_query_is_explained(queries):
    ranker = podium.ListNet().fit(queries)
    assert explain_part(ranker, queries, np.arange(5), deadline=0.0).queries.tolist() == [0]
    assert explain_part(object(), queries, np.arange(5), deadline=0.0) is None


def test_when_time_is_over_two_documents_of_a_slow_model_are_explained(queries):
    ranker = podium.BoltzRank(pairwise=True, epochs=1, restarts=1, random_state=0).fit(queries)
    part = explain_part(ranker, queries, np.array([2, 3]), deadline=0.0)
    assert part.queries.tolist() == [2]
    assert (part.documents[0] >= 0).sum() == 2
    scores = ranker.predict(queries)[queries.offsets[2] : queries.offsets[3]]
    above = part.contributions[0].sum(axis=1) + part.others[0]
    difference = np.diff(np.sort(scores)[::-1][:2])[0]
    assert above[1] - above[0] == pytest.approx(difference, abs=1e-5)
