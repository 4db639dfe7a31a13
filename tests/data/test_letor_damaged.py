"""Damaged LETOR files: each is either read as a slow, plain reader reads it, or refused as it refuses it."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from podium.data.io.letor.reader import read_letor
from podium.data.io.parsing import lines

from .letor_oracle import read_strictly

ALPHABET = b"0123456789:.-+ \t\n\r#qideEnaf\x00\xff"
SOUND = (
    b"1 qid:1 1:0.5 2:-13.106251 10:1e-3 #docid = a\n"
    b"0 qid:1 1:2 3:123456789.123 4:nan\n"
    b"2 qid:22 2:1 1:inf 136:0.000001 137:31.50166952\n"
)


def damaged(rng: random.Random) -> bytes:
    text = bytearray(SOUND * rng.randint(1, 3))
    for _ in range(rng.randint(0, 3)):
        place = rng.randrange(len(text))
        length = rng.randint(0, 6)
        text[place : place + rng.choice([0, length])] = bytes(
            rng.choice(ALPHABET) for _ in range(rng.choice([0, 1, length]))
        )
    return bytes(text[: rng.randint(1, len(text))] if rng.random() < 0.3 else text)


@pytest.mark.parametrize("chunk_bytes", [7, 64, 1 << 21])
def test_damaged_files(tmp_path: Path, monkeypatch, chunk_bytes: int) -> None:
    monkeypatch.setattr(lines, "CHUNK_BYTES", chunk_bytes)
    rng = random.Random(chunk_bytes)
    n_read = n_refused = 0
    for _ in range(250):
        text = damaged(rng)
        (tmp_path / "data").write_bytes(text)
        expected = read_strictly(text)
        if expected is None:
            with pytest.raises(ValueError, match=r"data:\d+: |no documents in|no query ids"):
                read_letor(tmp_path / "data", sparse=True)
            n_refused += 1
            continue
        q = read_letor(tmp_path / "data", dtype=np.float64, sparse=True)
        order = np.arange(q.n_documents) if q.order is None else q.order
        assert q.labels.tolist() == [expected[row][0] for row in order], text
        for i, row in enumerate(order):
            entries = q.features[[i]].tocoo()
            found = dict(zip((entries.col + 1).tolist(), entries.data.tolist(), strict=True))
            assert repr(sorted(found.items())) == repr(sorted(expected[row][1].items())), text
        n_read += 1
    assert min(n_read, n_refused) > 50
