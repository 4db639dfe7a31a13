"""The method ``blend`` of a study: an average of all models, with shares by the evidence of the validation part."""

from __future__ import annotations

import sqlite3

import numpy as np
import pytest

import podium
from podium import Queries
from podium.experiments.plan.blending import FinishedTrial, blend, blend_of
from podium.experiments.plan.domain import QUERIES
from podium.experiments.plan.methods import Setting, StudyMethod
from podium.experiments.run import runner
from podium.experiments.run.seal import seal
from podium.experiments.run.store import FILE
from podium.experiments.run.trial import run_trial
from podium.metrics import metric
from podium.models.evidence import evidence_shares, without_small
from podium.numerics.forward import mean_ranks
from podium.rankers.methods import METHODS

from ..feature_ranker import Feature

RANKERS = {"a": Feature(0), "b": Feature(1), "c": Feature(2), "blend": None}


def run(queries, methods=None, **options):
    return podium.compare(queries, methods or RANKERS, **({"metrics": ["map"], "jobs": 1, "folds": 3} | options))


class Stored:
    """Stands for a model with these scores of the validation and the test part."""

    def __init__(self, on_validation, on_test):
        self.on_validation, self.on_test = on_validation, on_test

    def fit(self, queries, eval_set=None, eval_metric=None):
        return self

    def predict(self, queries):
        return np.array(self.on_validation if queries.has_labels else self.on_test)


def finished(name, ranker, values):
    return FinishedTrial(StudyMethod(name, Feature), 1.0, ranker, np.array(values))


def test_shares_follow_the_evidence_of_the_validation_part():
    part = Queries([[1.0], [2.0]], [0, 1], sizes=[2])
    fold, _ = seal("f", part, part, part)
    right, wrong = Stored([1.0, 2.0], [2.0, 1.0]), Stored([5.0, 1.0], [1.0, 5.0])

    def trial(*trials):
        method = blend_of([StudyMethod("a", Feature), StudyMethod("b", Feature)])
        return run_trial(method.made_from(trials), Setting({}, None), fold, metric("map"))

    # by hand: three models that nothing tells apart are all among the best three; one that is always worse has no share
    same = [finished(name, ranker, [0.5, 0.5]) for name, ranker in (("a", wrong), ("b", right), ("b", right))]
    assert blend(same).weights == pytest.approx([1 / 3] * 3)
    poor = finished("c", wrong, [0.1, 0.1])
    assert blend([poor, *same]).weights == pytest.approx([1 / 3] * 3)
    assert [name for name, _ in blend([poor, *same]).members] == ["a", "b", "b"]
    log2 = np.log(2.0)
    found = trial(poor, *same)
    assert found.validation_scores.tolist() == pytest.approx([-2 / 3 * log2, -1 / 3 * log2])
    assert found.test_scores.tolist() == pytest.approx([-1 / 3 * log2, -2 / 3 * log2])
    assert found.validation == 1.0
    with pytest.raises(ValueError, match="failed"):
        trial()


def test_poor_members_cost_nothing(queries):
    """A dozen that rank by chance, of fifteen: with equal shares MAP falls by .1."""
    good = {"a": podium.ListNet(l2=0.01), "b": podium.ListNet(l2=0.1), "c": podium.ListNet(l2=1.0), "blend": None}
    poor = {f"poor {i}": podium.RandomRanker(random_state=i) for i in range(12)}
    alone, among = run(queries, good), run(queries, good | poor)
    assert among.figure("blend", "map") == pytest.approx(alone.figure("blend", "map"), abs=0.01)


def test_a_blend_takes_part_like_any_method(queries, tmp_path, monkeypatch):
    comparison = run(queries, out=tmp_path / "run")
    assert comparison.failed == []
    assert comparison.methods == ["a", "b", "c", "blend", "best-feature", "random"]
    results = {result.method: result for result in comparison.results if result.fold == "fold 1"}
    assert [trial.parameters for trial in results["blend"].trials] == [{}]
    # it costs what all that it is of costs
    assert results["blend"].seconds > sum(results[name].seconds for name in "abc")
    # what was finished is not made again, and is the same in whichever order trials end
    database = sqlite3.connect(tmp_path / "run" / FILE)
    with database:
        database.execute("DELETE FROM results")
    database.close()
    monkeypatch.setattr(runner, "run_trial", None)
    again = run(queries, out=tmp_path / "run")
    assert [r.per_query for r in again.results] == [r.per_query for r in comparison.results]


SETTINGS = {"methods": ["listnet", "pmop", "blend"], "folds": 3}


