"""Writing LETOR files: what is read back is the same to the bit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from podium.data.io.letor import writer as letor_writer
from podium.data.io.letor.reader import read_letor
from podium.data.io.letor.writer import write_letor
from podium.data.queries import Queries

from .letor_oracle import same_bits


@pytest.mark.parametrize("name", ["out.txt", "out.txt.gz"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("is_sparse", [False, True])
def test_round_trip_is_exact(tmp_path: Path, monkeypatch, name: str, dtype: type, is_sparse: bool) -> None:
    monkeypatch.setattr(letor_writer, "VALUES_AT_A_TIME", 500)
    rng = np.random.default_rng(0)
    width = np.uint32 if dtype == np.float32 else np.uint64
    features = rng.integers(0, np.iinfo(width).max, (200, 8), width, endpoint=True).view(dtype)  # floats of all sizes
    features[rng.random(features.shape) < 0.2] = 0
    features[:9, 0] = [-0.0, np.inf, -np.inf, np.nan, 1, -1, 1e-7, 123456789, np.finfo(dtype).tiny]
    features[:, 7] = 1  # so that sparse files show how many features there are
    if is_sparse:
        features[0, 0] = 0  # zeros are not written, whatever their sign
    labels = rng.choice([0, 1, 2, 0.1, -3.25, 1e-300], 200)
    q = Queries(
        sparse.csr_matrix(features) if is_sparse else features,
        labels,
        qid=rng.permutation(np.repeat(np.arange(20), 10)),
        document_ids=[f"d{i}" for i in range(200)],
    )
    write_letor(q, tmp_path / name)
    r = read_letor(tmp_path / name, dtype=dtype, sparse=is_sparse)
    assert same_bits(
        r.features.toarray() if is_sparse else r.features, q.features.toarray() if is_sparse else q.features
    )
    assert same_bits(r.labels, q.labels)
    assert np.array_equal(r.offsets, q.offsets)
    assert np.array_equal(r.qids, q.qids)
    assert np.array_equal(r.document_ids, q.document_ids)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_written_text(tmp_path: Path) -> None:
    q = Queries(
        np.array([[1, 0.1], [0, -0.0], [1e-7, 3]], np.float32),
        [2, 0, 0.5],
        qid=["x", "y", "x"],
        document_ids=["a", "", "two words"],
    )
    write_letor(q, tmp_path / "out")
    assert (tmp_path / "out").read_text() == (
        "2 qid:x 1:1 2:0.1 #docid = a\n0.5 qid:x 1:1e-7 2:3 # two words\n0 qid:y 1:0 2:-0\n"
    )
    assert read_letor(tmp_path / "out").document_ids.tolist() == ["a", "two words", ""]
    write_letor(q, tmp_path / "out", comments=False)
    assert "#" not in (tmp_path / "out").read_text()
    s = q.with_features(sparse.csr_matrix(q.features))
    write_letor(s, tmp_path / "out", comments=False)
    assert (tmp_path / "out").read_text() == "2 qid:x 1:1 2:0.1\n0.5 qid:x 1:1e-7 2:3\n0 qid:y\n"


def test_what_cannot_be_written(tmp_path: Path) -> None:
    def refused(message: str, **changes) -> None:
        given = {"labels": [1, 0], "qid": ["a", "b"], **changes}
        with pytest.raises(ValueError, match=message):
            write_letor(Queries([[1.0], [2.0]], **given), tmp_path / "out")
        assert not list(tmp_path.iterdir())

    refused("no labels", labels=None)
    refused("query id .*'a b'.* cannot be written", qid=["a b", "b"])
    refused("query id .*'a#'.* cannot be written", qid=["a#", "b"])
    refused("has no documents", qid=None, sizes=[2, 0])
    for bad in ("two\nlines", " a b", "a b ", "docid = x y"):
        refused("document id .* would not read back", document_ids=["fine", bad])


def test_a_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch) -> None:
    path = tmp_path / "out.txt"
    path.write_text("old")

    def fail(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(letor_writer, "_dense_texts", fail)
    with pytest.raises(KeyboardInterrupt):
        write_letor(Queries([[1.0]], [1], qid=[1]), path)
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["out.txt"]


def test_packed_files_have_the_same_bytes_each_time(tmp_path: Path) -> None:
    q = Queries([[1.0]], [1], qid=[1])
    write_letor(q, tmp_path / "a.gz")
    write_letor(q, tmp_path / "b.gz")
    assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.gz").read_bytes()
