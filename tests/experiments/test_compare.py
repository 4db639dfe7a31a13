"""Whole comparisons on small data: figures, resuming, failures, independence of the number of processes."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import polars
import pytest
from sklearn.base import BaseEstimator

import podium
from podium.data.io.folds import find_folds
from podium.experiments.plan.protocol import KFold
from podium.experiments.plan.sources import open_source
from podium.experiments.run import runner
from podium.experiments.run.store import FILE, Store
from podium.rankers.methods import METHODS

METRICS = ["ndcg@1", "ndcg@5", "map"]
SETTINGS = len(METHODS["listnet"].grid["l2"])
PER_FOLD = SETTINGS + 2
"""Trials of listnet and the two floors."""


class Listener:
    """Keeps what a comparison tells."""

    def __init__(self):
        self.notes, self.trials, self.left, self.started = [], [], [], None

    def note(self, text):
        self.notes.append(text)

    def start(self, total, done):
        self.started = (total, done)

    def finished(self, text, seconds_left=None):
        self.trials.append(text)
        self.left.append(seconds_left)


class Broken(BaseEstimator):
    """Fails in fit until ``mend`` names a file that exists."""

    def __init__(self, mend=""):
        self.mend = mend

    def fit(self, queries, eval_set=None, eval_metric=None):
        if not Path(self.mend).is_file():
            raise ValueError("this\nranker is broken")
        return self

    def predict(self, queries):
        return np.zeros(queries.n_documents)


def run(data, methods=("listnet",), **options):
    return podium.compare(data, methods, **({"metrics": METRICS, "jobs": 1} | options))


def count(out, what):
    """Count rows of a run's file."""
    database = sqlite3.connect(out / FILE)
    try:
        return database.execute(f"SELECT count(*) FROM {what}").fetchone()[0]
    finally:
        database.close()


def n_trials(out):
    """Count the trials of a run that may not have begun yet."""
    try:
        return count(out, "trials")
    except sqlite3.OperationalError:
        return 0


@pytest.fixture(scope="module")
def finished(folder_of_folds, tmp_path_factory):
    out = tmp_path_factory.mktemp("run")
    return run(folder_of_folds, out=out, convention="letor"), out


def test_all_that_is_promised_is_there(finished, folder_of_folds):
    comparison, out = finished
    assert {path.name for path in out.iterdir() if not path.name.startswith(".")} == {
        *(FILE, "results.csv", "per_query.csv", "trials.csv", "table.md", "table.tex", "report.html", "runs"),
    }
    assert comparison.methods == ["listnet", "best-feature", "random"]  # the floor was not asked for
    assert comparison.primary == "map"
    assert comparison.folds == ["Fold1", "Fold2", "fold3"]
    configuration, facts = Store.open(out).last_study()
    assert facts["status"] == "complete"
    assert facts["reading"] == {"path": str(folder_of_folds), "columns": {}}
    assert facts["versions"]["numpy"] == np.__version__
    assert configuration.convention == "letor"
    frame = polars.read_csv(out / "per_query.csv")
    assert frame.columns == ["method", "fold", "seed", "qid", *METRICS]
    assert frame.height == 3 * 30
    tried = polars.read_csv(out / "trials.csv").filter(method="listnet", fold="Fold1")
    assert tried["parameters"].to_list() == [f"l2={value}" for value in METHODS["listnet"].grid["l2"]]
    assert tried["map on validation"].max() == comparison.results[0].validation
    # of trials that were not selected the scores are not kept
    assert count(out, "trials WHERE fold = 'Fold1' AND method = 'listnet'") == SETTINGS
    assert count(out, "scores JOIN trials ON trial = key WHERE fold = 'Fold1' AND method = 'listnet'") == 1


