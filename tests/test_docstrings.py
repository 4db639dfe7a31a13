"""Every public name has a docstring and a tested example, and what docstrings refer to exists.

Source is parsed, not imported, so that rooms that need optional packages are checked too. The site's build validates
the same docstrings section by section.
"""

from __future__ import annotations

import ast
import pydoc
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import pytest

SOURCE = Path(__file__).parent.parent / "src"
ROLE = re.compile(r":(?:class|func|meth|attr|mod|data|exc|obj):`(?:[^`<]*<)?~?([\w.]+)>?`")
OTHERS = ("numpy.", "scipy.", "sklearn.", "dataclasses.")
"""Packages besides Podium whose names docstrings may refer to."""
Definition = ast.ClassDef | ast.FunctionDef


class Text(NamedTuple):
    """A docstring and where it is."""

    module: str
    owner: str
    """The class that it describes, or whose member it describes; empty elsewhere."""
    text: str
    is_public: bool

    def __str__(self) -> str:
        return f"{self.module}{self.owner and '.'}{self.owner}"


@cache
def modules() -> dict[str, ast.Module]:
    files = {path: path.relative_to(SOURCE).with_suffix("") for path in sorted(SOURCE.rglob("*.py"))}
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in files}
    return {".".join(files[path].parts).removesuffix(".__init__"): tree for path, tree in trees.items()}


@cache
def classes() -> dict[str, ast.ClassDef]:
    """Return all classes of Podium by name."""
    found = (node for tree in modules().values() for node in tree.body if isinstance(node, ast.ClassDef))
    return {node.name: node for node in found}


@pytest.fixture(scope="module")
def homes(load_tool) -> dict[str, str]:
    """The path of each public name, the shortest one, with the module that defines it."""
    return public_homes(load_tool("public_names"))


def public_homes(tool: ModuleType) -> dict[str, str]:
    names = {room: tool._public_names(SOURCE, room) for room in tool.ROOMS}
    names |= {room: {f"podium.{room}": tool.declared(SOURCE / "podium" / f"{room}.py")} for room in tool.MODULES}
    at_root = {n: m for m, listed in tool._root_names(SOURCE, names).items() for n in listed}
    at_root |= tool.CALLABLE
    found = {f"podium.{name}": module for name, module in at_root.items()}
    for room, by_module in names.items():
        for module, listed in by_module.items():
            found |= {f"podium.{room}.{name}": module for name in listed if at_root.get(name) != module}
    return found


def definition(module: str, name: str) -> Definition | None:
    """Return the class or function, or None for a constant."""
    found = (n for n in modules()[module].body if isinstance(n, Definition) and n.name == name)
    return next((n for n in found if not any("overload" in ast.unparse(d) for d in n.decorator_list)), None)


def bases(node: ast.ClassDef) -> list[ast.ClassDef]:
    """Return the classes of Podium that a class inherits from, itself first."""
    named = [ast.unparse(base).partition("[")[0].rpartition(".")[2] for base in node.bases]
    return [node, *(other for name in named if name in classes() for other in bases(classes()[name]))]


def test_every_public_name_has_a_docstring_with_an_example(homes: dict[str, str]) -> None:
    without = []
    for path, module in homes.items():
        name = path.rpartition(".")[2]
        node = definition(module, name)
        if node is None:  # a constant has no docstring: an example in its module uses it
            shown = "\n".join(text.text for text in texts(module))
            good = re.search(rf"^ *>>> .*\b{name}\b", shown, re.MULTILINE)
        else:
            good = ">>> " in (ast.get_docstring(node) or "").partition("\nExamples\n--------\n")[2]
        without += [] if good else [f"{path} ({module})"]
    assert without == []


def test_every_public_method_has_a_docstring(homes: dict[str, str]) -> None:
    """A method may have its own, or inherit that of the method it overrides."""
    without = []
    for path, module in homes.items():
        node = definition(module, path.rpartition(".")[2])
        for base in bases(node) if isinstance(node, ast.ClassDef) else []:
            methods = (member for member in base.body if isinstance(member, ast.FunctionDef))
            public = {method.name for method in methods if not method.name.startswith("_")}
            without += [f"{path}.{name}" for name in public if not _is_described(name, base)]
    assert sorted(set(without)) == []


def _is_described(name: str, node: ast.ClassDef) -> bool:
    members = (member for base in bases(node) for member in base.body if isinstance(member, ast.FunctionDef))
    return any(ast.get_docstring(member) for member in members if member.name == name)


def texts(module: str, public: frozenset[str] = frozenset()) -> Iterator[Text]:
    """Yield the docstrings of a module, those of attributes included."""
    return _texts(modules()[module], Text(module, "", "", module in public), public)


def _texts(node: ast.Module | Definition, at: Text, public: frozenset[str]) -> Iterator[Text]:
    for statement in node.body:
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
            yield at._replace(text=str(statement.value.value))
        elif isinstance(statement, Definition):
            shown = at.is_public and not statement.name.startswith("_") if at.owner else statement.name in public
            owner = statement.name if isinstance(statement, ast.ClassDef) else at.owner
            yield from _texts(statement, at._replace(owner=owner, is_public=shown), public)


def test_roles_in_docstrings_point_to_something(homes: dict[str, str], load_tool) -> None:
    """What the site shows refers to what it shows; other docstrings to whatever can be imported."""
    tool = load_tool("public_names")
    rooms = {"podium", *(f"podium.{room}" for room in (*tool.ROOMS, *tool.MODULES))}
    nodes = (definition(module, path.rpartition(".")[2]) for path, module in homes.items())
    shown = {base.name for node in nodes if isinstance(node, ast.ClassDef) for base in bases(node)}
    public = frozenset(shown | {path.rpartition(".")[2] for path in homes} | rooms)
    wrong = set()
    for module in modules():
        for text in texts(module, public):
            for target in ROLE.findall(text.text):
                if not _leads_somewhere(target, text, homes, rooms):
                    wrong.add(f"{text}: {target}")
    assert sorted(wrong) == []


def _leads_somewhere(target: str, text: Text, homes: dict[str, str], rooms: set[str]) -> bool:
    if target.startswith(OTHERS):
        return pydoc.locate(target) is not None
    is_shown = text.is_public
    if text.owner and _has_member(text.owner, target):
        return not (is_shown and target.startswith("_"))
    if target in homes or target in rooms:
        return True
    path, _, member = target.rpartition(".")
    if path in homes and _has_member(path.rpartition(".")[2], member):
        return True
    return not is_shown and any(_exists(name) for name in (target, f"{text.module}.{target}"))


def _exists(path: str) -> bool:
    """Return whether a module of Podium, or a name in one, has this path."""
    if path in modules():
        return True
    module, _, name = path.rpartition(".")
    if module in modules():
        return any(name in _names(statement) for statement in modules()[module].body)
    return "." in module and _exists(module) and _has_member(module.rpartition(".")[2], name)


def _has_member(owner: str, name: str) -> bool:
    found = (statement for base in bases(classes()[owner]) for statement in base.body) if owner in classes() else ()
    return any(name in _names(statement) for statement in found)


def _names(statement: ast.stmt) -> set[str]:
    """Return the names that a statement binds."""
    if isinstance(statement, Definition):
        return {statement.name}
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return {alias.asname or alias.name for alias in statement.names}
    targets = getattr(statement, "targets", [getattr(statement, "target", None)])
    return {name.id for target in targets if target for name in ast.walk(target) if isinstance(name, ast.Name)}
