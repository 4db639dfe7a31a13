"""A comparison on disk: what was asked, and every finished trial, so that nothing computed is lost.

A trial is one method on one fold. Each finished one is a file of its own, written whole or not at all, whose name
carries a digest of all that determines its result. So a run that was killed goes on where it was, adding a method
computes only that method, and a changed question (other metrics, data, seed, version …) never meets old answers.

    FOLDER/run.json                          configuration, versions, machine, times
    FOLDER/trials/<fold>.<method>.<key>.json one a trial, per query
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

from podium.files import atomic_write
from podium.version import __version__

Configuration = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Record:
    """The result of one trial, as it is stored."""

    method: str
    fold: str
    error: str | None = None
    """Why it failed, in one line; None for a trial that went well. Failed trials are computed again by the next run."""
    traceback: str = ""
    parameters: dict[str, Any] = field(default_factory=dict)
    """The hyper-parameters chosen on the validation part."""
    validation: float | None = None
    """The primary metric of the chosen ones there."""
    candidates: list[dict[str, Any]] = field(default_factory=list)
    """All that were tried: parameters, validation value, seconds."""
    warnings: list[str] = field(default_factory=list)
    """What fitting the chosen ones gave to complain about, such as no convergence."""
    seconds: float = 0.0
    """Training of the chosen ones."""
    search_seconds: float = 0.0
    """Training and validation of all candidates."""
    qids: list[str] = field(default_factory=list)
    """The test queries, in order."""
    per_query: dict[str, list[float]] = field(default_factory=dict)
    """Of each metric, its value on each test query."""


def digest(value: Any) -> str:
    """Short name for a JSON-like value: equal values, equal names."""
    text = json.dumps(value, sort_keys=True, default=repr)
    return hashlib.blake2b(text.encode(), digest_size=6).hexdigest()


class Run:
    """The folder of a comparison."""

    def __init__(self, folder: str | os.PathLike[str], configuration: Configuration) -> None:
        self.folder = Path(folder)
        self.configuration = configuration

    @property
    def trials(self) -> Path:
        return self.folder / "trials"

    def changes(self) -> list[str]:
        """What of the configuration differs from that of the last run in this folder, if there was one."""
        try:
            before = json.loads((self.folder / "run.json").read_text("utf-8"))["configuration"]
        except (FileNotFoundError, ValueError, KeyError):
            return []
        now = json.loads(json.dumps(self.configuration, default=repr))
        return [name for name in sorted({*before, *now}) if before.get(name) != now.get(name)]

    def finished(self, method: str, fold: str) -> Record | None:
        """The stored result of a trial, if it was computed under this very configuration and went well."""
        try:
            record = Record(**json.loads(self._path(method, fold).read_text("utf-8")))
        except FileNotFoundError:
            return None
        return record if record.error is None else None

    def store(self, record: Record) -> None:
        with atomic_write(self._path(record.method, record.fold)) as file:
            json.dump(asdict(record), file)

    def describe(self, **facts: Any) -> None:
        """Write run.json: the configuration, what it ran on, and the given facts (status, times)."""
        content = {
            "configuration": self.configuration,
            "digest": digest(self.configuration),
            **facts,
            "versions": versions(),
            "machine": {"system": platform.platform(), "processor": platform.machine(), "cores": os.cpu_count()},
        }
        with atomic_write(self.folder / "run.json") as file:
            json.dump(content, file, indent=2, default=repr)
            file.write("\n")

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the folder: a second run in it is refused meanwhile. The lock ends with the process, however it ends."""
        self.trials.mkdir(parents=True, exist_ok=True)
        with (self.folder / ".lock").open("w") as file:
            if not _try_lock(file.fileno()):
                raise ValueError(
                    f"another comparison is running in {self.folder}; wait for it or choose another folder"
                )
            yield

    def _path(self, method: str, fold: str) -> Path:
        shared = {name: value for name, value in self.configuration.items() if name != "methods"}
        key = digest([shared, fold, method, self.configuration["methods"][method]])
        return self.trials / f"{_file_name(fold)}.{_file_name(method)}.{key}.json"


def code_version() -> str:
    """Podium's version, and a digest of the code that results depend on.

    A version stays the same while its code is being changed; trials of the code as it was must not pass for new ones.
    """
    sources = hashlib.blake2b(digest_size=4)
    root = Path(__file__).parents[1]
    for path in sorted(root.rglob("*.py")):
        room = path.relative_to(root).parts[0]
        if room not in ("cli", "experiments", "export"):
            sources.update(path.read_bytes())
    return f"{__version__}+{sources.hexdigest()}"


def versions() -> dict[str, str]:
    """Versions of Python and of the packages that results may depend on."""
    found = {"python": platform.python_version()}
    for package in ("numpy", "scipy", "numba", "scikit-learn", "lightgbm"):
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found


def _file_name(name: str) -> str:
    return re.sub(r"[^\w-]+", "_", name)


def _try_lock(descriptor: int) -> bool:
    try:
        import fcntl
    except ImportError:  # Windows: two runs in one folder would only do the same work twice
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def jsonable(mapping: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters as JSON stores them: plain numbers and strings as they are, anything else by its representation."""
    return {name: _plain(value) for name, value in mapping.items()}


def _plain(value: Any) -> Any:
    if hasattr(value, "item"):
        value = value.item()
    return value if value is None or isinstance(value, bool | int | float | str) else repr(value)
