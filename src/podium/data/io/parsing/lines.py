"""Lines in arrays of bytes, and pieces of them as strings."""

# ruff: noqa: SIM109  (compiled code compares numbers faster than it searches tuples)

from itertools import pairwise

import numpy as np

from podium.data.io.parsing.simd import NEWLINE, WIDE, byte_at, equal_to, trailing_zeros
from podium.numerics.compiling import njit

CHUNK_BYTES = 1 << 21
SPACE, TAB, CARRIAGE_RETURN, HASH = b" \t\r#"


@njit(cache=True, nogil=True, error_model="numpy", forceinline=True)
def is_blank(c: int) -> bool:
    """Return whether it is whitespace within a line."""
    return c == SPACE or c == TAB or NEWLINE < c <= CARRIAGE_RETURN


@njit(cache=True, nogil=True, error_model="numpy", forceinline=True)
def skip_blanks(buffer: np.ndarray, position: int) -> int:
    while is_blank(byte_at(buffer, position)):
        position += 1
    return position


@njit(cache=True, nogil=True, error_model="numpy")
def end_of_line(buffer: np.ndarray, position: int) -> int:
    """Return the position of the next newline, or the end of the buffer."""
    while position < len(buffer):
        found = equal_to(buffer, position, NEWLINE)
        if found != np.uint64(0):
            return min(position + trailing_zeros(found), len(buffer))
        position += WIDE
    return len(buffer)


def chunks_of_lines(buffer: np.ndarray) -> list[tuple[int, int]]:
    """Divide the buffer into spans of whole lines, some megabytes each, for threads to work on."""
    inner = [int(end_of_line(buffer, p)) + 1 for p in range(CHUNK_BYTES, len(buffer) - CHUNK_BYTES // 2, CHUNK_BYTES)]
    return list(pairwise(sorted({0, *(p for p in inner if p < len(buffer)), len(buffer)})))


def strings(buffer: np.ndarray, starts: np.ndarray, stops: np.ndarray) -> np.ndarray:
    """Return the pieces from ``starts`` to ``stops`` as an array of strings.

    Bytes that are not UTF-8 appear as ``\\xNN``, so that different pieces stay different. NumPy's fixed-width strings
    would be huge with a few very long ones among short ones: then the result is an array of Python strings.
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
    """Copy each piece into its row of ``characters``; return whether all of them are ASCII."""
    ascii_only = True
    for i in range(len(starts)):
        row, start = characters[i], starts[i]
        for j in range(stops[i] - start):
            ascii_only &= buffer[start + j] < 0x80
            row[j] = buffer[start + j]
    return ascii_only
