"""The contract of a scorer: what the user configures, and the function of the features that is learned."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from podium.core.parameters import Parameterized
from podium.data.queries import Queries

if TYPE_CHECKING:
    from podium.scorers.standardization import Standardization
    from podium.training.base import Trainer

State = Mapping[str, np.ndarray | str]
"""A model as plain arrays and texts, by name: what is stored in a file."""


class Scorer(Parameterized):
    """A family of scoring functions. It holds parameters, never data.

    A scorer that is a smooth function of a flat vector says how to :meth:`start`; every general trainer can then train
    it. One that is not (boosted trees) names a trainer of its own in :meth:`default_trainer`, which makes the model.
    """

    accepts_missing: ClassVar[bool] = False
    """May features be NaN?"""
    listwise: ClassVar[bool] = False
    """Does a document's score depend on the other documents of its list? Predicting then needs query ids."""
    scale_free: ClassVar[bool] = False
    """Is it the same function whatever the features are multiplied by? It is then given them as they are."""
    folds_standardization: ClassVar[bool] = False
    """Does :meth:`start` take a standardization into the model? Otherwise it is given features already standardized."""

    model_class: ClassVar[type[Model]]

    def start(
        self,
        queries: Queries,
        rng: np.random.Generator,
        *,
        intercept: bool = False,
        standardization: Standardization | None = None,
    ) -> SmoothModel:
        """A model of the right shape for these queries, where training starts.

        ``intercept`` asks for a constant to be learned: the loss is not invariant to a shift of all scores.
        """
        raise NotImplementedError(f"{type(self).__name__} cannot be trained by gradient steps on a parameter vector")

    def default_trainer(self) -> Trainer:
        """The trainer used when the user names none."""
        from podium.training import LBFGS

        return LBFGS()


class Model:
    """A learned function from features to scores."""

    n_features: Any = None
    """How many features it takes; None if it takes any number."""

    def scores(self, queries: Queries) -> np.ndarray:
        """(n_documents,) float64 scores, higher is better, in the grouped order."""
        raise NotImplementedError

    def state(self) -> State:
        """Everything needed to score again, for :meth:`from_state`."""
        raise NotImplementedError

    @classmethod
    def from_state(cls, scorer: Scorer | None, state: State) -> Self:
        """The model that gave this state. Raises ValueError or KeyError if it cannot have."""
        raise NotImplementedError


Backward = Callable[[np.ndarray], np.ndarray]


class SmoothModel(Model):
    """A model that is a smooth function of a flat parameter vector. Models do not change; :meth:`at` makes others."""

    theta: np.ndarray
    """(n_parameters,) float64."""

    def at(self, theta: np.ndarray) -> Self:
        """The same function with other parameters."""
        other = copy(self)
        other.theta = theta
        return other

    def scores(self, queries: Queries) -> np.ndarray:
        return self.forward(queries)[0]

    def forward(self, queries: Queries) -> tuple[np.ndarray, Backward]:
        """Scores, and the function that turns the gradient with respect to them into one with respect to ``theta``."""
        raise NotImplementedError

    def penalty(self) -> tuple[float, np.ndarray]:
        """The smooth penalty (L2) that is added to the mean loss, and its gradient, (n_parameters,)."""
        return 0.0, np.zeros_like(self.theta)

    def l1(self) -> np.ndarray | None:
        """(n_parameters,) weight of each ``|theta|`` in the objective, or None. Not smooth: trainers see to it."""
        return None


def require_array(state: State, name: str, shape: tuple[int | None, ...]) -> np.ndarray:
    """The array of a stored state, float64, of the given shape (None: any length), finite."""
    if name not in state:
        raise ValueError(f"the model's {name!r} is missing")
    array: Any = state[name]
    if not isinstance(array, np.ndarray) or array.dtype != np.float64:
        raise ValueError(f"the model's {name!r} must be an array of float64")
    if array.ndim != len(shape) or any(want not in (None, got) for want, got in zip(shape, array.shape, strict=True)):
        raise ValueError(f"the model's {name!r} has shape {array.shape}; expected {shape}")
    if not np.isfinite(array).all():
        raise ValueError(f"the model's {name!r} holds values that are not finite")
    return array
