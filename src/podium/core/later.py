"""Heavy packages, imported when they are first used: ``from podium.core.later import polars as pl``."""

from importlib import import_module
from typing import TYPE_CHECKING, Any


class _Later:
    """A package that is imported when one of its names is looked up."""

    def __init__(self, package: str) -> None:
        self._package = package

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # asked by tools that look at modules, not by code that needs the package
            raise AttributeError(name)
        return getattr(import_module(self._package), name)


if TYPE_CHECKING:
    import narwhals as narwhals
    import polars as polars
    import torch as torch
else:
    narwhals, polars, torch = map(_Later, ("narwhals", "polars", "torch"))
