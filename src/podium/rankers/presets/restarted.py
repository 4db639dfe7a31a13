"""Base class of presets that train from several random starts."""

from itertools import product
from typing import Any, ClassVar

from sklearn.base import clone

from podium.core.arrays import Arrays
from podium.rankers.estimator import BaseRanker
from podium.rankers.inputs import TrainingInput
from podium.training import Fit, Stochastic, Trainer
from podium.training.restarts import BestFit, Restarts


class RestartedPreset(BaseRanker):
    """A loss and a scorer trained by stochastic steps from several random starts.

    A parameter named in ``searchable`` may be a list of values: all combinations are then trained, and the one with the
    best validation metric is kept.

    Parameters
    ----------
    restarts : int
        Random starts, of which the best on the validation queries is kept.
    n_jobs : int, optional
        How many of these run side by side.
    epochs : int
        Passes over the training queries, at most.
    batch_size : int
        Queries per step.
    learning_rate : float
        Step size.
    optimizer : {"adam", "sgd", "momentum"}
        ``"sgd"`` takes plain gradient steps, as the papers do.
    early_stopping : bool
        With validation queries: keep each run's best epoch and stop after ``patience`` epochs without a better one.
        False trains to the end and chooses between runs only, which is wiser where validation queries are few.
    patience : int, optional
        Epochs without a better validation metric before training stops; None never stops it.

    Attributes
    ----------
    chosen_ : dict
        The chosen value of each parameter that was given as a list.
    """

    restarts: int = 1
    epochs: int = 100
    batch_size: int = 1
    learning_rate: float = 0.01
    optimizer: str = "adam"
    early_stopping: bool = True
    patience: int | None = 10
    normalize: str | None = "robust"
    n_jobs: int | None = None

    searchable: ClassVar[tuple[str, ...]] = ()
    chosen_: dict[str, Any]

    def _lists(self) -> dict[str, list[Any]]:
        """Return the searchable parameters that were given several values."""
        given = {name: getattr(self, name) for name in self.searchable}
        lists = {name: list(values) for name, values in given.items() if isinstance(values, list | tuple)}
        for name, values in lists.items():
            if not values:
                raise ValueError(f"{name} is an empty list: give a value, or several to choose from")
        return lists

    def _settings(self) -> list[dict[str, Any]]:
        """Return all combinations of the values given as lists; a single, empty one if there are none."""
        lists = self._lists()
        return [dict(zip(lists, values, strict=True)) for values in product(*lists.values())]

    def _value(self, name: str) -> Any:
        """Return a searchable parameter: the value chosen, or the first one listed before anything is chosen."""
        lists = self._lists()
        return getattr(self, "chosen_", {}).get(name, lists[name][0]) if name in lists else getattr(self, name)

    def _trainer(self) -> Trainer:
        steps = Stochastic(
            epochs=self.epochs,
            batch_size=self.batch_size,
            learning_rate=self.learning_rate,
            optimizer=self.optimizer,
            patience=self.patience,
        )
        candidates = [clone(self).set_params(**chosen) for chosen in self._settings()]
        parts = [(c._loss(), c._scorer()) for c in candidates]
        return Restarts(steps, self.restarts, parts, self.early_stopping, self.n_jobs)

    def _train(self, given: TrainingInput) -> Fit:
        fit = super()._train(given)
        assert isinstance(fit, BestFit)
        self.chosen_ = self._settings()[fit.candidate]
        return fit

    def _stored_fit(self) -> tuple[dict[str, Any], Arrays]:
        fitted, arrays = super()._stored_fit()
        return fitted | {"chosen": self.chosen_}, arrays

    def _restore_fit(self, fitted: dict[str, Any], arrays: Arrays) -> None:
        chosen = fitted["chosen"]
        lists = self._lists()  # not all their combinations: a file may list any number of values
        if not isinstance(chosen, dict) or chosen.keys() != lists.keys() or not _all_among(chosen, lists):
            raise ValueError(f"it says that {chosen!r} was chosen, which was not among the choices")
        self.chosen_ = chosen
        super()._restore_fit(fitted, arrays)


def _all_among(chosen: dict[str, Any], lists: dict[str, list[Any]]) -> bool:
    return all(value in lists[name] for name, value in chosen.items())
