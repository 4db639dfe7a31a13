from __future__ import annotations

import doctest
from pathlib import Path


def test_the_page_on_metrics_says_what_is_so() -> None:
    page = Path(__file__).parents[2] / "docs" / "metrics.md"
    outcome = doctest.testfile(str(page), module_relative=False)
    assert outcome.attempted > 15
    assert outcome.failed == 0
