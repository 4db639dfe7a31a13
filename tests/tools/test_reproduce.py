"""The pages that ``make reproduce`` writes, from a comparison made by hand."""

from __future__ import annotations

import datetime
import importlib.util
from dataclasses import replace
from pathlib import Path

import pytest

from podium.experiments import Comparison
from podium.experiments.result.published import table
from podium.experiments.run.store import Record

ROOT = Path(__file__).parents[2]
TODAY = datetime.date(2026, 11, 16)


@pytest.fixture(scope="module")
def reproduce():
    spec = importlib.util.spec_from_file_location("reproduce", ROOT / "tools" / "reproduce.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def comparison(reproduce):
    """ListNet is best in the rehearsal, Ranking SVM on validation and, with two seeds, on the test part."""
    rehearsal = made(
        reproduce, {("listnet", 0): (0.1, 0.6), ("ranksvm", 0): (0.2, 0.5), ("random", 0): (0.9, 0.9)}, [0]
    )
    figures = {
        ("listnet", 0): (0.4, 0.7),
        ("ranksvm", 0): (0.5, 0.8),
        ("ranksvm", 1): (0.5, 0.9),
        ("random", 0): (0.9, 0.1),
    }
    found = made(reproduce, figures, [0, 1], rehearsal)
    found.described = {"machine": {"cores": 2, "cpu": "a processor"}, "versions": {"numpy": "9"}, "total_seconds": 600}
    found.__dict__["published"] = [replace(table("ohsumed-letor2"), exact=True), table("ohsumed-letor3")]
    return found


def made(reproduce, figures, seeds, rehearsal=None):
    """A comparison with these figures on validation and test."""
    metrics = list(reproduce.METRICS)
    return Comparison(
        {
            "podium": "0",
            "data": {"name": "ohsumed", "description": "by hand", "fingerprint": "f", "folds": ["Fold1", "Fold2"]},
            "average": "folds",
            "methods": {name: {"grid": {}, "fixed": {}} for name, _ in figures},
            "metrics": metrics,
            "primary": "map",
            "convention": "letor",
            "normalize": "minmax",
            "seed": 0,
            "seeds": seeds,
        },
        [
            Record(
                *(name, fold, seed),
                validation=validation,
                candidates=[{"parameters": {}, "seconds": 30.0}],
                seconds=30.0,
                search_seconds=30.0,
                qids=[f"{fold}-{i}" for i in range(3)],
                per_query={metric: [test - 0.02, test, test + 0.02] for metric in metrics},
            )
            for (name, seed), (validation, test) in figures.items()
            for fold in ("Fold1", "Fold2")
        ],
        rehearsal=rehearsal,
    )


def test_the_page_says_all_that_is_needed_to_trust_it(reproduce, comparison):
    page = reproduce.ohsumed_page(comparison, TODAY)
    for fact in ("16 November 2026", "2 cores, a processor", "numpy 9", "seeds 0, 1", "`letor`", "wall time 10 min"):
        assert fact in page
    assert "of all 8 fits together 4 min" in page
    assert "there: listnet 0.6000, ranksvm 0.5000, … So the pick is **listnet**" in page  # random is none to pick
    assert "By that, the pick would be ranksvm" in page
    assert "| map | 0.4496 | ListNet | 0.8500 | yes |" in page
    assert "| map | 0.4496 | ListNet | 0.7000 | yes |" in page
    assert "Higher in 5 of 5" in page
    assert "| ranksvm | +0.1500 |" in page  # against the pick, by hand: .85 − .7
    assert "| ranksvm | 0.0707 |" in page  # over seeds: deviation of .8 and .9
    assert "## Context, other data: OHSUMED, LETOR 3.0" in page
    assert "Not comparable with ours" in page
    assert "MHR-BC" in page


def test_the_readme_keeps_everything_else(reproduce, comparison):
    part = reproduce.readme_part(comparison, TODAY)
    assert "**listnet** (picked without the test parts) | 0.7000" in part
    assert "0.5519 (MHR-BC)" in part
    once = reproduce.replaced(f"before\n{reproduce.BEGIN}\nstale\n{reproduce.END}\nafter\n", part)
    assert once == reproduce.replaced(once, part)
    assert once.startswith("before\n")
    assert once.endswith("\nafter\n")
    assert "stale" not in once
    with pytest.raises(ValueError, match="has no lines"):
        reproduce.replaced("nothing", part)
    assert reproduce.BEGIN in (ROOT / "README.md").read_text("utf-8")


def test_the_picture(reproduce, comparison, tmp_path):
    pytest.importorskip("matplotlib")
    reproduce.picture(comparison, tmp_path / "images" / "x.png")
    assert (tmp_path / "images" / "x.png").stat().st_size > 5_000
