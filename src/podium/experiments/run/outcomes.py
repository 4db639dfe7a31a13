"""What comes of a study: trials, results, and the arrays behind them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from podium.experiments.plan.methods import Setting

CUTOFFS = range(1, 11)
"""Cutoffs of the curve NDCG@k that every result has, whichever metrics were asked for."""


@dataclass(frozen=True, slots=True)
class ModelSummary:
    """What can be said about a fitted ranker without its data."""

    weights: np.ndarray | None = None
    """One per feature: the weights of a linear model, or the importance of features in any other that knows it."""
    is_linear: bool = True
    history: np.ndarray | None = None
    """The metric on the validation queries after each iteration."""
    unit: str = "iterations"
    """What an iteration is: ``iterations``, ``epochs``, ``trees`` or ``rounds``."""
    best_iteration: int | None = None
    """The iteration, from 1, whose model was kept."""

    @classmethod
    def of(cls, ranker: Any) -> Self:
        """Return the summary of a fitted ranker; whatever it does not have is left out."""
        importance = getattr(ranker, "feature_importances_", None)
        coefficients = getattr(ranker, "coef_", None)
        weights = coefficients if coefficients is not None else importance
        convergence = getattr(ranker, "convergence_", None)
        history = getattr(convergence, "validation", None) or ()
        return cls(
            None if weights is None else np.asarray(weights, np.float32).ravel(),
            coefficients is not None,
            np.asarray(history, np.float32) if len(history) > 1 else None,
            f"{getattr(convergence, 'step', 'iteration')}s",
            getattr(convergence, "best_iter", None),
        )


@dataclass(frozen=True, slots=True)
class Trial:
    """One fit: what was tried, and what came of it on the validation part."""

    method: str
    fold: str
    parameters: dict[str, Any]
    seed: int | None = None
    """What its random numbers came from; None for a ranker that takes no seed."""
    number: int = 0
    """Its place in the order of the search."""
    validation: float = math.nan
    """The primary metric on the validation part; NaN if no query has a value, or if the trial failed."""
    seconds: float = 0.0
    """Training time."""
    warnings: list[str] = field(default_factory=list)
    error: str | None = None
    traceback: str = ""
    carried: dict[str, Any] = field(default_factory=dict)
    """Parameters that the validation part decided within the fit: see :mod:`podium.experiments.run.carrying`."""
    validation_values: np.ndarray | None = field(default=None, repr=False, compare=False)
    """The primary metric on each validation query."""
    validation_scores: np.ndarray | None = field(default=None, repr=False, compare=False)
    test_scores: np.ndarray | None = field(default=None, repr=False, compare=False)
    """Scores of every test document, made without its label."""
    model: ModelSummary = field(default_factory=ModelSummary, repr=False, compare=False)

    @classmethod
    def of(cls, method: str, fold: str, setting: Setting, **outcome: Any) -> Self:
        """Return the trial of a setting, with what came of it."""
        return cls(method, fold, setting.parameters, setting.seed, setting.number, **outcome)

    def without_scores(self) -> Trial:
        return replace(self, validation_scores=None, test_scores=None, model=ModelSummary())


@dataclass(frozen=True, slots=True)
class Result:
    """What a method reached on a fold: the trial selected on the validation part, judged on the test part."""

    method: str
    fold: str
    seed: int = 0
    error: str | None = None
    """Why it failed, in one line. What failed is computed again by the next run."""
    traceback: str = ""
    parameters: dict[str, Any] = field(default_factory=dict)
    """The selected hyper-parameters."""
    validation: float | None = None
    """The primary metric of the selected trial on the validation part."""
    trials: list[Trial] = field(default_factory=list)
    """All trials of the search, in its order, without their scores."""
    warnings: list[str] = field(default_factory=list)
    """Warnings raised while the selected trial was fitted."""
    seconds: float = 0.0
    """Training time of the selected trial and of those it was made from."""
    search_seconds: float = 0.0
    """Training time of all trials."""
    qids: list[str] = field(default_factory=list)
    """The test queries, in order."""
    per_query: dict[str, list[float]] = field(default_factory=dict)
    """The value of each metric on each test query."""
    test_fingerprint: str = ""
    """Says which test part it was: see :func:`podium.experiments.run.seal.fingerprint`."""
    trial: str = ""
    """Key of the selected trial."""

    @property
    def key(self) -> tuple[str, str, int]:
        return self.method, self.fold, self.seed


@dataclass(frozen=True, slots=True)
class TestPart:
    """The test queries of a fold, with all that a ranking of them is shown with."""

    __test__ = False  # not a test case, whatever pytest makes of its name

    qids: np.ndarray
    offsets: np.ndarray
    labels: np.ndarray
    document_ids: np.ndarray | None = None
    feature_names: np.ndarray | None = None
    weights: np.ndarray | None = None
    """(n_queries,) how much each counts in means, if they do not count alike."""


@dataclass(frozen=True, slots=True)
class ResultArrays:
    """The arrays behind a result, for the report."""

    part: TestPart
    scores: np.ndarray
    """(n_test_documents,)"""
    curve: np.ndarray
    """(n_test_queries, len(CUTOFFS)): NDCG@k of each query."""
    model: ModelSummary = field(default_factory=ModelSummary)
