"""Trials on the workers of a Dask cluster.

Each worker is given one trial at a time, by name: warnings are recorded per process, and only a trial that is known to
be on a worker can be counted against it when it dies. Folds are sent once; workers fetch them from each other. Methods
that are made from stored trials are computed here, beside the store.
"""

import queue
import time
import warnings
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Self
from uuid import uuid4

from podium.experiments.run.cluster import Cluster, differences, import_distributed, versions
from podium.experiments.run.interruption import interruptible
from podium.experiments.run.seal import VisibleFold
from podium.experiments.run.workers import End, Failure, Outcomes, Task, Tasks, attempt, failure

ATTEMPTS = 3
"""A task whose workers died this many times is a failure: perhaps it was what killed them."""
POLL_SECONDS = 0.5
"""How often the scheduler is asked which workers there are."""
WAIT_SECONDS = 60.0
"""How long to wait for a worker if there is none."""


@dataclass(frozen=True, eq=False, slots=True)
class ClusterFold:
    """A fold that the workers have: tasks are sent a mark in its place."""

    fold: VisibleFold
    number: int

    def view(self) -> VisibleFold:
        return self.fold


class _Fold:
    """The mark that a worker replaces by its copy of the fold."""


@dataclass(eq=False, slots=True)
class _Running:
    """A task on a worker."""

    task: Task
    lost: tuple[str, ...]
    """Workers that died while they had it."""
    future: Any
    token: str


