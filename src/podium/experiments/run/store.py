"""A comparison on disk: what was asked, and every finished trial, so that nothing computed is lost.

A trial is one fit: one method, one fold, one setting. Each finished one is a file of its own, written whole or not at
all, whose name carries a digest of all that determines its result; so is each result, the judgement of the trial that
was chosen. So a run that was killed goes on where it was, adding a method computes only that method, and a changed
question (other data, seed, version …) never meets old answers.

    FOLDER/run.json                                  configuration, versions, machine, times
    FOLDER/trials/<fold>.<method>.<key>.json         one a trial: parameters, validation value, seconds, seed
    FOLDER/trials/<fold>.<method>.<key>.npz          its scores; after the choice, only those of the chosen trial stay
    FOLDER/results/<fold>.<method>.<seed>.<key>.json one a choice, per query
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import platform
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from podium.core.atomic import atomic_write
from podium.experiments.plan.methods import Setting
from podium.experiments.run.details import ModelSummary, as_arrays, plain_values
from podium.experiments.run.seal import SealError, Trial
from podium.version import __version__

Configuration = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a method on a fold: the trial chosen on the validation part, judged on the test part."""

    method: str
    fold: str
    seed: int = 0
    error: str | None = None
    """Why it failed, in one line; None for a result. What failed is computed again by the next run."""
    traceback: str = ""
    parameters: dict[str, Any] = field(default_factory=dict)
    """The hyper-parameters chosen on the validation part."""
    validation: float | None = None
    """The primary metric of the chosen ones there."""
    trials: list[dict[str, Any]] = field(default_factory=list)
    """All trials: parameters, seed, validation value, seconds, and the error of one that failed."""
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
    test_fingerprint: str = ""
    """Of the test part: see :func:`podium.experiments.result.published.fingerprint`."""
    trial: str = ""
    """Name of the chosen trial's file."""
    details: str | None = None
    """Where the arrays behind it are: see :mod:`podium.experiments.run.details`."""


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

    @property
    def results(self) -> Path:
        return self.folder / "results"

    def seeds(self, method: str) -> list[int]:
        """The seeds a method is run with: all of them only if they make a difference."""
        seeds = list(self.configuration.get("seeds", [0]))
        return seeds if method in self.configuration.get("stochastic", ()) else seeds[:1]

    def changes(self) -> list[str]:
        """What of the configuration differs from that of the last run in this folder, if there was one."""
        try:
            before = json.loads((self.folder / "run.json").read_text("utf-8"))["configuration"]
        except (FileNotFoundError, ValueError, KeyError):
            return []
        now = json.loads(json.dumps(self.configuration, default=repr))
        return [name for name in sorted({*before, *now}) if before.get(name) != now.get(name)]

    def seconds_spent(self) -> float:
        """Wall time of earlier calls under this configuration, as far as they ended by themselves."""
        try:
            before = json.loads((self.folder / "run.json").read_text("utf-8"))
        except (FileNotFoundError, ValueError):
            return 0.0
        return float(before.get("total_seconds") or 0.0) if before.get("digest") == digest(self.configuration) else 0.0

    def finished(self, method: str, fold: str, seed: int = 0) -> Result | None:
        """The stored result of a method, if it was computed under this very configuration and went well."""
        result = self.stored(method, fold, seed)
        return result if result is not None and result.error is None else None

    def stored(self, method: str, fold: str, seed: int = 0) -> Result | None:
        """The same, failed or not."""
        try:
            return Result(**json.loads(self._result_path(method, fold, seed).read_text("utf-8")))
        except FileNotFoundError:
            return None

    def store(self, result: Result) -> None:
        """Keep a result. One that is there stays: a test part is judged once."""
        if self.finished(result.method, result.fold, result.seed) is not None:
            raise SealError(f"{result.method}, {result.fold}, seed {result.seed}: judged already in {self.folder}")
        with atomic_write(self._result_path(result.method, result.fold, result.seed)) as file:
            json.dump(asdict(result), file)

    def find_trial(self, method: str, fold: str, setting: Setting, *, with_scores: bool = True) -> Trial | None:
        """A stored trial; without its scores, if another one was chosen. None if it is not there or failed."""
        path = self._trial_path(method, fold, setting)
        try:
            stored = json.loads(path.read_text("utf-8"))
        except FileNotFoundError:
            return None
        if stored["error"] is not None:
            return None
        stored |= {"parameters": setting.parameters, "number": setting.number}
        stored["validation"] = float("nan") if stored["validation"] is None else stored["validation"]
        arrays = path.with_suffix(".npz")
        if not (with_scores and arrays.exists()):
            return Trial(**stored)
        with np.load(arrays, allow_pickle=False) as found:
            values = dict(found)
        scores = {name: values.pop(name) for name in ("validation_scores", "test_scores")}
        return Trial(**stored, **scores, model=ModelSummary(**plain_values(values)))

    def store_trial(self, trial: Trial, setting: Setting) -> None:
        """Keep a trial: its arrays first, so that a trial that is there is whole."""
        path = self._trial_path(trial.method, trial.fold, setting)
        if trial.validation_scores is not None and trial.test_scores is not None:
            packed = io.BytesIO()
            scores = {"validation_scores": trial.validation_scores, "test_scores": trial.test_scores}
            np.savez(packed, **scores, **as_arrays(trial.model))  # type: ignore[arg-type]
            with atomic_write(path.with_suffix(".npz"), "wb") as file:
                file.write(packed.getvalue())
        plain = {name: getattr(trial, name) for name in _STORED_OF_A_TRIAL}
        plain |= {"parameters": jsonable(trial.parameters), "validation": _number_or_none(trial.validation)}
        with atomic_write(path) as file:
            json.dump(plain, file)

    def trial_name(self, method: str, fold: str, setting: Setting) -> str:
        """What the files of a trial are called."""
        return self._trial_path(method, fold, setting).stem

    def scores_path(self, method: str, fold: str, setting: Setting) -> Path:
        """Where the scores of a trial are, as long as they are kept."""
        return self._trial_path(method, fold, setting).with_suffix(".npz")

    def describe(self, **facts: Any) -> None:
        """Write run.json: the configuration, what it ran on, and the given facts (status, times)."""
        content = {
            "configuration": self.configuration,
            "digest": digest(self.configuration),
            **facts,
            **surroundings(),
        }
        with atomic_write(self.folder / "run.json") as file:
            json.dump(content, file, indent=2, default=repr)
            file.write("\n")

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the folder: a second run in it is refused meanwhile. The lock ends with the process, however it ends."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / ".lock").open("w") as file:
            if not _try_lock(file.fileno()):
                raise ValueError(
                    f"another comparison is running in {self.folder}; wait for it or choose another folder"
                )
            yield

    def _result_path(self, method: str, fold: str, seed: int) -> Path:
        shared = {name: value for name, value in self.configuration.items() if name not in _NOT_SHARED}
        description = self.configuration["methods"][method]
        key = digest([shared, fold, method, description, seed, *self._members(description)])
        return self.results / f"{_file_name(fold)}.{_file_name(method)}.{seed}.{key}.json"

    def _trial_path(self, method: str, fold: str, setting: Setting) -> Path:
        """A trial does not depend on what else is tried, or on metrics that only the test part is judged by."""
        shared = {name: self.configuration.get(name) for name in _SHARED_BY_TRIALS}
        description = self.configuration["methods"][method]
        own = {name: value for name, value in description.items() if name in ("fixed", "ranker")}
        more = self._members(description)
        key = digest([shared, fold, method, own, jsonable(setting.parameters), setting.seed, *more])
        return self.trials / f"{_file_name(fold)}.{_file_name(method)}.{key}.json"

    def _members(self, description: Mapping[str, Any]) -> list[Any]:
        """What a blend depends on: all that its members depend on. Nothing for other methods."""
        if not (names := description.get("members")):
            return []
        methods = self.configuration["methods"]
        return [self.configuration.get("search"), {name: [methods[name], self.seeds(name)] for name in names}]


