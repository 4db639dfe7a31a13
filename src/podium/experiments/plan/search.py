"""Searching for hyper-parameters: which candidates a method tries, with the same budget for every method.

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

from podium.experiments.plan.methods import Setting, StudyMethod, restart_seed
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
        Every combination of the grid; combinations drawn at random from the spaces; or drawn by Optuna, each in the
        light of those before it (needs ``pip install podium[search]``).
    budget : int, optional
        Trials a method has on each fold, restarts included; for ``random`` and ``bayes``, where it is 20 if not given.
        A method whose space has fewer settings tries each of them once.
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
        """The budget, given or not."""
        return self.budget or 20

    def settings(self, method: StudyMethod, seed: int) -> Settings:
        """What this method tries on a fold; the same on every fold, but for what a Bayesian search learns there."""
        if self.strategy == "grid":
            return ListedSettings(list(method.settings(list(method.combinations()), seed)))
        if self.strategy == "random" or all(as_space(values).is_finite for values in method.grid.values()):
            return ListedSettings(list(method.settings(self._drawn(method, seed), seed))[: self.trials])
        return BayesianSettings(method, seed, self.trials)

    def description(self) -> dict[str, Any]:
        return {"strategy": self.strategy, "budget": None if self.strategy == "grid" else self.trials}

    def _drawn(self, method: StudyMethod, seed: int) -> list[dict[str, Any]]:
        """Distinct settings, as many as the budget allows with all restarts of each."""
        wanted = math.ceil(self.trials / method.restarts)
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
    """The candidates of one search."""

    total: int

    def ask(self) -> Setting | None:
        """The next one; None if it has to wait for what earlier ones are worth, or if there are no more."""

    def tell(self, setting: Setting, value: float) -> None:
        """What a setting is worth on the validation part; NaN if nothing is known."""


class ListedSettings:
    """Candidates that were all known beforehand."""

    def __init__(self, candidates: list[Setting]) -> None:
        self.total = len(candidates)
        self._waiting = candidates[::-1]

    def ask(self) -> Setting | None:
        return self._waiting.pop() if self._waiting else None

    def tell(self, setting: Setting, value: float) -> None:
        pass


class BayesianSettings:
    """Candidates from Optuna's tree-structured Parzen estimator, one after another."""

    def __init__(self, method: StudyMethod, seed: int, budget: int) -> None:
        optuna = _optuna()
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self.total = budget
        self._entrant, self._seed = method, seed
        sampler = optuna.samplers.TPESampler(seed=int(_generator(method, seed).integers(2**31)))
        self._study = optuna.create_study(direction="maximize", sampler=sampler)
        self._pending: Any = None
        self._asked = 0

    def ask(self) -> Setting | None:
        if self._pending is not None or self._asked == self.total:
            return None
        self._pending = self._study.ask()
        spaces = {name: as_space(values) for name, values in self._entrant.grid.items()}
        parameters = {name: space.suggest(self._pending, name) for name, space in spaces.items()}
        # Restarts are no axis of this search: a setting worth it is asked for again, with another seed.
        seed = restart_seed(self._seed, self._asked) if self._entrant.takes_seed else None
        self._asked += 1
        return Setting(parameters, seed, self._asked - 1)

    def tell(self, setting: Setting, value: float) -> None:
        import optuna

        known = not math.isnan(value)
        state = optuna.trial.TrialState.COMPLETE if known else optuna.trial.TrialState.FAIL
        self._study.tell(self._pending, value if known else None, state=state)
        self._pending = None


def _generator(method: StudyMethod, seed: int) -> np.random.Generator:
    return np.random.default_rng([seed, zlib.crc32(method.name.encode())])


def _optuna() -> Any:
    try:
        import optuna
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            "the search bayes needs Optuna, which is not installed: pip install 'podium[search]'"
        ) from None
    return optuna
