"""The compiled parser of LETOR / SVMlight lines: ``grade qid:ID 1:0.5 2:0.1 … # comment``.

There are two passes over chunks of whole lines: :func:`survey` counts, so that the arrays can be made and every chunk
knows its rows; :func:`parse` fills them. Each chunk writes only its own rows.
"""

# ruff: noqa: SIM109  (compiled code compares numbers faster than it searches tuples)

from typing import NamedTuple

import numpy as np

from podium.data.io.parsing.decimals import EXACT, MALFORMED, MINUS, SHORT_READ, UNSURE, parse_number, parse_short
from podium.data.io.parsing.lines import CARRIAGE_RETURN, HASH, SPACE, TAB, end_of_line, is_blank, skip_blanks
from podium.data.io.parsing.simd import WIDE, byte_at, count_ones, equal_to, leading_zeros, load_word, trailing_zeros
from podium.numerics.compiling import njit
from podium.numerics.sorting import descending

NO_PROBLEM, END_OF_FEATURES, BAD_LABEL, LABEL_NOT_FINITE, NO_QID, EMPTY_QID, MISPLACED_QID = range(7)
BAD_INDEX, INDEX_ZERO, INDEX_TOO_LARGE, INDEX_BEYOND, REPEATED_INDEX, BAD_VALUE = range(7, 13)

LARGEST_INDEX = 2**31 - 1
COLON, ZERO, NINE, EQUALS, NEWLINE = b":09=\n"
_NONE = np.uint64(0)


class Rows(NamedTuple):
    """What the lines of a file hold besides features; starts and stops are positions in the file."""

    labels: np.ndarray
    """(n,) float64."""
    line_start: np.ndarray
    qid: np.ndarray
    """(n,) int64, if it is a plain integer."""
    qid_start: np.ndarray
    """-1 if there is none."""
    qid_stop: np.ndarray
    comment_start: np.ndarray
    comment_stop: np.ndarray
    unsure: np.ndarray
    """(n,) bool: the line has a number that only Python's ``float`` rounds correctly for certain."""


class Values(NamedTuple):
    """Arrays for the features: a flat matrix of ``width`` columns, or those of a CSR matrix if ``width`` is -1."""

    data: np.ndarray
    indices: np.ndarray
    row_stop: np.ndarray
    width: int
    index_base: int
    """The index of the first column."""
    limit: int
    """Column numbers of this or more are a problem."""
    labeled: bool
    """Whether every line begins with a grade."""


@njit(cache=True, nogil=True, error_model="numpy", forceinline=True)
def _ends_token(c: int) -> bool:
    return c == SPACE or TAB <= c <= CARRIAGE_RETURN or c == HASH


@njit(cache=True, nogil=True, error_model="numpy")
def _skip_token(buffer: np.ndarray, position: int) -> int:
    while not _ends_token(byte_at(buffer, position)):
        position += 1
    return position


@njit(cache=True, nogil=True, error_model="numpy")
def _starts_qid(buffer: np.ndarray, position: int) -> bool:
    return load_word(buffer, position) & np.uint64(0xFFFFFFFF) == np.uint64(0x3A646971)  # "qid:", first letter lowest


@njit(cache=True, nogil=True, error_model="numpy")
def _number_before(buffer: np.ndarray, position: int) -> int:
    """Return the number whose digits end before ``position``; 0 if there are none or too many."""
    value, factor = 0, 1
    while position > 0 and ZERO <= buffer[position - 1] <= NINE and factor <= LARGEST_INDEX:
        position -= 1
        value += factor * (byte_at(buffer, position) - ZERO)
        factor *= 10
    return value if value <= LARGEST_INDEX else 0


@njit(cache=True, nogil=True, error_model="numpy")
def survey(buffer: np.ndarray, start: int, stop: int) -> tuple[int, int, int]:
    """Return a chunk's number of documents, number of features, and largest last index of a line (or -1)."""
    n_documents, n_features, widest = 0, 0, -1
    position = start
    while position < stop:
        position = skip_blanks(buffer, position)
        c = byte_at(buffer, position)
        if c != NEWLINE and c != HASH:
            n_documents += 1
            if not _starts_qid(buffer, position):
                position = skip_blanks(buffer, _skip_token(buffer, position))
            if _starts_qid(buffer, position):
                position = _skip_token(buffer, position)
            last_colon = -1
            while True:
                colons = equal_to(buffer, position, COLON)
                ends = equal_to(buffer, position, NEWLINE) | equal_to(buffer, position, HASH)
                if ends != _NONE:
                    colons &= ends ^ (ends - np.uint64(1))  # those before the end
                if colons != _NONE:
                    n_features += count_ones(colons)
                    last_colon = position + 63 - leading_zeros(colons)
                if ends != _NONE:
                    position += trailing_zeros(ends)
                    break
                position += WIDE
            if last_colon >= 0:
                widest = max(widest, _number_before(buffer, last_colon))
        position = end_of_line(buffer, position) + 1
    return n_documents, n_features, widest


