"""Names are looked up when they are used, so a wrong one would go unnoticed until then."""

from __future__ import annotations

import pytest

import podium


# `torch` needs PyTorch: tests/test_torch.py imports it.
@pytest.mark.parametrize("name", [name for name in podium.__all__ if name != "torch"])
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(podium, name) is not None
