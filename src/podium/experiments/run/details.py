"""What a trial leaves besides its figures, for the report: the ranking of every test query, and what was learned.

Figures are small and are stored as text with the trial. These are arrays, one file a trial, named by their content, so
that nothing needs to know how trials are named and what two trials share (the test queries) is stored once:

    FOLDER/details/<digest>.npz
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from podium.core.atomic import atomic_write

FOLDER = "details"
CUTOFFS = range(1, 11)
"""Of the curve NDCG@k against k that every trial keeps, whatever metrics were asked for."""


@dataclass(frozen=True, slots=True)
class ModelSummary:
    """What can be told of a fitted ranker without its data."""

    weights: np.ndarray | None = None
    """One a feature: the weights of a linear model, or the importance of features in any other that knows it."""
    is_linear: bool = True
    history: np.ndarray | None = None
    """The metric on the validation queries after each iteration."""
    unit: str = "iterations"
    """What an iteration is: ``iterations``, ``epochs``, ``trees`` or ``rounds``."""
    kept: int | None = None
    """The iteration, from 1, whose model was kept."""

    @classmethod
    def of(cls, ranker: Any) -> Self:
        """Look at a fitted ranker; whatever it does not have is left out."""
        importance = getattr(ranker, "feature_importances_", None)
        coefficients = getattr(ranker, "coef_", None)
        weights = coefficients if coefficients is not None else importance
        convergence = getattr(ranker, "convergence_", None)
        history = getattr(convergence, "validation", None) or ()
        watched = len(history) > 1
        return cls(
            None if weights is None else np.asarray(weights, np.float32).ravel(),
            coefficients is not None,
            np.asarray(history, np.float32) if watched else None,
            f"{getattr(convergence, 'step', 'iteration')}s",
            getattr(convergence, "best_iter", None),
        )


@dataclass(frozen=True, slots=True)
class TestQueries:
    """The test queries of a fold, all that a ranking of them is shown with."""

    __test__ = False  # not a test case, whatever pytest makes of its name

    qids: np.ndarray
    offsets: np.ndarray
    labels: np.ndarray
    document_ids: np.ndarray | None = None
    feature_names: np.ndarray | None = None


@dataclass(frozen=True, slots=True)
class Details:
    """The details of one trial."""

    queries: str
    """Name of the file of its :class:`TestQueries`."""
    scores: np.ndarray
    """Of each test document."""
    curve: np.ndarray
    """(test queries × :data:`CUTOFFS`): NDCG@k of each."""
    model: ModelSummary = ModelSummary()


def keep(folder: Path, queries: TestQueries, scores: np.ndarray, curve: np.ndarray, model: ModelSummary) -> str:
    """Store the details of a trial; returns the name to find them by."""
    name = _store(folder, as_arrays(queries))
    values = {"queries": np.array(name), "scores": scores.astype(np.float32), "curve": curve.astype(np.float32)}
    return _store(folder, values | as_arrays(model))


def find(folder: Path, name: str) -> Details | None:
    """The details of this name; None if the file is gone, which costs the report some sections and nothing else."""
    stored = _read(folder, name)
    if stored is None:
        return None
    own = {key: stored.pop(key) for key in ("queries", "scores", "curve")}
    return Details(str(own["queries"]), own["scores"], own["curve"], ModelSummary(**plain_values(stored)))


def find_queries(folder: Path, name: str) -> TestQueries | None:
    """The test queries of this name."""
    stored = _read(folder, name)
    return None if stored is None else TestQueries(**stored)


class Drawer:
    """The details that a run's folder holds, each read when it is first asked for."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        self._details: dict[str, Details | None] = {}
        self._queries: dict[str, TestQueries | None] = {}

    def details(self, name: str | None) -> Details | None:
        """Of a result that has this name of them."""
        if name is not None and name not in self._details:
            self._details[name] = None if self.folder is None else find(self.folder, name)
        return self._details.get(name or "")

    def queries(self, name: str) -> TestQueries | None:
        if name not in self._queries:
            self._queries[name] = None if self.folder is None else find_queries(self.folder, name)
        return self._queries[name]

    def fill(self, names: Iterable[str | None]) -> None:
        """Read all of them now: the folder is about to go."""
        for name in names:
            if found := self.details(name):
                self.queries(found.queries)


def _store(folder: Path, arrays: dict[str, np.ndarray]) -> str:
    """Write arrays under a name made of their content, unless they are there already."""
    digest = hashlib.blake2b(digest_size=8)
    for key, array in arrays.items():
        digest.update(f"{key} {array.dtype.str} {array.shape} ".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    name = f"{digest.hexdigest()}.npz"
    path = folder / FOLDER / name
    if not path.exists():
        packed = io.BytesIO()
        np.savez_compressed(packed, **arrays)  # type: ignore[arg-type]
        with atomic_write(path, "wb") as file:
            file.write(packed.getvalue())
    return name


def _read(folder: Path, name: str) -> dict[str, np.ndarray] | None:
    path = folder / FOLDER / Path(name).name
    if not path.exists():
        return None
    with np.load(path, allow_pickle=False) as stored:
        return dict(stored)


def as_arrays(fields: TestQueries | ModelSummary) -> dict[str, np.ndarray]:
    """The fields that have a value, as arrays that need no pickling."""
    arrays = {}
    for key in fields.__slots__:
        if (value := getattr(fields, key)) is not None:
            array = np.asarray(value)
            arrays[key] = array.astype(np.str_) if array.dtype == object else array
    return arrays


def plain_values(stored: dict[str, np.ndarray]) -> dict[str, Any]:
    return {key: array if array.ndim else array.item() for key, array in stored.items()}
