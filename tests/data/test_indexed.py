"""Parts of large data are rows of one matrix. Oracle: the same parts as copies, which must give the same bits."""

import numpy as np
import pytest

import podium
from podium.data import indexed
from podium.data.indexed import IndexedQueries, SharedMatrix
from podium.data.rescaled import RescaledQueries
from podium.scorers.standardization import Standardization

QUERIES = podium.make_queries(n_queries=40, n_documents=13, n_features=5, random_state=0)
CHOSEN = np.random.default_rng(0).permutation(40)[:30]


def rows_of_a_matrix(queries: podium.Queries) -> IndexedQueries:
    return IndexedQueries.made(queries, SharedMatrix(queries.features), np.arange(queries.n_documents))


@pytest.fixture
def part() -> IndexedQueries:
    return rows_of_a_matrix(QUERIES).take(CHOSEN)


@pytest.fixture
def no_matrix(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: IndexedQueries) -> None:
        raise AssertionError("somebody asked for a matrix of these queries alone")

    monkeypatch.setattr(IndexedQueries, "features", property(refuse))


def test_large_data_alone_are_indexed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert indexed.indexed(QUERIES) is QUERIES
    monkeypatch.setattr(indexed, "LARGE", QUERIES.features.nbytes)
    assert isinstance(indexed.indexed(QUERIES), IndexedQueries)


def test_a_part_has_the_rows_of_its_queries(part: IndexedQueries) -> None:
    copied = QUERIES.take(CHOSEN)
    for mine, theirs in (
        (part, copied),
        (part.between(3, 7), copied.between(3, 7)),
        (part.take([5, 2]), copied.take([5, 2])),
    ):
        np.testing.assert_array_equal(mine.features, theirs.features)
        np.testing.assert_array_equal(mine.labels, theirs.labels)
        np.testing.assert_array_equal(mine.qids, theirs.qids)
        assert (mine.n_values, mine.n_features, mine.dtype) == (theirs.n_values, theirs.n_features, theirs.dtype)
    assert type(part.with_features(copied.features * 2)) is podium.Queries
    np.testing.assert_array_equal(part.normalized("minmax").features, copied.normalized("minmax").features)


def test_the_matrix_of_a_part_may_be_a_file(part: IndexedQueries, tmp_path) -> None:
    expected = part.features
    part.matrix.move_to(tmp_path / "matrix.npy")
    np.testing.assert_array_equal(np.load(tmp_path / "matrix.npy"), QUERIES.features)
    filed = IndexedQueries.made(part, part.matrix, part.rows, own_file=tmp_path / "features.npy")
    np.testing.assert_array_equal(filed.features, expected)
    np.testing.assert_array_equal(np.load(tmp_path / "features.npy"), expected)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["features.npy", "matrix.npy"]
    (tmp_path / "matrix.npy").unlink()  # as at the end of a comparison, whose chosen models are fitted once more
    np.testing.assert_array_equal(part.take([1]).features, expected[part.offsets[1] : part.offsets[2]])
    part.matrix.move_to(tmp_path / "elsewhere.npy")
    np.testing.assert_array_equal(np.load(tmp_path / "elsewhere.npy"), QUERIES.features)


def test_a_value_that_is_not_finite_is_named(no_matrix: None) -> None:
    spoiled = QUERIES.features.copy()
    spoiled[QUERIES.offsets[CHOSEN[4]] + 2, 3] = np.nan
    with pytest.raises(ValueError, match=f"query {QUERIES.qids[CHOSEN[4]]}, document 3: feature 4 is nan"):
        rows_of_a_matrix(QUERIES.with_features(spoiled)).take(CHOSEN).require_finite()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_standardization_has_the_same_bits(dtype: type, no_matrix: None) -> None:
    queries = QUERIES.with_features(QUERIES.features.astype(dtype))
    mine, theirs = (Standardization.of(q.take(CHOSEN)) for q in (rows_of_a_matrix(queries), queries))
    np.testing.assert_array_equal(mine.mean, theirs.mean)
    np.testing.assert_array_equal(mine.inverse_scale, theirs.inverse_scale)


@pytest.mark.parametrize(
    "ranker",
    [podium.ListNet(), podium.LambdaMART(n_trees=5, n_leaves=4, min_documents_in_leaf=2, random_state=0)],
    ids=["linear", "trees"],
)
def test_fits_and_scores_have_the_same_bits_without_a_matrix(
    ranker: podium.Ranker, part: IndexedQueries, no_matrix: None
) -> None:
    valid = rows_of_a_matrix(QUERIES).take(np.arange(40)[::4])
    scores = ranker.fit(part, eval_set=valid).predict(valid)
    copied = QUERIES.take(np.arange(40)[::4])
    expected = ranker.fit(QUERIES.take(CHOSEN), eval_set=copied).predict(copied)
    assert len(np.unique(scores)) > 10
    np.testing.assert_array_equal(scores, expected)


@pytest.mark.parametrize("how", ["minmax", "zscore"])
def test_rescaled_rows_have_the_same_bits(how: str, part: IndexedQueries) -> None:
    from podium.scorers.linear.rows import dense_rows

    mine = RescaledQueries(part, how)
    assert "features" not in part.__dict__
    np.testing.assert_array_equal(dense_rows(mine, 5, 200), QUERIES.take(CHOSEN).normalized(how).features[5:200])
    assert "features" not in part.__dict__
