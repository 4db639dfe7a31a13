"""What every scorer must do, done by the one that needs PyTorch."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest

from podium.scorers import Attention

from . import test_scorer_contract as contract

CHECKS = [
    check
    for name, check in vars(contract).items()
    if name.startswith("test_") and "scorer" in inspect.signature(check).parameters
]
SCORERS = [
    Attention(layers=1, heads=2, width=4, dropout=0.0, dtype="float64", l2=0.1),
    Attention(layers=2, heads=1, width=3, dropout=0.0, dtype="float64"),
]


@pytest.mark.parametrize("scorer", SCORERS, ids=repr)
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_contract(check: Callable[..., None], scorer: Attention, monkeypatch: pytest.MonkeyPatch) -> None:
    given: dict[str, Any] = {"scorer": scorer, "monkeypatch": monkeypatch}
    check(**{name: given[name] for name in inspect.signature(check).parameters})


def test_the_contract_was_found() -> None:
    assert len(CHECKS) >= 12
