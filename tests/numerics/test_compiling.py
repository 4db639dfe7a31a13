"""Compiled functions know what they were made from."""

from __future__ import annotations

from pathlib import Path

from podium.losses import RankNetLoss
from podium.numerics.compiling import _digest, source_files


def test_a_compiled_function_knows_every_file_it_was_made_from() -> None:
    files = {"/".join(Path(file).parts[-2:]) for file in source_files(RankNetLoss.kernel)}
    # Directly, through a template with another function in it, and through an overload.
    assert {"losses/ranknet.py", "pairs/gaps.py", "numerics/elementary.py"} <= files
    assert "losses/listnet.py" not in files


def test_a_changed_file_or_text_makes_another(tmp_path: Path) -> None:
    file = tmp_path / "kernel.py"
    file.write_text("one")
    before = _digest({str(file)})
    assert _digest({str(file)}) == before
    assert _digest({str(file)}, "text") != before
    file.write_text("another")
    assert _digest({str(file)}) != before
