"""Formulas as MathML, which browsers draw themselves: no script, no font and no request.

LaTeX between dollar signs and in ``:math:`` is translated when the site is built.
"""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.writers.html5 import HTML5Translator

logger = logging.getLogger(__name__)


def mathml(node: nodes.Element, display: str) -> str:
    """Return the MathML of a formula, with a warning if a part of it was not understood."""
    text = convert(node.astext().strip(), display=display)
    if not_understood := re.search(r"<m[io]>(\\[a-zA-Z]+|&)</m[io]>", text):
        logger.warning("%s in a formula is not known to latex2mathml", not_understood[1], location=node, type="math")
    return text


def visit_inline(writer: HTML5Translator, node: nodes.math) -> None:
    writer.body.append(mathml(node, "inline"))
    raise nodes.SkipNode


def visit_block(writer: HTML5Translator, node: nodes.math_block) -> None:
    writer.body.append(writer.starttag(node, "div", CLASS="math-block"))
    writer.body.append(mathml(node, "block"))
    writer.body.append("</div>\n")
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
