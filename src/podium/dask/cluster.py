"""Work next to data on a Dask cluster: where parts are, what runs beside them, and what happens if a worker is lost."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError
from itertools import count
from typing import Any

try:
    from distributed import Client, Future, KilledWorker, default_client, wait
except ImportError as error:  # pragma: no cover
    raise ImportError("podium.dask needs Dask: pip install 'podium-rank[dask]'") from error

from podium.core.interrupts import interrupts_deferred
from podium.dask.working import call_beside, call_bound, out_of_memory
from podium.data.remote import PerPart

_LARGE = 1_000_000  # bytes of arguments that are sent to each worker once rather than with each task
_ATTEMPTS = 3  # how often work whose data were lost with a worker is started again


def as_client(client: Client | None) -> Client:
    """Return the client given, or the one that was started last."""
    if client is not None:
        return client
    try:
        return default_client()
    except ValueError:
        raise ValueError(
            "there is no Dask client: start one first, client = dask.distributed.Client(), which uses the cores of "
            "this machine, or Client('tcp://scheduler:8786') for a cluster"
        ) from None


def workers_of(client: Client) -> dict[str, int]:
    """Return the number of threads of each worker by address; wait for the first one if there is none yet."""
    workers = client.nthreads()
    if not workers:
        client.wait_for_workers(1)
        workers = client.nthreads()
    return dict(sorted(workers.items()))


class Part:
    """A value on a worker, and how to make it again if that worker is lost.

    Values that Dask computed are computed again by Dask. Those that this process sent are gone with their worker, and
    with them what was computed from them: :meth:`restore` sends and computes again.
    """

    def __init__(self, make: Callable[[], Future], sources: Sequence[Part] = ()) -> None:
        self._make = make
        self._sources = tuple(sources)
        self._future: Future | None = None

    @classmethod
    def sent(cls, client: Client, value: Callable[[], Any], number: int | None = None) -> Part:
        """Return a value of this process, sent to the worker of this number; with none, to all workers."""

        def make() -> Future:
            key = new_key("part" if number is not None else "shared", number)
            if number is None:
                return client.scatter({key: value()}, broadcast=True)[key]
            addresses = list(workers_of(client))
            return client.scatter({key: value()}, workers=[addresses[number % len(addresses)]])[key]

        return cls(make)

    @classmethod
    def computed(
        cls, client: Client, number: int, function: Callable[..., Any], *arguments: Any, sources: Sequence[Part] = ()
    ) -> Part:
        """Return what the function returns for the values of ``sources`` and the arguments, computed when needed."""

        def make() -> Future:
            values = [source.future for source in sources]
            return client.submit(function, *values, *arguments, key=new_key("part", number), pure=False)

        return cls(make, sources)

    @property
    def future(self) -> Future:
        return self.restore()

    def release(self) -> None:
        """Let go of the value and of its sources, when others were computed from it; it is made again if needed."""
        self._future = None
        for source in self._sources:
            source.release()

    def restore(self) -> Future:
        """Return the value's future, made (again) if there is none or its value is lost."""
        if self._future is None or self._future.status in ("cancelled", "lost"):
            for source in self._sources:
                source.restore()
            self._future = self._make()
        return self._future


