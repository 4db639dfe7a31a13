"""What an object is, as JSON-like values: two that are described alike give the same results.

Podium's own classes are known by name, and by the digest of their code. A class or function of the user's is known by
its source and by what that uses: other functions, classes and values of its module, and the user's other modules, all
followed in the same way; other packages by their versions. Arrays are described by their digest. What cannot be
described is unlike anything that was there before, so that no stored trial passes for one with it.
"""

import dis
import hashlib
import inspect
import json
import marshal
import pickle
import sys
import uuid
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import fields, is_dataclass
from functools import cache, partial
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

PACKAGES = ("numpy", "scipy", "numba", "scikit-learn", "lightgbm")
"""Those whose versions the results of every method may depend on."""
_KNOWN = {"podium", "numpy", "scipy", "numba", "sklearn", "lightgbm"}
Import = tuple[str, int, tuple[str, ...]]
"""A module, how many packages above it is looked for, and the names taken from it."""
_PROCESS = uuid.uuid4().hex


class Identity:
    """The description of an object, and the modules that its classes and functions are defined in."""

    def __init__(self, value: Any) -> None:
        self.modules: set[str] = set()
        self._met: dict[int, Any] = {}
        """Classes and functions that were described already."""
        self._read: set[str] = set()
        """Modules that were."""
        self._within: dict[int, Any] = {}
        """Objects that are being described."""
        self.description: Any = self._describe(value)

    def _describe(self, value: Any) -> Any:
        if isinstance(value, np.generic):
            value = value.item()
        if value is None or isinstance(value, bool | int | float | str):
            return value
        if isinstance(value, np.ndarray) and value.dtype != object:
            return {"array": _digest(np.ascontiguousarray(value)), "dtype": value.dtype.str, "shape": value.shape}
        if isinstance(value, type) or inspect.isroutine(value) or hasattr(value, "py_func"):
            return self._code(getattr(value, "py_func", value))
        if isinstance(value, ModuleType):
            return self._module(value.__name__)
        if id(value) in self._within:
            return "itself"
        self._within[id(value)] = value
        try:
            return self._object(value)
        finally:
            del self._within[id(value)]

    def _object(self, value: Any) -> Any:
        if isinstance(value, Mapping):
            return {str(key): self._describe(item) for key, item in value.items()}
        if isinstance(value, set | frozenset):
            return sorted(digest(self._describe(item)) for item in value)
        if type(value) in (list, tuple, range) or isinstance(value, np.ndarray):
            return [self._describe(item) for item in value]
        if isinstance(value, partial):
            return {"of": self._describe(value.func), "given": self._describe([*value.args, value.keywords])}
        return {"is": self._code(type(value)), "with": self._parameters(value)}

    def _parameters(self, value: Any) -> Any:
        if hasattr(value, "get_params"):
            return self._describe(value.get_params(deep=False))
        if is_dataclass(value):
            return {field.name: self._describe(getattr(value, field.name)) for field in fields(value)}
        if isinstance(value, tuple):
            return [self._describe(item) for item in value]
        if hasattr(value, "detach"):  # a tensor of PyTorch
            return self._describe(value.detach().cpu().numpy())
        if is_users(type(value).__module__) and hasattr(value, "__dict__"):
            return self._describe(vars(value))
        try:
            return _digest(pickle.dumps(value))  # for its digest only: nothing is ever unpickled
        except Exception:  # whatever an object raises that cannot be pickled
            return f"known to process {_PROCESS} only: {id(value)}"

    def _code(self, value: Any) -> dict[str, Any]:
        """Return the name of a class or function and, if it is the user's, its source and what that uses."""
        module = getattr(value, "__module__", None) or ""
        described: dict[str, Any] = {"name": f"{module}:{getattr(value, '__qualname__', repr(value))}"}
        if not is_users(module):
            return described | self._module(module)
        self.modules.add(module)
        if id(value) in self._met:
            return described
        self._met[id(value)] = value
        try:
            described["source"] = _digest(inspect.getsource(value).encode())
        except (OSError, TypeError):  # defined at a prompt, or compiled
            described["source"] = _digest(b"".join(marshal.dumps(f.__code__) for f in _functions(value)))
        described["uses"] = digest([self._uses(function) for function in _functions(value)])
        if isinstance(value, type):
            described["bases"] = [self._code(base) for base in value.__bases__]
        return described

    def _uses(self, function: FunctionType) -> list[Any]:
        """Return what the names in a function's code stand for."""
        names, imported = _names(function.__code__)
        known = function.__globals__
        found: list[Any] = [[name, self._named(known[name], names)] for name in names if name in known]
        package = str(known.get("__package__") or "")
        found += [self._module(module) for module in _absolute(imported, package)]
        for cell in function.__closure__ or ():
            with suppress(ValueError):  # a cell without a value yet
                found.append(self._describe(cell.cell_contents))
        return [*found, self._describe([function.__defaults__, function.__kwdefaults__])]

    def _named(self, value: Any, names: list[str]) -> Any:
        """Describe what a name stands for; of a module of Podium only what is used, found by the names that follow."""
        if isinstance(value, ModuleType) and value.__name__.partition(".")[0] == "podium":
            inner = [getattr(value, name) for name in names if name in dir(value)]
            return [self._named(item, names) for item in inner if isinstance(item, ModuleType | type | FunctionType)]
        return self._describe(value)

    def _module(self, name: str) -> dict[str, Any]:
        """Describe a module: the user's by its source and all that it imports, another package's by its version."""
        self.modules.add(name)
        root = name.partition(".")[0]
        if not is_users(name):
            version = None if root in _KNOWN or root in sys.stdlib_module_names else _version(root)
            return {} if version is None else {"version": version}
        file = _file(name)
        if file is None or name in self._read:
            return {"module": name}
        self._read.add(name)
        source = Path(file).read_bytes()
        _, imported = _names(compile(source, file, "exec", dont_inherit=True))
        package = name if Path(file).name == "__init__.py" else name.rpartition(".")[0]
        used = [self._module(other) for other in _absolute(imported, package)]
        return {"module": name, "source": _digest(source), "imports": digest(used)}


