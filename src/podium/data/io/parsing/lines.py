"""Lines and the pieces of text in them, over arrays of bytes, in compiled code."""

# ruff: noqa: SIM109  (compiled code compares numbers faster than it searches tuples)

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np
from numba import njit

from podium.data.io.parsing.simd import NEWLINE, WIDE, byte_at, equal_to, trailing_zeros

CHUNK_BYTES = 1 << 21
SPACE, TAB, CARRIAGE_RETURN, HASH = b" \t\r#"


@njit(cache=True, nogil=True, error_model="numpy", forceinline=True)
def is_blank(c: int) -> bool:
    """White space within a line."""
    return c == SPACE or c == TAB or NEWLINE < c <= CARRIAGE_RETURN


@njit(cache=True, nogil=True, error_model="numpy", forceinline=True)
def skip_blanks(buffer: np.ndarray, position: int) -> int:
    while is_blank(byte_at(buffer, position)):
        position += 1
    return position


@njit(cache=True, nogil=True, error_model="numpy")
def end_of_line(buffer: np.ndarray, position: int) -> int:
    """Where the line that goes on at ``position`` ends: its line end, or the end of the buffer."""
    while position < len(buffer):
        found = equal_to(buffer, position, NEWLINE)
        if found != np.uint64(0):
            return min(position + trailing_zeros(found), len(buffer))
        position += WIDE
    return len(buffer)


def chunks_of_lines(buffer: np.ndarray) -> list[tuple[int, int]]:
    """Spans of whole lines, some megabytes each, for threads to work on."""
    inner = [int(end_of_line(buffer, p)) + 1 for p in range(CHUNK_BYTES, len(buffer) - CHUNK_BYTES // 2, CHUNK_BYTES)]
    return list(pairwise(sorted({0, *(p for p in inner if p < len(buffer)), len(buffer)})))


def in_threads(function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
    """Results of ``function(*args)`` for each ``args``, in order.

    The functions are compiled ones that release the interpreter lock. Threads of our own take the next chunk as they
    get done, where Numba's would share chunks out beforehand; and Ctrl-C works between chunks.
    """
    if len(arguments) < 2:
        return [function(*args) for args in arguments]
    pool = ThreadPoolExecutor(min(_n_cores(), len(arguments)))
    try:
        return list(pool.map(lambda args: function(*args), arguments))
    finally:
        pool.shutdown(cancel_futures=True)


def _n_cores() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on this platform
        return os.cpu_count() or 1


def strings(buffer: np.ndarray, starts: np.ndarray, stops: np.ndarray) -> np.ndarray:
    """The pieces from ``starts`` to ``stops`` as an array of strings.

    Bytes that are not UTF-8 appear as ``\\xNN``, so that different texts stay different. A few very long texts among
    short ones would make NumPy's fixed-width strings huge: then it is an array of Python strings.
    """
    lengths = stops - starts
    width = max(int(lengths.max(initial=0)), 1)
    if width > 64 and width > 8 * lengths.mean():
        pieces = zip(starts.tolist(), stops.tolist(), strict=True)
        texts = np.empty(len(starts), object)
        texts[:] = [_decode(buffer[start:stop].tobytes()) for start, stop in pieces]
        return texts
    characters = np.zeros((len(starts), width), np.uint32)
    if _gather(buffer, starts, stops, characters):
        return characters.view(f"U{width}")[:, 0]
    return np.array([_decode(text) for text in characters.astype(np.uint8).view(f"S{width}")[:, 0].tolist()])


def _decode(text: bytes) -> str:
    return text.decode("utf-8", "backslashreplace")


@njit(cache=True, nogil=True, error_model="numpy")
def _gather(buffer: np.ndarray, starts: np.ndarray, stops: np.ndarray, characters: np.ndarray) -> bool:
    """Copy each piece into its row of ``characters``; False if one holds more than ASCII."""
    ascii_only = True
    for i in range(len(starts)):
        row, start = characters[i], starts[i]
        for j in range(stops[i] - start):
            ascii_only &= buffer[start + j] < 0x80
            row[j] = buffer[start + j]
    return ascii_only
