"""Losses at work on PyTorch modules."""

from __future__ import annotations

import pytest
import torch

import podium
from podium.losses import Loss
from podium.scorers import Torch

from .test_on_scorers import LOSSES, chance, queries


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_it_learns(loss: Loss) -> None:
    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Linear(5, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
    ranker = podium.Ranker(loss, Torch(module), random_state=0).fit(queries())
    assert ranker.score(queries()) > 0.5 * (1.0 + chance())
