"""Where trials are computed: in this process, in worker processes, or on the workers of a Dask cluster.

Whoever has trials to do knows an :class:`Executor` only; the store, the sealed test labels and the choice of what to do
next stay with it, in the process that was called.
"""

from pathlib import Path
from typing import Protocol, Self

from podium.experiments.run.cluster import Cluster
from podium.experiments.run.seal import Viewable, VisibleFold
from podium.experiments.run.workers import End, InProcess, Outcomes, Tasks, Workers
from podium.numerics.pool import available_cores


class Executor(Protocol):
    """Computes tasks, several at a time; a context manager for its processes, files and copies of folds."""

    @property
    def jobs(self) -> int:
        """How many tasks it computes at a time, as far as it knows."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...

    def share(self, fold: VisibleFold, number: int) -> Viewable:
        """Bring a fold, the one of this number, to where tasks are computed; return what to give them as argument."""

    def release(self, number: int) -> None:
        """Forget the fold of this number: no task to come needs it."""

    def outcomes(self, tasks: Tasks, end: End = None) -> Outcomes:
        """Yield each task with its result or :class:`~podium.experiments.run.workers.Failure`, as they end.

        None in place of a task means that the next one depends on tasks under way: it is asked for again after one of
        them has ended. ``end()`` is the time of ``time.perf_counter`` at which tasks under way are given up.
        """


def open_executor(folder: Path, jobs: int | None, cluster: Cluster | None = None, most: int | None = None) -> Executor:
    """Return an executor: that of a cluster, if there is one, else one for ``jobs`` processes.

    ``folder`` is where folds may be put for other processes; with at most ``most`` tasks, no more processes are used.
    """
    if cluster is not None:
        from podium.experiments.run.cluster_workers import ClusterWorkers

        return ClusterWorkers(cluster, jobs, folder)
    jobs = jobs or available_cores()
    if most is not None:
        jobs = min(jobs, max(most, 1))
    return Workers(jobs, folder) if jobs > 1 else InProcess()
