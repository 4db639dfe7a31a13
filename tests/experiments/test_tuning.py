"""Tuning one method: every setting on every fold, what is carried over, time limits, metrics that cannot tell."""

from __future__ import annotations

import time

import numpy as np
import pytest

import podium
from podium.data.queries import Queries
from podium.experiments.run.carrying import over_folds
from podium.metrics import metric
from podium.metrics.telling import can_tell, first_that_tells


@pytest.fixture(scope="module")
def queries():
    return podium.make_queries(n_queries=30, n_documents=8, n_features=5, random_state=0)


class Notes:
    def __init__(self) -> None:
        self.lines: list[str] = []
        self.trials = 0

    def note(self, text: str) -> None:
        self.lines.append(text)

    def start(self, total: int, done: int) -> None: ...

    def finished(self, text: str, seconds_left: float | None = None) -> None:
        self.trials += 1


def test_every_setting_is_tried_on_every_fold_and_the_best_mean_wins(queries):
    ranker = podium.tune("listnet", queries, space={"l2": [1e-3, 10.0, 1e3]}, folds=3)
    trials = ranker.trials_
    assert trials.group_by("setting").len()["len"].to_list() == [3, 3, 3]
    # By hand: the mean over all queries of the fits on the other folds.
    by_setting = trials.group_by("setting", maintain_order=True).agg(value=podium_mean("ndcg@10 on validation"))
    assert ranker.tuning_.value == pytest.approx(by_setting["value"].max(), abs=1e-9)  # folds of equal size
    assert ranker.l2 == ranker.tuning_.parameters["l2"]
    assert ranker.n_queries_ == len(queries)
    same = podium.ListNet(l2=ranker.l2, random_state=0).fit(queries)
    np.testing.assert_array_equal(ranker.predict(queries), same.predict(queries))


def podium_mean(column: str):
    import polars

    return polars.col(column).mean()


def test_the_number_of_trees_is_the_median_over_folds(queries):
    ranker = podium.tune("lambdamart", queries, space={"n_leaves": [4]}, settings={"n_trees": 15}, folds=3)
    kept = ranker.trials_["n_trees"].to_list()
    assert ranker.n_trees == sorted(kept)[1] == ranker.tuning_.carried["n_trees"]


def test_carrying_over():
    assert over_folds([{"epochs": 4}, {"epochs": 9}]) == {"epochs": 4}
    assert over_folds([{"sigma": 0.1}, {"sigma": 0.5}, {"sigma": 0.5}]) == {"sigma": 0.5}
    assert over_folds([{}, {}]) == {}


def test_a_bayesian_search_is_one_search_over_all_folds(queries):
    pytest.importorskip("optuna")
    ranker = podium.tune("listnet", queries, search="bayes", budget=3, folds=2)
    assert ranker.trials_.group_by("setting", maintain_order=True).len()["len"].to_list() == [2, 2, 2]
    assert ranker.trials_.group_by("setting").agg(podium_mean("l2"))["l2"].n_unique() == 3


def test_a_given_validation_part_judges_and_ends_the_final_fit(queries):
    train, valid = podium.train_test_split(queries, random_state=0)
    space, settings = {"n_leaves": [3, 4]}, {"n_trees": 12}
    ranker = podium.tune("lambdamart", train, eval_set=valid, space=space, settings=settings)
    assert ranker.trials_.shape[0] == 2
    assert ranker.score(valid) == pytest.approx(ranker.tuning_.value, abs=1e-12)
    assert ranker.n_queries_ == len(train)


def test_a_search_goes_on_where_it_was_stopped(queries, tmp_path):
    class Stop(Notes):
        def finished(self, text, seconds_left=None):
            super().finished(text)
            if self.trials == 2:
                raise KeyboardInterrupt

    settings = {"space": {"l2": [0.01, 0.1]}, "folds": 2, "out": tmp_path}
    with pytest.raises(KeyboardInterrupt):
        podium.tune("listnet", queries, **settings, progress=Stop())
    again = Notes()
    ranker = podium.tune("listnet", queries, **settings, progress=again)
    assert again.trials == 2
    straight = podium.tune("listnet", queries, space={"l2": [0.01, 0.1]}, folds=2)
    np.testing.assert_array_equal(ranker.predict(queries), straight.predict(queries))


def test_without_time_for_one_setting_the_default_is_fitted_and_that_is_said(queries):
    began, told = time.perf_counter(), Notes()
    ranker = podium.tune("listnet", queries, minutes=1e-4, progress=told)
    assert time.perf_counter() - began < 15
    assert ranker.tuning_.chosen is None
    assert ranker.l2 == podium.ListNet().l2
    assert any("default setting" in line for line in told.lines)


def test_a_ranker_and_a_space_of_ones_own(queries):
    mine = podium.Ranker(podium.losses.ListNetLoss(), podium.scorers.Linear(), normalize="standard", random_state=3)
    ranker = podium.tune(mine, queries, space={"scorer__l2": [0.01, 100.0]}, folds=2)
    assert ranker.scorer.l2 == 0.01
    assert ranker.random_state == 3
    assert mine.scorer.l2 == podium.scorers.Linear().l2  # the user's own object is left as it was


def test_mistakes_are_named(queries):
    with pytest.raises(ValueError, match="no method named 'listnt'"):
        podium.tune("listnt", queries)
    with pytest.raises(ValueError, match="listnet has no parameter 'n_trees'"):
        podium.tune("listnet", queries, space={"n_trees": [3]})
    with pytest.raises(ValueError, match="two queries"):
        podium.tune("listnet", queries.take([0]))


def stars(queries: Queries) -> Queries:
    return queries.with_labels(queries.labels + 1)


def test_a_metric_that_cannot_tell_does_not_choose(queries):
    assert can_tell(metric("map"), queries)
    assert not can_tell(metric("map"), stars(queries))
    chosen, lines = first_that_tells([metric("map")], stars(queries))
    assert chosen.name == "ndcg@10"
    assert lines[0].startswith("map cannot tell methods apart here: grades begin at 1")
    told = Notes()
    ranker = podium.tune("listnet", stars(queries), metric="map", space={"l2": [0.01]}, folds=2, progress=told)
    assert ranker.tuning_.metric.name == "ndcg@10"
    assert any(line.startswith("map cannot tell") for line in told.lines)
    with pytest.raises(ValueError, match="no metric can tell methods apart here"):
        podium.tune("listnet", queries.with_labels(np.ones(queries.n_documents)))
