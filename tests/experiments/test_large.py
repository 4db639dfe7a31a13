"""Comparisons on large data, whose folds are rows of one matrix. Oracle: the same comparison on copies."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import podium
from podium.data import indexed
from podium.data.indexed import IndexedQueries
from podium.experiments.run.seal import seal
from podium.experiments.run.shared_folds import SharedFold

QUERIES = podium.make_queries(n_queries=30, n_documents=8, n_features=5, random_state=3)
METHODS = {
    "listnet": (podium.ListNet(), {"l2": [0.1]}),
    "trees": podium.LambdaMART(n_trees=3, n_leaves=4, min_documents_in_leaf=2, random_state=0),
    "adarank": podium.AdaRank(n_rounds=3),
}
"""Linear, trees, and one that asks for the matrix of its part."""


def per_query(found: podium.Comparison) -> list[object]:
    assert not found.failed
    return [(result.key, result.per_query, result.parameters, result.validation) for result in found.results]


def test_figures_are_those_of_copies(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    study = {"folds": 3, "metrics": "ndcg@5,map", "random_state": 4}
    expected = per_query(podium.compare(QUERIES, METHODS, **study, jobs=1))
    monkeypatch.setattr(indexed, "LARGE", 0)
    written, real = [], indexed.write_rows
    monkeypatch.setattr(indexed, "write_rows", lambda path, *given: written.append(path.name) or real(path, *given))
    assert per_query(podium.compare(QUERIES, METHODS, **study, jobs=2, out=tmp_path)) == expected
    assert written == ["matrix.npy"]  # once for all folds
    assert not list(tmp_path.glob(".folds"))


def test_a_worker_sees_rows_of_one_file_and_no_test_labels(tmp_path: Path) -> None:
    whole = IndexedQueries.made(QUERIES, indexed.SharedMatrix(QUERIES.features), np.arange(QUERIES.n_documents))
    fold, _ = seal("one", whole.take(np.arange(20)), whole.take([25, 24]), whole.take([28]))
    seen = SharedFold.write(fold, tmp_path / "0").view()
    assert {type(part) for part in (seen.train, seen.validation, seen.test)} == {IndexedQueries}
    assert sorted(path.name for path in (tmp_path / "0" / "test").iterdir()) == ["rows.npy", "sizes.npy"]
    assert (tmp_path / "matrix.npy").stat().st_size < QUERIES.features.nbytes + 1000
    np.testing.assert_array_equal(seen.validation.features, QUERIES.take([25, 24]).features)
    np.testing.assert_array_equal(seen.validation.labels, QUERIES.take([25, 24]).labels)
    assert (tmp_path / "0" / "validation" / "features.npy").exists()  # asked for once, then mapped by all workers
    assert not seen.test.has_labels
