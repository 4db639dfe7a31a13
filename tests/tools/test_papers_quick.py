"""The experiments of papers on tiny data: every section is written and every claim judged."""

from __future__ import annotations

from pathlib import Path

import pytest

TOOLS = Path(__file__).parents[2] / "tools"


@pytest.mark.parametrize("name", ["listnet", "structrank", "boltzrank"])
def test_a_paper_is_computed_to_the_end(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(TOOLS))
    from papers.machinery.command import main, papers

    assert main([name, "--quick", "--runs", str(tmp_path)]) == 0
    page = (tmp_path / "docs" / f"{name}.md").read_text("utf-8")
    assert "ot computed yet" not in page
    paper = papers()[name]
    for part in paper.sections:
        assert f"## {part.title}" in page
        for where, what in part.claims.values():
            (line,) = [line for line in page.splitlines() if line.startswith(f"| {where} | {what} |")]
            assert any(f"| {verdict} |" in line for verdict in ("holds", "does not hold", "cannot tell here"))
    for where, what in paper.not_here:
        assert f"| {where} | {what} | cannot tell here |" in page
