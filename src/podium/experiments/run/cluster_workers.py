"""Trials on the workers of a Dask cluster.

Each worker is given one trial at a time, by name: warnings are recorded per process, and only a trial that is known to
be on a worker can be counted against it when it dies. Folds are sent once; workers fetch them from each other. Parts of
large data are rows of one matrix: workers that can read the folder of the run map it from a file there, to others it is
sent once for all folds. Methods that are made from stored trials are computed here, beside the store.
"""

import queue
import shutil
import time
import warnings
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self
from uuid import uuid4

import numpy as np

from podium.core.interrupts import interrupts_deferred
from podium.data.indexed import IndexedQueries, SharedMatrix
from podium.experiments.run.cluster import Cluster, differences, import_distributed, versions
from podium.experiments.run.interruption import interruptible
from podium.experiments.run.seal import Viewable, VisibleFold
from podium.experiments.run.shared_folds import SharedFold, with_matrix, without_matrix
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

    fold: Viewable
    number: int

    def view(self) -> VisibleFold:
        return self.fold.view()


_MATRIX = "matrix"


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

    def __init__(self, cluster: Cluster, jobs: int | None = None, folder: Path | None = None) -> None:
        self._cluster, self._most, self._folder = cluster, jobs, folder
        self._sent: dict[Any, tuple[Any, Any]] = {}
        """Values by name, and the same on the workers: folds by their numbers, and the matrix that they share."""
        self._mark: Path | None = None
        """A file that every worker must be able to read, once folds are read from files."""
        self._running: dict[str, _Running] = {}
        self._admitted: set[str] = set()
        self._refused: set[str] = set()
        self._again: deque[tuple[Task, tuple[str, ...]]] = deque()
        self._done: queue.SimpleQueue[tuple[str, str]] = queue.SimpleQueue()

    @interrupts_deferred()
    def __enter__(self) -> Self:
        self._client = self._cluster.client
        self._require_workers()
        return self

    @interrupts_deferred()
    def __exit__(self, *_: object) -> None:
        self._give_up()
        self._sent.clear()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    @property
    def jobs(self) -> int:
        return max(1, min(len(self._admitted), self._most or len(self._admitted)))

    @interrupts_deferred()
    def share(self, fold: VisibleFold, number: int) -> ClusterFold:
        shown: Viewable = fold
        if isinstance(fold.train, IndexedQueries):
            if self._folder is not None and (self._mark is not None or self._share_files(self._folder)):
                shown = SharedFold.write(fold, self._folder / str(number))
                self._send(number, shown)
                return ClusterFold(shown, number)
            self._send(_MATRIX, fold.train.matrix.rows)
        self._send(number, without_matrix(fold))
        return ClusterFold(shown, number)

    @interrupts_deferred()
    def release(self, number: int) -> None:
        self._sent.pop(number, None)
        if self._mark is not None:
            shutil.rmtree(self._mark.parent / str(number), ignore_errors=True)

    def _share_files(self, folder: Path) -> bool:
        """Return whether all workers can read what is written here; from then on, those that cannot are refused."""
        folder.mkdir(parents=True, exist_ok=True)
        mark = folder / f"mark-{uuid4().hex}"
        mark.touch()
        if all(self._client.run(_reads, mark, workers=sorted(self._admitted)).values()):
            self._mark = mark
        return self._mark is not None

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
                with interrupts_deferred():
                    self._require_workers()
            if end is not None and time.perf_counter() > end():
                self._give_up()
                return
            yield from self._ended()
            if time.perf_counter() - looked > POLL_SECONDS:
                yield from self._look()
                looked = time.perf_counter()

    @interrupts_deferred()
    def _ended(self) -> list[tuple[Task, Any]]:
        """Wait a moment for a task to end; return it with its outcome, unless it has to be done again."""
        try:
            address, token = self._done.get(timeout=POLL_SECONDS)
        except queue.Empty:
            return []
        running = self._running.get(address)
        if running is None or running.token != token:
            return []  # given up, or done again elsewhere
        del self._running[address]
        future = running.future
        if future.status == "finished":
            return [(running.task, future.result())]
        error = future.exception() if future.status == "error" else None
        if error is None or isinstance(error, import_distributed().scheduler.KilledWorker):
            return self._do_again(running, address)
        # The task did not reach its function, such as a class that cannot be imported there.
        return [(running.task, Failure(f"{failure(error).error} (on the worker {address})"))]

    @interrupts_deferred()
    def _look(self) -> list[tuple[Task, Any]]:
        """Take in which workers there are: new ones are admitted or refused, tasks of lost ones are done again."""
        given_up = []
        present = self._present()
        # A lost worker may have been struck off meanwhile, when data were sent: what it runs counts too.
        for address in sorted((self._admitted | set(self._running)) - present):
            self._admitted.discard(address)
            if (running := self._running.pop(address, None)) is not None:
                running.future.cancel()
                given_up += self._do_again(running, address)
        self._admit(present)
        return given_up

    def _do_again(self, running: _Running, address: str) -> list[tuple[Task, Any]]:
        lost = (*running.lost, address)
        if len(lost) < ATTEMPTS:
            self._again.append((running.task, lost))
            return []
        return [(running.task, Failure(f"{ATTEMPTS} workers died of it, perhaps out of memory: {', '.join(lost)}"))]

    @interrupts_deferred()
    def _give(self, address: str, task: Task, lost: tuple[str, ...]) -> None:
        shared = next((a for a in task.arguments if isinstance(a, ClusterFold)), None)
        fold = None if shared is None else self._on_workers(shared.number)
        matrix = None if fold is None or _MATRIX not in self._sent else self._on_workers(_MATRIX)
        arguments = tuple(_Fold() if isinstance(a, ClusterFold) else a for a in task.arguments)
        token = uuid4().hex
        sent = Task(None, task.function, arguments)
        future = self._client.submit(_compute, sent, fold, matrix, token, workers=[address], key=f"podium-{token}")
        self._running[address] = _Running(task, lost, future, token)
        future.add_done_callback(lambda _: self._done.put((address, token)))

    def _on_workers(self, name: Any) -> Any:
        """Return a value on the workers; it is sent again if those that had it are gone."""
        value, future = self._sent[name]
        if future.status != "finished":
            del self._sent[name]
            self._send(name, value)
        return self._sent[name][1]

    def _send(self, name: Any, value: Any) -> None:
        """Send a value to one worker, from which others fetch it: a broadcast would wait forever for one that dies."""
        if name in self._sent:
            return
        for _ in range(ATTEMPTS):
            with suppress(OSError, TimeoutError):  # the worker was lost meanwhile
                self._sent[name] = value, self._client.scatter(value, hash=False, timeout=WAIT_SECONDS)
                return
            self._require_workers()
        raise RuntimeError(f"{ATTEMPTS} workers were lost while data were sent to them. Finished trials are stored")

    @interrupts_deferred()
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
        reads = {} if self._mark is None else self._client.run(_reads, self._mark, workers=new, on_error="return")
        for address in new:
            theirs = found.get(address)
            if theirs is None:
                continue  # gone again
            if isinstance(theirs, BaseException):
                differs = f"it cannot say its versions ({type(theirs).__name__}: {theirs})"
            else:
                differs = ", ".join(differences(theirs))
            if not differs and reads.get(address, True) is not True:
                self._refused.add(address)
                warnings.warn(f"the worker {address} is not used: it cannot read {self._folder}", stacklevel=2)
            elif not differs:
                self._admitted.add(address)
            else:
                self._refused.add(address)
                warnings.warn(f"the worker {address} is not used, its figures might differ: {differs}", stacklevel=2)


_stopped: set[str] = set()


def _stop(tokens: list[str]) -> None:
    """End tasks on this worker."""
    _stopped.update(tokens)


def _reads(mark: Path) -> bool:
    """Return whether this worker can read files beside this one."""
    return mark.exists()


def _compute(task: Task, fold: Viewable | None, matrix: np.ndarray | None, token: str) -> Any:
    """Compute a task on a worker."""
    if matrix is not None and isinstance(fold, VisibleFold):
        fold = with_matrix(fold, SharedMatrix(matrix))
    arguments = tuple(fold if isinstance(a, _Fold) else a for a in task.arguments)
    with interruptible(lambda: token in _stopped):
        return attempt(Task(task.tag, task.function, arguments))
