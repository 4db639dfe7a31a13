"""The Python code of pages that have no tests of their own runs as it stands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


PAGES = ["README.md", "docs/rankers.md", "docs/explaining.md", "docs/probabilities.md", "docs/methods/lambdamart.md"]
PAGES += ["docs/export/README.md", "docs/export/sql.md"]


@pytest.mark.parametrize("page", PAGES)
def test_the_code_of_a_page_runs(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text("utf-8"), re.DOTALL)
    assert blocks
    session: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, page, "exec"), session)