@njit(cache=True, nogil=True, error_model="numpy")
def _parse_qid(buffer: np.ndarray, position: int, row: int, rows: Rows) -> tuple[bool, int]:
    """Read the query id that starts at ``position``; return whether it is a plain integer, and where it ends."""
    stop = _skip_token(buffer, position)
    rows.qid_start[row] = position
    rows.qid_stop[row] = stop
    negative = byte_at(buffer, position) == MINUS
    first = position + negative
    n = stop - first
    value, plain = 0, 1 <= n <= 18
    for i in range(first, stop if plain else first):
        c = byte_at(buffer, i)
        plain &= ZERO <= c <= NINE
        value = 10 * value + (c - ZERO)
    # "007" and "-0" are not plain: as integers they could not be told from 7 and 0.
    if byte_at(buffer, first) == ZERO and (n > 1 or negative):
        plain = False
    rows.qid[row] = -value if negative else value
    return plain, stop


@njit(cache=True, nogil=True, error_model="numpy")
def _parse_comment(buffer: np.ndarray, position: int, stop: int, row: int, rows: Rows) -> None:
    """Store where the ID in ``docid = ID …`` is, or else the whole comment without whitespace around it."""
    position = skip_blanks(buffer, position)
    while stop > position and is_blank(byte_at(buffer, stop - 1)):
        stop -= 1
    rows.comment_start[row] = position
    rows.comment_stop[row] = max(position, stop)
    if load_word(buffer, position) & np.uint64(0xFFFFFFFFFF) != np.uint64(0x6469636F64):  # "docid"
        return
    equals = skip_blanks(buffer, position + 5)
    first = skip_blanks(buffer, equals + 1)
    if byte_at(buffer, equals) == EQUALS and first < stop:
        rows.comment_start[row] = first
        while first < stop and not is_blank(byte_at(buffer, first)):
            first += 1
        rows.comment_stop[row] = first


@njit(cache=True, nogil=True, error_model="numpy", forceinline=True)
def _parse_index(buffer: np.ndarray, position: int) -> tuple[int, int, int]:
    """Return the index of the next feature, a status, and the position of its value or of the problem."""
    position = skip_blanks(buffer, position)
    start, index = position, 0
    c = byte_at(buffer, position)
    while ZERO <= c <= NINE:
        index = min(10 * index + (c - ZERO), LARGEST_INDEX + 1)
        position += 1
        c = byte_at(buffer, position)
    if c != COLON or position == start:
        if position == start and (c == NEWLINE or c == HASH):
            return 0, END_OF_FEATURES, position
        return 0, MISPLACED_QID if _starts_qid(buffer, start) else BAD_INDEX, start
    if index > LARGEST_INDEX:
        return 0, INDEX_TOO_LARGE, start
    return index, NO_PROBLEM, position + 1


@njit(cache=True, nogil=True, error_model="numpy")
def _repeated_index(buffer: np.ndarray, position: int, n: int) -> int:
    """Return where, among the ``n`` features from ``position`` on, one repeats an index; -1 if none does."""
    indices, positions, order = np.empty(n), np.empty(n, np.int64), np.empty(n, np.int64)
    for i in range(n):
        positions[i] = skip_blanks(buffer, position)
        indices[i] = _parse_index(buffer, positions[i])[0]
        position = _skip_token(buffer, positions[i])
    descending(indices, order)
    for i in range(1, n):
        if indices[order[i]] == indices[order[i - 1]]:
            return positions[order[i]]
    return -1


