"""The user's own classes and functions, named as ``module:name``."""

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
            raise  # the module exists; something that it imports does not
        raise ValueError(f"{name}: no module named {module_name!r} in {here} or among the installed ones") from None
    for part in attribute.split("."):
        if not hasattr(found, part):
            raise ValueError(f"{name}: the module {module_name} has no {attribute!r}")
        found = getattr(found, part)
    return found


def user_object_name(value: Any) -> str:
    """Return the ``module:name`` from which a class or function can be imported.

    Raises ValueError, saying what to do, for one that cannot be: a lambda, a local function, a class in a notebook.

    >>> user_object_name(Path.cwd)
    'pathlib:Path.cwd'
    """
    module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    if not module or not name:
        problem = f"{value!r} has no name"
    elif "<lambda>" in name:
        problem = f"{module}.{name} is a lambda"
    elif "<locals>" in name:
        problem = f"{module}.{name} is defined inside a function"
    elif module == "__main__":
        problem = f"{name} is defined in a script or notebook"
    elif _attribute(sys.modules.get(module), name) != value:
        problem = f"{module}.{name} is another object than this {value!r}"
    else:
        return f"{module}:{name}"
    raise ValueError(
        f"{problem}, so nothing could find it again. Define it at the top level of a module of yours, say mine.py, "
        "and import it from there"
    )


def _attribute(owner: Any, path: str) -> Any:
    for part in path.split("."):
        owner = getattr(owner, part, None)
    return owner
