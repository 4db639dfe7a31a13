"""XE-NDCG: the formula at its own draws, what is drawn and when, a bound, LightGBM's own trees."""

from __future__ import annotations

import lightgbm
import numpy as np
import pytest
from scipy.special import log_softmax, softmax

import podium
from podium.losses import XENDCGLoss
from podium.losses.bound import BoundLoss
from podium.numerics.random import streams, uniform

LABELS = np.array([0.0, 1.0, 4.0, 0.0, 2.0, 2.0, -1.0, 0.5])
OFFSETS = np.array([0, 5, 5, 8])


def draws(random_state: int, epoch: int, n: int, query: int) -> np.ndarray:
    """γ of one list, number by number."""
    stream = streams(random_state, epoch, np.array([query]))
    return np.array([uniform(stream) for _ in range(n)])


def test_the_formula_at_its_draws() -> None:
    scores = np.random.default_rng(0).normal(size=8)
    bound = XENDCGLoss(random_state=3).bind(LABELS, OFFSETS)
    for epoch in (0, 2):
        bound.start_epoch(epoch)
        result = bound.value_and_gradient(scores, curvature=True)
        value, gradient, bend = 0.0, [], []
        for q, rows in ((0, slice(0, 5)), (2, slice(5, 8))):
            y = np.maximum(LABELS[rows], 0)  # grades below 0 count as 0
            phi = 2.0**y - draws(3, epoch, len(y), q)
            phi /= phi.sum()
            value -= (phi * log_softmax(scores[rows])).sum() / 3
            p = softmax(scores[rows])
            gradient.append((p - phi) / 3)
            bend.append(p * (1 - p) / 3)
        assert result.value == pytest.approx(value, rel=1e-10)
        np.testing.assert_allclose(result.d_scores, np.concatenate(gradient), rtol=1e-10, atol=1e-14)
        np.testing.assert_allclose(result.d2_scores, np.concatenate(bend), rtol=1e-10)


def test_draws_are_new_each_epoch_and_repeat_with_the_seed() -> None:
    scores = np.zeros(8)

    def value(loss: XENDCGLoss, epoch: int) -> float:
        bound = loss.bind(LABELS, OFFSETS)
        bound.start_epoch(epoch)
        return bound.value_and_gradient(scores).d_scores.tolist()

    values = [value(XENDCGLoss(random_state=seed), epoch) for seed, epoch in ((0, 0), (0, 1), (1, 0), (1, 1))]
    assert len({str(v) for v in values}) == 4
    assert values[1] == value(XENDCGLoss(random_state=0), 1)
    bound: BoundLoss = XENDCGLoss().bind(LABELS, OFFSETS)
    before = bound.value_and_gradient(scores).d_scores.tolist()
    bound.start_epoch(1)
    bound.start_epoch(0)
    assert bound.value_and_gradient(scores).d_scores.tolist() == before


def test_its_mean_bounds_minus_the_logarithm_of_ndcg() -> None:
    """The paper's theorem: with one draw per document, the expected loss is no less than −log of mean NDCG."""
    rng = np.random.default_rng(1)
    labels, scores = rng.integers(0, 5, 40 * 10), 2.0 * rng.normal(size=400)
    offsets = np.arange(0, 401, 10)
    queries = podium.Queries(np.zeros((400, 1)), labels, sizes=np.full(40, 10))
    ndcg = podium.evaluate(queries, scores, metrics=["ndcg"], convention="standard").mean["ndcg"]
    bound = XENDCGLoss().bind(labels, offsets)
    values = []
    for epoch in range(20):
        bound.start_epoch(epoch)
        values.append(bound.value_and_gradient(scores).value)
    assert np.mean(values) > -np.log(ndcg)


def lightgbm_draws(seed: int, n: int) -> np.ndarray:
    """LightGBM's random numbers: x ← 214013 x + 2531011 modulo 2^32, bits 16 to 30, over 2^15."""
    found = []
    for _ in range(n):
        seed = (214013 * seed + 2531011) % 2**32
        found.append(((seed >> 16) & 0x7FFF) / 32768.0)
    return np.array(found)


def test_with_newton_it_is_lightgbms_rank_xendcg() -> None:
    """The values of a tree's leaves are −Σ gradient / Σ Hessian; most have one document here."""
    rng = np.random.default_rng(2)
    sizes = np.array([7, 1, 12])
    offsets = np.concatenate(([0], np.cumsum(sizes)))
    labels, scores = rng.integers(0, 4, 20), rng.normal(size=20)
    rows, small = np.arange(20.0)[:, None], {"min_data_in_leaf": 1, "min_data_in_bin": 1, "verbose": -1}
    data = lightgbm.Dataset(rows, labels, group=sizes, init_score=scores, params=small)
    settings = {"objective": "rank_xendcg", "objective_seed": 5, "num_leaves": 20, "learning_rate": 1.0}
    booster = lightgbm.Booster({**settings, **small, "min_sum_hessian_in_leaf": 0.0}, data)
    booster.update()
    steps = booster.predict(rows, raw_score=True)
    bound = XENDCGLoss(newton=True).bind(labels, offsets)
    target = bound.prepared[0]
    for q, here in enumerate(map(slice, offsets[:-1], offsets[1:])):
        target[here] = 2.0 ** labels[here] - lightgbm_draws(5 + q, sizes[q])
        target[here] /= target[here].sum()
    result = bound.value_and_gradient(scores, curvature=True)
    leaf = booster.predict(rows, pred_leaf=True).ravel()
    assert len(set(leaf)) > 10
    expected = -np.bincount(leaf, result.d_scores)[leaf] / np.bincount(leaf, result.d2_scores)[leaf]
    np.testing.assert_allclose(steps, expected, rtol=1e-5)
    assert result.d_scores[7] == 0.0  # a single document
