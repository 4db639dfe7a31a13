"""NumPy-style docstrings that say what a class inherits, so that no text is written twice."""

import inspect
import re
from typing import Any

_PARAMETERS = re.compile(r"^Parameters\n-+\n", re.MULTILINE)
_HEADING = re.compile(r"^\S.*\n-+$", re.MULTILINE)


def complete_docstrings(cls: type) -> None:
    """Describe inherited parameters in a class's docstring, and methods that it overrides as its base class does."""
    cls.__doc__ = with_inherited_parameters(cls)
    inherit_docstrings(cls)


def inherit_docstrings(cls: type) -> None:
    """Give methods and properties without a docstring that of the method they override."""
    for name, member in vars(cls).items():
        described: Any = getattr(member, "__func__", member)
        if not name.startswith("_") and (inspect.isfunction(described) or isinstance(described, property)):
            described.__doc__ = described.__doc__ or next(filter(None, _docstrings(cls.__mro__[1:], name)), None)


def with_inherited_parameters(cls: type) -> str | None:
    """Return a class's docstring with descriptions of inherited parameters among its own, in the constructor's order.

    A class that documents no parameter of its own gets a section if it inherits any.
    """
    text = inspect.cleandoc(cls.__dict__.get("__doc__") or "")
    if not text:
        return cls.__dict__.get("__doc__")
    known = list(inspect.signature(cls.__init__).parameters)  # type: ignore[misc]
    before, own, after = _split(text)
    bases = [inspect.cleandoc(base.__dict__.get("__doc__") or "") for base in cls.__mro__[1:]]
    described: dict[str, str] = {}
    for section in [own, *(_split(base)[1] for base in bases)]:
        for entry in _entries(section):
            names = [name for name in _names(entry) if name in known]
            if names and not described.keys() & set(names):
                described |= dict.fromkeys(names, entry)
    unknown = [entry for entry in _entries(own) if entry not in described.values()]
    entries = dict.fromkeys([*(described[name] for name in known if name in described), *unknown])
    if not entries:
        return text
    return "\n".join([before.rstrip(), "", "Parameters", "----------", *entries, "", after]).rstrip() + "\n"


def _docstrings(bases: tuple[type, ...], name: str) -> list[str | None]:
    members = (vars(base).get(name) for base in bases)
    return [member.__doc__ for member in members if callable(member) or isinstance(member, (property, classmethod))]


def _split(text: str) -> tuple[str, str, str]:
    """Return what stands before the entries of the Parameters section, the entries, and what follows them."""
    found = _PARAMETERS.search(text)
    start, end = (len(text), len(text)) if found is None else found.span()
    heading = _HEADING.search(text, end if found else 0)
    stop = len(text) if heading is None else heading.start()
    return text[: min(start, stop)], text[end:stop], text[stop:]


def _entries(section: str) -> list[str]:
    """Return the entries of a section, each a line without indentation and the indented lines that follow it."""
    return [entry.rstrip() for entry in re.split(r"\n(?=\S)", section) if entry.strip()]


def _names(entry: str) -> list[str]:
    """Return the parameters that an entry describes: ``"l1, l2 : float"`` describes two."""
    return [name.strip() for name in entry.partition("\n")[0].partition(" :")[0].split(",")]
