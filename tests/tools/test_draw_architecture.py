"""The pictures of docs/architecture.md belong to the import contract and to the script that draws them."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[2]


def test_every_room_of_the_contract_is_described_and_exists(draw_architecture: ModuleType) -> None:
    assert draw_architecture.layers() == list(draw_architecture.ROOMS)
    for room in draw_architecture.ROOMS:
        assert (ROOT / "src" / "podium" / room).is_dir() or (ROOT / "src" / "podium" / f"{room}.py").is_file()


def test_the_pictures_are_up_to_date(draw_architecture: ModuleType) -> None:
    for name, drawing in draw_architecture.drawings().items():
        stored = (ROOT / "docs" / "images" / name).read_text("utf-8")
        assert stored == drawing, "run python tools/draw_architecture.py"
