"""Pages of the reference, one per room, and links by other names of the same objects."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docutils import nodes
from members import ROOMS, constant_docstring, described, find, names_of
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.environment import BuildEnvironment

FOLDER = "reference"


def write_pages(app: Sphinx, _: Config) -> None:
    """Write ``reference/podium.rst`` and one page per room, where their content has changed."""
    folder = Path(app.srcdir) / FOLDER
    folder.mkdir(exist_ok=True)
    at_root = [name for name in described() if name.count(".") == 1]
    pages = {"podium": page("podium", at_root, {})}
    for room in ROOMS:
        names = names_of(room)
        own = [full for name, full in names.items() if full == f"podium.{room}.{name}"]
        others = {name: full for name, full in names.items() if full not in own}
        pages[f"podium.{room}"] = page(f"podium.{room}", own, others)
    for name, content in pages.items():
        path = folder / f"{name}.rst"
        if not path.exists() or path.read_text("utf-8") != content:
            path.write_text(content, "utf-8")


def page(module: str, names: list[str], others: dict[str, str]) -> str:
    """Return a page: what a room is for, tables of its names, and links to those that are names of podium, too."""
    title = f"``{module}``"
    lines = [title, "=" * len(title), "", f".. automodule:: {module}", "   :no-members:", ""]
    kinds = {"Classes": inspect.isclass, "Functions": inspect.isroutine}
    left = sorted(names, key=str.lower)
    for heading, belongs in kinds.items():
        of_kind = [name for name in left if belongs(described()[name])]
        left = [name for name in left if name not in of_kind]
        lines += table(heading, module, of_kind)
    lines += table("Constants and types", module, left)
    if others:
        roles = [
            f":py:obj:`{name} <{full}>`" for name, full in sorted(others.items(), key=lambda pair: pair[0].lower())
        ]
        lines += [f"Described as names of :mod:`podium`: {', '.join(roles)}.", ""]
    return "\n".join(lines)


def table(heading: str, module: str, names: list[str]) -> list[str]:
    if not names:
        return []
    short = [name.removeprefix(f"{module}.") for name in names]
    return [
        *(heading, "-" * len(heading), ""),
        *(f".. currentmodule:: {module}", ""),
        *(".. autosummary::", "   :toctree: generated", "   :nosignatures:", ""),
        *(f"   {name}" for name in short),
        "",
    ]


def describe_constant(_app: Sphinx, what: str, name: str, _value: Any, _options: Any, lines: list[str]) -> None:
    """Put what is said below an assignment in place of the docstring of the value's type."""
    if what == "data" and name in described():
        lines[:] = constant_docstring(name)


def resolve(app: Sphinx, env: BuildEnvironment, node: pending_xref, text: nodes.TextElement) -> nodes.Element | None:
    """Link what a docstring calls by the name of its module, or by that of a class that inherits it."""
    if node.get("refdomain") != "py":
        return None
    name = find(node["reftarget"], node.get("py:module"), node.get("py:class"))
    if name is None or name == node["reftarget"]:
        return None
    found = env.domains["py"].resolve_any_xref(env, node["refdoc"], app.builder, name, node, text)
    return found[0][1] if found else None


def link_names(_app: Sphinx, tree: nodes.document) -> None:
    """Link ``podium.ListNet`` on any page to its description."""
    for literal in list(tree.findall(nodes.literal)):
        name = literal.astext().partition("(")[0]
        inside = (nodes.reference, pending_xref, nodes.title)
        if name in described() and not any(isinstance(parent, inside) for parent in ancestors(literal)):
            link = pending_xref("", refdomain="py", reftype="obj", reftarget=name, refexplicit=True, refwarn=True)
            link["refdoc"] = tree.settings.env.docname
            literal.replace_self(link)
            link += literal


def ancestors(node: nodes.Node) -> Iterator[nodes.Node]:
    while node.parent is not None:
        node = node.parent
        yield node


def setup(app: Sphinx) -> dict[str, Any]:
    importlib.import_module("podium")
    app.connect("config-inited", write_pages)
    app.connect("autodoc-process-docstring", describe_constant, priority=10)
    app.connect("doctree-read", link_names)
    app.connect("missing-reference", resolve)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
