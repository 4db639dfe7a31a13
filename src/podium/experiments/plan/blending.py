"""The method ``blend`` of a study: :class:`podium.Blend` over every model that the other methods tried on the fold.

Shares are equal for kinds of model, methods of a kind and settings of a method, so nothing is chosen on the validation
part. No model is fitted a second time for it: the blend is of rankers that stand for the trials' stored scores.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

from podium.experiments.plan.methods import Setting, StudyMethod
from podium.models.blend import Blend, equal_shares

BLEND = "blend"


@dataclass(frozen=True, slots=True)
class FinishedTrial:
    """A trial as the methods see it that are made from it."""

    method: StudyMethod
    seconds: float
    ranker: Any
    """Scores as the trial's model does, without being fitted again."""


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
    """Return the blend of the models of these trials."""
    if not trials:
        raise ValueError("all methods to be blended failed")
    shares = equal_shares([(trial.method.kind, trial.method.name) for trial in trials])
    return Blend([(trial.method.name, trial.ranker) for trial in trials], weights=shares.tolist())
