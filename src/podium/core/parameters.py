"""Objects made of named parameters: printable, comparable, clonable by scikit-learn, storable as JSON.

Losses, scorers and trainers are such values. They follow scikit-learn's convention without importing scikit-learn,
which takes seconds to load.
"""

import inspect
from functools import partial
from math import inf, isfinite
from numbers import Integral, Real
from typing import Any, Self

from podium.core.fields import Fields, Limited, parameter_names
from podium.core.registry import Registered


class Parameterized(Fields, Registered):
    """Base class of values made of parameters (see ``podium.core.fields``), with ``repr`` and equality.

    A subclass may give the values of class attributes that its base class declares as keywords: these are facts of it.
    """

    def __init_subclass__(cls, **facts: Any) -> None:
        for name, value in facts.items():
            if not any(name in inspect.get_annotations(base) for base in cls.__mro__):
                raise TypeError(f"{cls.__name__}: there is no fact named {name!r} to declare")
            setattr(cls, name, value)
        super().__init_subclass__()

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return parameters by name; ``deep`` adds those of the parameters themselves as ``outer__inner``."""
        params = {name: getattr(self, name) for name in parameter_names(type(self))}
        if deep:
            for name, value in list(params.items()):
                if isinstance(value, Parameterized):
                    params.update({f"{name}__{inner}": v for inner, v in value.get_params().items()})
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name; ``outer__inner`` reaches into a parameter."""
        valid = parameter_names(type(self))
        for name, value in params.items():
            outer, _, inner = name.partition("__")
            if outer not in valid:
                raise ValueError(
                    f"{type(self).__name__} has no parameter {outer!r}; it has {', '.join(valid) or 'none'}"
                )
            if inner:
                getattr(self, outer).set_params(**{inner: value})
            else:
                setattr(self, outer, value)
        return self

    def __repr__(self) -> str:
        defaults = inspect.signature(type(self)).parameters
        shown = ", ".join(
            f"{name}={_shown(value)}"
            for name, value in self.get_params(deep=False).items()
            if not _same(value, defaults[name].default)
        )
        return f"{type(self).__name__}({shown})"

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other) or not isinstance(other, Parameterized):
            return NotImplemented
        mine, theirs = self.get_params(deep=False), other.get_params(deep=False)
        return all(_same(mine[name], theirs[name]) for name in mine)

    __hash__ = None  # type: ignore[assignment]  # parameters may change


def _shown(value: Any) -> str:
    """Return a parameter as text; a function by its name, since its address says nothing and differs between runs."""
    function = getattr(value, "py_func", value)
    return function.__qualname__ if inspect.isfunction(function) else repr(value)


def _same(a: Any, b: Any) -> bool:
    """Return whether two values are equal, without raising for arrays."""
    try:
        return a is b or bool(a == b)
    except ValueError:  # arrays compare element by element
        return bool((a == b).all())


def require_choice(name: str, value: Any, options: tuple[Any, ...]) -> None:
    """Raise unless ``value`` is one of ``options``."""
    if value not in options:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, options))}; got {value!r}")


def require_number(
    name: str, value: Any, *, at_least: float = -inf, above: float = -inf, at_most: float = inf, below: float = inf
) -> None:
    """Raise unless ``value`` is a finite number within its bounds."""
    good = isinstance(value, Real) and not isinstance(value, bool) and isfinite(value)
    if not good or not (value >= at_least and above < value < below and value <= at_most):
        bounds = {"of at least": at_least, "above": above, "of at most": at_most, "below": below}
        within = " and ".join(f"{words} {bound:g}" for words, bound in bounds.items() if isfinite(bound))
        raise ValueError(f"{name} must be a finite number{within and ' '}{within}; got {value!r}")


def require_count(name: str, value: Any, *, at_least: int = 1, at_most: float = inf) -> None:
    """Raise unless ``value`` is a whole number within its bounds."""
    if not isinstance(value, Integral) or isinstance(value, bool) or not at_least <= int(value) <= at_most:
        highest = f" and at most {at_most}" if isfinite(at_most) else ""
        raise ValueError(f"{name} must be a whole number of at least {at_least}{highest}; got {value!r}")


def choice(default: str | None, *others: str | None) -> Any:
    """Return a parameter's default, to declare that it is one of these."""
    return Limited(default, partial(require_choice, options=(default, *others)))


def number(default: float | None, *, optional: bool = False, **bounds: Any) -> Any:
    """Return a parameter's default, to declare bounds as in :func:`require_number`; None is allowed if it is that."""
    return Limited(default, partial(require_number, **bounds), optional or default is None)


def count(default: int | None, *, optional: bool = False, **bounds: Any) -> Any:
    """Return a parameter's default, to declare that it is a whole number; None is allowed if it is that."""
    return Limited(default, partial(require_count, **bounds), optional or default is None)
