"""Packages that some formats need and Podium does not."""

from importlib import import_module
from typing import Any


def require_package(module: str, package: str = "'podium-rank[export]'") -> Any:
    """Return an imported module; raise ImportError with what to install if it is missing."""
    try:
        return import_module(module)
    except ModuleNotFoundError:
        raise ModuleNotFoundError(f"this needs {module}, which is not installed: pip install {package}") from None
