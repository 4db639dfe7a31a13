"""Auto: the race, the evidence, the rehearsal, the fit of the pick; and training from a finished comparison."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

import podium
from podium.experiments.plan.candidates import candidates
from podium.experiments.result.comparison import Comparison
from podium.models.evidence import evidence_shares

FEW = ["listnet", "regression", "best-feature"]


@pytest.fixture(scope="module")
def queries():
    return podium.make_queries(n_queries=30, n_documents=8, n_features=5, random_state=0)


@pytest.fixture(scope="module")
def auto(queries):
    return podium.Auto(methods=FEW, folds=3, random_state=0).fit(queries)


def test_shares_follow_the_evidence():
    rng = np.random.default_rng(0)
    merit = np.array([0.52, 0.5, 0.48, 0.46, 0.3])[:, None]

    def shares(n_queries):
        return evidence_shares(merit + rng.normal(scale=0.2, size=(5, n_queries)))

    few, many = shares(5), shares(2000)
    assert few.max() < 0.45
    assert np.count_nonzero(few) >= 4
    assert many[0] > 0.9  # the second is clearly beaten, although it is always among the best three
    assert many[4] == 0


def test_equal_models_have_equal_shares():
    values = np.repeat(np.random.default_rng(0).random((1, 20)), 4, axis=0)
    np.testing.assert_allclose(evidence_shares(values), 0.25)


def test_queries_without_a_value_are_left_out_of_the_evidence():
    values = np.array([[0.9, np.nan, 0.8], [0.1, 1.0, 0.2]])
    np.testing.assert_array_equal(evidence_shares(values), evidence_shares(values[:, [0, 2]]))


def test_it_is_an_estimator(auto, queries):
    X, y, qid = queries.features, queries.labels, queries.query_of_document
    again = clone(auto).fit(X, y, qid=qid)
    np.testing.assert_array_equal(again.predict(X, qid=qid), auto.predict(queries))
    order = np.random.default_rng(0).permutation(len(y))
    shuffled = auto.predict(X[order], qid=qid[order])
    np.testing.assert_allclose(shuffled, auto.predict(queries)[order])
    assert auto.get_params()["methods"] == FEW
    assert auto.n_features_in_ == 5
    assert auto.n_queries_ == 30
    assert 0.5 < auto.score(queries) <= 1


def test_what_is_saved_is_the_pick(auto, queries, tmp_path):
    auto.save(tmp_path / "a.podium")
    loaded = podium.load(tmp_path / "a.podium")
    assert type(loaded) is type(auto.pick_)
    np.testing.assert_array_equal(loaded.predict(queries), auto.predict(queries))


def test_probabilities_are_those_of_the_pick_or_refused_by_its_name(auto, queries):
    with pytest.raises(ValueError, match="Auto picked Blend: Blend does not model probabilities of rankings"):
        auto.probabilities(queries)
    sure = podium.Auto(methods=["listmle"], folds=3, random_state=0).fit(queries)
    one = queries.take([0])
    assert sure.probabilities(one).above(0, 1) == sure.pick_.probabilities(one).above(0, 1)
    assert sure.log_likelihood(queries) == sure.pick_.log_likelihood(queries)


def test_the_choice_says_what_was_tried_and_left_out(auto):
    choice = auto.choice_.as_dict()
    tried = {*choice["candidates"], *choice["left out"]}
    assert {"listnet l2 0.01", "regression l2 0.01", "best-feature"} <= tried
    assert sum(choice["pick"].values()) == pytest.approx(1)
    assert 0 < choice["estimate"] <= 1


def test_a_target_restricts_the_pick(queries):
    auto = podium.Auto(methods=["listnet", "regression"], folds=2, target="solr", random_state=0).fit(queries)
    assert "solr" in podium.export_formats(auto.pick_)
    assert len(auto.choice_.members) == 1
    with pytest.raises(ValueError, match="no format named"):
        podium.Auto(methods=["listnet"], target="nowhere").fit(queries)


def test_without_time_something_is_fitted_and_that_is_said(queries):
    auto = podium.Auto(methods=["listnet"], minutes=1e-4).fit(queries)
    assert "untried" in auto.choice_.notes[0]
    assert not set(auto.choice_.members) & set(auto.choice_.dropped)  # what is fitted is not left out
    assert auto.predict(queries).shape == (queries.n_documents,)


def test_labels_that_say_nothing_are_refused(queries):
    with pytest.raises(ValueError, match="no metric can tell"):
        podium.Auto(methods=["listnet"]).fit(queries.with_labels(np.zeros(queries.n_documents)))


def test_larger_trees_are_for_larger_data(queries):
    small = {c.name for c in candidates(queries, None, 0)}
    assert "lambdamart leaves 7" in small
    assert "lambdamart leaves 31" not in small
    assert len(small) == len(candidates(queries, None, 0))  # names are unique


def test_on_many_documents_a_sample_of_the_queries_comes_first(monkeypatch):
    monkeypatch.setattr("podium.experiments.selection.SAMPLE_FROM", 300)
    monkeypatch.setattr("podium.experiments.selection.SAMPLE", 200)
    queries = podium.make_queries(n_queries=60, n_documents=8, n_features=5, random_state=0)
    methods = ["listnet", "ranksvm", "ranknet", "regression", "best-feature", "random"]
    auto = podium.Auto(methods=methods, folds=2, random_state=0).fit(queries)
    choice = auto.choice_
    assert {"random", "best-feature"} & choice.dropped.keys()
    assert any("sample" in why or "weak" in why for why in choice.dropped.values())
    assert choice.members.keys() <= choice.table.keys()
    assert auto.n_queries_ == 60


# ---- from a finished comparison


@pytest.fixture(scope="module")
def run(queries, tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    podium.write_letor(queries, folder / "data.txt")
    methods = ["listnet", "regression", "blend"]
    podium.compare(folder / "data.txt", methods, folds=3, metrics="ndcg@10,map", out=folder / "run", jobs=1)
    return folder


def test_the_setting_is_chosen_over_all_folds_and_fitted_on_all_data(run, queries):
    comparison = Comparison.load(run / "run")
    ranker = comparison.train("listnet")
    tried = {}
    for result in comparison.results:
        for trial in result.trials if result.method == "listnet" else ():
            tried.setdefault(trial.parameters["l2"], []).append(trial.validation)
    assert ranker.l2 == max(tried, key=lambda l2: np.mean(tried[l2]))  # folds of equal size
    assert ranker.n_queries_ == len(queries)
    assert ranker.normalize == comparison.configuration.options["normalize"]


def test_nothing_is_tried_again(run):
    class Count:
        trials = 0

        def note(self, text): ...

        def start(self, total, done): ...

        def finished(self, text, seconds_left=None):
            self.trials += 1

    count = Count()
    Comparison.load(run / "run").train("regression", progress=count)
    assert count.trials == 0


def test_the_blend_can_be_trained_and_saved(run, queries, tmp_path):
    ranker = Comparison.load(run / "run").train("blend")
    assert isinstance(ranker, podium.Blend)
    ranker.save(tmp_path / "b.podium")
    np.testing.assert_array_equal(podium.load(tmp_path / "b.podium").predict(queries), ranker.predict(queries))


def test_changed_data_are_refused_and_moved_ones_are_not(run, queries, tmp_path):
    comparison = Comparison.load(run / "run")
    moved = tmp_path / "elsewhere.txt"
    moved.write_bytes((run / "data.txt").read_bytes())
    assert comparison.train("regression", data=moved).n_queries_ == len(queries)
    podium.write_letor(queries.with_labels(queries.labels[::-1]), moved)
    with pytest.raises(ValueError, match="are not the data of this comparison"):
        comparison.train("regression", data=moved)
    with pytest.raises(ValueError, match="no method named 'pmop' in this comparison"):
        comparison.train("pmop")


def test_a_comparison_in_memory_trains_rankers_of_ones_own(queries):
    mine = podium.ListNet(l2=0.5)
    comparison = podium.compare(queries, {"mine": (mine, {"l2": [0.1, 1.0]})}, folds=3, metrics="ndcg@10", jobs=1)
    ranker = comparison.train("mine")
    assert ranker.l2 in (0.1, 1.0)
    assert comparison.train().l2 == ranker.l2  # the pick
