"""Loops over the pairs of a sorted list: tiles of four documents and of those below them.

Of documents in the order of their scores, best first, e^{t(s_j − s_i)} is worth_j / worth_i, with worth_j = e^{t(s_j −
reference)}: one exponential per document, not one per pair.

Nothing overflows: the reference is renewed where scores have fallen :data:`REACH` below it, and a pair's exponential is
at most 1 for documents below, at most e^REACH for those at the same place or above that are in the same tile.
"""

from collections.abc import Callable
from typing import Any

from podium.numerics.compiling import Array, Kernel, njit, unbound, uncompiled, with_globals
from podium.numerics.elementary import FAST, exp
from podium.numerics.tiles import ROWS, Tile, rounded_up, rows, unowned, width

REACH = 20.0
"""How far scores may fall, times the steepness, before the reference is renewed."""
NOTHING = 80.0
"""Documents this far below the reference are worth 0: no document within REACH of it can tell that from what it is."""

Four = tuple[float, float, float, float]


def over_blocks(block: Any, **constants: Any) -> Callable[..., None]:
    """Return :func:`_over_blocks` compiled for a function of one block,

        block(first, stop, ahead, worth, tables) -> None

    which compares the documents at the places ``first`` to ``first + 3`` with all below them. For the k-th of them and
    one at place t, e^−lead is ``ahead[k] * worth[t]``. Where ``ahead`` is 0, there is nothing to compare; from ``stop``
    on, ``worth`` is 0 if it was before. Vectors begin at multiples of their width, the first one before ``first``.

    Compile ``block`` with ``forceinline=True``. ``constants`` are other values of its global names.
    """
    if constants:
        options = {name: block.targetoptions[name] for name in ("fastmath", "error_model", "forceinline")}
        block = njit(**options)(with_globals(uncompiled(block), **constants))
    return njit(error_model="numpy")(with_globals(_over_blocks, block=block))


block: Kernel = unbound


def _over_blocks(s: Array, n: int, n_rows: int, steepness: float, worth: Array, tables: tuple[Any, ...]) -> None:
    """Compare the documents at the first ``n_rows`` places with those below them.

    ``s`` has the n scores in falling order; it and ``worth``, room for what the documents are worth, have
    ``rounded_up(n)`` entries. If ``worth`` holds zeros, what is beyond a block's ``stop`` stays 0. ``steepness`` has
    the type of the scores. Give ``tables`` unowned arrays.
    """
    r = 0
    while r < n_rows:
        end = min(_reached(s[:n], r, steepness, REACH), n_rows)
        reached = _reached(s[:n], r, steepness, NOTHING)
        begin, stop = r // width(s) * width(s), rounded_up(reached)
        _fill_worth(s[begin:stop], s[r], steepness, worth[begin:stop])
        worth[reached:stop] = 0
        for first in range(r // ROWS * ROWS, end, ROWS):
            ahead = (
                _ahead(worth, first, r, end),
                _ahead(worth, first + 1, r, end),
                _ahead(worth, first + 2, r, end),
                _ahead(worth, first + 3, r, end),
            )
            block(first, stop, ahead, unowned(worth), tables)
        r = end


@njit(fastmath=FAST, error_model="numpy")
def _reached(s: Array, r: int, steepness: float, fall: float) -> int:
    """Return the first place whose score, times the steepness, is more than ``fall`` below that at place r.

    All are looked at: a search would guess wrong at every other step, which costs more.
    """
    n_near, limit = 0, s.dtype.type(fall)
    for t in range(len(s)):
        n_near += steepness * (s[r] - s[t]) <= limit
    return max(n_near, r + 1)


@njit(fastmath=FAST, error_model="numpy")
def _fill_worth(s: Array, reference: float, steepness: float, worth: Array) -> None:
    for t in range(len(s)):
        worth[t] = exp(min(steepness * (s[t] - reference), s.dtype.type(0)))


@njit(error_model="numpy", forceinline=True)
def _ahead(worth: Array, place: int, begin: int, end: int) -> float:
    """Return one over what the document at a place is worth, or 0 for places outside of ``begin:end``."""
    return worth.dtype.type(1) / worth[place] if begin <= place < end else worth.dtype.type(0)


@njit(error_model="numpy", forceinline=True)
def present(ahead: Four) -> Tile:
    """Return the tile with 1 in the rows of documents that are there, 0 in those of others."""
    a, b, c, d = ahead
    one, zero = type(a)(1), type(a)(0)
    return rows(
        one if a > zero else zero, one if b > zero else zero, one if c > zero else zero, one if d > zero else zero
    )
