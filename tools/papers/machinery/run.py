"""Results that are computed once: each is stored in a file of its own as soon as it is there."""

from __future__ import annotations

import datetime
import hashlib
import json
import re
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from podium.core.atomic import atomic_write
from podium.version import __version__

from .data import Data

Arguments = tuple[Any, ...]
Compute = Callable[..., Any]
"""A function of a module: ``compute(data, *arguments)`` returns what JSON has: numbers, texts, lists, dictionaries."""


class NotComputedError(Exception):
    """Results are not stored and may not be computed now."""


@dataclass
class Run:
    """The results of one paper: stored ones, and those that are computed now.

    A result is identified by the name of the function that computes it and its arguments; what is stored is never
    computed again, unless ``again`` names the function.
    """

    folder: Path
    data: Data
    stored_only: bool = False
    jobs: int = 1
    again: frozenset[str] = frozenset()
    used: dict[Path, dict[str, Any]] = field(default_factory=dict)
    """What is known of each result that was asked for: when and with which version it was computed, and how long."""

    lacking: dict[str, None] = field(default_factory=dict)
    """What was asked for, is not stored, and was done without."""

    @property
    def quick(self) -> bool:
        return self.data.quick

    @property
    def seeds(self) -> tuple[int, ...]:
        return (0,) if self.quick else (0, 1, 2)

    def result(self, compute: Compute, *arguments: Any) -> Any:
        """Return ``compute(data, *arguments)``, stored or computed in this process (so times can be trusted)."""
        return self.results(compute, [arguments], jobs=1)[arguments]

    def results(
        self, compute: Compute, arguments: Iterable[Sequence[Any]], *, jobs: int | None = None, some: bool = False
    ) -> dict[Arguments, Any]:
        """Return the results for several arguments, in their order.

        Parameters
        ----------
        jobs : int, optional
            Processes; by default as many as the run has.
        some : bool
            Where nothing may be computed, return those that are stored instead of raising :class:`NotComputedError`.
        """
        wanted = list(dict.fromkeys(tuple(each) for each in arguments))
        found = {each: self._stored(compute, each) for each in wanted}
        missing = [each for each, stored in found.items() if stored is None]
        if missing and self.stored_only and not (some and len(missing) < len(wanted)):
            raise NotComputedError(f"{len(missing)} of {len(wanted)} results of `{compute.__name__}`")
        if missing and self.stored_only:
            listed = "; ".join(", ".join(map(str, each)) for each in missing[:6]) + ("; …" if missing[6:] else "")
            self.lacking[f"{len(missing)} of {len(wanted)} results of `{compute.__name__}` ({listed})"] = None
        if not self.stored_only:
            for each, stored in self._computed(compute, missing, self.jobs if jobs is None else jobs):
                found[each] = stored
        there = {each: stored for each, stored in found.items() if stored is not None}
        self.used |= {self._file(compute, each): stored for each, stored in there.items()}
        return {each: stored["value"] for each, stored in there.items()}

    def _computed(self, compute: Compute, missing: list[Arguments], jobs: int) -> Iterable[tuple[Arguments, Any]]:
        start = time.monotonic()
        if min(jobs, len(missing)) <= 1:
            for number, each in enumerate(missing):
                self._progress(compute, each, number, len(missing), start)
                yield each, self._store(compute, each, _timed(compute, self.data, each))
            return
        with ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
            futures = {pool.submit(_timed, compute, self.data, each): each for each in missing}
            try:
                for number, future in enumerate(as_completed(futures)):
                    each = futures[future]
                    self._progress(compute, each, number, len(missing), start)
                    yield each, self._store(compute, each, future.result())
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise

    def _progress(self, compute: Compute, arguments: Arguments, number: int, total: int, start: float) -> None:
        seconds = time.monotonic() - start
        text = f"[{self.folder.name}] {compute.__name__} {number + 1} of {total}: {', '.join(map(str, arguments))}"
        print(f"{text[:100]} ({seconds:.0f} s)", file=sys.stderr, flush=True)

    def _file(self, compute: Compute, arguments: Arguments) -> Path:
        text = json.dumps(arguments)
        readable = re.sub(r"[^a-zA-Z0-9.]+", "-", text).strip("-")[:60]
        digest = hashlib.sha256(text.encode()).hexdigest()[:8]
        return self.folder / compute.__name__ / f"{readable}-{digest}.json"

    def _stored(self, compute: Compute, arguments: Arguments) -> dict[str, Any] | None:
        file = self._file(compute, arguments)
        if not file.exists() or (compute.__name__ in self.again and not self.stored_only):
            return None
        try:
            stored: dict[str, Any] = json.loads(file.read_text("utf-8"))
        except ValueError as error:
            raise ValueError(f"{file} is not a stored result ({error}): delete it to compute it again") from None
        return stored

    def _store(self, compute: Compute, arguments: Arguments, timed: tuple[Any, float]) -> dict[str, Any]:
        value, seconds = timed
        now = f"{datetime.datetime.now(datetime.UTC):%Y-%m-%d %H:%M}"
        stored = {"arguments": arguments, "computed": now, "podium": __version__, "seconds": seconds, "value": value}
        with atomic_write(self._file(compute, arguments)) as file:
            json.dump(stored, file)
        return stored


def _timed(compute: Compute, data: Data, arguments: Arguments) -> tuple[Any, float]:
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # many protocols stop after a number of iterations
        value = compute(data, *arguments)
    return value, time.perf_counter() - start
