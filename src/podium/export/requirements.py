"""Packages that some formats need and Podium does not."""

from typing import Any

from podium.core.later import required


def require_package(module: str, package: str = "'podium-rank[export]'") -> Any:
    """Return an imported module; raise ImportError with what to install if it is missing."""
    return required(module, package)
