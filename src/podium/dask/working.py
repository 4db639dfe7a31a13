"""What runs on workers, beside the parts."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from typing import Any
from weakref import WeakKeyDictionary

from dask.sizeof import sizeof

from podium.data.queries import Queries
from podium.data.remote import PartFacts, bytes_of
from podium.numerics.blas import quiet_blas
from podium.numerics.loop import query_at_fault
from podium.numerics.pool import threads

# What was made for a part, while the part is here. It is a cache: what is missing is made again.
_BOUND: WeakKeyDictionary[Any, tuple[str, Callable[..., Any]]] = WeakKeyDictionary()


@sizeof.register(Queries)  # type: ignore[untyped-decorator]
def _size_of_queries(part: Queries) -> int:
    return bytes_of(part)


def call_beside(
    parts: Sequence[Any],
    n_threads: int,
    numbers: Sequence[int],
    function: Callable[..., Any],
    per_part: Sequence[tuple[Any, ...]],
    shared: tuple[Any, ...],
) -> list[Any]:
    """Return what the function returns for each part and its arguments."""
    results = []
    with threads(n_threads), quiet_blas():
        for part, number, own in zip(parts, numbers, per_part, strict=True):
            with _explaining(part, number):
                results.append(function(part, *own, *shared))
    return results


def call_bound(
    parts: Sequence[Any],
    n_threads: int,
    numbers: Sequence[int],
    token: str,
    plan: Any,
    own: Sequence[tuple[Any, ...]],
    arguments: tuple[Any, ...],
) -> list[Any]:
    """Return what each part's bound function returns, made by the plan's factory where there is none."""
    results = []
    with threads(n_threads), quiet_blas():
        for part, number, mine in zip(parts, numbers, own, strict=True):
            with _explaining(part, number):
                known = _BOUND.get(part)
                if known is None or known[0] != token:
                    factory, per_part, shared = plan
                    # Were it to hold the part itself, the entry would keep alive the key that it hangs on.
                    known = token, factory(copy(part), *per_part[number], *shared)
                    _BOUND[part] = known
                results.append(known[1](*mine, *arguments))
    return results


@contextmanager
def _explaining(part: Any, number: int) -> Iterator[None]:
    """Say in errors which partition and which query they are about: here the query's id is known."""
    try:
        yield
    except MemoryError as error:
        size = str(PartFacts.of(part)) if isinstance(part, Queries) else f"{sizeof(part) / 1e6:.3g} MB"
        raise MemoryError(out_of_memory(f"partition {number} ({size})")) from error
    except Exception as error:
        if (query := query_at_fault(error)) is not None and isinstance(part, Queries):
            error.add_note(f"it is the query with the id {part.qids[query]}")
        raise


def out_of_memory(what: str) -> str:
    """Return the message of an error: a worker had not enough memory for something."""
    return (
        f"a worker ran out of memory at {what}. Make more, smaller partitions, or give workers more memory "
        "(memory_limit)"
    )
