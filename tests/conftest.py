"""Fixtures that all tests share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real data sets, which are not part of the project; tests that need it are skipped without it."""
    places = [os.environ.get("PODIUM_DATA"), Path(__file__).parents[2] / "shared" / "data"]
    for place in places:
        if place and Path(place).is_dir():
            return Path(place)
    pytest.skip("real data not found: set PODIUM_DATA to its folder")
