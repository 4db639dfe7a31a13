"""The method ``blend`` of a study: :class:`podium.Blend` over every model that the other methods tried on the fold.

Shares follow the evidence of the fold's validation part (:mod:`podium.models.evidence`): near to equal where it has few
queries, near to a choice where it has many. No model is fitted a second time for it: the blend is of rankers that stand
for the trials' stored scores.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from podium.experiments.plan.methods import Setting, StudyMethod
from podium.models.blend import Blend
from podium.models.evidence import evidence_shares

BLEND = "blend"


@dataclass(frozen=True, slots=True)
class FinishedTrial:
    """A trial as the methods see it that are made from it."""

    method: StudyMethod
    seconds: float
    ranker: Any
    """Scores as the trial's model does, without being fitted again."""
    values: np.ndarray
    """The primary metric on each validation query."""


@dataclass(frozen=True, slots=True)
class DerivedMethod(StudyMethod):
    """A method that is made from the trials of others: ``build`` takes them in place of parameters."""

    trials: tuple[FinishedTrial, ...] = ()

    def made_from(self, trials: Sequence[FinishedTrial]) -> Self:
        return replace(self, trials=tuple(trials))

    def ranker(self, setting: Setting) -> Any:
        return self.build(self.trials)


def blend_of(methods: Sequence[StudyMethod]) -> StudyMethod:
    """Return the blend of those methods that are not variants: a variant would count its method twice."""
    members = tuple(method.name for method in methods if not method.variant)
    if len(members) < 2:
        raise ValueError("a blend is of two methods or more that are no variants: name them with it")
    return DerivedMethod(BLEND, blend, family=BLEND, requires=members)


def blend(trials: Sequence[FinishedTrial]) -> Blend:
    """Return the blend of the models of these trials, without those that have no share."""
    shares = shares_of([trial.values for trial in trials])
    members = [(trial, share) for trial, share in zip(trials, shares.tolist(), strict=True) if share > 0]
    return Blend([(trial.method.name, trial.ranker) for trial, _ in members], weights=[share for _, share in members])


def shares_of(values: Sequence[np.ndarray]) -> np.ndarray:
    """Return the share of each model on a fold, given its values on the validation queries there."""
    if not values:
        raise ValueError("all methods to be blended failed")
    return evidence_shares(np.array(values))
