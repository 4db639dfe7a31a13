"""Worker processes: results, failures, crashes, order of work."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from math import sqrt
from pathlib import Path
from threading import Lock

import pytest

from podium.experiments.run.workers import Failure, InProcess, Task, Workers


@pytest.fixture(scope="module")
def two_workers():
    with Workers(2) as workers:
        yield workers


def test_results_and_failures_come_back_with_their_tags(two_workers):
    tasks = [
        Task("root", sqrt, (16.0,)),
        Task("bad", sqrt, (-1.0,)),
        Task("env", os.getenv, ("OPENBLAS_NUM_THREADS",)),
        Task("nothing", os.getenv, ("PODIUM_NO_SUCH_NAME",)),
    ]
    outcomes = {task.tag: outcome for task, outcome in two_workers.outcomes(tasks)}
    assert outcomes["nothing"] is None
    assert outcomes["root"] == 4.0
    assert outcomes["env"] == "1"  # BLAS is limited before the process starts
    assert isinstance(outcomes["bad"], Failure)
    assert outcomes["bad"].error == "ValueError: math domain error"
    assert "Traceback" in outcomes["bad"].traceback


def test_in_process_gives_the_same_outcomes():
    with InProcess() as workers:
        (_, root), (_, bad) = workers.outcomes([Task(0, sqrt, (16.0,)), Task(1, sqrt, (-1.0,))])
    assert root == 4.0
    assert bad.error == "ValueError: math domain error"


def test_a_worker_that_dies_is_one_failure_and_is_replaced(two_workers):
    tasks = [Task("dies", os._exit, (3,))]
    tasks += [Task(i, sqrt, (float(i * i),)) for i in range(4)]
    outcomes = {task.tag: outcome for task, outcome in two_workers.outcomes(tasks)}
    assert outcomes["dies"] == Failure("the worker process died (exit code 3)")
    assert [outcomes[i] for i in range(4)] == [0.0, 1.0, 2.0, 3.0]


def test_a_worker_killed_while_idle_is_replaced(two_workers):
    for worker in two_workers._workers:
        if worker.process is not None:
            worker.process.kill()
            worker.process.join()
    assert [outcome for _, outcome in two_workers.outcomes([Task(0, sqrt, (4.0,))])] == [2.0]


def test_what_cannot_be_sent_is_said(two_workers):
    with pytest.raises(ValueError, match=r"mine cannot be sent to a worker process.*use jobs=1"):
        list(two_workers.outcomes([Task("mine", Lock().__enter__)]))
    two_workers._workers[0].task = None  # the pool is not used again after an error; this test module does


def test_what_was_defined_on_the_spot_is_sent_with_its_code(two_workers):
    class Counter:
        start = 40

        def plus(self, n):
            return type(self), self.start + n

    ((_, (found, value)),) = two_workers.outcomes([Task("mine", Counter().plus, (2,))])
    assert value == 42
    assert found is Counter  # on its way back it is recognized


def test_an_outcome_that_cannot_be_sent_is_a_failure(two_workers):
    ((_, outcome),) = two_workers.outcomes([Task("lock", Lock)])
    assert isinstance(outcome, Failure)
    assert "lock" in outcome.error


def test_classes_of_a_notebook_reach_workers():
    """Code given on the command line has no file that workers could import, as in a notebook."""
    code = """
from podium.experiments.run.workers import Task, Workers
class Mine:
    def answer(self): return 42
with Workers(2) as workers:
    print([outcome for _, outcome in workers.outcomes([Task(0, Mine().answer)])])
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert result.stdout == "[42]\n", result.stderr


def test_tasks_are_taken_only_when_a_worker_is_free(two_workers):
    taken = []

    def tasks():
        for i in range(6):
            taken.append(i)
            yield Task(i, sqrt, (1.0,))

    for number, _ in enumerate(two_workers.outcomes(tasks()), 1):
        assert len(taken) <= number + 2


def test_an_unguarded_script_is_told_what_to_do(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "from math import sqrt\n"
        "from podium.experiments.run.workers import Task, Workers\n"
        "with Workers(2) as workers:\n"
        "    list(workers.outcomes([Task(0, sqrt, (1.0,))]))\n"
    )
    result = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=60)
    assert result.returncode != 0
    assert "if __name__ == '__main__':" in result.stderr


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks at processes in /proc")
def test_workers_end_when_their_parent_is_killed(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import os, time\n"
        "from podium.experiments.run.workers import Task, Workers\n"
        "if __name__ == '__main__':\n"
        "    with Workers(1) as workers:\n"
        "        list(workers.outcomes([Task(0, print, ()), Task(1, time.sleep, (600,))]))\n"
    )
    process = subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, text=True)
    try:
        process.stdout.readline()  # the worker is up
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        process.kill()
        process.wait()
        deadline = time.monotonic() + 20
        while any(_alive(child) for child in children) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not any(_alive(child) for child in children)
    finally:
        process.kill()
        process.stdout.close()


def _alive(pid: str) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
