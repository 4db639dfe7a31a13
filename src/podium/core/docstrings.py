"""NumPy-style docstrings whose list of parameters includes those that a class inherits."""

import inspect
import re

_HEADING = re.compile(r"^Parameters\n-+\n", re.MULTILINE)
_ANY_HEADING = re.compile(r"^\S.*\n-+$", re.MULTILINE)
_NEXT_HEADING = re.compile(r"^\S.*\n(-+)\n|\n\n(?=\S)", re.MULTILINE)


def with_inherited_parameters(cls: type) -> str | None:
    """Return a class's docstring with descriptions of inherited parameters added to its own.

    A class that documents no parameter of its own gets a section if it inherits any.
    """
    text = inspect.cleandoc(cls.__dict__.get("__doc__") or "")
    if not text:
        return cls.__dict__.get("__doc__")
    known = set(inspect.signature(cls.__init__).parameters)  # type: ignore[misc]
    before, own, after = _split(text)
    described = {name for entry in _entries(own) for name in _names(entry)}
    added = []
    for base in cls.__mro__[1:]:
        for entry in _entries(_split(inspect.cleandoc(base.__dict__.get("__doc__") or ""))[1]):
            names = [name for name in _names(entry) if name in known]
            if names and not described.intersection(names):
                described.update(names)
                added.append(entry)
    if not added:
        return text
    entries = "\n".join([*([own.rstrip()] if own else []), *added])
    return (
        f"{before.rstrip()}\n\nParameters\n----------\n{entries}\n{after and chr(10)}{after.lstrip()}".rstrip() + "\n"
    )


def _split(text: str) -> tuple[str, str, str]:
    """Return what stands before the entries of the Parameters section, the entries, and what follows them."""
    found = _HEADING.search(text)
    if found is None:
        other = _ANY_HEADING.search(text)
        stop = len(text) if other is None else other.start()
        return text[:stop], "", text[stop:]
    rest = text[found.end() :]
    end = _NEXT_HEADING.search(rest)
    stop = len(rest) if end is None else end.start()
    return text[: found.start()], rest[:stop].rstrip(), rest[stop:].lstrip("\n")


def _entries(section: str) -> list[str]:
    """Return the entries of a section, each a line without indentation and the indented lines that follow it."""
    return [entry.rstrip() for entry in re.split(r"\n(?=\S)", section) if entry.strip()]


def _names(entry: str) -> list[str]:
    """Return the parameters that an entry describes: ``"l1, l2 : float"`` describes two."""
    return [name.strip() for name in entry.partition("\n")[0].partition(" :")[0].split(",")]
