"""What runs on workers, beside the parts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from typing import Any
from weakref import WeakKeyDictionary

from dask.sizeof import sizeof

from podium.data.queries import Queries
from podium.data.remote import bytes_of
from podium.numerics.blas import quiet_blas
from podium.numerics.loop import QueryError
from podium.numerics.pool import threads

# What was made for a part, while the part is here. It is a cache: what is missing is made again.
_BOUND: WeakKeyDictionary[Any, tuple[str, Callable[..., Any]]] = WeakKeyDictionary()


@sizeof.register(Queries)  # type: ignore[untyped-decorator]
def _size_of_queries(part: Queries) -> int:
    return bytes_of(part)


def call_beside(
    parts: Sequence[Any], n_threads: int, function: Callable[..., Any], per_part: Sequence[tuple[Any, ...]], shared: Any
) -> list[Any]:
    """Return what the function returns for each part and its arguments."""
    results = []
    for part, own in zip(parts, per_part, strict=True):
        with _beside(part, n_threads):
            results.append(function(part, *own, *shared))
    return results


def call_bound(
    parts: Sequence[Any], n_threads: int, token: str, plan: Any, arguments: tuple[Any, ...], numbers: Sequence[int]
) -> list[Any]:
    """Return what each part's bound function returns, made by the plan's factory where there is none."""
    results = []
    for part, number in zip(parts, numbers, strict=True):
        with _beside(part, n_threads):
            known = _BOUND.get(part)
            if known is None or known[0] != token:
                factory, per_part, shared = plan
                # The function must not hold the part itself: the entry would keep alive the key that it hangs on.
                known = token, factory(copy(part), *per_part[number], *shared)
                _BOUND[part] = known
            results.append(known[1](*arguments))
    return results


@contextmanager
def _beside(part: Any, n_threads: int) -> Iterator[None]:
    """Limit threads, and say in errors which query they are about: here its id is known."""
    try:
        with threads(n_threads), quiet_blas():
            yield
    except Exception as error:
        fault: BaseException | None = error
        while fault is not None and not isinstance(fault, QueryError):
            fault = fault.__context__
        if fault is not None and isinstance(part, Queries):
            error.add_note(f"it is the query with the id {part.qids[fault.query]}")
        raise
