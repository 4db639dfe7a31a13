"""Lines with a fixed number of columns separated by whitespace."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numba import njit

from podium.data.io.parsing.decimals import MALFORMED, UNSURE, parse_number
from podium.data.io.parsing.lines import end_of_line, is_blank, skip_blanks
from podium.data.io.parsing.simd import NEWLINE, byte_at


def split_columns(buffer: np.ndarray, n_columns: int, wanted: Sequence[int]) -> tuple[np.ndarray, np.ndarray, int]:
    """Return where the wanted columns of each line start and stop, (n_lines, n_wanted) each, and a problem.

    Blank lines are skipped. The problem is the position of the first line with more or fewer columns, or -1.
    """
    n_lines = _count_lines(buffer)
    starts = np.empty((n_lines, len(wanted)), np.int64)
    stops = np.empty((n_lines, len(wanted)), np.int64)
    slots = np.full(n_columns, -1)
    slots[list(wanted)] = np.arange(len(wanted))
    return starts, stops, int(_split_columns(buffer, slots, starts, stops))


@njit(cache=True, nogil=True, error_model="numpy")
def _count_lines(buffer: np.ndarray) -> int:
    """Count the lines that are not blank."""
    n, position = 0, 0
    while position < len(buffer):
        position = skip_blanks(buffer, position)
        n += byte_at(buffer, position) != NEWLINE
        position = end_of_line(buffer, position) + 1
    return n


@njit(cache=True, nogil=True, error_model="numpy")
def _split_columns(buffer: np.ndarray, slots: np.ndarray, starts: np.ndarray, stops: np.ndarray) -> int:
    row, position = 0, 0
    while position < len(buffer):
        line, column = position, 0
        while True:
            position = skip_blanks(buffer, position)
            if byte_at(buffer, position) == NEWLINE:
                break
            start = position
            while not (is_blank(byte_at(buffer, position)) or byte_at(buffer, position) == NEWLINE):
                position += 1
            if column < len(slots) and slots[column] >= 0:
                starts[row, slots[column]] = start
                stops[row, slots[column]] = position
            column += 1
        if column != len(slots) and column > 0:
            return line
        row += column > 0
        position += 1
    return -1


def numbers(buffer: np.ndarray, starts: np.ndarray, stops: np.ndarray) -> tuple[np.ndarray, int]:
    """Return the finite numbers in the texts from ``starts`` to ``stops``, and the first text that is none, or -1."""
    values = np.empty(len(starts))
    unsure = np.empty(len(starts), bool)
    problem = int(_numbers(buffer, starts, stops, values, unsure))
    if problem < 0:
        for row in np.flatnonzero(unsure).tolist():
            values[row] = float(buffer[starts[row] : stops[row]].tobytes())
        infinite = np.flatnonzero(~np.isfinite(values))
        problem = int(infinite[0]) if len(infinite) else -1
    return values, problem


@njit(cache=True, nogil=True, error_model="numpy")
def _numbers(buffer: np.ndarray, starts: np.ndarray, stops: np.ndarray, values: np.ndarray, unsure: np.ndarray) -> int:
    for row in range(len(starts)):
        value, status, stop = parse_number(buffer, starts[row])
        if status == MALFORMED or stop != stops[row]:
            return row
        values[row] = value
        unsure[row] = status == UNSURE
    return -1
