"""The study of learning from clicks, on a few lists and without other packages: what is stored, and the page."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import podium


@pytest.fixture
def study(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script, with lists of its own, two rankers, and one log for each of two seeds."""
    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "tools")
    import clicks_study

    queries = podium.make_queries(n_queries=30, n_documents=8, n_features=4)
    logs = [clicks_study.Log("ohsumed", 1.0, 1_000, seed) for seed in (0, 1)]
    tested = [queries.take(range(20 + seed, 30, 2)) for seed in (0, 1)]
    monkeypatch.setattr(clicks_study, "parts", lambda log, folder: (queries.take(range(20)), tested[log.seed]))
    hows = [("ListNet", how) for how in ("grades", "naive", "swaps", "true")]
    monkeypatch.setattr(clicks_study, "wanted", lambda log: iter(hows))
    monkeypatch.setattr(clicks_study, "TABLE", [])
    monkeypatch.setattr(clicks_study, "CURVES", {"ohsumed": logs})
    monkeypatch.setattr(clicks_study, "STEEP", {"ohsumed": []})
    return clicks_study


def run(study: ModuleType, folder: Path, **options: Any) -> Any:
    return study.study(study.Store(folder), folder, study.CURVES["ohsumed"], stored=False, **options)


def test_what_was_stopped_goes_on(study: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = run(study, tmp_path)
    assert len(found) == len(list(tmp_path.iterdir())) == 8
    assert all(len(values) == 5 and (values <= 1).all() for values in found.values())
    lost = tmp_path / "ohsumed-1-1000-1-ListNet-swaps.json"
    content = json.loads(lost.read_text())
    lost.unlink()
    asked = []
    judged = study.Clicked.judged
    monkeypatch.setattr(study.Clicked, "judged", lambda *given: asked.append(given[1:]) or judged(*given))
    again = run(study, tmp_path)
    assert asked == [("ListNet", "swaps")]
    assert json.loads(lost.read_text()) == content  # the same seeds
    assert all(np.array_equal(again[key], found[key]) for key in found)


def test_the_page_has_the_figures(study: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import clicks_study_page

    for name in ("TABLE", "CURVES", "STEEP", "wanted"):
        monkeypatch.setattr(clicks_study_page, name, getattr(study, name))
    found = run(study, tmp_path)
    text = "\n".join(clicks_study_page._real(found))
    logs = study.CURVES["ohsumed"]
    naive, swaps = (np.concatenate([found[log, "ListNet", how] for log in logs]) for how in ("naive", "swaps"))
    assert f"| ListNet | naive | {naive.mean():.4f} |" in text
    assert "1,000 sessions, exponent 1 (10 lists)" in text
    difference = f"{(swaps - naive).mean():+.4f}".replace("0.", ".").replace("-", "−")
    assert f"| ListNet | swaps | {difference} [" in text