def test_figures_are_those_of_the_protocol_done_by_hand(finished, folder_of_folds):
    comparison, _ = finished
    grid = podium.rankers.methods.METHODS["listnet"].grid["l2"]
    measure = podium.metric("map", "letor")
    means = []
    for paths in find_folds(folder_of_folds):
        fold = podium.data.io.folds.read_fold(paths)
        models = [
            podium.ListNet(l2=l2, normalize="standard", random_state=0).fit(fold.train, eval_set=fold.validation)
            for l2 in grid
        ]
        on_validation = [
            podium.evaluate(fold.validation, m.predict(fold.validation), metrics=[measure]).mean["map"] for m in models
        ]
        best = int(np.argmax(on_validation))
        result = next(r for r in comparison.results if r.method == "listnet" and r.fold == paths.name)
        assert result.parameters == {"l2": grid[best]}
        assert result.validation == pytest.approx(on_validation[best], abs=1e-12)
        means.append(podium.evaluate(fold.test, models[best].predict(fold.test), metrics=[measure]).mean["map"])
    row = next(row for row in comparison.rows if row.method == "listnet")
    assert row.estimates["map"].mean == pytest.approx(np.mean(means), abs=1e-12)


def test_a_finished_run_is_not_computed_again(finished, folder_of_folds, monkeypatch):
    comparison, out = finished
    monkeypatch.setattr(runner, "run_trial", None)
    listener = Listener()
    again = run(folder_of_folds, out=out, convention="letor", progress=listener)
    assert listener.trials == []
    assert listener.notes == [f"{3 * PER_FOLD} of {3 * PER_FOLD} trials were finished by an earlier run and are kept"]
    assert again.results == comparison.results


def test_a_changed_configuration_is_a_new_run_and_says_so(finished, folder_of_folds, tmp_path):
    _, out = finished
    shutil.copytree(out, tmp_path / "copy")
    listener = Listener()
    run(folder_of_folds, out=tmp_path / "copy", convention="letor", random_state=1, progress=listener)
    assert "new run: seed, seeds changed since the last one" in listener.notes[0]
    assert listener.started == (3 * PER_FOLD, 0)


def test_adding_a_method_computes_only_that(finished, folder_of_folds, tmp_path):
    comparison, out = finished
    shutil.copytree(out, tmp_path / "copy")
    listener = Listener()
    more = run(folder_of_folds, ["listnet", "ranknet"], out=tmp_path / "copy", convention="letor", progress=listener)
    assert listener.started == (3 * (PER_FOLD + SETTINGS), 3 * PER_FOLD)
    assert listener.left[0] > listener.left[-1] == 0
    assert all("ranknet" in trial for trial in listener.trials)
    assert more.values("listnet", "map").tolist() == comparison.values("listnet", "map").tolist()


