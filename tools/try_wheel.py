"""Install a built wheel into an empty environment and run the README's example and the command there.

    python tools/try_wheel.py dist/podium_rank-0.1.0-py3-none-any.whl

What a wheel lacks (a style sheet, an SQL file) does not show in an editable installation; it does here.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"


def example() -> str:
    """Return the README's first program."""
    found = re.search(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    if found is None:
        raise SystemExit(f"{README} has no program")
    return found[1]


def main(wheel: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        venv.create(Path(folder) / "venv", with_pip=True)
        programs = Path(folder) / "venv" / ("Scripts" if sys.platform == "win32" else "bin")

        def run(*command: str) -> None:
            print("$", *command[:3], flush=True)
            subprocess.run([str(programs / command[0]), *command[1:]], cwd=folder, check=True)

        run("python", "-m", "pip", "install", "--quiet", str(Path(wheel).absolute()))
        run("podium", "--version")
        run("python", "-c", example())
        run("podium", "show", "model.podium")
        run("podium", "demo", "--out", "demo")
    print(f"{wheel}: installed into an empty environment, README's example and podium demo run")


if __name__ == "__main__":
    main(*sys.argv[1:])
