"""Write docs/inventories: where other projects describe the names that our docstrings and examples mention.

    python docs/_sphinx/write_inventories.py

Sphinx would fetch each project's whole inventory. The site is built without a network, so these hold only the names
that we use, at the addresses that the projects publish them at. A name that is missing here is a warning of the build,
thus an error: add it below and run this.
"""

from __future__ import annotations

import zlib
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "inventories"

NAMES = {
    "python": {
        "library/dataclasses.html#$": "py:function dataclasses.replace",
        "library/functions.html#$": "py:function print",
        "library/pathlib.html#$": "py:class pathlib.Path",
    },
    "numpy": {
        "reference/random/generator.html#$": "py:function numpy.random.default_rng",
        "reference/generated/numpy.ndarray.html#$": "py:class numpy.ndarray",
        **{
            f"reference/generated/numpy.{name}.html#$": f"py:function numpy.{name}"
            for name in ("arange", "array", "asarray", "concatenate", "exp", "linspace", "meshgrid", "repeat", "zeros")
        },
    },
    "scipy": {
        "reference/generated/scipy.sparse.csr_array.html#$": "py:class scipy.sparse.csr_array",
        "reference/generated/scipy.sparse.csr_matrix.html#$": "py:class scipy.sparse.csr_matrix",
    },
    "sklearn": {
        f"modules/generated/{name}.html#$": f"py:{role} {name}"
        for role, name in {
            "class": "sklearn.base.BaseEstimator",
            "function": "sklearn.base.clone",
        }.items()
    },
    "matplotlib": {
        f"api/_as_gen/{name}.html#$": f"py:function {name}"
        for name in ("matplotlib.pyplot.subplots", "matplotlib.pyplot.show", "matplotlib.pyplot.figure")
    },
}
"""By project: role and name, by the address that follows the project's; ``$`` stands for the name."""


def inventory(project: str, names: dict[str, str]) -> bytes:
    """Return an inventory in Sphinx's format 2: four lines, then one compressed line per name."""
    head = (
        "# Sphinx inventory version 2",
        f"# Project: {project}",
        "# Version: ",
        "# The rest is compressed using zlib.",
        "",
    )
    lines = []
    for address, described in names.items():
        role, name = described.split()
        lines.append(f"{name} {role} 1 {address} -\n")
    return "\n".join(head).encode() + zlib.compress("".join(sorted(lines)).encode(), 9)


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for project, names in NAMES.items():
        (FOLDER / f"{project}.inv").write_bytes(inventory(project, names))


if __name__ == "__main__":
    main()
