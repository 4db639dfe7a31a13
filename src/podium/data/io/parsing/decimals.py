"""Decimal text to floating point in compiled code, bit for bit as Python's ``float`` does it.

There are three ways, each exact where it applies:

- up to 15 digits and a power of ten up to 22: both are exact in float64, so one multiplication or division rounds once
  (Clinger 1990);
- up to 19 digits: the digits times a 128-bit approximation of the power of ten. The product's error is bounded: if
  every number within the bound rounds to the same float64, that is the result (the idea of Lemire 2021);
- the rest, a few numbers in a billion apart from those with 20 digits or more or at the ends of the range: reported
  as ``UNSURE``, for the caller to pass to ``float``.
"""

# ruff: noqa: SIM109  (compiled code compares numbers faster than it searches tuples)

import math

import numpy as np

from podium.data.io.parsing import simd
from podium.numerics.compiling import njit

EXACT, UNSURE, MALFORMED = 0, 1, 2

PLUS, MINUS, DOT, ZERO, NINE, LETTER_E = b"+-.09e"

POWERS_OF_TEN = np.array([float(10**k) for k in range(23)])
"""The powers that float64 holds exactly."""
_WHOLE_POWERS_OF_TEN = 10 ** np.arange(9)
_LARGEST_EXACT = np.uint64(2**53)
_ROOM_FOR_A_DIGIT = np.uint64(10**18)
_MIN_POWER, _MAX_POWER = -342, 308
_HALF = np.uint64(1 << 10)  # of the 11 bits that a 64-bit significand has beyond float64's 53
_32 = np.uint64(32)
_LOW_HALF = np.uint64(0xFFFFFFFF)
_LOWER_CASE = np.uint64(0x2020202020202020)  # the bit that distinguishes small letters from capitals
_INFINITY, _INF, _NAN = (np.uint64(int.from_bytes(name, "little")) for name in (b"infinity", b"inf", b"nan"))


def _power_table() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return 10**k for each k: upper and lower half of 128 bits (rounded down, highest bit set), and a power of two."""
    high, low, exponents = [], [], []
    for k in range(_MIN_POWER, _MAX_POWER + 1):
        extra = 128 + (10 ** abs(k)).bit_length()  # leaves 128 bits after the leading zeros
        scaled = 10**k << extra if k >= 0 else (1 << extra) // 10**-k
        excess = scaled.bit_length() - 128
        significand = scaled >> excess
        high.append(significand >> 64)
        low.append(significand & (2**64 - 1))
        exponents.append(excess - extra)
    return np.array(high, np.uint64), np.array(low, np.uint64), np.array(exponents, np.int64)


_HIGH, _LOW, _EXPONENT = _power_table()


@njit(cache=True, nogil=True, error_model="numpy")
def _multiply(a: np.uint64, b: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Return the upper and lower 64 bits of a product."""
    a1, a0, b1, b0 = a >> _32, a & _LOW_HALF, b >> _32, b & _LOW_HALF
    low = a0 * b0
    middle = a1 * b0 + (low >> _32)
    other = a0 * b1 + (middle & _LOW_HALF)
    return a1 * b1 + (middle >> _32) + (other >> _32), (other << _32) | (low & _LOW_HALF)


@njit(cache=True, nogil=True, error_model="numpy")
def scale(digits: np.uint64, power: int, truncated: bool) -> tuple[float, int]:
    """Return ``digits * 10**power`` correctly rounded and EXACT, or UNSURE.

    ``truncated`` means that further digits were dropped: the true number is between ``digits`` and ``digits + 1``.
    """
    if not truncated and digits <= _LARGEST_EXACT and -22 <= power <= 22:
        if power < 0:
            return np.float64(digits) / POWERS_OF_TEN[-power], EXACT
        return np.float64(digits) * POWERS_OF_TEN[power], EXACT
    if digits == np.uint64(0):
        return 0.0, UNSURE if truncated else EXACT
    if not _MIN_POWER <= power <= _MAX_POWER:
        return 0.0, UNSURE
    shift = simd.leading_zeros(digits)
    wide = digits << np.uint64(shift)
    upper, middle = _multiply(wide, _HIGH[power - _MIN_POWER])
    carried, _ = _multiply(wide, _LOW[power - _MIN_POWER])
    middle += carried
    if middle < carried:
        upper += np.uint64(1)
    exponent = _EXPONENT[power - _MIN_POWER] + 128 - shift
    if upper >> np.uint64(63) == np.uint64(0):
        upper = (upper << np.uint64(1)) | (middle >> np.uint64(63))
        middle <<= np.uint64(1)
        exponent -= 1
    # The table and the product are rounded down: the true value is at most 4 units of `middle` higher, or, where digits
    # were dropped, one unit of the last digit more. If the midpoint of two floats lies within, rounding is unsure.
    rest = upper & np.uint64(0x7FF)
    margin = np.uint64(0)
    if truncated:
        margin = np.uint64(1) + (np.uint64(2) << np.uint64(shift))
    if rest == _HALF and middle == np.uint64(0):
        return 0.0, UNSURE
    if rest < _HALF and (rest + margin >= _HALF or (rest + np.uint64(1) == _HALF and middle >= np.uint64(2**64 - 4))):
        return 0.0, UNSURE
    significand = upper >> np.uint64(11)
    if rest >= _HALF:
        significand += np.uint64(1)
    exponent += 11
    if not -1074 < exponent < 970:  # subnormal or near overflow
        return 0.0, UNSURE
    return math.ldexp(np.float64(significand), exponent), EXACT


