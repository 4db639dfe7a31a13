"""Numbers out of text must have the bits that Python's ``float`` gives: it is the oracle throughout."""

from __future__ import annotations

import random
import struct

import numpy as np
import pytest

from podium.data.io.parsing.decimals import EXACT, MALFORMED, SHORT_READ, UNSURE, parse_number, parse_short
from podium.data.io.parsing.simd import byte_at, count_digits, digits_value, equal_to, length_of_token, load_word


def as_bytes(text: str) -> np.ndarray:
    return np.frombuffer(text.encode(), np.uint8)


def bits(value: float) -> bytes:
    return b"nan" if value != value else struct.pack("<d", value)


def check(text: str) -> int:
    """Both parsers agree with ``float`` or say that they do not know; returns the status of the general one."""
    value, status, stop = parse_number(as_bytes(text), 0)
    assert status != MALFORMED
    assert stop == len(text)
    if status == EXACT:
        assert bits(value) == bits(float(text)), text
    value, length = parse_short(as_bytes(text + " " + "?" * SHORT_READ), 0)
    if length:
        assert length == len(text)
        assert bits(value) == bits(float(text)), text
    return status


# fmt: off
ORDINARY = [
    "0", "-0", "+0", "1", "-1", "+1", ".5", "-.5", "5.", "00012", "007.50", "1e5", "1E5", "1e+5", "-3.2E-4", "0e0",
    "0e999999999999", "0.0000000000000000000000001", "1234567", "12345678", "123456789", "0.12345678", "0.123456789",
    "1234567.12345678", "nan", "NaN", "-nan", "inf", "-inf", "+INF", "Infinity", "9007199254740991",
    "9007199254740992", "9007199254740994", "1e22", "8.41e21", "9.5367431640625e-07", "1.7976931348623e300",
    "0.500000000000000000", "123456789012345678", "1234567890123456789",
]
# fmt: on


@pytest.mark.parametrize("text", ORDINARY)
def test_written_numbers_are_exact(text: str) -> None:
    assert check(text) == EXACT


@pytest.mark.parametrize(
    "text",
    [
        "9007199254740993",  # half way between two floats
        "1e23",  # so is this one
        "1e400",
        "1e-400",
        "5e-324",
        "2.2250738585072014e-308",
        "1.7976931348623157e308",
        "1.00000000000000011102230246251565404",  # 1 + 2^-53 and a bit: where the 20th digit and those after it decide
        "7.2057594037927933e16",
    ],
)
def test_hard_numbers_are_exact_or_unsure(text: str) -> None:
    check(text)


@pytest.mark.parametrize("text", ["", "-", "+", ".", "-.", "e5", "1e", "1e+", "abc", "nax", "in", "--1", "x10", "_1"])
def test_malformed(text: str) -> None:
    assert parse_number(as_bytes(text), 0)[1] == MALFORMED
    assert parse_short(as_bytes(text + " " + "?" * SHORT_READ), 0)[1] == 0


@pytest.mark.parametrize("text", ["1_000", "0x1p3", "1.2.3", "1,5", "1e5.5", "12abc"])
def test_stops_at_what_is_no_number(text: str) -> None:
    _, _, stop = parse_number(as_bytes(text), 0)
    assert stop < len(text)
    assert parse_short(as_bytes(text + " " + "?" * SHORT_READ), 0)[1] == 0


def test_random_numbers() -> None:
    rng = random.Random(0)
    n_unsure = 0
    for _ in range(10_000):
        any_float = struct.unpack("<d", rng.randbytes(8))[0]
        usual = rng.uniform(-100, 100)
        power = rng.randint(-30, 30)
        texts = [
            repr(any_float),
            repr(usual),
            repr(float(np.float32(usual))),
            str(np.float32(usual)),
            f"{usual:.{power % 9}f}",
        ]
        texts += [
            f"{usual:.16g}",
            f"{usual:.18e}",
            f"{usual * 10.0**power:.17g}",
            str(rng.randrange(10 ** (abs(power) + 1))),
        ]
        n_unsure += sum(check(text) == UNSURE for text in texts[:8])
    assert n_unsure < 100  # subnormal floats among the first kind, about one in a thousand


def test_more_digits_than_fit_are_exact_or_unsure() -> None:
    rng = random.Random(1)
    statuses = [check(f"{rng.randrange(10**30)}.{rng.randrange(10**9)}e-{rng.randrange(40)}") for _ in range(5_000)]
    assert statuses.count(UNSURE) < 100


def test_half_way_cases() -> None:
    """Texts of numbers exactly between two floats, and one unit in the last place beside them."""
    rng = random.Random(2)
    for _ in range(2_000):
        exponent = rng.randint(0, 10)
        half_way = (2 * rng.randrange(2**52, 2**53) + 1) << exponent
        for number in (half_way - 1, half_way, half_way + 1):
            check(str(number))
            check(f"{number}e-3")


def test_words() -> None:
    text = as_bytes("0123456789:ab\n#")
    assert [count_digits(load_word(text, p)) for p in (0, 2, 3, 9, 10)] == [8, 8, 7, 1, 0]
    assert [int(digits_value(load_word(text, 1), n)) for n in range(9)] == [
        0, 1, 12, 123, 1234, 12345, 123456, 1234567, 12345678
    ]  # fmt: skip
    assert int(load_word(text, 13)) == int.from_bytes(b"\n#" + b"\n" * 6, "little")
    assert int(load_word(text, 20)) == int.from_bytes(b"\n" * 8, "little")
    assert byte_at(text, 15) == byte_at(text, 99) == ord("\n")
    long = as_bytes("x" * 40 + "\n" + "y" * 40)
    assert [int(equal_to(long, p, ord("\n"))) for p in (0, 8, 9, 40)] == [0, 0, 1 << 31, 1]
    assert int(equal_to(text, 14, ord("\n"))) == 2**32 - 2  # past the end there are only line ends
    assert [length_of_token(as_bytes(t.ljust(16, "9")), 0) for t in ("", "1.5 ", "1\n", "12#", "1\r")] == [
        16,
        3,
        1,
        2,
        1,
    ]


def test_every_byte_that_is_no_digit_ends_the_digits() -> None:
    for byte in range(256):
        text = np.array([*b"12", byte, *b"34567"], np.uint8)
        assert count_digits(load_word(text, 0)) == (8 if chr(byte) in "0123456789" else 2)
