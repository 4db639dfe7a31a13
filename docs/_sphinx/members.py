"""Which public names and members the reference describes, and where.

A name of ``podium`` itself is described as such (``podium.ListNet``), other names as names of their room
(``podium.losses.ListNetLoss``). A method that several public classes share is described once, at the most general of
them; the pages of the others link there.
"""

from __future__ import annotations

import functools
import importlib
import inspect
from types import ModuleType
from typing import Any

import public_names
from sphinx.pycode import ModuleAnalyzer

ROOMS = sorted({*public_names.ROOMS, *public_names.MODULES})


@functools.cache
def described() -> dict[str, Any]:
    """Return all public objects by the full name under which they are described."""
    podium = importlib.import_module("podium")
    at_root = [name for name in podium.__all__ if name not in ROOMS and not name.startswith("__")]
    names = {f"podium.{name}": getattr(podium, name) for name in at_root}
    known = {id(value) for value in names.values()}
    for room in ROOMS:
        module = importlib.import_module(f"podium.{room}")
        for name in module.__all__:
            value = getattr(module, name)
            if id(value) not in known:
                names[f"podium.{room}.{name}"] = value
    return names


def names_of(room: str) -> dict[str, str]:
    """Return where each name of a room is described."""
    module = importlib.import_module(f"podium.{room}")
    return {name: str(home(getattr(module, name))) for name in module.__all__}


def home(value: Any) -> str | None:
    """Return the full name under which an object is described; None if it is not public."""
    return _homes().get(id(value))


@functools.cache
def _homes() -> dict[int, str]:
    return {id(value): name for name, value in described().items()}


def constant_docstring(name: str) -> list[str]:
    """Return what is said below a public constant where it is assigned."""
    room, _, short = name.removeprefix("podium.").partition(".")
    for module, listed in public_names._public_names(public_names.SOURCE, room).items():
        if short in listed:
            return ModuleAnalyzer.for_module(module).find_attr_docs().get(("", short), [])
    return []


def members() -> dict[str, dict[str, list[str]]]:
    """Return what the page of each class shows: methods, properties, full names of those described elsewhere."""
    return {name: _members(value) for name, value in described().items() if inspect.isclass(value)}


def _members(cls: type) -> dict[str, list[str]]:
    shown: dict[str, list[str]] = {"methods": [], "properties": [], "elsewhere": []}
    for name in sorted({name for base in _ours(cls) for name in vars(base) if not name.startswith("_")}):
        if not _is_described(cls, name) or _only_implements(cls, name):
            continue
        owner = owner_of(cls, name)
        if owner is not cls:
            shown["elsewhere"].append(f"{home(owner)}.{name}")
        else:
            shown["properties" if is_property(cls, name) else "methods"].append(name)
    return shown


def _is_described(cls: type, name: str) -> bool:
    """Return whether a member is a property or method of ours: parameters are in their class's docstring."""
    if is_property(cls, name):
        return True
    member = inspect.getattr_static(cls, name, None)
    return inspect.isroutine(member) and str(getattr(getattr(cls, name), "__module__", "")).startswith("podium")


def _only_implements(cls: type, name: str) -> bool:
    """Return whether a member without a docstring is the implementation of what a base class declares."""
    declared = any(name in vars(base) or name in vars(base).get("__annotations__", {}) for base in _ours(cls)[1:])
    return declared and not description(cls, name)


def owner_of(cls: type, name: str) -> type:
    """Return the most general public class whose description of a member is also that of ``cls``."""
    wanted = description(cls, name)
    public = [base for base in cls.__mro__ if home(base) and _is_described(base, name)]
    return next((base for base in reversed(public) if description(base, name) == wanted), cls)


def description(cls: type, name: str) -> str:
    """Return the docstring of a member, its own or the one that it inherits."""
    member = inspect.getattr_static(cls, name) if is_property(cls, name) else getattr(cls, name)
    return inspect.getdoc(getattr(member, "func", member)) or ""


def is_property(cls: type, name: str) -> bool:
    return isinstance(inspect.getattr_static(cls, name, None), property | functools.cached_property)


def _ours(cls: type) -> list[type]:
    return [base for base in cls.__mro__ if base.__module__.partition(".")[0] == "podium"]


def find(target: str, module: str | None, cls: str | None) -> str | None:
    """Return where the object is described that ``target`` names in a docstring of a module or class."""
    places = _places(module, cls)
    for place in [*places, None]:
        parent, value = _follow(place, target.removesuffix("()"))
        if value is None:
            continue
        if name := home(value):
            return name
        if inspect.isclass(parent) and home(parent):
            return f"{home(owner_of(parent, target.rpartition('.')[2]))}.{target.rpartition('.')[2]}"
        if isinstance(value, ModuleType) and value.__name__.removeprefix("podium.") in (*ROOMS, "podium"):
            return value.__name__
    return None


def _places(module: str | None, cls: str | None) -> list[Any]:
    """Return the class and the modules in which the author of a docstring may have meant a name."""
    shown = _follow(None, f"{module}.{cls}")[1] if module and cls else None
    defining = importlib.import_module(shown.__module__) if inspect.isclass(shown) else None
    return [place for place in (shown, defining, importlib.import_module(module) if module else None) if place]


def _follow(place: Any, target: str) -> tuple[Any, Any]:
    """Return the object that a dotted name leads to, and the one before it on the way; None if it leads nowhere."""
    parent, value = None, place
    path = target.split(".")
    if place is None:
        if path[0] != "podium":
            return None, None
        value, path = importlib.import_module("podium"), path[1:]
    for step in path:
        parent = value
        value = inspect.getattr_static(parent, step, None) if inspect.isclass(parent) else getattr(parent, step, None)
        if value is None and isinstance(parent, ModuleType) and hasattr(parent, "__path__"):
            try:
                value = importlib.import_module(f"{parent.__name__}.{step}")
            except ModuleNotFoundError:
                return parent, None
        if value is None:
            return parent, None
    return parent, value
