"""Smooth ranks of a sorted list, 1 + Σ_j σ(t(s_j − s_i)), and what changes in them mean for the scores.

A rank, and a derivative, has two parts: what the documents below a place add to it and what those above do.
"""

from typing import Any

from podium.numerics.compiling import Array, njit
from podium.numerics.pairs.blocks import Four, over_blocks, present
from podium.numerics.tiles import add_over_columns, beyond, four_of, load, over_rows, rows, store, width


@njit(fastmath={"contract"}, error_model="numpy", forceinline=True)
def _ranks_of_block(first: int, stop: int, ahead: Four, worth: Array, tables: tuple[Any, ...]) -> None:
    """Compare four documents with all below them. ``tables`` are the size of the arrays and the ranks' two parts."""
    size, from_above, from_below = tables
    start, ahead_of, there = first // width(worth) * width(worth), rows(*ahead), present(ahead)
    below, sums = beyond(there, first - start), 0.0 * there
    for t in range(start, stop, width(worth)):
        u = ahead_of * load(worth, t)  # e^−lead
        p = below / (u + 1.0)
        store(from_above, t, load(from_above, t) + over_rows(p))
        sums += u * p
        below = there  # all documents of later vectors are
    add_over_columns(from_below, first, sums)
    everyone = over_rows(there)
    for t in range(stop, size, width(worth)):
        store(from_above, t, load(from_above, t) + everyone)


CURVED = True
"""Are the changes' sizes wanted?"""


@njit(fastmath={"contract"}, error_model="numpy", forceinline=True)
def _slopes_of_block(first: int, stop: int, ahead: Four, worth: Array, tables: tuple[Any, ...]) -> None:
    """Add Σ_j (c_j − c_i) σ′, by c, what a rank is worth, and the sums of its terms' sizes, in two parts each."""
    c, from_above, from_below, sizes_above, sizes_below = tables
    start, ahead_of, there = first // width(worth) * width(worth), rows(*ahead), present(ahead)
    below, mine, sums, sizes = beyond(there, first - start), four_of(c, first), 0.0 * there, 0.0 * there
    for t in range(start, stop, width(worth)):
        u = ahead_of * load(worth, t)
        p = below / (u + 1.0)
        change = (load(c, t) - mine) * (u * p * p)
        store(from_above, t, load(from_above, t) - over_rows(change))
        sums += change
        if CURVED:
            store(sizes_above, t, load(sizes_above, t) + over_rows(abs(change)))
            sizes += abs(change)
        below = there
    add_over_columns(from_below, first, sums)
    if CURVED:
        add_over_columns(sizes_below, first, sizes)


add_ranks = over_blocks(_ranks_of_block)
add_slopes_and_sizes = over_blocks(_slopes_of_block)
add_slopes = over_blocks(_slopes_of_block, CURVED=False)
