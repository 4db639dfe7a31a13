"""The files beside a model that takes rows of numbers: how to use it, and the order of its features."""

import json
from collections.abc import Sequence

from podium.export.notes import page


def row_model_companions(
    feature_names: Sequence[str], file: str, title: str, usage: str, notes: Sequence[str] = ()
) -> dict[str, str]:
    """Return the companions of FILE; ``usage`` is a section in Markdown."""
    rows = "\n".join(f"| {column} | `{name}` |" for column, name in enumerate(feature_names))
    order = f"## Features\n\nIn this order, also in `{file}.features.json`:\n\n| column | feature |\n|---|---|\n{rows}"
    features = [{"name": name, "column": column} for column, name in enumerate(feature_names)]
    return {
        "README.md": page(title, file, f"{usage}\n\n{order}", notes),
        "features.json": json.dumps(features, indent=2, ensure_ascii=False) + "\n",
    }
