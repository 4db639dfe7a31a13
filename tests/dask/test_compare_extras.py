"""Comparisons on a cluster: the same figures as on processes, and what happens to workers that die or differ."""

from __future__ import annotations

import os
import signal
import time
from math import sqrt

import numpy as np
import pytest

import podium
from podium.data import indexed
from podium.experiments.run import cluster_workers
from podium.experiments.run.cluster import Cluster
from podium.experiments.run.cluster_workers import ClusterWorkers
from podium.experiments.run.seal import VisibleFold
from podium.experiments.run.shared_folds import SharedFold
from podium.experiments.run.workers import Failure, Task

QUERIES = podium.make_queries(n_queries=30, n_documents=8, n_features=5, random_state=3)
STUDY = {"folds": 3, "metrics": "ndcg@5,map", "random_state": 4, "progress": None}


class Slow(podium.ListNet):
    """ListNet that takes its time, so that a test can act in the middle of a trial."""

    def fit(self, X, y=None, **options):
        time.sleep(0.5)
        return super().fit(X, y, **options)


class Notes:
    """Keeps what a comparison tells, and calls a function after each trial."""

    def __init__(self, after_each=lambda n: None):
        self.notes, self.n, self.after_each = [], 0, after_each

    def note(self, text):
        self.notes.append(text)

    def start(self, total, done):
        self.total, self.done = total, done

    def finished(self, text, seconds_left=None):
        self.n += 1
        self.after_each(self.n)


@pytest.fixture
def workers(client):
    with Cluster(client) as cluster, ClusterWorkers(cluster) as found:
        yield found


def test_figures_are_those_of_a_local_run_and_a_run_moves_between_the_two(client, tmp_path):
    methods = ["listnet", "lambdamart", "softrank", "blend"]
    podium.compare(QUERIES, methods, **STUDY | {"jobs": 1}, out=tmp_path / "here")
    podium.compare(QUERIES, methods, **STUDY | {"dask": client}, out=tmp_path / "there")
    for file in ("per_query.csv",):
        assert (tmp_path / "there" / file).read_bytes() == (tmp_path / "here" / file).read_bytes()

    one_more = Notes()
    moved = podium.compare(
        QUERIES,
        ["listnet", "lambdamart", "regression"],
        **STUDY | {"progress": one_more, "jobs": 1},
        out=tmp_path / "there",
    )
    assert 0 < one_more.done < one_more.total  # what the cluster computed is kept
    assert not moved.failed
    assert not list((tmp_path / "there").glob(".folds"))


@pytest.mark.parametrize("files", [True, False], ids=["one folder for all", "sent"])
def test_folds_of_large_data_are_rows_of_one_matrix(files, client, monkeypatch, tmp_path):
    methods = {"listnet": podium.ListNet(), "trees": podium.LambdaMART(n_trees=3, random_state=0)}
    expected = podium.compare(QUERIES, methods, **STUDY | {"jobs": 1})
    monkeypatch.setattr(indexed, "LARGE", 0)
    sent, send = [], ClusterWorkers._send
    monkeypatch.setattr(
        ClusterWorkers, "_send", lambda self, name, value: sent.append((name, type(value))) or send(self, name, value)
    )
    if not files:
        monkeypatch.setattr(ClusterWorkers, "_share_files", lambda self, folder: False)
    found = podium.compare(QUERIES, methods, **STUDY | {"dask": client}, out=tmp_path)
    assert not found.failed
    for one, other in zip(found.results, expected.results, strict=True):
        assert one.per_query == other.per_query
    kinds = dict(sent)
    assert kinds.pop("matrix", None) is (None if files else np.ndarray)
    assert set(kinds.values()) == {SharedFold if files else VisibleFold}
    assert not list(tmp_path.glob(".folds"))


@pytest.fixture(scope="module")
def doomed(new_client):
    return new_client(3)


def test_a_killed_worker_costs_its_trials_only(doomed, monkeypatch):
    victim = max(doomed.run(os.getpid).items())

    def kill_one(n_finished):
        if n_finished == 2:
            os.kill(victim[1], signal.SIGKILL)

    methods = {"slow": (Slow(), {"l2": [0.01, 0.1, 1.0]})}
    expected = podium.compare(QUERIES, methods, **STUDY | {"jobs": 1})
    found = podium.compare(QUERIES, methods, **STUDY | {"progress": Notes(kill_one), "dask": doomed})
    assert not found.failed
    assert victim[0] not in doomed.nthreads()
    for one, other in zip(found.results, expected.results, strict=True):
        assert one.per_query == other.per_query


def test_a_task_of_a_worker_that_was_struck_off_is_done_again(doomed):
    with Cluster(doomed) as cluster, ClusterWorkers(cluster) as workers:
        workers._give("tcp://127.0.0.1:1", Task("root", sqrt, (4.0,)), ())
        ended = time.perf_counter() + 60
        assert [outcome for _, outcome in workers.outcomes([], end=lambda: ended)] == [2.0]


def test_a_task_that_kills_its_workers_is_a_failure_that_names_them(doomed, monkeypatch):
    monkeypatch.setattr(cluster_workers, "ATTEMPTS", 1)
    with Cluster(doomed) as cluster, ClusterWorkers(cluster) as workers:
        tasks = [Task("deadly", os._exit, (3,)), Task("root", sqrt, (4.0,))]
        outcomes = {task.tag: outcome for task, outcome in workers.outcomes(tasks)}
    assert outcomes["root"] == 2.0
    assert isinstance(outcomes["deadly"], Failure)
    assert "tcp://" in outcomes["deadly"].error


