"""How long the rest of a study will take."""

from collections import Counter
from collections.abc import Mapping

from podium.experiments.run.outcomes import Trial


class Forecast:
    """Time left, if a method's trials to come take as long as those so far, and all workers share them."""

    def __init__(self, left: Mapping[str, int], jobs: int) -> None:
        self._left, self._jobs = Counter(left), jobs
        self._spent: dict[str, list[float]] = {}

    def add(self, trial: Trial) -> None:
        self._left[trial.method] -= 1
        self._spent.setdefault(trial.method, []).append(trial.seconds)

    def seconds_left(self) -> float | None:
        """Return None before anything is known; methods not yet seen are taken for average ones."""
        means = {name: sum(seconds) / len(seconds) for name, seconds in self._spent.items()}
        if not means:
            return None
        typical = sum(means.values()) / len(means)
        return sum(n * means.get(name, typical) for name, n in self._left.items()) / self._jobs
