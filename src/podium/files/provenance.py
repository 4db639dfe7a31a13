"""Where a model comes from: its data, the command, the date, and the versions of the libraries it was trained with."""

import hashlib
import os
import platform
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from podium.version import __version__

_LIBRARIES = {name: name for name in ("numpy", "scipy", "numba", "lightgbm", "torch")} | {"sklearn": "scikit-learn"}
"""Names of modules and of the packages that hold them."""


def origin(before: Mapping[str, Any] | None, dataset: str | None, facts: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the provenance that a file is written with.

    ``before`` is that of a model that was loaded and has not been fitted since: it keeps it, apart from the date of
    saving and what is given here.
    """
    known: dict[str, Any] = {"podium": __version__, "python": platform.python_version(), **library_versions()}
    known = {**(before or known), "saved": datetime.now(UTC).isoformat(timespec="seconds")}
    known |= {"dataset": dataset} if dataset is not None or "dataset" not in known else {}
    return known | dict(facts or {})


def library_versions() -> dict[str, str]:
    """Return the versions of the libraries that are in use, by package."""
    found = {package: sys.modules.get(module) for module, package in _LIBRARIES.items()}
    return {package: str(getattr(module, "__version__", "?")) for package, module in found.items() if module}


def file_facts(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the name of a data file, as it was given, with its size and digest."""
    with Path(path).open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        return {"file": str(path), "bytes": file.tell(), "sha256": digest}
