"""Ways to damage a file: bytes anywhere, and the structure of JSON."""

from __future__ import annotations

import copy
import random
from typing import Any

TOKENS = [
    *(b"0", b"-0", b"1e999", b"-1e999", b"1e-400", b"nan", b"inf", b"-inf", b"2147483647", b"2147483648", b"-1"),
    *(b"9223372036854775808", b"18446744073709551616", b"0x10", b"1_000", b"007", b"1e", b".", b"+", b"--1"),
    *(
        b"qid:",
        b"qid:1 qid:2",
        b":",
        b"::",
        b"#",
        b"#docid = x",
        b"\n",
        b"\r\n",
        b"\r",
        b"\n\n",
        b" ",
        b"\t",
        b"\v",
        b"\f",
    ),
    *(
        b",",
        b";",
        b"|",
        b'"',
        b'""',
        b"'",
        b"\\",
        b"\0",
        b"\xff",
        b"\xef\xbb\xbf",
        "é".encode(),
        "\u2028".encode(),
        "½".encode(),
    ),
    *(b"PAR1", b"PK\x03\x04", b"PK\x01\x02", b"PK\x05\x06", b"\x1f\x8b", b"\x93NUMPY", b"{", b"}", b"[", b"]"),
]

VALUES: list[Any] = [
    *(
        None,
        True,
        False,
        0,
        -1,
        1,
        2,
        3,
        2**31,
        2**63,
        10**30,
        -(10**30),
        300_000_000,
        0.0,
        -0.0,
        0.5,
        1e308,
        -1e308,
        5e-324,
    ),
    *("", "x", "ListNet", "Linear", "Blend", "mine:Loss", "\0", "x" * 10_000, "ndcg@10", "ndcg@0", "é"),
    *([], {}, [1], [[]], [[[[[[]]]]]], {"x": 1}, list(range(200)), [0.5] * 3, {"tuple": [1, 2]}, {"float": "nan"}),
    *({"float": "inf"}, {"array": [1, 2], "dtype": "<f8"}, {"class": "Linear", "parameters": {}}, {"dict": [[1, 2]]}),
    *({"class": "BoltzRank", "parameters": {"hidden": 10**9}}, {"part": "os:system"}, {"metric": "map", "own": False}),
]


def damaged(content: bytes, rng: random.Random) -> bytes:
    """Return the content with some bytes, or larger pieces, changed."""
    data = bytearray(content)
    for _ in range(rng.choice((1, 1, 1, 2, 3, 8))):
        place = rng.randrange(len(data) + 1)
        other = rng.randrange(len(data) + 1)
        kind = rng.randrange(9)
        if kind == 0 and place < len(data):
            data[place] ^= 1 << rng.randrange(8)
        elif kind == 1 and place < len(data):
            data[place] = rng.randrange(256)
        elif kind == 2:
            data[place:place] = rng.choice(TOKENS)
        elif kind == 3:
            token = rng.choice(TOKENS)
            data[place : place + len(token)] = token
        elif kind == 4:
            del data[place : place + rng.choice((1, 1, 2, 5, 50))]
        elif kind == 5:
            data[place:place] = data[other : other + rng.randrange(1, 60)]
        elif kind == 6 and rng.random() < 0.3:
            del data[place:]
        elif kind == 7 and rng.random() < 0.1:
            data[place:place] = data[other : other + 20] * rng.choice((10, 100, 1000))
        elif kind == 8 and place + 8 <= len(data):
            number = rng.choice((0, 1, 2**31 - 1, 2**32 - 1, 2**63 - 1, rng.randrange(2**16)))
            width = rng.choice((1, 2, 4, 8))
            data[place : place + width] = (number % 256**width).to_bytes(width, rng.choice(("little", "big")))
    return bytes(data)


def restructured(value: Any, rng: random.Random) -> Any:
    """Return JSON with one or a few of its values replaced, removed or moved."""
    value = copy.deepcopy(value)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        places = list(_places(value))
        if not places:
            return rng.choice(VALUES)
        holder, key = rng.choice(places)
        kind = rng.randrange(6)
        if kind == 0:
            del holder[key]
        elif kind == 1:
            other, place = rng.choice(places)
            if place in other if isinstance(other, dict) else place < len(other):
                holder[key] = copy.deepcopy(other[place])
        elif kind == 2 and isinstance(holder[key], int | float) and not isinstance(holder[key], bool):
            holder[key] = holder[key] * rng.choice((-1, 0, 2, 10**6, 1e300)) + rng.choice((0, 1, -1, 0.5))
        elif kind == 3 and isinstance(holder, dict):
            holder[rng.choice(("x", "class", "parameters", "array", "hidden", "", "metric"))] = rng.choice(VALUES)
        else:
            holder[key] = copy.deepcopy(rng.choice(VALUES))
    return value


def _places(value: Any) -> Any:
    """Yield every (list or dictionary, key) within a value."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in list(items):
        yield value, key
        yield from _places(inner)