def test_it_is_of_all_settings_and_only_the_chosen_ones_scores_stay(queries, tmp_path):
    comparison = run(queries, out=tmp_path, **SETTINGS)
    database = sqlite3.connect(tmp_path / FILE)
    stored = {key for (key,) in database.execute("SELECT trial FROM scores")}
    database.close()
    assert stored == {result.trial for result in comparison.results}
    # by hand, from models fitted anew: rankings of all eight settings, with the shares that their values give
    (fold,) = [r for r in comparison.results if r.method == "blend" and r.fold == "fold 1"]
    train, valid, test = next(iter(podium.data.splits.k_folds(len(queries), 3, random_state=0)))
    parts = [queries.take(numbers) for numbers in (train, valid, test)]
    fitted = [
        METHODS[name].build(l2=l2).fit(parts[0], eval_set=parts[1], eval_metric="map")
        for name in ("listnet", "pmop")
        for l2 in METHODS[name].grid["l2"]
    ]
    judge = metric("map")
    on_validation = [judge.per_query(r.predict(parts[1]), parts[1].labels, parts[1].offsets) for r in fitted]
    logs = [np.log(mean_ranks(np.asarray(r.predict(parts[2]), float), parts[2].offsets)) for r in fitted]
    scores = -evidence_shares(np.array(on_validation)) @ np.array(logs)
    by_hand = judge.per_query(scores, parts[2].labels, parts[2].offsets)
    assert fold.per_query["map"] == pytest.approx(by_hand.tolist())


def test_the_blend_that_is_trained_has_the_shares_of_the_one_compared(queries, tmp_path):
    """One division: the shares are then the same; of several, their mean."""
    one = run(queries, out=tmp_path / "one", **(SETTINGS | {"folds": None, "protocol": "holdout:1,0.3,0.3"}))
    compared = [r for r in one.results if r.method in ("listnet", "pmop")]
    shares = evidence_shares(np.array([trial.validation_values for result in compared for trial in result.trials]))
    trained = podium.experiments.Comparison.load(tmp_path / "one").train("blend", data=queries)
    np.testing.assert_allclose(trained.weights_, shares[shares > 0], rtol=1e-14)  # they are divided by their sum again
    several = run(queries, **SETTINGS)
    total = 0.0
    for fold in several.folds:
        trials = [t for r in several.results if r.fold == fold and r.method in ("listnet", "pmop") for t in r.trials]
        total = total + evidence_shares(np.array([t.validation_values for t in trials])) / 3
    expected = without_small(total)
    assert several.train("blend").weights_.tolist() == pytest.approx(expected[expected > 0].tolist())


def test_a_blend_that_comes_later_is_the_same(queries, tmp_path):
    run(queries, out=tmp_path, **(SETTINGS | {"methods": ["listnet", "pmop"]}))  # drops what was not chosen
    later = run(queries, out=tmp_path, **SETTINGS)
    fresh = run(queries, **SETTINGS)
    assert later.values("blend", "map").tolist() == fresh.values("blend", "map").tolist()


def test_another_method_makes_another_blend(queries, tmp_path):
    two = {name: RANKERS[name] for name in ("a", "b", "blend")}
    before = run(queries, two, out=tmp_path)
    after = run(queries, out=tmp_path)
    fresh = run(queries)
    assert after.values("blend", "map").tolist() == fresh.values("blend", "map").tolist()
    assert after.values("blend", "map").tolist() != before.values("blend", "map").tolist()


def test_a_method_that_fails_is_not_in_it(queries):
    comparison = run(queries, RANKERS | {"c": Feature(99)})
    assert comparison.failed == ["c"]
    assert len(comparison.values("blend", "map")) == 30
    with pytest.raises(ValueError, match="two methods or more"):
        run(queries, ["listnet", "blend"])


def test_all_and_a_blend_of_all_that_are_no_variants():
    blended = next(method for method in QUERIES.study_methods("all, blend") if method.requires)
    assert {"listnet", "pmop"} <= set(blended.requires)
    assert not {"pmop-mh", "best-feature", "blend"} & set(blended.requires)
    named = QUERIES.study_methods(["listnet", "pmop", "pmop-mh", "blend"])
    assert next(method for method in named if method.requires).requires == ("listnet", "pmop")


def test_processes_change_nothing(queries):
    alone, together = run(queries, **SETTINGS), run(queries, **(SETTINGS | {"jobs": 2}))
    assert alone.values("blend", "map").tolist() == together.values("blend", "map").tolist()
