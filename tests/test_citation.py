"""What people cite is the version they have."""

from __future__ import annotations

import re
from pathlib import Path

from podium.version import __version__

ROOT = Path(__file__).parents[1]


def test_citations_name_this_version() -> None:
    assert f"\nversion: {__version__}\n" in (ROOT / "CITATION.cff").read_text("utf-8")
    assert re.search(
        rf"@software{{podium,[^@]*version = {{{re.escape(__version__)}}}", (ROOT / "CITATION.bib").read_text("utf-8")
    )
