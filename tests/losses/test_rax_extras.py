"""Losses that Rax has too, with its values and gradients; padding is Rax's own affair."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import rax

from podium.losses import ApproxNDCGLoss, LambdaLoss, ListMLELoss, Loss, SoftmaxLoss, UniqueSoftmaxLoss

OFFSETS = np.array([0, 8, 9, 30, 36])


def lists(distinct: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Return float32 scores, and grades, all different ones if so wished."""
    rng = np.random.default_rng(0)
    scores = 2.0 * rng.standard_normal(OFFSETS[-1], dtype=np.float32)
    return scores, (rng.permutation(OFFSETS[-1]) / 12 if distinct else rng.integers(0, 4, OFFSETS[-1])).astype(float)


def from_rax(loss: Callable[..., Any], scores: np.ndarray, labels: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the mean over lists of Rax's loss of each, and its gradient in our layout."""
    n_lists, longest = len(OFFSETS) - 1, int(np.diff(OFFSETS).max())
    s, y, where = (
        np.zeros((n_lists, longest), np.float32),
        np.zeros((n_lists, longest)),
        np.zeros((n_lists, longest), bool),
    )
    for q, (a, b) in enumerate(pairwise(OFFSETS)):
        s[q, : b - a], y[q, : b - a], where[q, : b - a] = scores[a:b], labels[a:b], True

    def mean(s: jax.Array) -> jax.Array:
        return loss(s, jnp.asarray(y, jnp.float32), where=jnp.asarray(where), reduce_fn=None).sum() / n_lists

    value, gradient = jax.value_and_grad(mean)(jnp.asarray(s))
    return float(value), np.asarray(gradient)[where]


def assert_equal_to_rax(ours: Loss, theirs: Callable[..., Any], distinct: bool = False) -> None:
    scores, labels = lists(distinct)
    value, gradient = from_rax(theirs, scores, labels)
    result = ours.value_and_gradient(scores, labels, OFFSETS)
    assert result.value == pytest.approx(value, rel=1e-5)
    np.testing.assert_allclose(result.d_scores, gradient, rtol=1e-4, atol=1e-5 * np.abs(gradient).max())


def test_softmax() -> None:
    shares = partial(rax.softmax_loss, label_fn=lambda y, where: y / jnp.maximum(y.sum(axis=-1, keepdims=True), 1e-9))
    assert_equal_to_rax(SoftmaxLoss(), shares)


def test_softmax_weighted_by_sums_of_grades_is_rax_as_it_comes() -> None:
    scores, labels = lists()
    sums = np.array([labels[a:b].sum() for a, b in pairwise(OFFSETS)])
    value, gradient = from_rax(rax.softmax_loss, scores, labels)
    result = SoftmaxLoss().value_and_gradient(scores, labels, OFFSETS, query_weight=sums)
    assert result.value * sums.mean() == pytest.approx(value, rel=1e-5)
    np.testing.assert_allclose(result.d_scores * sums.mean(), gradient, rtol=1e-4, atol=1e-5 * np.abs(gradient).max())


@pytest.mark.parametrize("distinct", [False, True])
def test_unique_softmax(distinct: bool) -> None:
    assert_equal_to_rax(UniqueSoftmaxLoss(), rax.unique_softmax_loss, distinct)


def test_listmle() -> None:
    assert_equal_to_rax(ListMLELoss(), rax.listmle_loss, distinct=True)


@pytest.mark.parametrize("temperature", [0.1, 1.0])
def test_approxndcg(temperature: float) -> None:
    """Rax gives a list of one document, or of equal grades, its NDCG of 1; here these say nothing."""
    scores, labels = lists()
    labels[OFFSETS[1] : OFFSETS[2]] = 0.0
    # As rax.approx_t12n does, which Rax 0.4 cannot do with the newest JAX.
    ranks = partial(rax.utils.approx_ranks, step_fn=lambda x: jax.nn.sigmoid(x / temperature))
    value, gradient = from_rax(partial(rax.ndcg_metric, rank_fn=ranks), scores, labels)
    value, gradient = -value, -gradient
    result = ApproxNDCGLoss(temperature).value_and_gradient(scores, labels, OFFSETS)
    assert result.value == pytest.approx(value, rel=1e-5)
    np.testing.assert_allclose(result.d_scores, gradient, rtol=1e-3, atol=1e-5 * np.abs(gradient).max())


def sum_of_pairs(weights: Callable[..., Any]) -> Callable[..., Any]:
    """Return Rax's pairwise loss with these weights, log2 instead of ln, summed over the pairs of each list."""

    def loss(s: jax.Array, y: jax.Array, where: jax.Array, reduce_fn: Any) -> jax.Array:
        found = rax.pairwise_logistic_loss(s, y, where=where, lambdaweight_fn=weights, reduce_fn=reduce_fn)
        return found / jnp.log(2.0)

    return loss


def test_arp2() -> None:
    assert_equal_to_rax(LambdaLoss("arp2"), sum_of_pairs(rax.labeldiff_lambdaweight))


def test_ndcg2() -> None:
    longest = int(np.diff(OFFSETS).max())  # Rax multiplies the weights by the length of the padded lists

    def weights(*arguments: Any, **more: Any) -> jax.Array:
        return rax.dcg2_lambdaweight(*arguments, normalize=True, **more) / longest

    assert_equal_to_rax(LambdaLoss("ndcg2"), sum_of_pairs(weights))


def test_ndcg2_plus_plus_without_mu() -> None:
    longest = int(np.diff(OFFSETS).max())

    def weights(*arguments: Any, **more: Any) -> jax.Array:
        return rax.dcg_lambdaweight(*arguments, normalize=True, **more) / longest

    assert_equal_to_rax(LambdaLoss("ndcg2++", mu=0.0), sum_of_pairs(weights))
