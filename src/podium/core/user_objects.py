"""Objects of the user's own, named on the command line as ``module:name``."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any


def is_user_object(name: str) -> bool:
    """Return whether a name is of the form ``module:name``.

    >>> is_user_object("mine:Loss"), is_user_object("ndcg@10")
    (True, False)
    """
    module, colon, attribute = name.partition(":")
    return bool(colon) and all(part.isidentifier() for part in [*module.split("."), *attribute.split(".")])


def import_user_object(name: str) -> Any:
    """Import the object that ``module:name`` names, looking for the module in the current folder first.

    This runs the module's code, so it is for names that the user typed, never for names found in a file.
    """
    if not is_user_object(name):
        raise ValueError(f"{name!r} is not of the form module:name")
    module_name, _, attribute = name.partition(":")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        found: Any = import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is None or not (module_name == error.name or module_name.startswith(f"{error.name}.")):
            raise  # the module is there; something that it imports is not
        raise ValueError(f"{name}: there is no module {module_name!r} in {here} or among the installed ones") from None
    for part in attribute.split("."):
        if not hasattr(found, part):
            raise ValueError(f"{name}: the module {module_name} has no {attribute!r}")
        found = getattr(found, part)
    return found