def test_test_labels_change_no_choice_and_no_score(folder_of_folds, tmp_path, monkeypatch):
    other = tmp_path / "other"
    shutil.copytree(folder_of_folds, other)
    for paths in find_folds(other):
        test = podium.read_letor(paths.test)
        podium.write_letor(test.with_labels(2 - test.labels), paths.test)
    seen = []

    def spy(*arguments, run_trial=runner.run_trial):
        seen.append(run_trial(*arguments))
        return seen[-1]

    monkeypatch.setattr(runner, "run_trial", spy)
    one, two = run(folder_of_folds), run(other)
    first, second = seen[: len(seen) // 2], seen[len(seen) // 2 :]
    for a, b in zip(first, second, strict=True):
        assert a.parameters == b.parameters
        assert a.validation == b.validation
        assert a.test_scores.tolist() == b.test_scores.tolist()
    assert one.values("listnet", "map").tolist() != two.values("listnet", "map").tolist()


def test_processes_do_not_change_a_figure(folder_of_folds, finished):
    comparison, _ = finished
    parallel = run(folder_of_folds, convention="letor", jobs=2)
    for one, other in zip(comparison.results, parallel.results, strict=True):
        assert one.per_query == other.per_query
        assert (one.parameters, one.validation, one.qids) == (other.parameters, other.validation, other.qids)


def test_dealt_queries_are_tested_exactly_once(queries):
    comparison = run(queries, folds=4)
    frame = comparison.per_query.filter(method="listnet")
    assert sorted(frame["qid"]) == sorted(str(qid) for qid in queries.qids)
    assert not comparison.averages_folds
    row = next(row for row in comparison.rows if row.method == "listnet")
    assert row.estimates["map"].mean == pytest.approx(frame["map"].mean())


def test_a_failing_method_fails_alone_and_is_tried_again(queries, tmp_path):
    mend = tmp_path / "mended"
    methods = {"mine": Broken(str(mend)), "listnet": None}
    out = tmp_path / "run"
    comparison = run(queries, methods, folds=3, out=out)
    assert comparison.failed == ["mine"]
    assert comparison.rows[-1].failures[0].error == "ValueError: this ranker is broken"
    assert comparison.rows[0].estimates
    assert "this ranker is broken" in (out / "report.html").read_text("utf-8")
    assert "this ranker is broken" in (out / "table.md").read_text("utf-8")
    mend.touch()
    listener = Listener()
    assert run(queries, methods, folds=3, out=out, progress=listener).failed == []
    assert listener.started == (3 * PER_FOLD + 3, 3 * PER_FOLD)


def test_a_killed_run_goes_on_to_the_same_figures(tmp_path, queries):
    data = tmp_path / "data.txt"
    podium.write_letor(queries, data)
    options = ["--methods", "listnet", "--metrics", ",".join(METRICS), "--folds", "6"]
    command = [sys.executable, "-m", "podium.cli.main", "compare", str(data), *options]
    out = tmp_path / "run"
    environment = os.environ | {"NUMBA_NUM_THREADS": "1"}
    process = subprocess.Popen([*command, "--jobs", "1", "--out", str(out)], stderr=subprocess.PIPE, env=environment)
    deadline = time.monotonic() + 120
    while n_trials(out) < 2 and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    kept = n_trials(out)
    assert 2 <= kept < 6 * PER_FOLD
    assert Store.open(out).last_study()[1]["status"] == "running"
    listener = Listener()
    resumed = run(data, folds=6, out=out, progress=listener)
    assert listener.started == (6 * PER_FOLD, kept)
    whole = run(data, folds=6)
    assert [r.per_query for r in resumed.results] == [r.per_query for r in whole.results]
    assert [r.parameters for r in resumed.results] == [r.parameters for r in whole.results]
    assert Store.open(out).last_study()[1]["status"] == "complete"


def test_interrupting_keeps_what_is_finished(queries, tmp_path, monkeypatch):
    done = []

    def interrupted(*arguments, run_trial=runner.run_trial):
        if len(done) == 2:
            raise KeyboardInterrupt
        done.append(run_trial(*arguments))
        return done[-1]

    monkeypatch.setattr(runner, "run_trial", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run(queries, out=tmp_path)
    assert n_trials(tmp_path) == 2
    assert Store.open(tmp_path).last_study()[1]["status"] == "interrupted"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"methods": ["lisnet"]}, r"no method named 'lisnet'.*Did you mean listnet"),
        ({"metrics": ["ngcd@3"]}, r"no metric is called 'ngcd@3'"),
        ({"metrics": []}, "at least one metric"),
        ({"convention": "leter"}, "no convention is called 'leter'"),
        ({"folds": 2}, "at least 3 folds"),
        ({"folds": 31}, "30 queries cannot be dealt into 31 folds"),
        ({"protocol": "letor"}, "needs a folder of folds"),
        ({"protocol": "kfold:3", "folds": 3}, "either folds or a protocol"),
        ({"search": "hill"}, "search must be one of grid, random, bayes"),
        ({"budget": 3}, "a budget is for the searches random and bayes"),
        ({"seeds": []}, "at least one seed"),
    ],
)
def test_bad_requests_are_refused_before_anything_is_computed(queries, options, message):
    with pytest.raises(ValueError, match=message):
        run(queries, **options)


def test_fingerprints(queries):
    def fingerprint(q):
        return open_source(q, protocol=KFold(3), random_state=0, columns={}).fingerprint

    labels = queries.labels.copy()
    labels[0] += 1
    features = queries.features.copy()
    features[0, 0] += 1
    assert fingerprint(queries) == fingerprint(queries.take(np.arange(len(queries))))
    assert len({fingerprint(q) for q in (queries, queries.with_labels(labels), queries.with_features(features))}) == 3


def test_the_primary_metric(queries):
    assert run(queries, [], metrics=["p@1", "ndcg@10"], folds=3).primary == "ndcg@10"
    assert run(queries, [], metrics=["p@1", "map"], folds=3).primary == "map"
    assert run(queries, [], metrics=["p@1", "p@2"], folds=3).primary == "p@1"
    named = run(queries, [], metrics=["p@1"], primary="ndcg@3", folds=3)
    assert (named.primary, named.metrics) == ("ndcg@3", ["p@1", "ndcg@3"])
