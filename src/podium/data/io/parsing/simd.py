"""Many bytes of text at a time: the few machine instructions that the compiled parsers are made of.

A *word* is a ``uint64`` of eight characters whose lowest byte is the first (every platform Numba compiles for is
little-endian). Reading past the end of a buffer gives newlines, so a parser needs no special case for a last line
without one.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from podium.numerics.compiling import njit

NEWLINE = 10
WIDE = 32
_NEWLINES = np.uint64(0x0A0A0A0A0A0A0A0A)
_ZEROS = np.uint64(0x3030303030303030)  # eight times "0"
_HIGH_BITS = np.uint64(0x8080808080808080)
_ABOVE_NINE = np.uint64(0x7676767676767676)  # added to a byte from 10 to 127, sets its high bit


def _load(context: Any, builder: Any, signature: Any, args: Any, what: Any) -> Any:
    """Load ``what`` from any byte of an array, aligned or not; the first arguments are the array and the position."""
    array, position, *_ = args
    data = cgutils.create_struct_proxy(signature.args[0])(context, builder, array).data
    return builder.load(builder.bitcast(builder.gep(data, [position]), what.as_pointer()), align=1)


@intrinsic  # type: ignore[untyped-decorator]
def load_word_unchecked(typingctx: Any, buffer: Any, position: Any) -> Any:
    """Return the eight bytes at ``position``; the caller has checked that they exist."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _load(context, builder, signature, args, ir.IntType(64))

    return types.uint64(buffer, types.int64), codegen


def _compare_many(n: int, operator: str) -> Callable[..., Any]:
    """Return a function of (buffer, position, byte) that gives one bit per comparison of ``n`` bytes with that byte."""

    def compare(typingctx: Any, buffer: Any, position: Any, byte: Any) -> Any:
        vector = ir.VectorType(ir.IntType(8), n)

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            text = _load(context, builder, signature, args, vector)
            one = builder.insert_element(ir.Constant(vector, ir.Undefined), args[2], ir.Constant(ir.IntType(32), 0))
            all_equal = ir.Constant(ir.VectorType(ir.IntType(32), n), [0] * n)
            holds = builder.icmp_unsigned(operator, text, builder.shuffle_vector(one, one, all_equal))
            return builder.zext(builder.bitcast(holds, ir.IntType(n)), ir.IntType(64))

        return types.uint64(buffer, types.int64, types.uint8), codegen

    return intrinsic(compare)


_equal_many = _compare_many(WIDE, "==")
_below_many = _compare_many(16, "<")


def _bit_counter(instruction: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """Return a function of a ``uint64`` that is one machine instruction."""

    def count(typingctx: Any, word: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return instruction(builder, args[0])

        return types.int64(types.uint64), codegen

    return intrinsic(count)


_DEFINED_FOR_ZERO = ir.Constant(ir.IntType(1), 0)
trailing_zeros = _bit_counter(lambda builder, word: builder.cttz(word, _DEFINED_FOR_ZERO))
"""Number of zero bits below the lowest bit that is set; 64 for zero."""
leading_zeros = _bit_counter(lambda builder, word: builder.ctlz(word, _DEFINED_FOR_ZERO))
"""Number of zero bits above the highest bit that is set; 64 for zero."""
count_ones = _bit_counter(lambda builder, word: builder.ctpop(word))
"""Number of bits that are set."""


@njit(cache=True, nogil=True, error_model="numpy", forceinline=True)
def byte_at(buffer: np.ndarray, position: int) -> Any:
    """Return the byte at ``position``, or a newline past the end of the buffer."""
    return np.int64(buffer[position]) if position < len(buffer) else np.int64(NEWLINE)


@njit(cache=True, nogil=True, error_model="numpy", forceinline=True)
def load_word(buffer: np.ndarray, position: int) -> np.uint64:
    """Return the eight bytes at ``position``, with newlines past the end of the buffer."""
    if position + 8 <= len(buffer):
        return load_word_unchecked(buffer, position)
    word = _NEWLINES
    for i in range(len(buffer) - 1, position - 1, -1):
        word = (word << np.uint64(8)) | np.uint64(buffer[i])
    return word


@njit(cache=True, nogil=True, error_model="numpy", forceinline=True)
def equal_to(buffer: np.ndarray, position: int, byte: int) -> np.uint64:
    """Return one bit for each of the ``WIDE`` bytes at ``position``, the lowest for the first: is it this byte?"""
    if position + WIDE <= len(buffer):
        return _equal_many(buffer, position, byte)
    bits = np.uint64(0)
    for i in range(WIDE):
        bits |= np.uint64(byte_at(buffer, position + i) == byte) << np.uint64(i)
    return bits


@njit(cache=True, nogil=True, error_model="numpy", forceinline=True)
def length_of_token(buffer: np.ndarray, position: int) -> int:
    """Return how many of the 16 bytes at ``position``, which must exist, come before the first one below "+".

    Whitespace and ``#`` are below it, everything that numbers are written with is not.
    """
    return trailing_zeros(_below_many(buffer, position, 0x2B) | np.uint64(1 << 16))


@njit(cache=True, nogil=True, error_model="numpy", forceinline=True)
def count_digits(word: np.uint64) -> int:
    """Return how many of the word's first characters are digits (0 to 8)."""
    # A byte that is no digit may carry into later bytes, never into earlier ones, and only the first of them matters.
    nibbles = word ^ _ZEROS
    return trailing_zeros(((nibbles + _ABOVE_NINE) | nibbles) & _HIGH_BITS) >> 3


@njit(cache=True, nogil=True, error_model="numpy", forceinline=True)
def digits_value(word: np.uint64, n: int) -> np.uint64:
    """Return the number that the word's first ``n`` characters (0 to 8, all digits) spell.

    The digits move to the end of the word, with zeros before them; then neighbors merge into numbers of two, four and
    eight digits.
    """
    half_way = np.uint64(32 - 4 * n)  # in two steps, because a shift by 64 bits is undefined
    pairs = ((word ^ _ZEROS) << half_way) << half_way
    pairs = pairs * np.uint64(10) + (pairs >> np.uint64(8))
    fours = pairs & np.uint64(0x00FF00FF00FF00FF)
    fours = fours * np.uint64(100) + (fours >> np.uint64(16))
    eights = fours & np.uint64(0x0000FFFF0000FFFF)
    return (eights * np.uint64(10000) + (eights >> np.uint64(32))) & np.uint64(0xFFFFFFFF)
