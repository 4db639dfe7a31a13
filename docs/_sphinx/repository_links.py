"""What pages have for readers of the repository, as the site needs it.

The pages of docs/ stay where GitHub's readers find them. So some link to files above docs/, which are pages of the site
under other names; and a folder's README.md, which lists the pages of its folder as links, has no directive for the
navigation: it is added here.
"""

from __future__ import annotations

import os
import re
from pathlib import Path, PurePosixPath
from typing import Any

from sphinx.application import Sphinx

PAGES = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "security.md",
}
"""Pages of the site that hold the files at the root of the repository."""

_LINK = re.compile(r"\]\((?P<path>[^)#:\s]+)(?P<anchor>#[^)\s]*)?\)")


def translate(app: Sphinx, docname: str, source: list[str]) -> None:
    """Replace links to files that the site has as pages."""
    folder = PurePosixPath(docname).parent
    root = Path(app.srcdir).resolve()

    def link(match: re.Match[str]) -> str:
        wanted = (root / folder / match["path"]).resolve()
        if wanted.parent == root.parent and wanted.name in PAGES:
            page = os.path.relpath(root / PAGES[wanted.name], root / folder)
            return f"]({page}{match['anchor'] or ''})"
        return match[0]

    source[0] = _LINK.sub(link, source[0])


def add_navigation(app: Sphinx, docname: str, source: list[str]) -> None:
    """Add the pages of its folder to a README.md, in the order in which it links them, others last."""
    folder = Path(app.srcdir) / PurePosixPath(docname).parent
    if PurePosixPath(docname).name != "README":
        return
    linked = [match["path"] for match in _LINK.finditer(source[0])]
    others = sorted(path.name for path in folder.glob("*.md") if path.name != "README.md")
    pages = [name for name in dict.fromkeys([*linked, *others]) if name in others]
    source[0] += "\n".join(["", "```{toctree}", ":hidden:", "", *pages, "```", ""])


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("source-read", translate)
    app.connect("source-read", add_navigation)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
