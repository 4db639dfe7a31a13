"""The Dask cluster that a comparison was given, connected to when it is first needed."""

import platform
from contextlib import AbstractContextManager, ExitStack, nullcontext
from typing import Any, Self

from podium.core.later import required
from podium.experiments.plan.code import code_digest
from podium.experiments.plan.identity import package_versions
from podium.experiments.plan.study import TRIAL
from podium.experiments.run.workers import interrupts_held
from podium.numerics.pool import available_cores
from podium.version import __version__

LOCAL = "local"
CONNECT_SECONDS = 30
"""How long to try to reach a scheduler."""


class Cluster:
    """A cluster by the address of its scheduler, as a client, or ``"local"``: one worker per core of this machine.

    Leaving its context ends what entering it started: a cluster of its own, a connection, never the user's client.
    """

    def __init__(self, where: Any, jobs: int | None = None) -> None:
        if not (isinstance(where, str) or hasattr(where, "scatter")):
            raise ValueError(
                f"dask must be the address of a scheduler (tcp://host:8786), a client or 'local'; got {where!r}"
            )
        self._where, self._jobs = where, jobs
        self._client: Any = None if isinstance(where, str) else where
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()
        self._client = None if isinstance(self._where, str) else self._where

    @property
    def client(self) -> Any:
        """The client, a ``distributed.Client``."""
        if self._client is None:
            self._client = self._connected()
        return self._client

    def _connected(self) -> Any:
        distributed = import_distributed()
        where = self._where
        if where == LOCAL:
            jobs = self._jobs or available_cores()
            with interrupts_held():  # Ctrl-C is ours to handle, not the workers'
                where = self._stack.enter_context(
                    distributed.LocalCluster(
                        n_workers=jobs, threads_per_worker=1, memory_limit=0, dashboard_address=":0"
                    )
                )
        try:
            return self._stack.enter_context(distributed.Client(where, timeout=CONNECT_SECONDS, set_as_default=False))
        except (OSError, ValueError) as error:
            raise ValueError(
                f"no scheduler of Dask answers at {self._where} ({error}): start one with `dask scheduler`, and "
                "workers with `dask worker ADDRESS`"
            ) from None


def open_cluster(where: Any, jobs: int | None = None) -> AbstractContextManager[Cluster | None]:
    """Return the cluster asked for, None for none; it lasts as long as the context."""
    return nullcontext() if where is None else Cluster(where, jobs)


def import_distributed() -> Any:
    """Return the package ``distributed``; raise ImportError with what to do if it is missing."""
    return required("distributed", "'podium-rank[dask]'", "work on a cluster")


def versions() -> dict[str, str]:
    """Return what must be the same on every worker, because the figures of a trial may depend on it."""
    python = ".".join(platform.python_version_tuple()[:2])
    return {"podium": __version__, "podium's code": code_digest([TRIAL]), "python": python, **package_versions()}


def differences(theirs: dict[str, str]) -> list[str]:
    """Return how the versions of a worker differ from those here."""
    ours = versions()
    names = dict.fromkeys([*ours, *theirs])
    return [
        f"{name} {theirs.get(name, 'missing')} (here {ours.get(name, 'missing')})"
        for name in names
        if theirs.get(name) != ours.get(name)
    ]
