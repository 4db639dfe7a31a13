"""Kernel regression against its definition, document by document."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import podium
from podium import Queries, make_queries
from podium.scorers.kernel_regression import Kernel, KernelModel


@pytest.fixture
def queries() -> Queries:
    q = make_queries(n_queries=5, n_documents=7, n_features=4, random_state=1).normalized("minmax")
    return q.with_features(q.features.astype(np.float64))


def by_definition(q: Queries, widths: np.ndarray, *, leave_out: bool) -> np.ndarray:
    scores = np.empty(q.n_documents)
    query = q.query_of_document
    for x in range(q.n_documents):
        k = np.exp(-0.5 * ((widths * (q.features - q.features[x])) ** 2).sum(axis=1))
        k *= (query != query[x]) if leave_out else 1
        scores[x] = k @ q.labels / k.sum()
    return scores


def test_scores_follow_the_definition(queries: Queries) -> None:
    model = Kernel().start(queries, np.random.default_rng(0))
    np.testing.assert_allclose(model.forward(queries)[0], by_definition(queries, model.theta, leave_out=True))
    np.testing.assert_allclose(model.scores(queries), by_definition(queries, model.theta, leave_out=False))
    papers_way = Kernel(leave_out=None).start(queries, np.random.default_rng(0))
    np.testing.assert_allclose(papers_way.forward(queries)[0], by_definition(queries, model.theta, leave_out=False))


@pytest.mark.parametrize("scale", [0.1, 1.0, 10.0])
def test_gradient_by_finite_differences(queries: Queries, scale: float) -> None:
    rng = np.random.default_rng(2)
    model = Kernel().start(queries, rng)
    model = model.at(model.theta * scale)
    d_scores = rng.standard_normal(queries.n_documents)
    gradient = model.forward(queries)[1](d_scores)
    for i in range(queries.n_features):
        step = np.zeros(queries.n_features)
        step[i] = 1e-6 * scale
        up, down = model.at(model.theta + step).forward(queries)[0], model.at(model.theta - step).forward(queries)[0]
        assert gradient[i] == pytest.approx(d_scores @ (up - down) / (2 * step[i]), rel=1e-5, abs=1e-8)


def test_a_part_of_the_queries_is_scored_as_in_the_whole(queries: Queries) -> None:
    model = Kernel().start(queries, np.random.default_rng(0))
    whole = model.forward(queries)[0]
    part = model.forward(queries.take([3]))[0]
    np.testing.assert_allclose(part, whole[queries.offsets[3] : queries.offsets[4]])


def test_far_away_documents_get_the_nearest_landmarks_grade(queries: Queries) -> None:
    model = Kernel(initial="ones").start(queries, np.random.default_rng(0)).at(np.full(4, 1e4))
    np.testing.assert_allclose(model.scores(queries), queries.labels)  # its own nearest landmark is itself


def test_landmarks_are_seeded_and_few(queries: Queries) -> None:
    model = Kernel(n_landmarks=9).start(queries, np.random.default_rng(3))
    again = Kernel(n_landmarks=9).start(queries, np.random.default_rng(3))
    assert len(model.grades) == 9
    assert np.array_equal(model.features, again.features)


def test_round_trip_and_refusals(queries: Queries) -> None:
    model = Kernel().start(queries, np.random.default_rng(0))
    assert np.array_equal(KernelModel.from_arrays(None, model.to_arrays()).scores(queries), model.scores(queries))
    with pytest.raises(ValueError, match="dense features"):
        Kernel().start(queries.with_features(sparse.csr_array(queries.features)), np.random.default_rng(0))
    one = queries.take([0])
    with pytest.raises(ValueError, match="at least two queries"):
        Kernel().start(one, np.random.default_rng(0)).forward(one)


def test_preferences_are_regressed_on_as_shares_of_wins() -> None:
    """Document 3 is in no pair, so it is no landmark; the others' targets are 1, ½ and 0."""
    x = np.arange(8.0)[:, np.newaxis]
    judged = podium.Preferences([0, 0, 1, 4], [1, 2, 2, 5])
    queries = podium.Queries(x, judged, qid=np.repeat([0, 1], 4))
    model = podium.scorers.Kernel(initial="ones").start(queries, np.random.default_rng(0))
    np.testing.assert_array_equal(model.grades, [1.0, 0.5, 0.0, 1.0, 0.0])
    np.testing.assert_array_equal(model.features[:, 0], [0, 1, 2, 4, 5])


def test_structrank_learns_from_preferences_and_as_printed() -> None:
    queries = podium.make_queries(n_queries=20, n_documents=6, n_features=3, random_state=0)
    better = [
        (i, j) for rows in queries.slices() for i in range(rows.start, rows.stop) for j in range(rows.start, rows.stop)
    ]
    better = np.array([(i, j) for i, j in better if queries.labels[i] > queries.labels[j]])
    qid = queries.query_of_document
    ranker = podium.StructRank(epochs=3, restarts=1, random_state=0)
    ranker.fit(queries.features, podium.Preferences(*better.T), qid=qid)
    assert ranker.score(queries) > 0.8
    printed = podium.StructRank(summed=True, leave_out=None, epochs=3, restarts=1, random_state=0)
    assert not printed._loss().normalize
    assert printed._scorer().leave_out is None
    averaged = podium.StructRank(leave_out=None, epochs=3, restarts=1, random_state=0).fit(queries)
    widths = [m.model_.theta.sum() for m in (printed.fit(queries), averaged)]
    assert widths[0] != widths[1]
