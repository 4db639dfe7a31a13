"""Fixtures that all tests share."""

from __future__ import annotations

import importlib.util
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real data sets, which are not part of the project; tests that need it are skipped without it."""
    places = [os.environ.get("PODIUM_DATA"), Path(__file__).parents[2] / "shared" / "data"]
    for place in places:
        if place and Path(place).is_dir():
            return Path(place)
    pytest.skip("real data not found: set PODIUM_DATA to its folder")


@pytest.fixture(scope="session")
def load_tool() -> Callable[[str], ModuleType]:
    """Return a function that imports the script ``tools/<name>.py``."""

    def load(name: str) -> ModuleType:
        path = Path(__file__).parents[1] / "tools" / f"{name}.py"
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return load


@pytest.fixture
def ctrl_c_interrupts() -> Iterator[None]:
    """Let Ctrl-C raise KeyboardInterrupt, which it does not in processes that were started in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
