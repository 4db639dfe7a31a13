"""Lint the report's JavaScript as the page has it: all files in one scope, so that unknown and unused names show.

python tools/lint_script.py
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from itertools import accumulate
from pathlib import Path
from typing import Any

from podium.experiments.report.page import SCRIPTS

FOLDER = Path(__file__).resolve().parents[1] / "src" / "podium" / "experiments" / "report" / "script"
SETTINGS = {
    "env": {"browser": True, "es2022": True},
    "categories": {"correctness": "error"},
    "rules": {
        "no-undef": "error",
        "eqeqeq": "error",
        "no-var": "error",
        "prefer-const": "error",
        "unicorn/no-useless-spread": "off",  # it does not see that a live collection is copied before it changes
    },
}


def main() -> int:
    texts = {name: (FOLDER / f"{name}.js").read_text("utf-8") for name in SCRIPTS}
    if unlisted := {path.stem for path in FOLDER.glob("*.js")} - set(SCRIPTS):
        print(f"files that the page does not include: {', '.join(sorted(unlisted))}", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as folder:
        joined = Path(folder) / "script.js"
        joined.write_text('"use strict";\n' + "".join(texts.values()), encoding="utf-8")
        settings = Path(folder) / "settings.json"
        settings.write_text(json.dumps(SETTINGS), encoding="utf-8")
        linter = str(Path(sys.executable).with_name("oxlint"))
        command = [linter, "--config", str(settings), "--format", "json", str(joined)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        found = json.loads(done.stdout)["diagnostics"]
    except (ValueError, KeyError):
        print(done.stdout or done.stderr, file=sys.stderr)
        return 1
    for each in found:
        print(f"{place(each, texts)}: {each['message']} ({each['code']})", file=sys.stderr)
    return 1 if found else 0


def place(diagnostic: dict[str, Any], texts: dict[str, str]) -> str:
    """Return the file and line of a finding in the joined script."""
    line = diagnostic["labels"][0]["span"]["line"] - 1  # the first line is ours
    ends = dict(zip(texts, accumulate(text.count("\n") for text in texts.values()), strict=True))
    for name, end in ends.items():
        if line <= end:
            return f"{FOLDER.name}/{name}.js:{line - end + texts[name].count(chr(10))}"
    return f"{FOLDER.name}:{line}"


if __name__ == "__main__":
    sys.exit(main())
