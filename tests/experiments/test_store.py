"""Trials and results in a run's file: found again only where everything that determines them is the same."""

from __future__ import annotations

import gc
import sqlite3
import subprocess
import sys
import threading
from dataclasses import replace

import numpy as np
import pytest

from podium.experiments.plan.configuration import Configuration, plain_parameters
from podium.experiments.plan.identity import digest
from podium.experiments.plan.methods import Setting
from podium.experiments.run.lock import locked
from podium.experiments.run.outcomes import ModelSummary, Result, TestPart, Trial
from podium.experiments.run.seal import SealError
from podium.experiments.run.store import FILE, Store


def configuration(**changes):
    return Configuration.from_dict(
        {
            "podium": "0",
            "data": {"name": "d", "description": "", "fingerprint": "f", "folds": ["1", "2"]},
            "protocol": {},
            "average": "folds",
            "methods": {"a": {"grid": {"l2": [0.1, 1.0]}}, "b": {}},
            "metrics": ["map"],
            "primary": "map",
            "convention": "letor",
        }
        | changes
    )


def opened(tmp_path, **changes):
    return Store(tmp_path / FILE, configuration(**changes), create=True)


SETTING = Setting({"l2": 0.1}, 5, 2)
TRIAL = Trial(
    *("a", "1", SETTING.parameters, SETTING.seed, SETTING.number, 0.1 + 0.2, 1.5, ["w"]),
    validation_scores=np.array([0.1, 0.2]),
    test_scores=np.array([1 / 3, 0.5]),
    model=ModelSummary(weights=np.array([1.0], np.float32), unit="trees"),
)
PART = TestPart(np.array(["7"]), np.array([0, 2]), np.array([1.0, 0.0]), np.array(["x", "y"], dtype=object))


def result(store, method="a", fold="1", seed=0):
    """Store a result, and return it."""
    key = store.configuration.trial_key(method, fold, SETTING)
    trial = replace(TRIAL, method=method, fold=fold)
    store.add_trial(key, trial)
    made = Result(
        *(method, fold, seed),
        parameters={"l2": 0.1},
        validation=0.1 + 0.2,
        trials=[trial],
        warnings=["w"],
        seconds=1.5,
        qids=["7"],
        per_query={"map": [0.1 + 0.2]},
        test_fingerprint="p",
        trial=key,
    )
    store.add_result(made, [key], PART, np.ones((1, 10)))
    return made


def test_a_stored_result_comes_back_bit_for_bit(tmp_path):
    made = result(opened(tmp_path))
    assert opened(tmp_path).result("a", "1", 0) == made
    arrays = opened(tmp_path).arrays(made)
    assert arrays.scores.tolist() == TRIAL.test_scores.tolist()
    assert arrays.curve.tolist() == [[1.0] * 10]
    assert (arrays.model.weights.tolist(), arrays.model.unit, arrays.model.history) == ([1.0], "trees", None)
    assert arrays.part.document_ids.tolist() == ["x", "y"]
    assert arrays.part.feature_names is None


def test_test_queries_are_stored_once_for_all_methods(tmp_path):
    store = opened(tmp_path)
    one, other = result(store, "a"), result(store, "b")
    assert store.arrays(one).part is store.arrays(other).part
    (n,) = sqlite3.connect(tmp_path / FILE).execute("SELECT count(*) FROM test_parts").fetchone()
    assert n == 1


@pytest.mark.parametrize(
    "change",
    [
        {"packages": {"numpy": "1"}},
        {"seed": 1},
        {"metrics": ["map", "mrr"]},
        {"definitions": {"map": "another"}},
        {"data": {"name": "d", "description": "", "fingerprint": "other", "folds": ["1", "2"]}},
        {"methods": {"a": {"grid": {"l2": [0.1]}}}},
        {"methods": {"a": {"grid": {"l2": [0.1, 1.0]}, "code": "changed"}}},
    ],
    ids=lambda change: next(iter(change)),
)
def test_a_changed_configuration_does_not_find_it(tmp_path, change):
    result(opened(tmp_path))
    assert opened(tmp_path, **change).result("a", "1", 0) is None


def test_another_method_in_the_table_changes_nothing_for_it(tmp_path):
    made = result(opened(tmp_path))
    more = opened(tmp_path, methods={"a": {"grid": {"l2": [0.1, 1.0]}}, "c": {}})
    assert more.result("a", "1", 0) == made
    assert more.result("c", "1", 0) is None


def test_a_failure_makes_way_for_a_result_and_a_result_stays(tmp_path):
    store = opened(tmp_path)
    store.add_failure(Result("a", "1", error="ValueError: no", traceback="t"))
    assert store.result("a", "1", 0).error == "ValueError: no"
    made = result(store)
    assert store.result("a", "1", 0) == made
    with pytest.raises(SealError, match="judged already"):
        result(store)


def test_a_trial_comes_back_and_its_scores_as_long_as_they_are_kept(tmp_path):
    key = configuration().trial_key("a", "1", SETTING)
    opened(tmp_path).add_trial(key, TRIAL)
    # what is judged, or else tried, makes no difference to a trial; what trains it does
    other = configuration(metrics=["map", "mrr"], methods={"a": {"grid": {"l2": [0.1]}}})
    assert other.trial_key("a", "1", SETTING) == key
    changed = [
        configuration(methods={"a": {"code": "changed"}}).trial_key("a", "1", SETTING),
        configuration(primary="mrr").trial_key("a", "1", SETTING),
        configuration().trial_key("a", "2", SETTING),
        *(configuration().trial_key("a", "1", s) for s in (Setting({"l2": 0.2}, 5, 2), Setting({"l2": 0.1}, 6, 2))),
    ]
    assert len({key, *changed}) == 6
    store = opened(tmp_path)
    found = store.trial_with_scores(key)
    assert found == store.trial(key) == TRIAL
    assert found.test_scores.tolist() == TRIAL.test_scores.tolist()
    assert found.validation_scores.tolist() == TRIAL.validation_scores.tolist()
    assert (found.model.weights.tolist(), found.model.unit) == ([1.0], "trees")
    store.drop_scores([key])
    assert store.trial_with_scores(key) is None
    assert store.trial(key) == TRIAL