class ClusterWorkers:
    """The workers of a cluster as an :class:`~podium.experiments.run.executor.Executor`."""

    def __init__(self, cluster: Cluster, jobs: int | None = None) -> None:
        self._cluster, self._most = cluster, jobs
        self._folds: dict[int, tuple[ClusterFold, Any]] = {}
        self._running: dict[str, _Running] = {}
        self._admitted: set[str] = set()
        self._refused: set[str] = set()
        self._again: deque[tuple[Task, tuple[str, ...]]] = deque()
        self._done: queue.SimpleQueue[tuple[str, str]] = queue.SimpleQueue()

    def __enter__(self) -> Self:
        self._client = self._cluster.client
        self._require_workers()
        return self

    def __exit__(self, *_: object) -> None:
        self._give_up()
        self._folds.clear()

    @property
    def jobs(self) -> int:
        return max(1, min(len(self._admitted), self._most or len(self._admitted)))

    def share(self, fold: VisibleFold, number: int) -> ClusterFold:
        shared = ClusterFold(fold, number)
        self._folds[number] = shared, self._sent(fold)
        return shared

    def release(self, number: int) -> None:
        self._folds.pop(number, None)

    def outcomes(self, tasks: Tasks, end: End = None) -> Outcomes:
        waiting = iter(tasks)
        looked = time.perf_counter()
        while True:
            for address in sorted(self._admitted - set(self._running)):
                if len(self._running) >= self.jobs:
                    break
                task, lost = self._again.popleft() if self._again else (next(waiting, None), ())
                if task is not None and task.stays_here:
                    yield task, attempt(task)
                elif task is not None:
                    self._give(address, task, lost)
            if not self._running and not self._again:
                return
            if not self._admitted:
                self._require_workers()
            if end is not None and time.perf_counter() > end():
                self._give_up()
                return
            yield from self._ended()
            if time.perf_counter() - looked > POLL_SECONDS:
                yield from self._look()
                looked = time.perf_counter()

    def _ended(self) -> Outcomes:
        """Wait a moment for a task to end; yield it with its outcome, unless it has to be done again."""
        try:
            address, token = self._done.get(timeout=POLL_SECONDS)
        except queue.Empty:
            return
        running = self._running.get(address)
        if running is None or running.token != token:
            return  # given up, or done again elsewhere
        del self._running[address]
        future = running.future
        if future.status == "finished":
            yield running.task, future.result()
            return
        error = future.exception() if future.status == "error" else None
        if error is None or isinstance(error, import_distributed().scheduler.KilledWorker):
            yield from self._do_again(running, address)
        else:  # the task did not reach its function, such as a class that cannot be imported there
            yield running.task, Failure(f"{failure(error).error} (on the worker {address})")

    def _look(self) -> Outcomes:
        """Take in which workers there are: new ones are admitted or refused, tasks of lost ones are done again."""
        present = self._present()
        for address in sorted(self._admitted - present):
            self._admitted.discard(address)
            if (running := self._running.pop(address, None)) is not None:
                running.future.cancel()
                yield from self._do_again(running, address)
        self._admit(present)

    def _do_again(self, running: _Running, address: str) -> Iterator[tuple[Task, Failure]]:
        lost = (*running.lost, address)
        if len(lost) < ATTEMPTS:
            self._again.append((running.task, lost))
        else:
            yield running.task, Failure(f"{ATTEMPTS} workers died of it, perhaps out of memory: {', '.join(lost)}")

    def _give(self, address: str, task: Task, lost: tuple[str, ...]) -> None:
        shared = next((a for a in task.arguments if isinstance(a, ClusterFold)), None)
        fold = None if shared is None else self._future(shared)
        arguments = tuple(_Fold() if isinstance(a, ClusterFold) else a for a in task.arguments)
        token = uuid4().hex
        future = self._client.submit(
            _compute, Task(None, task.function, arguments), fold, token, workers=[address], key=f"podium-{token}"
        )
        self._running[address] = _Running(task, lost, future, token)
        future.add_done_callback(lambda _: self._done.put((address, token)))

    def _future(self, shared: ClusterFold) -> Any:
        """Return the fold on the workers; it is sent again if those that had it are gone."""
        known = self._folds.get(shared.number)
        if known is None or known[1].status != "finished":
            known = self._folds[shared.number] = shared, self._sent(shared.fold)
        return known[1]

    def _sent(self, fold: VisibleFold) -> Any:
        """Send a fold to one worker, from which others fetch it: a broadcast would wait forever for one that dies."""
        for _ in range(ATTEMPTS):
            with suppress(OSError, TimeoutError):  # the worker was lost meanwhile
                return self._client.scatter(fold, hash=False, timeout=WAIT_SECONDS)
            self._require_workers()
        raise RuntimeError(f"{ATTEMPTS} workers were lost while data were sent to them. Finished trials are stored")

    def _give_up(self) -> None:
        """End what is under way; a trial sees it after its present iteration, epoch or tree."""
        for running in self._running.values():
            running.future.cancel()
        if self._running:
            tokens = [running.token for running in self._running.values()]
            with suppress(OSError, TimeoutError):  # no cluster, no trials
                self._client.run(_stop, tokens, workers=list(self._running), on_error="ignore")
        self._running.clear()

    def _present(self) -> set[str]:
        try:
            return set(self._client.nthreads())
        except (OSError, TimeoutError) as error:
            raise RuntimeError(
                f"the scheduler of the cluster is gone ({error}). Finished trials are stored: the same call goes on "
                "from there, on a cluster or without one"
            ) from None

    def _require_workers(self) -> None:
        """Wait until there is a worker that can be used."""
        deadline = time.perf_counter() + WAIT_SECONDS
        self._admitted &= self._present()
        self._admit(self._present())
        while not self._admitted:
            if time.perf_counter() > deadline:
                refused = f"; {len(self._refused)} were refused" if self._refused else ""
                raise RuntimeError(f"the cluster has no worker that can be used{refused}. Finished trials are stored")
            time.sleep(POLL_SECONDS)
            self._admit(self._present())

    def _admit(self, present: set[str]) -> None:
        """Take new workers, if they have the same versions of everything as this process."""
        new = sorted(present - self._admitted - self._refused)
        if not new:
            return
        found = self._client.run(versions, workers=new, on_error="return")
        for address in new:
            theirs = found.get(address)
            if theirs is None:
                continue  # gone again
            if isinstance(theirs, BaseException):
                differs = f"it cannot say its versions ({type(theirs).__name__}: {theirs})"
            else:
                differs = ", ".join(differences(theirs))
            if not differs:
                self._admitted.add(address)
                continue
            self._refused.add(address)
            warnings.warn(f"the worker {address} is not used, its figures might differ: {differs}", stacklevel=2)


_stopped: set[str] = set()


def _stop(tokens: list[str]) -> None:
    """End tasks on this worker."""
    _stopped.update(tokens)


def _compute(task: Task, fold: VisibleFold | None, token: str) -> Any:
    """Compute a task on a worker."""
    arguments = tuple(fold if isinstance(a, _Fold) else a for a in task.arguments)
    with interruptible(lambda: token in _stopped):
        return attempt(Task(task.tag, task.function, arguments))
