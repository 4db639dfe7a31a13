"""Workers that grow something together: each has a state, all are called at the same time, none can be replaced."""

import socket
import time
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import suppress
from typing import Any
from urllib.parse import urlparse
from uuid import uuid4

from distributed import Client, Future, wait

from podium.core.interrupts import interrupts_deferred
from podium.dask.cluster import Part, new_key
from podium.dask.working import out_of_memory
from podium.data.remote import PerPart
from podium.numerics.blas import quiet_blas
from podium.numerics.pool import threads

POLL_SECONDS = 1.0
"""How often to look whether all workers are still there."""
GRACE_SECONDS = 20.0
"""How long the scheduler may take to notice that a worker is lost, after the others have."""


class WorkerTeam:
    """The workers that have parts of some queries; see :class:`podium.data.remote.Team`."""

    def __init__(
        self, client: Client, parts: Sequence[Part], sizes: Sequence[str], others: Sequence[Part] = ()
    ) -> None:
        self._client, self._token, self._sizes = client, uuid4().hex, sizes
        self._part_values = [part.future for part in parts]
        self._other_values = [part.future for part in others]
        with client.as_current():  # it looks for the client that was started last
            wait([*self._part_values, *self._other_values])
        at = self._holders(self._part_values)
        self.members = list(dict.fromkeys(at))
        self.parts = [[n for n, address in enumerate(at) if address == member] for member in self.members]
        other_at = [
            address if address in self.members else self.members[number % len(self.members)]
            for number, address in enumerate(self._holders(self._other_values))
        ]
        self.other_parts = [[n for n, address in enumerate(other_at) if address == member] for member in self.members]
        known = client.nthreads()
        self.n_threads = [known.get(member, 1) for member in self.members]
        self._under_way: list[Future] = []
        self._member_of: dict[str, int] = {}

    def addresses(self) -> list[tuple[str, int]]:
        ports = self._run([(_free_port,)] * len(self.members))
        return [(urlparse(member).hostname or "", port) for member, port in zip(self.members, ports, strict=True)]

    def start(self, factory: Callable[..., Any], per_member: PerPart, *shared: Any) -> None:
        tasks: list[tuple[Any, ...]] = []
        for number, own in enumerate(per_member):
            values = [self._part_values[part] for part in self.parts[number]]
            others = [self._other_values[part] for part in self.other_parts[number]]
            tasks.append((_start, self._token, self.n_threads[number], factory, values, others, own, shared))
        self._run(tasks)

    def call(self, method: str, *shared: Any, per_member: PerPart | None = None, only: int | None = None) -> list[Any]:
        arguments = [()] * len(self.members) if per_member is None else per_member
        tasks = [(_call, self._token, method, (*own, *shared)) for own in arguments]
        return self._run(tasks, only)

    def close(self) -> None:
        present = self._client.nthreads()
        for future in self._under_way:
            future.cancel()
        ends = [
            self._client.submit(_end, self._token, workers=[member], key=new_key("end", None), pure=False)
            for member in self.members
            if member in present
        ]
        with suppress(TimeoutError), self._client.as_current():
            wait(ends, timeout=5.0)

    def _holders(self, values: Sequence[Future]) -> list[str]:
        """Return the worker that has each value."""
        found = self._client.who_has(values) if values else {}
        addresses = []
        for number, value in enumerate(values):
            if value.status == "error":
                value.result()
            holders = sorted(found.get(value.key, ()))
            if not holders:
                raise RuntimeError(f"the worker that had partition {number} was lost; fit again")
            addresses.append(holders[0])
        return addresses

    @interrupts_deferred()
    def _run(self, tasks: Sequence[tuple[Any, ...]], only: int | None = None) -> list[Any]:
        """Return the result of each member's task, run at the same time."""
        if self._under_way:  # an interrupted call: the members must be done with it before the next one
            self._wait(self._under_way)
        chosen = list(enumerate(self.members)) if only is None else [(only, self.members[only])]
        self._under_way = [
            self._client.submit(*tasks[number], workers=[member], key=new_key("team", number), pure=False)
            for number, member in chosen
        ]
        futures = self._under_way
        self._member_of = {future.key: number for future, (number, _) in zip(futures, chosen, strict=True)}
        self._wait(futures)
        self._under_way = []
        return list(self._client.gather(futures))  # all at once, which saves the way to the scheduler for each

    def _held(self, number: int) -> str:
        """Return which partitions a member has, and how large they are."""
        parts = [f"{part} ({self._sizes[part]})" for part in self.parts[number]]
        return f"partition{'s' * (len(parts) > 1)} {', '.join(parts)}"

    def _wait(self, futures: Sequence[Future]) -> None:
        """Wait for all; raise, naming the worker, as soon as one has failed or is gone."""
        while True:
            with suppress(TimeoutError, CancelledError), self._client.as_current():
                wait(futures, timeout=POLL_SECONDS)
            failed = [future for future in futures if future.status in ("error", "cancelled", "lost")]
            if all(future.status == "finished" for future in futures):
                return
            self._require_all(GRACE_SECONDS if failed else 0.0, failed)
            for future in failed:
                if future.status != "error":
                    raise RuntimeError("work on the cluster was cancelled")
                error = future.exception()
                if isinstance(error, MemoryError) or "bad_alloc" in str(error):  # the latter is LightGBM's
                    raise MemoryError(out_of_memory(self._held(self._member_of[future.key]))) from error
                raise error

    def _require_all(self, grace: float, failed: Sequence[Future]) -> None:
        """Raise if a worker is gone; where others failed because they miss it, the scheduler may need a moment."""
        own_faults = any(future.status == "error" and not _is_network(future.exception()) for future in failed)
        deadline = time.monotonic() + (0.0 if own_faults else grace)
        while True:
            present = self._client.nthreads()
            lost = [member for member in self.members if member not in present]
            if lost:
                held = ", ".join(f"{member} with {self._held(self.members.index(member))}" for member in lost)
                raise RuntimeError(
                    f"the cluster lost the worker {held}, and with it its part of the work that all workers do "
                    "together: fit again; it may have run out of memory"
                )
            if time.monotonic() >= deadline:
                return
            time.sleep(0.2)


