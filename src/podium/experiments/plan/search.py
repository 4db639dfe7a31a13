"""The search for hyper-parameters: which settings a method tries, with the same budget for every method.

What is tried depends on the method, its seed and, in a Bayesian search, the validation values of its own earlier
trials, never on which trial happens to end first: so it is the same whatever the number of processes, and a run that
was killed asks for the same trials again.
"""

from __future__ import annotations

import math
import zlib
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from podium.core.later import required
from podium.experiments.plan.methods import Setting, StudyMethod
from podium.rankers.spaces import as_space

__all__ = ["Search"]

STRATEGIES = ("grid", "random", "bayes")
_DRAWS_PER_TRIAL = 50
"""Draws of settings seen before, after which a space counts as exhausted."""


@dataclass(frozen=True, slots=True)
class Search:
    """How hyper-parameters are searched for.

    Parameters
    ----------
    strategy : {"grid", "random", "bayes"}
        Every combination of the grid; combinations drawn at random from the spaces; or drawn by Optuna, each with
        regard to the values of those before it (needs ``pip install podium-rank[search]``).
    budget : int, optional
        Trials that a method has on each fold; for ``random`` and ``bayes``, where it is 20 if not given.
        A method whose space has fewer settings tries each of them once.

    Examples
    --------
    >>> import podium
    >>> queries = podium.make_queries(n_queries=30, n_documents=8, n_features=5)
    >>> search = podium.experiments.Search("random", budget=2)
    >>> comparison = podium.compare(queries, "regression", search=search, folds=3, jobs=1)
    >>> comparison.trials.filter(method="regression").height  # two settings on each of three folds
    6
    """

    strategy: str = "grid"
    budget: int | None = None

    def __post_init__(self) -> None:
        if self.strategy not in STRATEGIES:
            raise ValueError(f"search must be one of {', '.join(STRATEGIES)}; got {self.strategy!r}")
        if self.strategy == "grid" and self.budget is not None:
            raise ValueError(
                "a budget is for the searches random and bayes: a grid has as many trials as it has points"
            )
        if self.budget is not None and self.budget < 1:
            raise ValueError(f"a budget is a whole number from 1 on; got {self.budget}")
        if self.strategy == "bayes":
            _optuna()

    @property
    def trials(self) -> int:
        """The budget, or its default."""
        return self.budget or 20

    def settings(self, method: StudyMethod, seed: int) -> Settings:
        """Return what this method tries on a fold: the same on each, but for what a Bayesian search learns there."""
        if self.strategy == "grid":
            return ListedSettings(method.settings(list(method.combinations()), seed))
        if self.strategy == "random" or all(as_space(values).is_finite for values in method.grid.values()):
            return ListedSettings(method.settings(self._drawn(method, seed), seed))
        return BayesianSettings(method, seed, self.trials)

    def description(self) -> dict[str, Any]:
        """Return strategy and budget as plain values."""
        return {"strategy": self.strategy, "budget": None if self.strategy == "grid" else self.trials}

    def _drawn(self, method: StudyMethod, seed: int) -> list[dict[str, Any]]:
        """Return distinct combinations of parameters, as many as the budget allows."""
        wanted = self.trials
        spaces = {name: as_space(values) for name, values in method.grid.items()}
        if all(space.is_finite for space in spaces.values()):
            every = list(method.combinations())
            if len(every) <= wanted:
                return every
            order = _generator(method, seed).permutation(len(every))
            return [every[i] for i in order[:wanted]]
        rng = _generator(method, seed)
        found: dict[str, dict[str, Any]] = {}
        for _ in range(wanted * _DRAWS_PER_TRIAL):
            drawn = {name: space.draw(rng) for name, space in spaces.items()}
            found.setdefault(repr(drawn), drawn)
            if len(found) == wanted:
                break
        return list(found.values())


class Settings(Protocol):
    """The settings of one search."""

    total: int

    def ask(self) -> Setting | None:
        """Return the next one; None if it has to wait for the value of an earlier one, or if there are no more."""

    def tell(self, setting: Setting, value: float) -> None:
        """Take in the value of a setting on the validation part; NaN if it has none."""


class ListedSettings:
    """Settings that are all known beforehand."""

    def __init__(self, settings: list[Setting]) -> None:
        self.total = len(settings)
        self._waiting = settings[::-1]

    def ask(self) -> Setting | None:
        return self._waiting.pop() if self._waiting else None

    def tell(self, setting: Setting, value: float) -> None:
        pass


class BayesianSettings:
    """Settings from Optuna's tree-structured Parzen estimator, one after another."""

    def __init__(self, method: StudyMethod, seed: int, budget: int) -> None:
        optuna = _optuna()
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self.total = budget
        self._method, self._seed = method, seed
        sampler = optuna.samplers.TPESampler(seed=int(_generator(method, seed).integers(2**31)))
        self._study = optuna.create_study(direction="maximize", sampler=sampler)
        self._pending: Any = None
        self._asked = 0

    def ask(self) -> Setting | None:
        if self._pending is not None or self._asked == self.total:
            return None
        self._pending = self._study.ask()
        spaces = {name: as_space(values) for name, values in self._method.grid.items()}
        parameters = {name: space.suggest(self._pending, name) for name, space in spaces.items()}
        self._asked += 1
        return Setting(parameters, self._seed if self._method.takes_seed else None, self._asked - 1)

    def tell(self, setting: Setting, value: float) -> None:
        optuna, known = _optuna(), not math.isnan(value)
        state = optuna.trial.TrialState.COMPLETE if known else optuna.trial.TrialState.FAIL
        self._study.tell(self._pending, value if known else None, state=state)
        self._pending = None


def _generator(method: StudyMethod, seed: int) -> np.random.Generator:
    return np.random.default_rng([seed, zlib.crc32(method.name.encode())])


def _optuna() -> Any:
    return required("optuna", "'podium-rank[search]'", "the search bayes")
