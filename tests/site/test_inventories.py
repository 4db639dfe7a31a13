"""The inventories of other projects' names are those that their script writes."""

from __future__ import annotations

import importlib.util
import zlib
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def test_inventories_are_up_to_date() -> None:
    specification = importlib.util.spec_from_file_location("inventories", DOCS / "_sphinx" / "write_inventories.py")
    script = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(script)
    assert {path.stem for path in script.FOLDER.iterdir()} == set(script.NAMES)
    for project, names in script.NAMES.items():
        kept = (script.FOLDER / f"{project}.inv").read_bytes()
        assert _lines(kept) == _lines(script.inventory(project, names)), "run: python docs/_sphinx/write_inventories.py"


def _lines(inventory: bytes) -> str:
    """Return the names of an inventory: how they are compressed may differ between versions of zlib."""
    return zlib.decompress(inventory.split(b"\n", 4)[4]).decode()
