"""Losses that allRank has, against their formulas in PyTorch under autograd: those that the benchmark runs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch

import podium.torch
from podium.losses import ApproxMRRLoss, ApproxNDCGLoss, LambdaLoss, Loss, NeuralNDCGLoss

OFFSETS = np.array([0, 8, 9, 29, 36])


@pytest.fixture(scope="module")
def peers() -> Iterator[ModuleType]:
    folder = str(Path(__file__).parents[2] / "benchmarks")
    sys.path.insert(0, folder)
    yield import_module("loss_peers.ranks")
    sys.path.remove(folder)


def padded() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return scores, labels and mask of lists of different lengths; float64."""
    rng = np.random.default_rng(0)
    longest = int(np.diff(OFFSETS).max())
    s, y, mask = np.zeros((4, longest)), np.zeros((4, longest)), np.zeros((4, longest), bool)
    for q, (a, b) in enumerate(pairwise(OFFSETS)):
        s[q, : b - a], y[q, : b - a], mask[q, : b - a] = rng.normal(size=b - a), rng.integers(0, 4, b - a), True
    y[1] = 0.0  # a single document says nothing to us
    return torch.from_numpy(s).requires_grad_(), torch.from_numpy(y), torch.from_numpy(mask)


def assert_equal(loss: Loss, formula: Callable[..., torch.Tensor], rtol: float = 1e-8) -> None:
    s, y, mask = padded()
    value = formula(s, y, mask)
    value.backward()
    ours = loss.value_and_gradient(s.detach()[mask].numpy(), y[mask].numpy(), OFFSETS)
    assert 4 * ours.value == pytest.approx(value.item(), rel=rtol)
    assert s.grad is not None
    gradient = s.grad[mask].numpy()
    np.testing.assert_allclose(4 * ours.d_scores, gradient, rtol=10 * rtol, atol=rtol * np.abs(gradient).max())


@pytest.mark.parametrize("kind", ["arp1", "arp2", "ndcg1", "ndcg2", "ndcg2++"])
def test_lambdaloss(kind: str, peers: ModuleType) -> None:
    assert_equal(LambdaLoss(kind), peers.lambdaloss(kind))


def test_neuralndcg(peers: ModuleType) -> None:
    # A batch stops when all of its lists have converged, Podium list by list: lists one at a time.
    s, y, mask = padded()
    for q in (0, 2, 3):
        n = int(mask[q].sum())
        x = s.detach()[q : q + 1, :n].clone().requires_grad_()
        value = peers.neuralndcg(x, y[q : q + 1, :n], mask[q : q + 1, :n])
        value.backward()
        ours = NeuralNDCGLoss().value_and_gradient(x.detach().numpy()[0], y[q, :n].numpy(), [0, n])
        assert ours.value == pytest.approx(value.item(), rel=1e-10)
        assert x.grad is not None
        np.testing.assert_allclose(ours.d_scores, x.grad.numpy()[0], rtol=1e-8, atol=1e-12)


def test_approximate_metrics(peers: ModuleType) -> None:
    assert_equal(ApproxNDCGLoss(), peers.approxndcg)
    assert_equal(ApproxMRRLoss(), peers.approxmrr)


@pytest.mark.parametrize("loss", [LambdaLoss("arp1"), LambdaLoss("arp2"), ApproxNDCGLoss(gumbel=2)], ids=repr)
def test_forms_with_a_true_gradient_pass_gradcheck(loss: Loss) -> None:
    s, y, mask = padded()
    bound = podium.torch.loss(loss).bind(y[mask].numpy(), OFFSETS)
    assert torch.autograd.gradcheck(bound, (s.detach()[mask].requires_grad_(),))
