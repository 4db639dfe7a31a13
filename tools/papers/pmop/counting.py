"""How many ordered partitions there are."""

from __future__ import annotations

from collections.abc import Iterator
from math import comb, factorial, log

from ..machinery.data import Data
from ..machinery.page import FAILS, HOLDS, Verdict, section, table
from ..machinery.run import Run

PRINTED_COUNTS = {1: 1, 3: 13, 5: 541, 10: 102_247_563}


def ordered_partitions(_: Data, n: int) -> int:
    """Return the number of ordered partitions of n objects: choose the first group, then order the rest."""
    counts = [1]
    for size in range(1, n + 1):
        counts.append(sum(comb(size, first) * counts[size - first] for first in range(1, size + 1)))
    return counts[n]


@section(
    "The number of ordered partitions",
    counts=("§3.1, Eq. 3.2", "Fubini(1), (3), (5), (10) = 1, 13, 541, 102,247,563"),
    growth=("§1, §3.1", "it approaches N!/(2 (ln 2)^(N+1)), much faster than N!"),
)
def counting(run: Run) -> Iterator[str | Verdict]:
    found = {n: count for (n,), count in run.results(ordered_partitions, [(n,) for n in (1, 3, 5, 10)]).items()}
    limits = {n: factorial(n) / (2 * log(2) ** (n + 1)) for n in found}
    rows = [[str(n), f"{found[n]:,}", f"{PRINTED_COUNTS[n]:,}", f"{limits[n]:,.1f}"] for n in found]
    yield table(["N", "counted", "printed", "N!/(2 (ln 2)^(N+1))"], rows)
    yield Verdict("counts", HOLDS if found == PRINTED_COUNTS else FAILS, f"{found[10]:,} for ten objects")
    off = abs(limits[10] / found[10] - 1)
    yield Verdict("growth", HOLDS if off < 1e-3 else FAILS, f"off by {off:.1e} for ten objects")