def test_folds_are_sent_again_if_no_worker_has_them_any_more(client, workers):
    shared = workers.share(VisibleFold("one", QUERIES, QUERIES, None, 2.0), 0)
    (before,) = workers.outcomes([Task(0, n_documents, (shared,))])
    client.cancel(workers._sent[0][1], force=True)  # as after the death of all that had it
    (after,) = workers.outcomes([Task(1, n_documents, (shared,))])
    assert before[1] == after[1] == QUERIES.n_documents


def n_documents(fold):
    assert fold.view().train.features.flags.writeable  # compiled code is compiled anew for others
    return fold.view().train.n_documents


def test_failures_and_tasks_that_need_the_store(workers):
    tasks = [Task("bad", sqrt, (-1.0,)), Task("here", os.getpid, (), True), Task("there", os.getpid)]
    outcomes = {task.tag: outcome for task, outcome in workers.outcomes(tasks)}
    assert outcomes["bad"].error == "ValueError: math domain error"
    assert outcomes["here"] == os.getpid() != outcomes["there"]


def test_each_worker_has_one_task_at_a_time(workers):
    taken = []

    def tasks():
        for i in range(6):
            taken.append(i)
            yield Task(i, sqrt, (1.0,))

    for number, _ in enumerate(workers.outcomes(tasks()), 1):
        assert len(taken) <= number + 2
    assert len(taken) == 6


def test_tasks_under_way_end_when_the_time_is_over(workers):
    began = time.perf_counter()
    assert list(workers.outcomes([Task(0, wait_for_stop)], lambda: began + 0.5)) == []
    assert [outcome for _, outcome in workers.outcomes([Task(1, sqrt, (4.0,))] * 2)] == [2.0] * 2


def wait_for_stop():
    from podium.experiments.run.interruption import is_interrupted

    while not is_interrupted():
        time.sleep(0.01)


def test_a_worker_with_other_versions_is_refused_by_name(client, monkeypatch):
    refused = sorted(client.nthreads())[0]
    monkeypatch.setattr(cluster_workers, "versions", one_is_older)
    client.run(pretend_to_be_older, True, workers=[refused])
    try:
        warned = pytest.warns(UserWarning, match=rf"{refused} is not used.*numpy 1\.0 \(here {np.__version__}\)")
        with warned, Cluster(client) as cluster, ClusterWorkers(cluster) as workers:
            assert workers.jobs == 1
            pids = {outcome for _, outcome in workers.outcomes([Task(i, os.getpid) for i in range(4)])}
        assert pids == {client.run(os.getpid)[max(client.nthreads())]}
    finally:
        client.run(pretend_to_be_older, False)


def pretend_to_be_older(yes):
    os.environ.pop("PODIUM_TEST_OLDER", None)
    if yes:
        os.environ["PODIUM_TEST_OLDER"] = "1"


def one_is_older():
    from podium.experiments.run.cluster import versions

    return versions() | ({"numpy": "1.0"} if "PODIUM_TEST_OLDER" in os.environ else {})


@pytest.mark.usefixtures("ctrl_c_interrupts")
def test_ctrl_c_keeps_what_is_finished_and_leaves_the_cluster_usable(client, tmp_path):
    def interrupt(n_finished):
        if n_finished == 2:
            signal.raise_signal(signal.SIGINT)

    methods = {"slow": (Slow(), {"l2": [0.01, 0.1, 1.0]})}
    with pytest.raises(KeyboardInterrupt):
        podium.compare(QUERIES, methods, **STUDY | {"progress": Notes(interrupt), "dask": client}, out=tmp_path)
    resumed = Notes()
    assert not podium.compare(QUERIES, methods, **STUDY | {"progress": resumed, "dask": client}, out=tmp_path).failed
    assert resumed.done >= 2


def test_ratings_on_a_cluster(client):
    ratings = podium.make_ratings(n_users=30, n_items=40, random_state=0)
    options = {"methods": ["pmf"], "n": 5, "replicates": 1, "min_test": 2, "metrics": ["ndcg@5"]}
    (here,), (there,) = (
        podium.compare_ratings(ratings, **options, **where).values() for where in ({"jobs": 1}, {"dask": client})
    )
    assert [r.per_query for r in here.results] == [r.per_query for r in there.results]


def test_an_address_where_nothing_listens(tmp_path, monkeypatch):
    monkeypatch.setattr("podium.experiments.run.cluster.CONNECT_SECONDS", 1)
    with pytest.raises(ValueError, match=r"no scheduler of Dask answers at tcp://127.0.0.1:9.*dask scheduler"):
        podium.compare(QUERIES, ["listnet"], **STUDY | {"dask": "tcp://127.0.0.1:9"})
    with pytest.raises(ValueError, match="dask must be the address"):
        podium.compare(QUERIES, ["listnet"], **STUDY | {"dask": 3})


def test_the_command_starts_a_cluster_of_its_own(tmp_path, capsys):
    from podium.cli.main import main

    data = tmp_path / "data.txt"
    podium.write_letor(QUERIES, data)
    arguments = [
        "compare",
        str(data),
        "--methods",
        "listnet",
        "--folds",
        "3",
        "--quiet",
        "--out",
        str(tmp_path / "out"),
    ]
    assert main([*arguments, "--dask", "local", "--jobs", "1"]) == 0
    assert "listnet" in capsys.readouterr().out


def test_a_setting_is_tuned_on_the_cluster_as_here(client):
    options = {"space": {"l2": [0.001, 1.0]}, "folds": 3, "random_state": 2}
    here, there = (podium.tune("listnet", QUERIES, **options, dask=where) for where in (None, client))
    assert there.tuning_.parameters == here.tuning_.parameters
    assert there.trials_.drop("seconds").equals(here.trials_.drop("seconds"))
    np.testing.assert_array_equal(there.coef_, here.coef_)
