"""The picture of the study of learning from clicks."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest


def test_the_picture(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "tools")
    import clicks_study_page

    logs = clicks_study_page.CURVES["ohsumed"]
    found = {(log, *pair): np.full(3, 0.5) for log in logs for pair in clicks_study_page.wanted(log)}
    clicks_study_page.draw(found, tmp_path / "x.svg")
    content = (tmp_path / "x.svg").read_text()
    assert content.count("<path") > 100
    clicks_study_page.draw(found, tmp_path / "y.svg")
    assert (tmp_path / "y.svg").read_text() == content
