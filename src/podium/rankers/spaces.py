"""What a search may try for a parameter: some values and, for numbers, all that lies between them.

A space is the tuple of its grid's values, so a plain list of values is a space too (:class:`Choice` says the same in a
word). A random or Bayesian search also draws values between those of the grid where the space says how::

    {"l2": LogUniform(1e-4, 1e-2, 1.0), "depth": [3, 6]}
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Self

import numpy as np


class Space(tuple):
    """Values of a grid; a subclass says what else may be drawn."""

    __slots__ = ()

    def __new__(cls, *values: Any) -> Self:
        if not values:
            raise ValueError(f"{cls.__name__} needs at least one value")
        return super().__new__(cls, values)

    def __getnewargs__(self) -> tuple[Any, ...]:
        return tuple(self)  # to be pickled: a tuple would hand over all values as one

    @property
    def is_finite(self) -> bool:
        """Can only the grid's values be drawn?"""
        return True

    def draw(self, rng: np.random.Generator) -> Any:
        """A value at random."""
        raise NotImplementedError

    def suggest(self, trial: Any, name: str) -> Any:
        """A value that an Optuna trial asks for."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, self))})"


class Choice(Space):
    """One of the values, which may be of any type."""

    __slots__ = ()

    def draw(self, rng: np.random.Generator) -> Any:
        return self[int(rng.integers(len(self)))]

    def suggest(self, trial: Any, name: str) -> Any:
        return self[trial.suggest_categorical(name, list(range(len(self))))]


class Uniform(Space):
    """A number between the lowest and the highest value; a whole one if all values are.

    Examples
    --------
    >>> space = Uniform(0.0, 0.5, 1.0)
    >>> list(space), 0.0 <= space.draw(np.random.default_rng(0)) <= 1.0
    ([0.0, 0.5, 1.0], True)
    """

    __slots__ = ()

    @property
    def is_finite(self) -> bool:
        return False

    @property
    def is_whole(self) -> bool:
        return all(isinstance(value, int) for value in self)

    def draw(self, rng: np.random.Generator) -> Any:
        return self._rounded(rng.uniform(min(self), max(self)))

    def suggest(self, trial: Any, name: str) -> Any:
        return self._rounded(trial.suggest_float(name, min(self), max(self)))

    def _rounded(self, value: float) -> int | float:
        """Digits beyond the fourth mean nothing to a search and make logs hard to read."""
        return round(value) if self.is_whole else float(f"{value:.4g}")


class LogUniform(Uniform):
    """The same, drawn evenly on the scale of logarithms; all values must be positive."""

    __slots__ = ()

    def __new__(cls, *values: Any) -> Self:
        if any(value <= 0 for value in values):
            raise ValueError(f"LogUniform is for positive numbers; got {values}")
        return super().__new__(cls, *values)

    def draw(self, rng: np.random.Generator) -> Any:
        return self._rounded(math.exp(rng.uniform(math.log(min(self)), math.log(max(self)))))

    def suggest(self, trial: Any, name: str) -> Any:
        return self._rounded(trial.suggest_float(name, min(self), max(self), log=True))


def as_space(values: Sequence[Any]) -> Space:
    """A space from a plain list: one of its values."""
    return values if isinstance(values, Space) else Choice(*values)
