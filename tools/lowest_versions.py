"""Print the lowest versions that pyproject.toml allows, as constraints for pip (see ``make test-lowest``).

python tools/lowest_versions.py [EXTRA …]
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def main(extras: list[str]) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    asked = [*project["dependencies"], *(line for extra in extras for line in project["optional-dependencies"][extra])]
    for line in asked:
        found = re.fullmatch(r"([\w.-]+)(?:\[[\w,]+\])?>=([\w.]+)", line)
        if found is None:
            sys.exit(f"{line!r} has no lower bound of the form name>=version")
        print(f"{found[1]}=={found[2]}")


if __name__ == "__main__":
    main(sys.argv[1:])
