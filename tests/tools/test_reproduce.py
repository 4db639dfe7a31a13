"""The pages that ``make reproduce`` writes, from a comparison made by hand."""

from __future__ import annotations

import datetime
from pathlib import Path

import pytest

from podium.ratings.compare import RATING_METHODS

ROOT = Path(__file__).parents[2]
TODAY = datetime.date(2026, 11, 16)


def test_the_page_says_all_that_is_needed_to_trust_it(reproduce, comparison):
    page = reproduce.ohsumed_page(comparison, TODAY)
    for fact in ("16 November 2026", "2 cores, a processor", "numpy 9", "seeds 0, 1", "`letor`", "wall time 10 min"):
        assert fact in page
    assert "total time of all 8 fits 4 min" in page
    assert "there: listnet 0.6000, ranksvm 0.5000, … So the pick is **listnet**" in page  # random is none to pick
    assert "By this figure, the pick would be ranksvm" in page
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


def test_the_page_on_catalogues_says_what_is_ranked_and_by_whom(load_tool, comparison):
    tool = load_tool("ratings_pages")
    page = tool.catalogue_page({"random": comparison, "leave-last-out": comparison}, TODAY)
    assert page.count("## Each user's last rating") == 1
    assert "none is sampled" in page
    assert "| listnet |" in page
    assert "convention `letor`" in page
    assert all(name in RATING_METHODS for name in (*tool.OURS, *tool.PEERS))
