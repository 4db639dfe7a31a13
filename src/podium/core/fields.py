"""Annotated class attributes as the parameters of a constructor, inherited by subclasses.

    class Linear(Parameterized):
        l1: float = 0.0
        l2: float = 1e-3

has the constructor ``Linear(l1=0.0, l2=1e-3)``, which stores its arguments unchanged under their own names, as
scikit-learn wants it. A subclass declares only what is its own: its parameters come first, those it inherits after
them, and its docstring lists all of them. (A dataclass would put the inherited ones first.)

An attribute is a parameter unless its name begins or ends with an underscore or its type is ``ClassVar``; to drop an
inherited parameter, declare it again as a ``ClassVar``. A parameter without a default is required.

A default may declare the parameter's limits, ``l2: float = number(1e-3, at_least=0)`` (see
:mod:`podium.core.parameters`). They hold in subclasses, too, also where these declare another default.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from inspect import Parameter, Signature
from typing import TYPE_CHECKING, Any, ClassVar

from podium.core.docstrings import complete_docstrings


@dataclass(frozen=True, slots=True)
class Limited:
    """The default of a parameter, with a function of its name and value that raises outside its limits."""

    default: Any
    check: Callable[[str, Any], None]
    optional: bool = False


class Fields:
    """Base class that turns the annotated attributes of its subclasses into constructor parameters."""

    _limits: ClassVar[dict[str, Limited]] = {}

    if TYPE_CHECKING:  # not typing.dataclass_transform, which would have inherited parameters come first

        def __init__(self, *args: Any, **kwargs: Any) -> None: ...

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls._limits = {k: v for base in reversed(cls.__mro__) for k, v in base.__dict__.get("_limits", {}).items()}
        if "__init__" not in cls.__dict__:
            cls.__init__ = _constructor(_parameters(cls))  # type: ignore[method-assign]
        complete_docstrings(cls)

    def check_parameters(self) -> None:
        """Raise if a parameter, or one of a parameter's own, is outside the limits that were declared for it."""
        for name, limited in self._limits.items():
            if getattr(self, name) is not None or not limited.optional:
                limited.check(name, getattr(self, name))
        for name in parameter_names(type(self)):
            if isinstance(value := getattr(self, name), Fields):
                value.check_parameters()


def parameter_names(cls: type) -> list[str]:
    """Return the names of a class's constructor parameters, in order."""
    return list(_inherited(cls))


def _parameters(cls: type) -> list[Parameter]:
    """Return the parameters that a class declares, then those it inherits and does not declare again."""
    own, dropped = [], set()
    for name, annotation in inspect.get_annotations(cls).items():
        if name.startswith("_") or name.endswith("_"):
            continue
        dropped.add(name)
        if not str(annotation).startswith(("ClassVar", "typing.ClassVar")):
            default = cls.__dict__.get(name, Parameter.empty)
            if isinstance(default, Limited):
                cls._limits[name] = default  # type: ignore[attr-defined]
                default = default.default
                setattr(cls, name, default)
            own.append(Parameter(name, Parameter.POSITIONAL_OR_KEYWORD, default=default, annotation=annotation))
    inherited = (p for base in cls.__bases__ for p in _inherited(base).values() if p.name not in dropped)
    return [*own, *{p.name: p for p in inherited}.values()]


def _inherited(cls: type) -> dict[str, Parameter]:
    """Return the constructor parameters of a class by name, whether generated or written out."""
    if cls.__init__ is object.__init__:  # type: ignore[misc]
        return {}
    return {name: p for name, p in inspect.signature(cls.__init__).parameters.items() if name != "self"}  # type: ignore[misc]


def _constructor(parameters: Iterable[Parameter]) -> Any:
    signature = Signature([Parameter("self", Parameter.POSITIONAL_OR_KEYWORD), *parameters])

    def constructor(self: Any, *args: Any, **kwargs: Any) -> None:
        try:
            bound = signature.bind(self, *args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{type(self).__name__}: {error}") from None
        bound.apply_defaults()
        for name, value in list(bound.arguments.items())[1:]:
            setattr(self, name, value)

    constructor.__name__ = "__init__"
    constructor.__signature__ = signature  # type: ignore[attr-defined]
    return constructor
