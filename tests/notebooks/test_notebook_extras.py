"""The page on notebooks, executed as a notebook."""

from __future__ import annotations

import re
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

PAGE = Path(__file__).parents[2] / "docs" / "notebooks.md"


@pytest.mark.filterwarnings("ignore")  # of Jupyter's own packages; what cells warn of is in their outputs
def test_the_page_runs_as_a_notebook_and_its_results_show_themselves(tmp_path):
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(block) for block in blocks])
    NotebookClient(notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": tmp_path}}).execute()
    shown = {first_words(cell.source): outputs(cell) for cell in notebook.cells}
    (compared,) = (cell for cell in notebook.cells if first_words(cell.source) == "comparison")
    assert re.match(r"\d+ done in \d+ (s|min)(\n|$)", compared.outputs[0].data["text/plain"])  # the bar at its end
    pages = {name: found["text/html"] for name, found in shown.items() if "text/html" in found}
    assert "Queries: 40 queries" in pages["queries"]
    assert all(f"<th>{method}</th>" in pages["comparison"] for method in ("quiet", "regression", "best-feature"))
    assert "failed" not in pages["comparison"]
    assert "Evaluation of" in pages["evaluation"]
    assert "polyline" in pages["ranker.convergence_"]
    assert "contribution" in pages["ranker.explain(test, query=test.qids[0])"]
    assert not any("<script" in page for name, page in pages.items() if not name.startswith("search"))
    pictures = [name for name, found in shown.items() if "image/png" in found]
    assert pictures == ["comparison.plot()", "ranker.convergence_.plot()", "evaluation.plot()"]
    assert "l2" in shown["search.best_params_"]["text/plain"]
    assert "l2" in shown["study.best_params"]["text/plain"]


def first_words(source: str) -> str:
    """Return the last line of a cell without its comment."""
    return source.strip().splitlines()[-1].partition("  #")[0]


def outputs(cell: nbformat.NotebookNode) -> dict[str, str]:
    """Return what a cell shows by kind; nothing warns but Optuna's progress bar, which misses a package."""
    found: dict[str, str] = {}
    expected = "TqdmWarning", "compiling, first run only"  # the latter where kernels are not in the cache yet
    for output in cell.outputs:
        assert output.get("name") != "stderr" or any(text in output["text"] for text in expected), output["text"]
        found |= output.get("data", {})
    return found
