"""The project's pages, the code on them, and what this code takes for granted."""

from __future__ import annotations

import doctest
import re
from pathlib import Path
from typing import Any

import podium

ROOT = Path(__file__).parents[1]
GENERATED = {"_build", "auto_gallery", "reference"}
"""Folders of docs/ that building the site fills."""

ELSEWHERE = {
    "docs/extending.md": "tests/test_extension_points.py",
    "docs/notebooks.md": "tests/notebooks/test_notebook_extras.py",
}
"""Pages whose code another test runs."""
WITH_EXTRAS = {
    "docs/compare.md": "compares many methods in worker processes",
    "docs/distributed.md": "needs Dask",
    "docs/export/onnx.md": "needs onnxruntime",
    "docs/methods/boltzrank.md": "fits a network for each of twelve settings",
    "docs/methods/attention.md": "needs PyTorch",
    "docs/sentence-transformers.md": "needs sentence-transformers",
    "docs/torch.md": "needs PyTorch",
    "docs/tuning.md": "fits trees for each of three settings on five folds",
}
"""Pages whose code test_pages_extras.py runs."""
NOT_RUN: dict[str, str] = {}
"""Pages whose code needs a server or data that are not here, and why."""


def all_pages() -> dict[str, str]:
    """Return the text of all pages by their paths."""
    found = [path for path in (ROOT / "docs").rglob("*.md") if not GENERATED & set(path.relative_to(ROOT).parts)]
    return {path.relative_to(ROOT).as_posix(): path.read_text("utf-8") for path in sorted([*ROOT.glob("*.md"), *found])}


def blocks(text: str, *languages: str) -> list[str]:
    """Return the content of a page's code blocks in these languages; an empty one is that of plain blocks."""
    found = re.findall(r"^```([^\n]*)\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    return [block for language, block in found if language in languages]


def run(page: str, names: dict[str, Any]) -> None:
    """Run a page's Python code in one session, which these names begin; a dialog has to print what the page says."""
    session = names
    for number, block in enumerate(blocks(all_pages()[page], "python")):
        name = f"{page}, block {number + 1}"
        if block.startswith(">>> "):
            dialog = doctest.DocTestParser().get_doctest(block, session, name, page, 0)
            result = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(dialog, clear_globs=False)
            assert result.failed == 0, f"{name}: see above"
            session.update(dialog.globs)
        else:
            exec(compile(block, name, "exec"), session)


def taken_for_granted() -> dict[str, Any]:
    """Return what readers have before they read: queries, parts of them, and the same as arrays."""
    queries = podium.make_queries(n_queries=24, n_documents=6, n_features=5, random_state=0)
    train, rest = podium.train_test_split(queries, 0.5, random_state=0)
    valid, test = podium.train_test_split(rest, 0.5, random_state=0)
    arrays = {"X": train.features, "y": train.labels, "qid": train.qids.repeat(train.sizes)}
    return {"podium": podium, "queries": queries, "train": train, "valid": valid, "test": test, **arrays}
