"""A digest of the code that determines a trial: every Podium module that it reaches by imports.

Trials of the code as it was must not pass for trials of the code as it is, and a change that cannot matter must not
cost a run its trials. So the modules are found by following imports from where a trial begins, and each is compared by
its syntax tree without docstrings: comments, layout, and modules that a trial never reaches, such as the report, change
nothing.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.util import resolve_name
from pathlib import Path
from typing import NamedTuple

import podium

PACKAGE = "podium"
SOURCES = Path(__file__).parents[2]


class _Module(NamedTuple):
    digest: str
    imports: frozenset[str]


def code_digest(modules: Iterable[str], sources: Path = SOURCES) -> str:
    """Return a digest of these modules of Podium and of all others that they reach.

    Parameters
    ----------
    modules : dotted names; those of other packages are ignored
    sources : path
        The folder of the package.
    """
    total = hashlib.blake2b(digest_size=8)
    for name in sorted(reached(modules, sources)):
        total.update(f"{name} {_module(name, sources).digest} ".encode())
    return total.hexdigest()


def reached(modules: Iterable[str], sources: Path = SOURCES) -> set[str]:
    """Return the modules of Podium that these reach by imports, wherever in them the imports stand."""
    waiting, found = list(modules), set[str]()
    while waiting:
        name = waiting.pop()
        if name not in found and _path(name, sources) is not None:
            found.add(name)
            waiting.extend(_module(name, sources).imports)
    return found


@cache
def _module(name: str, sources: Path) -> _Module:
    path = _path(name, sources)
    assert path is not None
    tree = ast.parse(path.read_bytes())
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    imports = frozenset(_imports(tree, package, sources))
    _remove_docstrings(tree)
    return _Module(hashlib.blake2b(ast.dump(tree).encode(), digest_size=16).hexdigest(), imports)


def _path(name: str, sources: Path) -> Path | None:
    """Return the file of a module of Podium, or None if there is no such module."""
    root, *rest = name.split(".")
    if root != PACKAGE:
        return None
    base = sources.joinpath(*rest)
    return next((p for p in (base / "__init__.py", base.with_suffix(".py")) if p.is_file()), None)


def _imports(tree: ast.Module, package: str, sources: Path) -> Iterator[str]:
    """Yield the modules of Podium that a module imports, but those imported for type checkers only."""
    roots = set()
    for node in _executed(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name == PACKAGE:  # a table of names: only those that are used count
                    roots.add(alias.asname or alias.name)
                else:
                    yield alias.name
        elif isinstance(node, ast.ImportFrom):
            module = resolve_name("." * node.level + (node.module or ""), package)
            for alias in node.names:
                yield _home(module, alias.name, sources)
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in roots:
            yield _home(PACKAGE, node.attr, sources)


def _executed(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        if not (isinstance(child, ast.If) and ast.unparse(child.test).endswith("TYPE_CHECKING")):
            yield child
            yield from _executed(child)


def _home(module: str, name: str, sources: Path) -> str:
    """Return the module that a name imported from a module comes from.

    The names of a package are followed to where they are defined: what else the package lists does not matter.
    """
    if _path(f"{module}.{name}", sources) is not None:
        return f"{module}.{name}"
    path = _path(module, sources)
    if path is None or path.name != "__init__.py":
        return module
    if (defined_in := _imported_names(path, sources).get(name)) is not None:
        return _home(defined_in, name, sources)
    if module == PACKAGE:  # its names are imported when they are first used
        found = getattr(podium, name, None)
        return str(getattr(found, "__module__", None) or getattr(found, "__name__", PACKAGE))
    return module


@cache
def _imported_names(path: Path, sources: Path) -> dict[str, str]:
    """Return the module that each name comes from that a package imports."""
    names = {}
    for node in ast.parse(path.read_bytes()).body:
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                listed = _listed(node.module, sources) if alias.name == "*" else [alias.asname or alias.name]
                names.update(dict.fromkeys(listed, node.module))
    return names


def _listed(module: str, sources: Path) -> list[str]:
    """Return the names that a module lists in ``__all__``, which is what ``*`` imports."""
    path = _path(module, sources)
    body = [] if path is None else ast.parse(path.read_bytes()).body
    lists = (node.value for node in body if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__")
    return next((list(ast.literal_eval(value)) for value in lists), [])


def _remove_docstrings(tree: ast.AST) -> None:
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and node.body:
            first = node.body[0]
            value = first.value if isinstance(first, ast.Expr) else None
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                node.body = node.body[1:]
