"""The Python code of the page on ONNX runs as it stands."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np


def test_the_code_of_the_page_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = (Path(__file__).parents[2] / "docs" / "export" / "onnx.md").read_text("utf-8")
    session: dict[str, object] = {}
    for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        exec(compile(block, "onnx.md", "exec"), session)
    expected = session["model"].predict(session["queries"])
    np.testing.assert_allclose(session["scores"], expected, rtol=1e-6, atol=1e-6)