class Placement:
    """Parts, and functions that run beside them."""

    def __init__(self, client: Client, parts: Sequence[Part], describe: Callable[[int], str]) -> None:
        self.client = client
        self.parts = tuple(parts)
        self.describe = describe
        """Returns what is known of a part, for messages."""
        self._groups: list[tuple[str | None, int, list[int]]] = []

    def each(
        self, function: Callable[..., Any], per_part: Sequence[tuple[Any, ...]], shared: tuple[Any, ...]
    ) -> list[Any]:
        """Return ``function(value, *arguments of the part, *shared)`` for each part, in order."""
        return self._run(call_beside, lambda numbers: (numbers, function, [per_part[i] for i in numbers], shared))

    def bind(
        self, factory: Callable[..., Any], per_part: Sequence[tuple[Any, ...]], shared: tuple[Any, ...]
    ) -> Callable[..., list[Any]]:
        """Return a function that calls what the factory made beside each part; see ``RemoteQueries.bind``."""
        token = uuid.uuid4().hex
        plan = Part.sent(self.client, lambda: (factory, tuple(per_part), shared))

        def call(*arguments: Any, per_part: PerPart | None = None) -> list[Any]:
            own = [()] * len(self.parts) if per_part is None else per_part
            sent = None
            if sum(getattr(argument, "nbytes", 0) for argument in arguments) > _LARGE:
                sent = Part.sent(self.client, lambda: arguments)

            def given(numbers: list[int]) -> tuple[Any, ...]:
                shared: Any = arguments if sent is None else sent.future
                return numbers, token, plan.future, [own[number] for number in numbers], shared

            return self._run(call_bound, given)

        return call

    @interrupts_deferred()
    def _run(self, task: Callable[..., Any], arguments: Callable[[list[int]], tuple[Any, ...]]) -> list[Any]:
        """Run a task beside each group of parts; start again what is lost with a worker."""
        results: dict[int, Any] = {}
        for attempt in count():
            missing = [number for number in range(len(self.parts)) if number not in results]
            if not missing:
                return [results[number] for number in range(len(self.parts))]
            running = []
            try:
                for address, threads, numbers in self._placed(missing, moved=attempt > 0):
                    values = [self.parts[number].future for number in numbers]
                    key = new_key(task.__name__, numbers[0])
                    where = {} if address is None else {"workers": [address], "allow_other_workers": True}
                    future = self.client.submit(
                        task, values, threads, *arguments(numbers), key=key, pure=False, **where
                    )
                    running.append((numbers, future))
                self._collect(running, results)
            except CancelledError as error:
                for _, future in running:
                    future.release()
                if attempt == _ATTEMPTS:
                    raise self._killed([number for number in missing if number not in results]) from error
        raise AssertionError

    def _collect(self, running: list[tuple[list[int], Future]], results: dict[int, Any]) -> None:
        lost: CancelledError | None = None
        try:  # all at once, which saves the way to the scheduler for each
            found = self.client.gather([future for _, future in running])
        except (CancelledError, KilledWorker):
            found = []
        for (numbers, _), values in zip(running, found, strict=False):
            results.update(zip(numbers, values, strict=True))
        for numbers, future in running[len(found) :]:
            try:
                results.update(zip(numbers, future.result(), strict=True))
            except CancelledError as error:
                lost = error
            except KilledWorker as error:
                raise self._killed(numbers) from error
        if lost is not None:
            raise lost

    def _placed(self, numbers: list[int], *, moved: bool) -> list[tuple[str | None, int, list[int]]]:
        """Return groups of parts, at most one per thread of a worker, with its address and the threads for each."""
        if moved or not self._groups:
            futures = {number: self.parts[number].future for number in numbers}
            self._wait(futures)
            groups = self._group(numbers, self.client.who_has(list(futures.values())), futures)
            if len(numbers) == len(self.parts):
                self._groups = groups
            else:
                self._groups = []  # parts have moved: look again next time
                return groups
        return self._groups

    def _wait(self, futures: dict[int, Future]) -> None:
        with self.client.as_current():  # it looks for the client that was started last
            wait(list(futures.values()))
        for number, future in futures.items():
            if future.status == "error":
                error = future.exception()
                if isinstance(error, KilledWorker):
                    raise self._killed([number]) from error
                raise error

    def _group(
        self, numbers: list[int], where: dict[str, Any], futures: dict[int, Future]
    ) -> list[tuple[str | None, int, list[int]]]:
        at: dict[str | None, list[int]] = {}
        for number in numbers:
            holders = sorted(where.get(futures[number].key, ()))
            at.setdefault(holders[0] if holders else None, []).append(number)
        nthreads = workers_of(self.client)
        groups = []
        for address, mine in at.items():
            threads = nthreads.get(address, 1) if address is not None else 1
            n_groups = min(threads, len(mine))
            groups += [(address, threads // n_groups, mine[first::n_groups]) for first in range(n_groups)]
        return groups

    def _killed(self, numbers: list[int]) -> MemoryError:
        held = " or ".join(f"partition {number} ({self.describe(number)})" for number in numbers)
        return MemoryError(f"workers died again and again. Most likely {out_of_memory(held)}")


def new_key(name: str, number: int | None) -> str:
    """Return a name for a value on the cluster; dashboards group by what is before the first hyphen and digits."""
    place = "" if number is None else f"-{number}"
    return f"podium_{name}{place}-{uuid.uuid4().hex}"
