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


def required(module: str, package: str, what: str = "this") -> Any:
    """Return an optional package; raise ImportError with what to install if it cannot be imported."""
    try:
        return import_module(module)
    except ImportError as error:
        missing = isinstance(error, ModuleNotFoundError)
        reason = "is not installed" if missing else f"cannot be loaded here ({error})"
        raise type(error)(f"{what} needs {module}, which {reason}: pip install {package}") from None


if TYPE_CHECKING:
    import narwhals as narwhals
    import polars as polars
    import torch as torch
else:
    narwhals, polars, torch = map(_Later, ("narwhals", "polars", "torch"))