def _is_network(error: BaseException | None) -> bool:
    return "socket" in str(error).lower() or "network" in str(error).lower()


# ---- what runs on the workers

_STATES: dict[str, tuple[ThreadPoolExecutor, Any]] = {}


def _start(
    token: str,
    n_threads: int,
    factory: Callable[..., Any],
    parts: Sequence[Any],
    others: Sequence[Any],
    own: tuple[Any, ...],
    shared: tuple[Any, ...],
) -> None:
    # LightGBM keeps its network per thread, so a state has a thread of its own.
    thread = ThreadPoolExecutor(1, thread_name_prefix="podium-team")

    def make() -> Any:
        # The thread ends with the state, so its limits last as long.
        threads(n_threads).__enter__()
        with quiet_blas():
            return factory(parts, others, *own, *shared)

    try:
        _STATES[token] = thread, thread.submit(make).result()
    except BaseException:
        thread.shutdown(wait=False)
        raise


def _call(token: str, method: str, arguments: tuple[Any, ...]) -> Any:
    if token not in _STATES:
        raise RuntimeError("this worker was restarted, and its part of the work that all workers do together is lost")
    thread, state = _STATES[token]

    def call() -> Any:
        try:
            with quiet_blas():
                return getattr(state, method)(*arguments)
        except Exception:
            state.close()  # others may wait for this one: they see that it has left
            raise

    return thread.submit(call).result()


def _end(token: str) -> None:
    if token in _STATES:
        thread, state = _STATES.pop(token)
        thread.submit(state.close)
        thread.shutdown(wait=False)


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("", 0))
        return int(found.getsockname()[1])
