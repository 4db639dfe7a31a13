"""Write requirements-dev.lock: the versions that pip chooses today for development, all of them, without addresses.

python tools/lock.py              write it
PIP_CONSTRAINT=requirements-dev.lock make test     use it
"""

from __future__ import annotations

import json
import platform
import subprocess
import sys
from pathlib import Path

from podium.core.atomic import atomic_write

ROOT = Path(__file__).resolve().parents[1]
LOCK = ROOT / "requirements-dev.lock"
HEAD = """\
# Versions for development on Python {python}, {system}: tools/lock.py writes this file. To install exactly these:
#   PIP_CONSTRAINT=requirements-dev.lock make test
"""


def main() -> None:
    command = [sys.executable, "-m", "pip", "install", "--dry-run", "--ignore-installed", "--quiet", "--report", "-"]
    done = subprocess.run([*command, "--editable", f"{ROOT}[dev]"], stdout=subprocess.PIPE, check=True)
    chosen = [each["metadata"] for each in json.loads(done.stdout)["install"]]
    lines = sorted(f"{each['name'].lower()}=={each['version']}" for each in chosen if each["name"] != "podium-rank")
    python = ".".join(platform.python_version_tuple()[:2])
    with atomic_write(LOCK) as file:
        file.write(HEAD.format(python=python, system=platform.system()) + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
