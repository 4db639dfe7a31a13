"""Processes that compute tasks side by side, each with its share of the machine's threads.

A pool of our own rather than ``concurrent.futures``: there, one worker killed by the system (out of memory, a crash in
a native library) breaks the whole pool. Here it is the failure of one task, a new process takes its place, and the
rest goes on. Tasks are taken from their iterable only when a worker is free, so that making a task may do work (such
as writing the data it reads) without doing it for all of them at once.
"""

import os
import shutil
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import connection, context, get_context, parent_process
from pathlib import Path
from typing import Any, Self

from podium.core import notices
from podium.core.wording import advice
from podium.experiments.run.seal import VisibleFold
from podium.experiments.run.shared_folds import SharedFold
from podium.numerics.pool import available_cores


@dataclass(frozen=True, slots=True)
class Task:
    """A call ``function(*arguments)`` whose parts can be pickled, and the caller's ``tag`` for it."""

    tag: Any
    function: Callable[..., Any]
    arguments: tuple[Any, ...] = ()
    stays_here: bool = False
    """Is it to be computed on this machine, because it reads the run's file or is hardly any work?"""


Tasks = Iterable[Task | None]
"""None while all that are left wait for others to end."""
End = Callable[[], float] | None
"""Says until when tasks are computed, as ``time.perf_counter`` has it."""
Outcomes = Iterator[tuple[Task, Any]]
"""Each task with its result or :class:`Failure`."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A task that raised, or whose process died."""

    error: str
    """One line: the exception's type and message."""
    traceback: str = ""


class InProcess:
    """Runs tasks one after another, here: for ``jobs=1``, debuggers and objects that cannot be pickled."""

    jobs = 1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def share(self, fold: VisibleFold, number: int) -> VisibleFold:
        return fold

    def release(self, number: int) -> None:
        pass

    def outcomes(self, tasks: Tasks, end: End = None) -> Outcomes:
        for task in tasks:
            if task is None:
                raise RuntimeError("nothing is under way that tasks could wait for")
            yield task, attempt(task)


