"""Groups that an ordered-partition model with the arithmetic potential makes of places in a Plackett-Luce order.

A stage of that model draws a leader in proportion to e^s, a size m with probability C(N, m)/(2^N − 1) for N documents
left, and the leader's m − 1 companions regardless of their scores. So draw a Plackett-Luce order of all documents, and
the leader of a stage is the first one left, and whom it takes along does not depend on scores. How places become groups
is a process over counts: with N documents left, a document that is the p-th of them leads (p = 1), is taken along, or
stays and is the p′-th of N − m, where p − 1 − p′ of the companions were before it: a hypergeometric number.
"""

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from podium.numerics.compiling import njit

_LEAST = 1e-18
"""Group sizes that are less likely are left out."""


class Places(NamedTuple):
    """What becomes of places 1 … n in a Plackett-Luce order."""

    rank: np.ndarray
    """(n, n) P(rank is r) of place p, in row p − 1 and column r − 1."""
    reached: np.ndarray
    """(n, n + 1): P(place p leads a group when N documents are left), in row p − 1 and column N."""
    taken: np.ndarray
    """(n, n + 1): P(place p is neither the leader nor gone when N documents are left)."""
    sizes: np.ndarray
    """(n + 1, n + 1) P(a group has m documents when N are left), in row N and column m."""


@lru_cache(maxsize=16)
def place_groups(n: int) -> Places:
    """Return what becomes of the places of a list of n documents, in O(n⁵) operations of matrix products."""
    sizes = _group_sizes(n)
    left: list[np.ndarray | None] = [None] * (n + 1)
    left[n] = np.eye(n)
    rank, reached, taken = np.zeros((n, n)), np.zeros((n, n + 1)), np.zeros((n, n + 1))
    logs = _log_factorials(n)
    for remaining in range(n, 0, -1):
        here = left[remaining]
        if here is None:
            continue
        reached[:, remaining], taken[:, remaining] = here[:, 0], here[:, 1:].sum(axis=1)
        joined = sizes[remaining] @ np.arange(-1.0, n) / max(remaining - 1, 1)
        rank[:, n - remaining] = reached[:, remaining] + joined * taken[:, remaining]
        for m in range(1, remaining):
            if sizes[remaining, m] > _LEAST:
                after = remaining - m
                moved = here @ _stay(remaining, m, 1, logs) * (sizes[remaining, m] * after / (remaining - 1))
                left[after] = moved if left[after] is None else left[after] + moved
        left[remaining] = None
    return Places(rank, reached, taken, sizes)


@lru_cache(maxsize=16)
def pair_groups(n: int) -> np.ndarray:
    """Return (n, 3): P(earlier above, tied, later above) of two documents, the earlier at place p, in row p − 1."""
    return _pair_groups(n, _group_sizes(n), _log_factorials(n))


def _log_factorials(n: int) -> np.ndarray:
    return np.array([math.lgamma(k + 1.0) for k in range(n + 1)])


def _group_sizes(n: int) -> np.ndarray:
    logs, sizes = _log_factorials(n), np.zeros((n + 1, n + 1))
    for left in range(1, n + 1):
        m = np.arange(1, left + 1)
        chosen = logs[left] - logs[m] - logs[left - m]
        sizes[left, m] = np.exp(chosen - left * math.log(2.0) - math.log1p(-(2.0 ** -float(left))))
    return sizes


@njit(cache=True, error_model="numpy")
def _stay(left: int, m: int, watched: int, logs: np.ndarray) -> np.ndarray:
    """Return (left, left − m): P(the p-th of those left becomes the p′-th), given that it and what is watched stay.

    ``watched`` documents, 1 or 2, are not among the m − 1 companions; the second of two comes after the first.
    """
    moves = np.zeros((left, left - m))
    others, companions = left - 1 - watched, m - 1
    if companions > others:
        return moves
    total = logs[others] - logs[companions] - logs[others - companions]
    for p in range(2, left + 2 - watched):
        before = p - 2
        after = others - before
        for x in range(max(0, companions - after), min(before, companions) + 1):
            y = companions - x
            ways = logs[before] - logs[x] - logs[before - x] + logs[after] - logs[y] - logs[after - y]
            moves[p - 1, p - 2 - x] = math.exp(ways - total)
    return moves


@njit(cache=True, error_model="numpy")
def _pair_groups(n: int, sizes: np.ndarray, logs: np.ndarray) -> np.ndarray:
    outcome = np.zeros((n + 1, n, 3))  # of two among `left`, the earlier of which is the p-th, in row p − 1
    for left in range(2, n + 1):
        here, others = outcome[left], float(left - 1)
        for m in range(1, left + 1):
            size = sizes[left, m]
            here[0, 1] += size * (m - 1) / others
            here[0, 0] += size * (left - m) / others
            if left < 3:
                continue
            pairs = others * (left - 2)
            one = size * (m - 1) * (left - m) / pairs
            for p in range(2, left):
                here[p - 1, 1] += size * (m - 1) * (m - 2) / pairs
                here[p - 1, 0] += one
                here[p - 1, 2] += one
            neither = size * (left - m) * (left - m - 1) / pairs
            if neither > _LEAST:
                moves = _stay(left, m, 2, logs)
                for p in range(2, left):
                    for after in range(left - m - 1):
                        for k in range(3):
                            here[p - 1, k] += neither * moves[p - 1, after] * outcome[left - m, after, k]
    return outcome[n]
