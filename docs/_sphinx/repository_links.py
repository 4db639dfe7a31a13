"""Links that pages have for readers of the repository, as links of the site.

The pages of docs/ stay where GitHub's readers find them, so some link to files above docs/, and to folders.
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


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("source-read", translate)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
