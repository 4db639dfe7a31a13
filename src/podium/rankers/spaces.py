"""Spaces: what a search may try for a parameter.

A space is a tuple of values, those of a grid; a plain list of values is a space too, and means the same as
:class:`Choice`. Where a space says how, a random or Bayesian search also draws values between those of the grid::

    {"l2": LogUniform(1e-4, 1e-2, 1.0), "depth": [3, 6]}
"""

import math
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np


class Choice(tuple[Any, ...]):
    """One of the values, of any type. A subclass draws values between them, too."""

    __slots__ = ()
    is_finite: ClassVar[bool] = True
    """Whether only the grid's values can be drawn."""

    def __new__(cls, *values: Any) -> Self:
        if not values:
            raise ValueError(f"{cls.__name__} needs at least one value")
        return super().__new__(cls, values)

    def __getnewargs__(self) -> tuple[Any, ...]:
        return tuple(self)  # for pickling: a tuple would pass all values as one

    def draw(self, rng: np.random.Generator) -> Any:
        """Return a value at random."""
        return self[int(rng.integers(len(self)))]

    def suggest(self, trial: Any, name: str) -> Any:
        """Return a value that an Optuna trial suggests."""
        return self[trial.suggest_categorical(name, list(range(len(self))))]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, self))})"


class Uniform(Choice):
    """A number between the lowest and the highest value; an integer if all values are.

    Examples
    --------
    >>> space = Uniform(0.0, 0.5, 1.0)
    >>> list(space), 0.0 <= space.draw(np.random.default_rng(0)) <= 1.0
    ([0.0, 0.5, 1.0], True)
    """

    __slots__ = ()
    is_finite: ClassVar[bool] = False

    def draw(self, rng: np.random.Generator) -> Any:
        return self._rounded(rng.uniform(min(self), max(self)))

    def suggest(self, trial: Any, name: str) -> Any:
        return self._rounded(trial.suggest_float(name, min(self), max(self)))

    def _rounded(self, value: float) -> int | float:
        """Round to four digits: more mean nothing to a search and make logs hard to read."""
        whole = all(isinstance(value, int) for value in self)
        return round(value) if whole else float(f"{value:.4g}")


class LogUniform(Uniform):
    """A positive number between the lowest and the highest value, drawn evenly on a logarithmic scale.

    The lowest value may also be 0, "no penalty" for one. What is drawn below the lowest other value, down to a tenth of
    it, is then 0.

    Examples
    --------
    >>> space, rng = LogUniform(0.0, 0.01, 0.1, 1.0), np.random.default_rng(0)
    >>> drawn = [space.draw(rng) for _ in range(50)]
    >>> min(drawn), min(value for value in drawn if value) >= 0.01
    (0.0, True)
    """

    __slots__ = ()

    def __new__(cls, *values: Any) -> Self:
        if any(value < 0 for value in values) or (values and not any(values)):
            raise ValueError(f"LogUniform is for positive numbers, and 0; got {values}")
        return super().__new__(cls, *values)

    def draw(self, rng: np.random.Generator) -> Any:
        low, high = self._range()
        return self._or_zero(math.exp(rng.uniform(math.log(low), math.log(high))))

    def suggest(self, trial: Any, name: str) -> Any:
        return self._or_zero(trial.suggest_float(name, *self._range(), log=True))

    def _range(self) -> tuple[float, float]:
        return (0.1 * self._lowest if 0 in self else self._lowest), max(self)

    @property
    def _lowest(self) -> float:
        return min(value for value in self if value > 0)

    def _or_zero(self, value: float) -> int | float:
        return self._rounded(0.0 if 0 in self and value < self._lowest else value)


def as_space(values: Sequence[Any]) -> Choice:
    """Return a plain list of values as a space."""
    return values if isinstance(values, Choice) else Choice(*values)
