"""Reading takes little memory beyond the matrix itself: ten million documents must fit on one machine."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import podium
from podium.data.grouping import permute_rows
from podium.data.io.parquet import ParquetFile

N, F = 4000, 60


@pytest.fixture(scope="module")
def matrix() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(N, F)).astype(np.float32)


@pytest.fixture(scope="module")
def qid() -> np.ndarray:
    return np.arange(N) % 40  # no two rows of a query are neighbors


def peak(function):
    """Return the result, and the most memory that Python and NumPy held on the way."""
    tracemalloc.start()
    try:
        result = function()
        return result, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_letor_with_scattered_queries_has_no_second_matrix(matrix, qid, tmp_path: Path) -> None:
    podium.write_letor(podium.Queries(matrix, np.zeros(N), sizes=[N]), tmp_path / "sorted.txt")
    lines = (tmp_path / "sorted.txt").read_text().splitlines()
    path = tmp_path / "scattered.txt"
    path.write_text("".join(line.replace("qid:0", f"qid:{q}") + "\n" for line, q in zip(lines, qid, strict=True)))
    podium.read_letor(path)  # compiles
    queries, most = peak(lambda: podium.read_letor(path))
    np.testing.assert_array_equal(queries.restore(queries.features), matrix)
    np.testing.assert_array_equal(queries.features, matrix[np.argsort(qid, kind="stable")])
    text = path.stat().st_size
    assert most < 1.5 * matrix.nbytes + text  # 1.2 for features and rows; a second matrix would make it 2.2


def test_parquet_is_read_some_columns_at_a_time(matrix, qid, tmp_path: Path, monkeypatch) -> None:
    frame = pl.DataFrame({f"f{j}": matrix[:, j] for j in range(F)}).with_columns(qid=qid, label=qid % 3)
    frame.write_parquet(tmp_path / "data.parquet")
    podium.read_queries(tmp_path / "data.parquet")
    asked, read = [], ParquetFile.read
    monkeypatch.setattr(ParquetFile, "read", lambda file, columns: (asked.append(columns), read(file, columns))[1])
    queries, most = peak(lambda: podium.read_queries(tmp_path / "data.parquet"))
    assert sorted(name for names in asked for name in names) == sorted(frame.columns)
    assert max(map(len, asked)) <= F // 5
    assert most < 1.3 * matrix.nbytes
    assert queries.features.dtype == np.float32
    np.testing.assert_array_equal(queries.restore(queries.features), matrix)
    np.testing.assert_array_equal(queries.restore(queries.labels), qid % 3)


def test_of_a_wide_parquet_file_many_columns_are_read_at_a_time(tmp_path: Path, monkeypatch) -> None:
    """Each request costs as much as the file has columns."""
    path = tmp_path / "wide.parquet"
    pl.DataFrame({"qid": [1, 1], "label": [0, 1]} | {f"f{j}": [0.5, j] for j in range(500)}).write_parquet(path)
    asked, read = [], ParquetFile.read
    monkeypatch.setattr(ParquetFile, "read", lambda file, columns: (asked.append(columns), read(file, columns))[1])
    assert podium.read_queries(path).n_features == 500
    assert len(asked) == 2  # ids and grades, features


def test_rows_are_permuted_in_place() -> None:
    rng = np.random.default_rng(1)
    for n in (0, 1, 2, 7, 100):
        rows, order = rng.normal(size=(n, 3)), rng.permutation(n)
        expected = rows[order]
        permute_rows(rows, order)
        np.testing.assert_array_equal(rows, expected)


@pytest.mark.parametrize("how", ["minmax", "zscore"])
def test_predicting_with_features_rescaled_within_queries_rescales_block_by_block(
    matrix, qid, how, monkeypatch
) -> None:
    queries = podium.Queries(matrix, qid % 3, qid=qid)
    ranker = podium.ListNet(normalize=how).fit(queries)
    expected = queries.normalized(how).features @ ranker.coef_
    monkeypatch.setattr("podium.rankers.elsewhere._VALUES_AT_ONCE", matrix.size // 20)
    ranker.predict(queries)  # compiles
    scores, most = peak(lambda: ranker.predict(queries))
    assert most < 0.3 * matrix.nbytes
    np.testing.assert_allclose(queries.group(scores), expected, atol=1e-5)
