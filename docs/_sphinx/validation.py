"""Docstrings of the reference, validated by numpydoc; a fault is a warning, and thus an error of ``make docs``.

numpydoc's own setting knows one list of checks for everything. Here a public name needs all of its sections and an
example. A method or property needs a summary: "Return the number of queries." leaves nothing to say in a section. Where
it has a section, that section is complete and in order.
"""

from __future__ import annotations

from typing import Any

from members import described
from numpydoc.validate import validate
from sphinx.application import Sphinx
from sphinx.util import logging

SUMMARY = {"GL08", "SS01", "SS02", "SS03", "SS04", "SS05", "SS06"}
WHAT_IS_THERE = {"PR02", "PR03", "PR04", "PR05", "PR06", "PR07", "PR08", "PR09", "PR10", "RT02", "RT03", "RT04", "RT05"}
COMPLETE = {"PR01", "RT01", "EX01"}

SECTIONS = {"PR01": "Parameters\n----------"}
"""Checks that hold for members, too, if they have this section."""

logger = logging.getLogger(__name__)


def check(_app: Sphinx, what: str, name: str, _value: Any, _options: Any, lines: list[str]) -> None:
    """Warn of what a docstring lacks."""
    if what in ("module", "data"):  # plain text
        checks = SUMMARY
        faults = [] if any(lines) else [("GL08", "there is no docstring")]
    else:
        report = validate(name)
        faults = report["errors"]
        checks = SUMMARY | WHAT_IS_THERE | (COMPLETE if name in described() else set())
        checks |= {code for code, section in SECTIONS.items() if section in report["docstring"]}
    for code, text in faults:
        if code in checks:
            logger.warning("%s: %s: %s", name, code, text, type="numpydoc", subtype=code)


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("autodoc-process-docstring", check, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
