"""The examples of the guide to ratings run, one after another, as a reader would run them."""

from __future__ import annotations

import re
from pathlib import Path


def test_examples_run() -> None:
    guide = (Path(__file__).parents[2] / "docs" / "ratings.md").read_text("utf-8")
    blocks = re.findall(r"```python\n(.*?)```", guide, flags=re.DOTALL)
    assert len(blocks) == 3
    exec("\n".join(blocks), {})