_NOT_SHARED = ("methods", "seeds", "stochastic")
_SHARED_BY_TRIALS = ("podium", "data", "protocol", "seed", "primary", "convention")
_STORED_OF_A_TRIAL = (
    *("method", "fold", "parameters", "seed", "number", "validation", "seconds", "warnings", "error", "traceback"),
)


_MAKE_TRIALS = ("blend.py", "protocol.py", "rating_folds.py", "rehearsal.py", "sealed.py", "search.py", "trial.py")


def code_version() -> str:
    """Podium's version, and a digest of the code that results depend on.

    A version stays the same while its code is being changed; trials of the code as it was must not pass for new ones.
    Of the experiments' code only what makes trials counts: a new look of the report changes no figure.
    """
    sources = hashlib.blake2b(digest_size=4)
    root = Path(__file__).parents[2]
    for path in sorted(root.rglob("*.py")):
        room = path.relative_to(root).parts[0]
        if room not in ("cli", "experiments", "export") or path.name in _MAKE_TRIALS:
            sources.update(path.read_bytes())
    return f"{__version__}+{sources.hexdigest()}"


def surroundings() -> dict[str, Any]:
    """When and on what a comparison is computed."""
    date = datetime.now(UTC).isoformat(timespec="seconds")
    return {"date": date, "versions": versions(), "machine": machine()}


def machine() -> dict[str, Any]:
    """What this runs on."""
    return {
        "system": platform.platform(),
        "processor": platform.machine(),
        "cpu": _cpu_model(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
    }


def _cpu_model() -> str:
    """The processor's name, where the system tells."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")


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


def _number_or_none(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def _plain(value: Any) -> Any:
    if hasattr(value, "item"):
        value = value.item()
    return value if value is None or isinstance(value, bool | int | float | str) else repr(value)
