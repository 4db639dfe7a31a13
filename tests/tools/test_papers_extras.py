"""All pages of ``make papers`` on tiny data: every section writes, draws and judges what it declares."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

TOOLS = Path(__file__).parents[2] / "tools"
PAPERS = [path.stem for path in sorted((TOOLS / "papers").iterdir()) if path.stem not in ("machinery",)]
PAPERS = [name for name in PAPERS if not name.startswith("__")]


@pytest.mark.parametrize("name", PAPERS)
def test_a_page_on_tiny_data(name, tmp_path, monkeypatch, capsys):
    monkeypatch.syspath_prepend(str(TOOLS))
    from papers.machinery.command import main

    assert main([name, "--quick", "--runs", str(tmp_path)]) == 0
    assert "not computed" not in capsys.readouterr().out
    page = (tmp_path / "docs" / f"{name}.md").read_text("utf-8")
    assert "not computed yet" not in page
    assert sys.modules["papers.machinery.command"].papers()[name].title in page
    for picture in (tmp_path / "docs" / "images").glob("*.svg"):
        assert picture.stat().st_size > 2000