def test_scores_of_a_selected_trial_are_not_dropped(tmp_path):
    store = opened(tmp_path)
    made = result(store)
    store.drop_scores([made.trial])
    assert store.arrays(made) is not None


def test_a_trial_without_a_value_has_none_again(tmp_path):
    store = opened(tmp_path)
    store.add_trial("k", Trial("a", "1", {}, error="ValueError: no"))
    assert np.isnan(store.trial("k").validation)
    assert store.trial("k").error == "ValueError: no"


def test_seeds_are_for_methods_they_make_a_difference_to(tmp_path):
    methods = {"a": {}, "b": {"stochastic": True}}
    two = configuration(seeds=[3, 4], methods=methods)
    assert (two.seeds_of("a"), two.seeds_of("b")) == ([3], [3, 4])
    result(opened(tmp_path, seeds=[3, 4], methods=methods), "b", seed=3)
    more = opened(tmp_path, seeds=[3, 4, 5], methods=methods)
    assert more.result("b", "1", 3) is not None
    assert more.result("b", "1", 4) is None


def test_changes_since_the_last_study(tmp_path):
    store = opened(tmp_path)
    assert store.last_study() is None
    store.describe(status="complete", reading={"path": "x"})
    last, facts = Store.open(tmp_path).last_study()
    assert (facts["status"], facts["reading"]) == ("complete", {"path": "x"})
    assert facts["versions"]["numpy"] == np.__version__
    assert configuration().changes_since(last) == []
    assert configuration(seed=1, metrics=["mrr"]).changes_since(last) == ["metrics", "seed"]
    recoded = configuration(methods={"a": {"grid": {"l2": [0.1, 1.0]}, "code": "changed"}, "b": {}})
    assert recoded.changes_since(last) == ["Podium's code"]


def test_missing_results_count_as_failed(tmp_path):
    store = opened(tmp_path)
    made = result(store)
    store.describe(status="interrupted")
    found = Store.open(tmp_path).results()
    assert found[0] == made
    assert [(r.method, r.fold, r.error) for r in found[1:]] == [
        (method, fold, "not finished") for method, fold in (("a", "2"), ("b", "1"), ("b", "2"))
    ]


def test_a_copy_in_memory_needs_no_file(tmp_path):
    store = opened(tmp_path)
    made = result(store)
    copy = store.in_memory()
    store.close()
    (tmp_path / FILE).unlink()
    assert copy.result("a", "1", 0) == made
    assert copy.arrays(made).scores.tolist() == TRIAL.test_scores.tolist()


def test_a_foreign_or_damaged_file_is_named(tmp_path):
    path = tmp_path / FILE
    path.write_bytes(b"no database " * 100)
    with pytest.raises(ValueError, match=rf"{FILE} is damaged, or not a run of podium compare"):
        opened(tmp_path)
    path.unlink()
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE theirs (x)")
    other.close()
    with pytest.raises(ValueError, match=rf"{FILE} is not a run of podium compare"):
        opened(tmp_path)
    path.unlink()
    made = result(opened(tmp_path))
    content = bytearray(path.read_bytes())
    content[4096:] = b"\xff" * (len(content) - 4096)  # all but the first page
    path.write_bytes(content)
    with pytest.raises(ValueError, match=rf"{FILE} is damaged"):
        opened(tmp_path).result(*made.key)


def test_damaged_arrays_are_an_error_and_never_unpickled(tmp_path):
    made = result(opened(tmp_path))
    database = sqlite3.connect(tmp_path / FILE)
    with database:
        database.execute("UPDATE scores SET arrays = ?", (b"cos\nsystem\n(S'echo'\ntR.",))
    database.close()
    with pytest.raises(ValueError, match=rf"{FILE} is damaged"):
        opened(tmp_path).arrays(made)


def test_a_newer_file_is_refused(tmp_path):
    opened(tmp_path).close()
    database = sqlite3.connect(tmp_path / FILE)
    database.execute("PRAGMA user_version = 99")
    database.close()
    with pytest.raises(ValueError, match="another version of Podium"):
        opened(tmp_path)


def test_one_process_at_a_time_in_a_folder(tmp_path):
    holds = (
        "import sys; from pathlib import Path; from podium.experiments.run.lock import locked\n"
        "with locked(Path(sys.argv[1])): print('held', flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", holds, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        with pytest.raises(ValueError, match="another comparison is running"), locked(tmp_path):
            pass
        process.kill()
        process.wait()
    with locked(tmp_path):  # the lock of a killed process is gone
        pass


def test_digest_and_parameters():
    assert digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1}) != digest({"a": 1, "b": 3})
    assert plain_parameters({"l2": np.float64(0.5), "kind": "x", "scorer": object}) == {
        "l2": 0.5,
        "kind": "x",
        "scorer": "<class 'object'>",
    }


def test_a_store_may_be_forgotten_in_another_thread(tmp_path):
    held = [opened(tmp_path)]
    thread = threading.Thread(target=held.clear)  # an exception in a finalizer is an error of this test
    thread.start()
    thread.join()
    gc.collect()
