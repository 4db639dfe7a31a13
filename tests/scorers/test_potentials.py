"""Pairwise potentials against the definition with all pairs in memory."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from podium.data.queries import Queries
from podium.scorers.network.potentials import Potentials, PotentialsModel


def t(z: np.ndarray) -> np.ndarray:
    return 1.7159 * np.tanh(2 * z / 3)


def by_definition(theta: np.ndarray, x: np.ndarray, scorer: Potentials) -> np.ndarray:
    """φ(x_j) + Σ_{k≠j} ψ([x_j, x_k]), ψ on the concatenation of each pair."""
    n, f = x.shape
    sizes = [scorer.hidden * f, scorer.hidden, scorer.hidden, 1]
    h = scorer.pair_hidden
    sizes += [h * f, h * f, h, h, 1]
    w, b, v, c, first, second, pair_b, pair_v, pair_c = np.split(theta, np.cumsum(sizes)[:-1])
    scores = t(t(x @ w.reshape(-1, f).T + b) @ v + c)
    pair_w = np.concatenate((first.reshape(h, f), second.reshape(h, f)), axis=1)
    for j in range(n):
        others = [t(t(pair_w @ np.concatenate((x[j], x[k])) + pair_b) @ pair_v + pair_c) for k in range(n) if k != j]
        scores[j] += np.sum(others) / (max(n - 1, 1) if scorer.pool == "mean" else 1)
    return scores


@pytest.mark.parametrize("pool", ["sum", "mean"])
@pytest.mark.parametrize("n", [1, 2, 9, 40])
@pytest.mark.parametrize("scale", [0.3, 3.0])
def test_scores_follow_the_definition(pool: str, n: int, scale: float) -> None:
    rng = np.random.default_rng(n)
    x = rng.standard_normal((n, 4))
    queries, scorer = Queries(x, sizes=[n]), Potentials(3, 5, pool)
    model = scorer.start(queries, rng)
    model = model.at(scale * rng.standard_normal(len(model.theta)))
    np.testing.assert_allclose(model.scores(queries), by_definition(model.theta, x, scorer), rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("n", [255, 257, 1100])  # more than one tile; more than one piece of work
def test_long_lists_are_tiled_without_a_seam(n: int) -> None:
    rng = np.random.default_rng(n)
    queries = Queries(rng.standard_normal((n, 3)), sizes=[n])
    model = Potentials(2, 2).start(queries, rng)
    f, theta = 3, model.theta
    rest = theta[2 * f + 2 + 2 + 1 :]
    p, q = queries.features @ rest[: 2 * f].reshape(2, f).T, queries.features @ rest[2 * f : 4 * f].reshape(2, f).T
    pairs = t(t(p[:, None] + q[None] + rest[4 * f : 4 * f + 2]) @ rest[4 * f + 2 : 4 * f + 4] + rest[-1])
    np.fill_diagonal(pairs, 0.0)
    own = t(t(queries.features @ theta[: 2 * f].reshape(2, f).T + theta[6:8]) @ theta[8:10] + theta[10])
    scores, backward = model.forward(queries)
    np.testing.assert_allclose(scores, own + pairs.sum(axis=1), rtol=1e-9, atol=1e-9)
    d_scores, direction = rng.standard_normal(n), rng.standard_normal(len(theta))
    up, down = (model.at(theta + s * direction).scores(queries) for s in (1e-6, -1e-6))
    assert backward(d_scores) @ direction == pytest.approx(d_scores @ (up - down) / 2e-6, rel=1e-5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_projections_beyond_the_range_of_exp_are_taken_directly(dtype: type) -> None:
    # Units of ±3,000 whose sum is moderate: a product of exponentials could not tell.
    x = np.array([[3000.0], [3000.5], [2999.0]], dtype)
    queries, scorer = Queries(x, sizes=[3]), Potentials(1, 1)
    model = scorer.start(queries, np.random.default_rng(0))
    theta = np.array([0.0, 0.0, 0.0, 0.0, 1.0, -1.0, 0.0, 1.0, 0.0])  # φ = 0, ψ = t(t(x_j − x_k))
    scores, backward = model.at(theta).forward(queries)
    # 4/3 of 3,000 is rounded to a unit of 2.4e-4 in float32.
    tolerance = 1e-3 if dtype is np.float32 else 1e-9
    np.testing.assert_allclose(scores, by_definition(theta, x.astype(float), scorer), atol=tolerance)
    assert np.isfinite(backward(np.ones(3))).all()
    extreme = model.at(theta * 1e6)
    np.testing.assert_allclose(extreme.scores(queries), by_definition(theta * 1e6, x.astype(float), scorer), atol=1e-5)


def test_a_list_of_5000_documents_takes_memory_for_documents_not_for_pairs() -> None:
    n = 5000
    rng = np.random.default_rng(0)
    queries = Queries(rng.standard_normal((n, 5), dtype=np.float32), sizes=[n])
    model = Potentials(3, 5).start(queries, rng)
    d_scores = rng.standard_normal(n)
    model.forward(queries)[1](d_scores)  # compiled by now
    tracemalloc.start()
    scores, backward = model.forward(queries)
    gradient = backward(d_scores)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < n * n
    assert np.isfinite(scores).all()
    assert np.isfinite(gradient).all()


def test_wrong_parameters_and_states_are_refused() -> None:
    queries = Queries(np.ones((2, 3)), sizes=[2])
    for scorer, words in (
        (Potentials(hidden=0), "hidden"),
        (Potentials(pair_hidden=0), "pair_hidden"),
        (Potentials(pool="max"), "pool"),
        (Potentials(l2=-1.0), "l2"),
    ):
        with pytest.raises(ValueError, match=words):
            scorer.start(queries, np.random.default_rng(0))
    state = Potentials(3, 5).start(queries, np.random.default_rng(0)).to_arrays()
    with pytest.raises(ValueError, match="weights"):
        PotentialsModel.from_arrays(Potentials(3, 4), state)
