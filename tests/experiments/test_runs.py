"""Trials on disk: found again only where everything that determines them is the same."""

from __future__ import annotations

import json

import pytest

from podium.experiments.runs import Record, Run, code_version, digest, jsonable


def configuration(**changes):
    return {
        "podium": "0",
        "data": {"name": "d", "fingerprint": "f", "folds": ["1", "2"]},
        "methods": {"a": {"grid": {"l2": [0.1, 1.0]}}, "b": {"grid": {}}},
        "metrics": ["map"],
        "seed": 0,
    } | changes


RECORD = Record("a", "1", parameters={"l2": 0.1}, qids=["7"], per_query={"map": [0.1 + 0.2]})


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
    run.store(Record("a", "1", error="ValueError: no"))
    assert run.finished("a", "1") is None
    assert len(list(run.trials.iterdir())) == 1


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
    run.store(Record("../x/y", "fold 1"))
    assert run.finished("../x/y", "fold 1") is not None
    assert [path.parent for path in tmp_path.rglob("*.json")] == [run.trials]


def test_digest_and_parameters():
    assert digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1}) != digest({"a": 1, "b": 3})
    assert jsonable({"l2": 0.5, "kind": "x", "scorer": object}) == {
        "l2": 0.5,
        "kind": "x",
        "scorer": "<class 'object'>",
    }
    assert code_version() == code_version()
