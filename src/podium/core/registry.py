"""The register of Podium's own classes by name: what a model file may ask for.

Losses, scorers, trainers and rankers register themselves when they are defined, so no list of them is kept by hand. A
class from outside Podium is not registered: a file may name it, but only the caller can supply it.
"""

from typing import Any

_classes: dict[str, type] = {}


class Registered:
    """Base class whose public subclasses within Podium are registered under their names."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if cls.__module__.startswith("podium.") and not cls.__name__.startswith("_"):
            known = _classes.setdefault(cls.__name__, cls)
            if known.__module__ != cls.__module__:
                raise TypeError(f"{cls.__module__} and {known.__module__} both define a class {cls.__name__}")


def registered(name: str) -> type | None:
    """Return the registered class of this name, or None."""
    return _classes.get(name)


def is_registered(cls: type) -> bool:
    """Return whether this very class is registered."""
    return _classes.get(cls.__name__) is cls