@njit(cache=True, nogil=True, error_model="numpy")
def _parse_features(buffer: np.ndarray, position: int, first: int, values: Values) -> tuple[int, int, int, int, bool]:
    """Parse the features of one line into the row of a matrix or the CSR entries that begin at ``first``.

    Return a status, the position of the problem (or the end of the features), the number of features, the number of
    columns they need, and whether a number is unsure. Features beyond the width, but not beyond the limit, are dropped.
    """
    data, indices, width = values.data[first:], values.indices[first:], values.width
    start, n, n_columns, previous, increasing, unsure = position, 0, 0, -1, True, False
    while True:
        # First the usual kind of feature, without calls that loop over the buffer: Numba counts references for those.
        token, index, length = position, 0, 0
        if position + 8 + SHORT_READ <= len(buffer):
            c = buffer[position]
            while ZERO <= c <= NINE and position < token + 7:
                index = 10 * index + (c - ZERO)
                position += 1
                c = buffer[position]
            if c == COLON and position > token:
                position += 1
                value, length = parse_short(buffer, position)
                position += length
        if length == 0:
            index, status, position = _parse_index(buffer, token)
            if status == END_OF_FEATURES:
                break
            if status != NO_PROBLEM:
                return status, position, n, n_columns, unsure
            value, status, stop = parse_number(buffer, position)
            if status == MALFORMED:
                return BAD_VALUE, token, n, n_columns, unsure
            unsure |= status == UNSURE
            position = stop
        c = buffer[position] if position < len(buffer) else NEWLINE
        if c == SPACE:
            position += 1
        elif not (TAB <= c <= CARRIAGE_RETURN or c == HASH):
            return BAD_VALUE, token, n, n_columns, unsure

        increasing &= index > previous
        previous = index
        column = index - values.index_base
        if 0 <= column < width:
            data[column] = value
        elif column < 0:
            return INDEX_ZERO, token, n, n_columns, unsure
        elif column >= values.limit:
            return INDEX_BEYOND, token, n, n_columns, unsure
        elif width < 0:
            data[n] = value
            indices[n] = column
        n_columns = max(n_columns, column + 1)
        n += 1
    if not increasing:
        repeated = _repeated_index(buffer, start, n)
        if repeated >= 0:
            return REPEATED_INDEX, repeated, n, n_columns, unsure
    return NO_PROBLEM, position, n, n_columns, unsure


@njit(cache=True, nogil=True, error_model="numpy")
def parse(
    buffer: np.ndarray, start: int, stop: int, row: int, slot: int, rows: Rows, values: Values
) -> tuple[int, int, bool, int]:
    """Parse the lines of a chunk into rows from ``row`` on, CSR entries from ``slot`` on.

    Return the first problem and its position, whether all query ids are plain integers, and the number of columns that
    the features need: more than ``values.width`` if a line's last index is not its largest.
    """
    plain_qids, n_columns = True, 0
    position = start
    while position < stop:
        line_start = position
        position = skip_blanks(buffer, position)
        c = byte_at(buffer, position)
        if c == NEWLINE or c == HASH:
            position = end_of_line(buffer, position) + 1
            continue

        if not values.labeled and _starts_qid(buffer, position):
            label, status, end = 0.0, EXACT, position
        else:
            label, status, end = parse_number(buffer, position)
            if status != MALFORMED and not _ends_token(byte_at(buffer, end)):
                status = MALFORMED
        if status == MALFORMED:
            return BAD_LABEL, position, plain_qids, n_columns
        if status == EXACT and not np.isfinite(label):
            return LABEL_NOT_FINITE, position, plain_qids, n_columns
        unsure_label = status == UNSURE
        rows.labels[row] = label
        rows.line_start[row] = line_start

        position = skip_blanks(buffer, end)
        rows.qid_start[row] = -1
        if _starts_qid(buffer, position):
            plain, end = _parse_qid(buffer, position + 4, row, rows)
            if end == position + 4:
                return EMPTY_QID, position, plain_qids, n_columns
            plain_qids &= plain
            position = end

        first = slot if values.width < 0 else row * values.width
        status, position, n, needed, unsure = _parse_features(buffer, position, first, values)
        if status != NO_PROBLEM:
            return status, position, plain_qids, n_columns
        n_columns = max(n_columns, needed)
        rows.unsure[row] = unsure or unsure_label
        if values.width < 0:
            slot += n
            values.row_stop[row] = slot

        line_stop = end_of_line(buffer, position)
        rows.comment_start[row] = rows.comment_stop[row] = line_stop
        if byte_at(buffer, position) == HASH:
            _parse_comment(buffer, position + 1, line_stop, row, rows)
        row += 1
        position = line_stop + 1
    return NO_PROBLEM, stop, plain_qids, n_columns
