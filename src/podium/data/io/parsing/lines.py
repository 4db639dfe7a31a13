"""Lines in arrays of bytes, and pieces of them as strings."""

# ruff: noqa: SIM109  (compiled code compares numbers faster than it searches tuples)

from itertools import pairwise

import numpy as np

from podium.core.limits import limit
from podium.core.texts import is_uneven, text_array
from podium.data.io.files import TextSource, too_long_a_line
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


def chunks_of_lines(source: TextSource) -> list[tuple[int, int]]:
    """Divide a file into spans of whole lines, some megabytes each, for threads to work on."""
    bounds, longest = [source.start], limit("PODIUM_MAX_LINE_MB") << 20
    while bounds[-1] < source.stop:
        enough = bounds[-1] + CHUNK_BYTES
        stop = source.end_of_line(enough) if enough + CHUNK_BYTES // 2 < source.stop else source.stop
        if stop - enough > longest:
            raise source.error_at(enough, too_long_a_line(stop - enough))
        bounds.append(stop)
    return list(pairwise(bounds))


def strings(buffer: np.ndarray, starts: np.ndarray, stops: np.ndarray) -> np.ndarray:
    """Return the pieces from ``starts`` to ``stops``, which are UTF-8, as an array of strings.

    NumPy's fixed-width strings would be huge with a few very long ones among short ones, and drop zeros at the end:
    then the result is an array of Python strings.

    Raises
    ------
    UnicodeDecodeError
    """
    lengths = stops - starts
    width = max(int(lengths.max(initial=0)), 1)
    if not is_uneven(width, float(lengths.mean()) if len(lengths) else 0.0):
        characters = np.zeros((len(starts), width), np.uint32)
        if _gather(buffer, starts, stops, characters):
            return characters.view(f"U{width}")[:, 0]
    pieces = zip(starts.tolist(), stops.tolist(), strict=True)
    return text_array([buffer[start:stop].tobytes().decode("utf-8") for start, stop in pieces])


@njit(cache=True, nogil=True, error_model="numpy")
def _gather(buffer: np.ndarray, starts: np.ndarray, stops: np.ndarray, characters: np.ndarray) -> bool:
    """Copy each piece into its row of ``characters``; return whether all of them are ASCII, without zeros."""
    plain = True
    for i in range(len(starts)):
        row, start = characters[i], starts[i]
        for j in range(stops[i] - start):
            plain &= 0 < buffer[start + j] < 0x80
            row[j] = buffer[start + j]
    return plain
