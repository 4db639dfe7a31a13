"""Queries in partitions on workers: what is known here, and what is done there."""

from __future__ import annotations

import numpy as np
import pytest

import podium
from podium.dask import from_queries
from podium.dask.queries import partition_bounds
from podium.numerics.loop import blocks_of_queries, n_partial_sums


@pytest.fixture(scope="module")
def queries() -> podium.Queries:
    return podium.make_queries(n_queries=60, n_documents=20, n_features=4, random_state=0)


def test_partitions_are_whole_queries_in_order(client, queries) -> None:
    d = from_queries(queries, 3, client=client)
    assert d.n_partitions == 3
    assert (len(d), d.n_documents, d.n_features) == (60, queries.n_documents, 4)
    np.testing.assert_array_equal(d.qids, queries.qids)
    np.testing.assert_array_equal(d.offsets, queries.offsets)
    labels = d.each(lambda part: part.labels)
    assert [len(part) for part in labels] == np.diff(d.offsets[d.starts]).tolist()
    np.testing.assert_array_equal(np.concatenate(labels), queries.labels)
    assert "60 queries" in repr(d)


def test_partitions_are_cut_where_blocks_are(queries) -> None:
    bounds = partition_bounds(queries.offsets, 5)
    assert set(bounds) <= set(blocks_of_queries(queries.offsets, n_partial_sums(queries.n_documents, 1)))
    sizes = np.diff(queries.offsets[bounds])
    assert len(sizes) == 5
    assert sizes.max() < 2 * sizes.min()


def test_more_partitions_than_blocks_are_not_made(client) -> None:
    few = podium.make_queries(n_queries=6, n_documents=10, n_features=2, random_state=0)
    assert from_queries(few, 50, client=client).n_partitions == n_partial_sums(few.n_documents, 1)


def test_normalized_and_taken_on_the_workers(client, queries) -> None:
    d = from_queries(queries, 3, client=client)
    mask = np.arange(60) % 7 == 0
    chosen = d.take(mask).normalized("minmax")
    expected = queries.take(mask).normalized("minmax")
    np.testing.assert_array_equal(chosen.offsets, expected.offsets)
    np.testing.assert_array_equal(np.concatenate(chosen.each(lambda part: part.features)), expected.features)
    assert d.take([0]).n_partitions == 1
    with pytest.raises(ValueError, match="increasing numbers"):
        d.take([3, 1])


def test_vectors_come_back_in_the_order_of_the_rows_given(client) -> None:
    """Rows of two queries in turn: row i has the feature i."""
    rows = np.arange(400.0)
    mixed = podium.Queries(rows[:, None], rows, qid=(rows % 20).astype(int))
    d = from_queries(mixed, 4, client=client)
    assert d.n_partitions == 4
    vector = d.vector(lambda part: part.features[:, 0])
    np.testing.assert_array_equal(vector.compute(), rows)
    for values in (vector, rows):
        parts = d.each(lambda part, own: own, per_part=[(part,) for part in d.split(values, "rows")])
        np.testing.assert_array_equal(np.concatenate(parts), mixed.features[:, 0])
    with pytest.raises(ValueError, match=r"one entry for each of the 400 documents; got shape \(3,\)"):
        d.split([1, 2, 3], "scores")


def test_a_bound_function_is_made_once_beside_its_part(client, queries) -> None:
    def factory(part, own, shared):
        made = []

        def call(x):
            made.append(x)
            return len(part) + own + shared + x, len(made)

        return call

    d = from_queries(queries, 3, client=client)
    call = d.bind(factory, 1000, per_part=[(100,), (200,), (300,)])
    expected = [len(fact.sizes) + 1000 + own for fact, own in zip(d.facts, (100, 200, 300), strict=True)]
    assert call(1) == [(value + 1, 1) for value in expected]
    assert call(2) == [(value + 2, 2) for value in expected]
    large = np.ones(200_000)  # sent once per worker rather than with each task
    assert [value for value, _ in d.bind(lambda part: lambda x: (x.sum(), 0))(large)] == [200_000.0] * 3


def test_an_error_names_the_query(client, queries) -> None:
    features = queries.features.copy()
    features[queries.offsets[41] + 3, 2] = np.nan
    d = from_queries(queries.with_features(features), 3, client=client)
    with pytest.raises(ValueError, match=rf"query {queries.qids[41]}, document 4: feature 3 is nan"):
        d.require_finite()


def test_without_a_client_the_error_says_how_to_start_one(client, queries, monkeypatch) -> None:
    def none() -> None:
        raise ValueError("No clients found")

    monkeypatch.setattr("podium.dask.cluster.default_client", none)
    with pytest.raises(ValueError, match=r"dask\.distributed\.Client\(\)"):
        from_queries(queries)
    with pytest.raises(ValueError, match="n_partitions"):
        from_queries(queries, 0, client=client)
