"""Names are looked up when they are used, so a wrong one would go unnoticed until then."""

from __future__ import annotations

import pytest

import podium


@pytest.mark.parametrize("name", podium.__all__)
def test_every_public_name_is_there(name: str) -> None:
    if name == "torch":
        pytest.importorskip("torch")
    assert getattr(podium, name) is not None
