"""PRank against the paper's algorithm, written plainly."""

import numpy as np
import pytest

import podium


@pytest.fixture(scope="module")
def queries() -> podium.Queries:
    return podium.make_queries(n_queries=12, n_documents=7, n_features=4, n_grades=4, random_state=2)


def pranking(x: np.ndarray, y: np.ndarray, orders: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Figure 1 of Crammer & Singer for grades 0, 1, …; return weights, thresholds, and the mean of all weights."""
    w, b = np.zeros(x.shape[1]), np.zeros(int(y.max()))
    all_w = []
    for order in orders:
        for i in order:
            side = np.where(y[i] > np.arange(len(b)), 1.0, -1.0)
            tau = np.where((w @ x[i] - b) * side <= 0, side, 0.0)
            w, b = w + tau.sum() * x[i], b - tau
            all_w.append(w)
    return w, b, np.mean(all_w, axis=0)


@pytest.mark.parametrize("average", [False, True])
def test_it_is_the_papers_algorithm(queries, average) -> None:
    x = (queries.features - queries.features.mean(axis=0)) / queries.features.std(axis=0)
    rng = np.random.default_rng(5)
    orders = [rng.permutation(queries.n_documents) for _ in range(3)]
    w, b, mean_w = pranking(x, queries.labels, orders)
    ranker = podium.PRank(epochs=3, average=average, random_state=5).fit(queries)
    expected = mean_w if average else w
    np.testing.assert_allclose(ranker.coef_ * queries.features.std(axis=0), expected, rtol=1e-4, atol=1e-5)
    if not average:
        np.testing.assert_allclose(ranker.thresholds_, b, atol=1e-9)
        predicted = np.sum((x @ w)[:, np.newaxis] > b, axis=1)
        np.testing.assert_array_equal(ranker.predict_grades(queries), predicted)


def test_thresholds_are_ordered(queries) -> None:
    """As the paper proves (Lemma 1)."""
    assert (np.diff(podium.PRank(epochs=5, average=False, random_state=0).fit(queries).thresholds_) >= 0).all()


def test_grades_may_be_any_numbers(queries) -> None:
    odd = podium.Queries(
        queries.features,
        np.array([-2.5, 0.0, 7.0, 7.5])[queries.labels.astype(int)],
        qid=queries.qids[queries.query_of_document],
    )
    plain, other = (podium.PRank(epochs=4, random_state=0).fit(q) for q in (queries, odd))
    np.testing.assert_array_equal(other.coef_, plain.coef_)
    assert set(other.predict_grades(odd)) <= {-2.5, 0.0, 7.0, 7.5}


def test_what_can_be_separated_is_separated() -> None:
    x = np.arange(8.0)[:, np.newaxis]
    ranker = podium.PRank(epochs=1000, average=False, random_state=0)
    ranker.fit(x, [0, 0, 0, 1, 1, 1, 2, 2], qid=np.repeat([0, 1], 4))
    assert ranker.convergence_.message == "an epoch without a mistake"
    assert ranker.predict_grades(x).tolist() == [0, 0, 0, 1, 1, 1, 2, 2]


def test_the_best_epoch_is_kept_and_saved_with_its_thresholds(queries, tmp_path) -> None:
    valid = podium.make_queries(n_queries=8, n_documents=7, n_features=4, n_grades=4, random_state=9)
    ranker = podium.PRank(epochs=8, patience=None, random_state=0).fit(queries, eval_set=valid)
    assert ranker.score(valid) == pytest.approx(max(ranker.convergence_.validation))
    ranker.save(tmp_path / "prank.podium")
    loaded = podium.load(tmp_path / "prank.podium")
    np.testing.assert_array_equal(loaded.predict_grades(queries), ranker.predict_grades(queries))
    np.testing.assert_array_equal(loaded.thresholds_, ranker.thresholds_)
