"""Every public loss under PyTorch's autograd; the page docs/torch.md lists them with what is tested here."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import torch

import podium
import podium.torch
from podium.losses import DrawnLabels, FunctionLoss, Loss, WithRegression
from podium.rankers.methods import METHODS
from podium.rankers.named_losses import named_losses

LOSSES = [
    found()
    for found in vars(podium.losses).values()
    if isinstance(found, type)
    and issubclass(found, Loss)
    and found not in (Loss, DrawnLabels, FunctionLoss, WithRegression)
]
OFFSETS = np.array([0, 4, 4, 9, 10])
LABELS = np.array([2, 0, 1, 1, 0, 2, 0, 1, 1, 1])
every_loss = pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)


def scores(dtype: torch.dtype = torch.float64) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(1).standard_normal(10)).to(dtype).requires_grad_()


def padded(flat: torch.Tensor) -> tuple[torch.Tensor, np.ndarray, torch.Tensor]:
    """Return the scores and labels as a matrix, with absurd values for padding, and its mask."""
    matrix, labels = torch.full((4, 5), 1e9, dtype=flat.dtype), np.full((4, 5), np.nan)
    mask = torch.zeros(4, 5, dtype=torch.bool)
    for q, (a, b) in enumerate(pairwise(OFFSETS)):
        matrix[q, : b - a], labels[q, : b - a], mask[q, : b - a] = flat.detach()[a:b], LABELS[a:b], True
    return matrix.requires_grad_(), labels, mask


@pytest.mark.parametrize("loss", [loss for loss in LOSSES if loss.has_gradient], ids=lambda loss: type(loss).__name__)
def test_a_true_gradient_passes_gradcheck(loss: Loss) -> None:
    bound = podium.torch.loss(loss).bind(LABELS, OFFSETS, query_weight=[1, 2, 1, 3])

    def value(s: torch.Tensor, own: torch.Tensor | None = None) -> torch.Tensor:
        bound.own = own
        return bound(s)

    # Inside the bounds that a loss sets for its own parameters.
    own = torch.from_numpy(loss.initial_parameters() + 0.1).requires_grad_()
    assert torch.autograd.gradcheck(value, (scores(), own) if len(own) else (scores(),), fast_mode=False)


@pytest.mark.parametrize(
    "loss", [loss for loss in LOSSES if not loss.has_gradient], ids=lambda loss: type(loss).__name__
)
def test_other_directions_are_those_that_the_losses_own_tests_check(loss: Loss) -> None:
    s = scores()
    value = podium.torch.loss(loss)(s, LABELS, OFFSETS)
    value.backward()
    expected = loss.value_and_gradient(s.detach().numpy(), LABELS, OFFSETS)
    assert value.item() == pytest.approx(expected.value, rel=1e-12)
    np.testing.assert_allclose(s.grad.numpy(), expected.d_scores, rtol=1e-12)
    assert np.abs(expected.d_scores).max() > 0


@every_loss
def test_padded_batches_equal_ragged_ones(loss: Loss) -> None:
    criterion, flat = podium.torch.loss(loss), scores()
    matrix, labels, mask = padded(flat)
    one, other = criterion(flat, LABELS, OFFSETS), criterion(matrix, labels, mask=mask)
    one.backward()
    other.backward()
    assert one.item() == other.item()
    np.testing.assert_array_equal(matrix.grad[mask].numpy(), flat.grad.numpy())
    assert (matrix.grad[~mask] == 0).all()


@pytest.mark.parametrize("name", ["pmop", "lambdarank"])
def test_a_second_derivative_is_refused_and_never_left_out(name: str) -> None:
    s = scores()
    value = podium.torch.loss(name)(s, LABELS, OFFSETS)
    (gradient,) = torch.autograd.grad(value, s, create_graph=True)
    with pytest.raises(RuntimeError, match="first derivatives only"):
        (value + gradient.square().sum()).backward()  # a penalty on the gradient
    with pytest.raises(RuntimeError, match="first derivatives only"):
        torch.autograd.functional.hessian(podium.torch.loss(name).bind(LABELS, OFFSETS), s.detach())


def test_names_are_those_of_methods() -> None:
    for name, loss in named_losses().items():
        assert podium.torch.loss(name).podium_loss == loss
    assert podium.torch.loss("pmop").podium_loss == podium.losses.PMOPLoss()
    assert podium.torch.loss("ranksvm").podium_loss == METHODS["ranksvm"].build()._loss()
    with pytest.raises(ValueError, match=r"no loss named 'pmopp'.* Did you mean pmop"):
        podium.torch.loss("pmopp")
    with pytest.raises(ValueError, match="prank is trained without a loss of scores"):
        podium.torch.loss("prank")


def test_a_new_epoch_draws_anew_and_repeats_itself() -> None:
    tied, s = np.array([1, 1, 1, 0, 0]), scores()[:5]

    def value(criterion: podium.torch.TorchLoss, epoch: int) -> float:
        criterion.start_epoch(epoch)
        return criterion(s, tied).item()

    first, second = (podium.torch.loss("listmle") for _ in range(2))
    found = [value(first, epoch) for epoch in range(6)]
    assert len(set(found)) > 1  # one of twelve orders of the tied documents each
    assert found == [value(second, epoch) for epoch in range(6)]
    steady = podium.torch.loss("pmop")
    assert value(steady, 0) == value(steady, 1) == podium.torch.loss("pmop")(s, tied).item()
