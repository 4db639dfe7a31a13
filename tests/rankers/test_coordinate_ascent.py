"""Coordinate ascent against a plain one that ranks each query anew for each step."""

import numpy as np
import pytest

import podium
from podium.metrics import Metric
from podium.rankers import line_metric
from podium.rankers.ascent import STEPS
from podium.rankers.line_metric import LineMetric


@pytest.fixture(scope="module")
def queries() -> podium.Queries:
    return podium.make_queries(n_queries=14, n_documents=7, n_features=4, n_grades=3, random_state=2)


def mean(measure: Metric, queries: podium.Queries, scores: np.ndarray) -> float:
    return float(np.nanmean(measure.per_query(scores, queries.labels, queries.offsets)))


@pytest.mark.parametrize("name", ["ndcg@3", "map (letor)", "err"])
def test_a_metric_along_a_line_is_the_metric_at_each_point(queries, name, monkeypatch) -> None:
    monkeypatch.setattr(line_metric, "DOCUMENTS_AT_ONCE", 3 * queries.n_documents)  # several calls
    rng, measure = np.random.default_rng(0), podium.metric(name)
    scores, direction = rng.standard_normal((2, queries.n_documents)).round(1)  # with ties
    expected = [mean(measure, queries, scores + step * direction) for step in STEPS]
    np.testing.assert_allclose(LineMetric(measure, queries).along(scores, direction, STEPS), expected, rtol=1e-12)


def plain_ascent(queries: podium.Queries, measure: Metric, seed: int, sweeps: int) -> np.ndarray:
    """Return the weights of standardized features, as the paper's description gives them, step by step."""
    x = (queries.features - queries.features.mean(axis=0)) / queries.features.std(axis=0)
    rng, n = np.random.default_rng(seed), x.shape[1]
    singles = [(mean(measure, queries, sign * x[:, j]), -j, sign) for j in range(n) for sign in (1.0, -1.0)]
    _, j, sign = max(singles)
    w = np.zeros(n)
    w[-j] = sign
    for _ in range(sweeps):
        w = w / np.abs(w).sum()
        for j in rng.permutation(n):
            here = mean(measure, queries, x @ w)
            best, step = here, 0.0
            for candidate in sorted([*STEPS, -w[j]], key=abs):
                moved = w.copy()
                moved[j] += candidate
                value = mean(measure, queries, x @ moved)
                if value > best + 1e-10:
                    best, step = value, candidate
            w[j] += step
    return w


def test_one_run_is_that_of_a_plain_implementation(queries) -> None:
    settings = {"metric": "ndcg@5", "restarts": 1, "sweeps": 2, "tolerance": 0.0, "random_state": 3}
    ranker = podium.CoordinateAscent(**settings).fit(queries)
    expected = plain_ascent(queries, podium.metric("ndcg@5"), 3, ranker.n_iter_)
    np.testing.assert_allclose(ranker.model_.theta, expected, rtol=1e-6, atol=1e-9)
    assert -ranker.convergence_.losses[-1] == pytest.approx(ranker_value(ranker, queries), abs=1e-9)


def ranker_value(ranker: podium.CoordinateAscent, queries: podium.Queries) -> float:
    return mean(podium.metric(ranker.metric), queries, ranker.predict(queries))


def test_at_the_end_no_step_is_better(queries) -> None:
    ranker = podium.CoordinateAscent("map", restarts=1, sweeps=50, tolerance=0.0, random_state=0).fit(queries)
    reached = ranker_value(ranker, queries)
    scale = queries.features.std(axis=0)
    weights = ranker.coef_ * scale / np.abs(ranker.coef_ * scale).sum()
    for j in range(queries.n_features):
        for step in STEPS:
            moved = weights.copy()
            moved[j] += step
            assert mean(podium.metric("map"), queries, queries.features @ (moved / scale)) <= reached + 1e-9


def test_the_best_sweep_of_all_runs_on_validation_is_kept(queries) -> None:
    valid = podium.make_queries(n_queries=8, n_documents=7, n_features=4, n_grades=3, random_state=9)
    ranker = podium.CoordinateAscent(restarts=3, random_state=0)
    ranker.fit(queries, eval_set=valid, eval_metric="ndcg@5")
    history = ranker.convergence_
    assert history.best_iter == 1 + int(np.argmax(history.validation))
    assert mean(podium.metric("ndcg@5"), valid, ranker.predict(valid)) == pytest.approx(max(history.validation))


def test_without_validation_the_run_with_the_highest_metric_is_kept(queries) -> None:
    one = podium.CoordinateAscent(restarts=1, random_state=0).fit(queries)
    several = podium.CoordinateAscent(restarts=4, random_state=0).fit(queries)
    assert -min(several.convergence_.losses) == pytest.approx(ranker_value(several, queries))
    assert ranker_value(several, queries) >= ranker_value(one, queries)


def test_it_starts_at_the_best_feature(queries) -> None:
    ranker = podium.CoordinateAscent(restarts=1, random_state=0).fit(queries)
    assert ranker_value(ranker, queries) >= ranker_value(podium.BestFeature(metric="ndcg@10").fit(queries), queries)


def test_weighted_queries_count_as_often(queries) -> None:
    weights = np.where(np.arange(len(queries)) < 5, 2.0, 1.0)
    twice = queries.take(np.repeat(np.arange(len(queries)), weights.astype(int)))
    settings = {"restarts": 2, "random_state": 1, "normalize": None}
    weighted = podium.CoordinateAscent(**settings).fit(queries, sample_weight=weights)
    np.testing.assert_allclose(weighted.coef_, podium.CoordinateAscent(**settings).fit(twice).coef_, rtol=1e-9)


def test_a_callback_stops_all_runs(queries) -> None:
    seen = []
    ranker = podium.CoordinateAscent(restarts=5, random_state=0)
    ranker.fit(queries, callback=lambda progress: seen.append(progress.iteration) or len(seen) == 2)
    assert seen == [1, 2]
    assert ranker.convergence_.message == "stopped by the callback"