def is_users(module: str) -> bool:
    """Return whether a module is one of the user's own: neither Python's, nor Podium's, nor an installed package's."""
    root = module.partition(".")[0]
    if not root or root in _KNOWN or root in sys.stdlib_module_names or root == "builtins":
        return False
    file = _file(module)
    if file is None:
        return module == "__main__" or module not in sys.modules
    return not {"site-packages", "dist-packages"} & set(Path(file).parts) and file.endswith(".py")


def _file(module: str) -> str | None:
    """Return the file of a module, also of one that is not imported yet."""
    if module in sys.modules:
        return getattr(sys.modules[module], "__file__", None)
    with suppress(Exception):  # whatever a package raises on being looked into: then it will raise in the trial, too
        spec = find_spec(module)
        return None if spec is None else spec.origin
    return None


def _functions(value: Any) -> list[FunctionType]:
    """Return a function, or those that are defined in a class."""
    members = list(vars(value).values()) if isinstance(value, type) else [value]
    found: list[FunctionType] = []
    for member in members:
        parts = [member.fget, member.fset] if isinstance(member, property) else [getattr(member, "__func__", member)]
        for part in parts:
            inner = getattr(part, "py_func", part)
            while inner is not None:
                found += [inner] if isinstance(inner, FunctionType) else []
                inner = getattr(inner, "__wrapped__", None)
    return found


def _names(code: CodeType) -> tuple[list[str], list[Import]]:
    """Return the names in a code object and in those within it, and what it imports."""
    names, imported = list(code.co_names), list[Import]()
    constants: list[Any] = []
    for instruction in dis.get_instructions(code):
        if instruction.opname == "LOAD_CONST":
            constants.append(instruction.argval)
        elif instruction.opname == "IMPORT_NAME":  # after the constants of its level and of the names from it
            imported.append((str(instruction.argval), constants[-2], tuple(constants[-1] or ())))
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            more, modules = _names(inner)
            names += more
            imported += modules
    return list(dict.fromkeys(names)), list(dict.fromkeys(imported))


def _absolute(imported: Iterable[Import], package: str) -> Iterator[str]:
    """Yield the full names of imported modules, and of the names from them that are modules too."""
    for name, level, names in imported:
        parents = package.split(".")[: len(package.split(".")) - level + 1] if level else []
        module = ".".join([*parents, *([name] if name else [])])
        yield module
        if is_users(module):
            yield from (f"{module}.{inner}" for inner in names if _file(f"{module}.{inner}") is not None)


@cache
def _version(root: str) -> str | None:
    """Return the version of the package that a module belongs to."""
    for name in (root, *metadata.packages_distributions().get(root, ())):
        with suppress(metadata.PackageNotFoundError):
            return metadata.version(name)
    return None


def digest(value: Any) -> str:
    """Return a short name for a JSON-like value: equal values, equal names."""
    return _digest(json.dumps(value, sort_keys=True, default=repr).encode(), 10)


def package_versions() -> dict[str, str]:
    """Return the versions of the packages that results may depend on."""
    found = {}
    for package in PACKAGES:
        with suppress(metadata.PackageNotFoundError):
            found[package] = metadata.version(package)
    return found


def _digest(content: Any, size: int = 12) -> str:
    return hashlib.blake2b(content, digest_size=size).hexdigest()
