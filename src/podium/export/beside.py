"""The files beside a model that takes rows of numbers: how to use it, and the order of its features."""

from __future__ import annotations

import json
from collections.abc import Sequence

from podium.export.notes import page


def beside(
    feature_names: Sequence[str], file: str, title: str, usage: str, notes: Sequence[str] = ()
) -> dict[str, str]:
    """Return the companions of FILE; ``usage`` is Markdown, with ``{file}`` for its name."""
    rows = "\n".join(f"| {column} | `{name}` |" for column, name in enumerate(feature_names))
    sections = [
        ("Use", usage.format(file=file)),
        ("Features", f"In this order, also in `{file}.features.json`:\n\n| column | feature |\n|---|---|\n{rows}"),
    ]
    features = [{"name": name, "column": column} for column, name in enumerate(feature_names)]
    return {
        "README.md": page(title, file, sections, list(notes)),
        "features.json": json.dumps(features, indent=2, ensure_ascii=False) + "\n",
    }