@njit(cache=True, nogil=True, error_model="numpy")
def _parse_name(buffer: np.ndarray, position: int) -> tuple[float, int, int]:
    """Read ``nan``, ``inf`` or ``infinity`` in any case."""
    word = simd.load_word(buffer, position) | _LOWER_CASE
    if word == _INFINITY:
        return np.inf, EXACT, position + 8
    three = word & np.uint64(0xFFFFFF)
    if three == _INF or three == _NAN:
        return np.inf if three == _INF else np.nan, EXACT, position + 3
    return 0.0, MALFORMED, position


@njit(cache=True, nogil=True, error_model="numpy")
def parse_number(buffer: np.ndarray, position: int) -> tuple[float, int, int]:
    """Return the value of the number that starts at ``position``, EXACT / UNSURE / MALFORMED, and where it ends.

    The caller checks what follows the number.
    """
    start = position
    sign = simd.byte_at(buffer, position)
    if sign == MINUS or sign == PLUS:
        position += 1
    first = simd.byte_at(buffer, position)
    if first > NINE:
        value, status, position = _parse_name(buffer, position)
        return -value if sign == MINUS else value, status, position
    digits, power, n_digits, n_lost, fraction = np.uint64(0), 0, 0, 0, False
    while True:
        c = simd.byte_at(buffer, position)
        if ZERO <= c <= NINE:
            n_digits += 1
            if digits < _ROOM_FOR_A_DIGIT:
                digits = digits * np.uint64(10) + np.uint64(c - ZERO)
                power -= fraction
            else:
                n_lost += c != ZERO
                power += not fraction
        elif c == DOT and not fraction:
            fraction = True
        else:
            break
        position += 1
    if n_digits == 0:
        return 0.0, MALFORMED, start
    if c | 0x20 == LETTER_E:
        position += 1
        exponent_sign = simd.byte_at(buffer, position)
        if exponent_sign == MINUS or exponent_sign == PLUS:
            position += 1
        exponent, n_digits = 0, 0
        while ZERO <= simd.byte_at(buffer, position) <= NINE:
            exponent = min(exponent * 10 + simd.byte_at(buffer, position) - ZERO, 10**9)  # far out of range either way
            n_digits += 1
            position += 1
        if n_digits == 0:
            return 0.0, MALFORMED, start
        power += -exponent if exponent_sign == MINUS else exponent
    value, status = scale(digits, power, n_lost > 0)
    return -value if sign == MINUS else value, status, position


SHORT_READ = 32
"""Bytes from ``position`` on that :func:`parse_short` may read."""


@njit(cache=True, nogil=True, error_model="numpy", forceinline=True)
def parse_short(buffer: np.ndarray, position: int) -> tuple[float, int]:
    """Return value and length of a number such as "3", "-0.25" or "13.106251"; length 0 for any longer or other text.

    Nearly all numbers in data files are of this kind, of varying length: so no branch depends on a length, which no
    processor could predict, and the length is known before the digits are.
    """
    length = simd.length_of_token(buffer, position)
    word = simd.load_word_unchecked(buffer, position)
    negative = word & np.uint64(0xFF) == np.uint64(MINUS)
    word >>= np.uint64(8 * negative)
    n = simd.count_digits(word)
    shift = np.uint64(8 * (n & 7))
    has_point = (word >> shift) & np.uint64(0xFF) == np.uint64(DOT)
    decimals = simd.load_word_unchecked(buffer, position + negative + n + 1)
    n_decimals = simd.count_digits(decimals) * has_point
    if not (0 < n < 8 and length < 16 and negative + n + has_point + n_decimals == length):
        return 0.0, 0
    if n + n_decimals <= 8:
        together = (word & ((np.uint64(1) << shift) - np.uint64(1))) | (decimals << shift)
        digits = np.int64(simd.digits_value(together, n + n_decimals))
    else:
        digits = np.int64(simd.digits_value(word, n)) * _WHOLE_POWERS_OF_TEN[n_decimals]
        digits += np.int64(simd.digits_value(decimals, n_decimals))
    value = np.float64(digits) / POWERS_OF_TEN[n_decimals]
    return -value if negative else value, length