class Workers:
    """``jobs`` spawned processes, alive until the ``with`` block ends, as are the folds in ``folder``."""

    def __init__(self, jobs: int, folder: Path | None = None) -> None:
        self.jobs = jobs
        self._threads = max(1, available_cores() // jobs)
        self._workers = [_Worker(tells=number == 0) for number in range(jobs)]
        self._folder = folder

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self._workers:
            worker.stop()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    def share(self, fold: VisibleFold, number: int) -> SharedFold:
        assert self._folder is not None
        return SharedFold.write(fold, self._folder / str(number))

    def release(self, number: int) -> None:
        assert self._folder is not None
        shutil.rmtree(self._folder / str(number), ignore_errors=True)

    def outcomes(self, tasks: Tasks, end: End = None) -> Outcomes:
        waiting = iter(tasks)
        while True:
            for worker in self._workers:
                if worker.task is None and (task := next(waiting, None)) is not None:
                    worker.give(task, self._threads)
            busy = {worker.pipe: worker for worker in self._workers if worker.task is not None}
            if not busy:
                return
            ready = connection.wait(list(busy), None if end is None else max(0.0, end() - time.perf_counter()))
            if not ready:
                for worker in busy.values():
                    worker.stop()
                    worker.task = None
                return
            for pipe in ready:
                worker = busy[pipe]
                if worker.receive():
                    task, worker.task = worker.task, None
                    yield task, worker.outcome  # type: ignore[misc]


@dataclass(eq=False, slots=True)
class _Worker:
    """The parent's view of one process, started when it is first needed and again after it died."""

    pipe: Any = None
    process: context.SpawnProcess | None = None
    task: Task | None = None
    outcome: Any = None
    ready: bool = False
    tells: bool = False
    """Whether it says that it compiles; the others do so at the same time."""

    def give(self, task: Task, threads: int) -> None:
        if self.process is not None and not self.process.is_alive():  # killed while it had nothing to do
            self.stop()
        if self.process is None:
            self.ready = False
            spawn = get_context("spawn")
            self.pipe, theirs = spawn.Pipe()
            tells = self.tells and notices.compiling is not None
            self.process = spawn.Process(target=_serve, args=(theirs, tells), daemon=True)
            with _thread_limits(threads), interrupts_held():
                self.process.start()
            theirs.close()
        self.task = task
        try:
            message = packed(task)
        except Exception as error:  # whatever the parts of the task raise
            alone = advice("jobs=1", "--jobs 1")
            raise ValueError(f"{task.tag} cannot be sent to a worker process: {error}; use {alone}") from None
        self.pipe.send_bytes(message)

    def receive(self) -> bool:
        """Take in what the process sent; True if that was the outcome of its task, not only that it is up."""
        try:
            kind, value = self.pipe.recv()
        except (EOFError, ConnectionResetError):  # the latter if it died before it read its task
            assert self.process is not None
            self.process.join()
            code, was_ready = self.process.exitcode, self.ready
            self.stop()
            if not was_ready:
                raise RuntimeError(
                    "a worker process could not start. "
                    + advice(
                        "In a script, call podium.compare under `if __name__ == '__main__':`, or give jobs=1 to stay "
                        "in one process.",
                        "Give --jobs 1 to stay in one process.",
                    )
                ) from None
            self.outcome = Failure(f"the worker process died ({_describe_exit(code)})")
            return True
        self.ready = True
        self.outcome = value
        return bool(kind == "outcome")

    def stop(self) -> None:
        if self.process is not None:
            self.process.terminate()
            self.process.join()
            self.pipe.close()
        self.process = self.pipe = None


def _serve(pipe: connection.Connection, tells: bool) -> None:
    """Compute the tasks that come through the pipe until it closes: the main function of a worker process."""
    notices.compiling = notices.say_compiling if tells else None
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle; it ends the workers
    threading.Thread(target=_die_with_parent, daemon=True).start()
    pipe.send(("ready", None))
    while True:
        try:
            task = pipe.recv()
        except EOFError:
            return
        except Exception as error:  # such as a class that cannot be imported here
            pipe.send(("outcome", failure(error)))
            continue
        pipe.send_bytes(_packed_outcome(attempt(task)))


def _packed_outcome(outcome: Any) -> bytes:
    try:
        return packed(("outcome", outcome))
    except Exception as error:
        return packed(("outcome", failure(error)))


def packed(message: Any) -> bytes:
    """Return a message between our own processes, which is never stored, as bytes that ``Connection.recv`` takes.

    A class or function that the other process could not import, because it was defined in a notebook, in the script
    that was started or inside a function, is sent with its code.
    """
    import cloudpickle

    return bytes(cloudpickle.dumps(message))


def attempt(task: Task) -> Any:
    """Return what a task returns, or its failure."""
    try:
        return task.function(*task.arguments)
    except Exception as error:
        return failure(error)


def failure(error: BaseException) -> Failure:
    """Return what is recorded of an error that is being handled."""
    message = " ".join(str(error).split())
    return Failure(f"{type(error).__name__}: {message}", traceback.format_exc())


def _die_with_parent() -> None:
    """End this process as soon as its parent is gone, even if that was killed in the middle of a long task."""
    parent = parent_process()
    assert parent is not None
    connection.wait([parent.sentinel])
    os._exit(1)


@contextmanager
def _thread_limits(threads: int) -> Iterator[None]:
    """Set the environment for starting a process whose numerical libraries use this many threads.

    They read it when they are loaded, so it must be there before the process starts. BLAS gets one thread: its idle
    threads spin and would take the cores from the compiled loops.
    """
    limits = {
        "NUMBA_NUM_THREADS": str(threads),
        "OMP_NUM_THREADS": str(threads),
        "OPENBLAS_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "POLARS_MAX_THREADS": str(threads),
    }
    before = {name: os.environ.get(name) for name in limits}
    os.environ.update(limits)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@contextmanager
def interrupts_held() -> Iterator[None]:
    """Start a process that Ctrl-C never reaches, not even while it starts; for this one it waits until the end."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _describe_exit(code: int | None) -> str:
    if code is not None and code < 0 and sys.platform != "win32":
        name = signal.Signals(-code).name
        return f"{name}, perhaps out of memory" if name == "SIGKILL" else name
    return f"exit code {code}"
