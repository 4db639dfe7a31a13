"""Trials on disk: found again only where everything that determines them is the same."""

from __future__ import annotations

import json

import numpy as np
import pytest

from podium.experiments.plan.methods import Setting
from podium.experiments.run.details import ModelSummary
from podium.experiments.run.seal import SealError, Trial
from podium.experiments.run.store import Result, Run, code_version, digest, jsonable


def configuration(**changes):
    return {
        "podium": "0",
        "data": {"name": "d", "fingerprint": "f", "folds": ["1", "2"]},
        "methods": {"a": {"grid": {"l2": [0.1, 1.0]}}, "b": {"grid": {}}},
        "metrics": ["map"],
        "seed": 0,
    } | changes


RECORD = Result("a", "1", parameters={"l2": 0.1}, qids=["7"], per_query={"map": [0.1 + 0.2]})


def test_a_stored_trial_comes_back_bit_for_bit(tmp_path):
    Run(tmp_path, configuration()).store(RECORD)
    assert Run(tmp_path, configuration()).finished("a", "1") == RECORD


@pytest.mark.parametrize(
    "change",
    [
        {"podium": "1"},
        {"seed": 1},
        {"metrics": ["map", "mrr"]},
        {"data": {"name": "d", "fingerprint": "other", "folds": ["1", "2"]}},
        {"methods": {"a": {"grid": {"l2": [0.1]}}}},
    ],
    ids=lambda change: next(iter(change)),
)
def test_a_changed_configuration_does_not_find_it(tmp_path, change):
    Run(tmp_path, configuration()).store(RECORD)
    assert Run(tmp_path, configuration(**change)).finished("a", "1") is None


def test_another_method_in_the_table_changes_nothing_for_it(tmp_path):
    Run(tmp_path, configuration()).store(RECORD)
    more = configuration(methods=configuration()["methods"] | {"c": {"grid": {}}})
    assert Run(tmp_path, more).finished("a", "1") == RECORD
    assert Run(tmp_path, more).finished("c", "1") is None


def test_failed_trials_are_computed_again(tmp_path):
    run = Run(tmp_path, configuration())
    run.store(Result("a", "1", error="ValueError: no"))
    assert run.finished("a", "1") is None
    assert run.stored("a", "1").error == "ValueError: no"
    run.store(RECORD)
    assert run.finished("a", "1") == RECORD


def test_a_result_is_not_replaced_by_another(tmp_path):
    run = Run(tmp_path, configuration())
    run.store(RECORD)
    with pytest.raises(SealError, match="judged already"):
        run.store(RECORD)


CANDIDATE = Setting({"l2": 0.1}, 5, 2)
TRIAL = Trial(
    *("a", "1", CANDIDATE.parameters, CANDIDATE.seed, CANDIDATE.number, 0.1 + 0.2, 1.5, ["w"]),
    validation_scores=np.array([0.1, 0.2]),
    test_scores=np.array([1 / 3]),
    model=ModelSummary(weights=np.array([1.0], np.float32), unit="trees"),
)


def test_a_trial_comes_back_and_without_its_scores_if_they_are_gone(tmp_path):
    Run(tmp_path, configuration()).store_trial(TRIAL, CANDIDATE)
    # what is judged, or else tried, makes no difference to a trial; what trains it does
    run = Run(tmp_path, configuration(metrics=["map", "mrr"], methods={"a": {"grid": {"l2": [0.1]}}}))
    found = run.find_trial("a", "1", CANDIDATE)
    assert found == TRIAL
    assert found.test_scores.tolist() == TRIAL.test_scores.tolist()
    assert (found.model.weights.tolist(), found.model.unit) == ([1.0], "trees")
    run.scores_path("a", "1", CANDIDATE).unlink()
    assert run.find_trial("a", "1", CANDIDATE) == TRIAL
    assert run.find_trial("a", "1", CANDIDATE).test_scores is None
    for other in (Setting({"l2": 0.2}, 5, 2), Setting({"l2": 0.1}, 6, 2)):
        assert run.find_trial("a", "1", other) is None
    assert Run(tmp_path, configuration(podium="1")).find_trial("a", "1", CANDIDATE) is None


def test_seeds_are_for_methods_they_make_a_difference_to(tmp_path):
    run = Run(tmp_path, configuration(seeds=[3, 4], stochastic=["b"]))
    assert (run.seeds("a"), run.seeds("b")) == ([3], [3, 4])
    run.store(Result("b", "1", 3))
    more = Run(tmp_path, configuration(seeds=[3, 4, 5], stochastic=["b"]))
    assert more.finished("b", "1", 3) is not None
    assert more.finished("b", "1", 4) is None


def test_changes_names_what_differs_from_the_last_run(tmp_path):
    run = Run(tmp_path, configuration())
    assert run.changes() == []
    run.describe(status="complete")
    assert run.changes() == []
    assert Run(tmp_path, configuration(seed=1, metrics=["mrr"])).changes() == ["metrics", "seed"]
    assert json.loads((tmp_path / "run.json").read_text())["status"] == "complete"


def test_a_damaged_description_is_no_obstacle(tmp_path):
    (tmp_path / "run.json").write_text("{")
    assert Run(tmp_path, configuration()).changes() == []


def test_one_run_at_a_time_in_a_folder(tmp_path):
    pytest.importorskip("fcntl")
    first, second = Run(tmp_path, configuration()), Run(tmp_path, configuration())
    with first.locked(), pytest.raises(ValueError, match="another comparison is running"), second.locked():
        pass
    with second.locked():
        pass


def test_names_that_are_no_file_names(tmp_path):
    methods = {"../x/y": {"grid": {}}}
    run = Run(tmp_path, configuration(methods=methods))
    run.store(Result("../x/y", "fold 1"))
    assert run.finished("../x/y", "fold 1") is not None
    assert [path.parent for path in tmp_path.rglob("*.json")] == [run.results]


def test_digest_and_parameters():
    assert digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1}) != digest({"a": 1, "b": 3})
    assert jsonable({"l2": 0.5, "kind": "x", "scorer": object}) == {
        "l2": 0.5,
        "kind": "x",
        "scorer": "<class 'object'>",
    }
    assert code_version() == code_version()
