"""The page that is written beside an exported model."""

from collections.abc import Sequence
from importlib import resources
from string import Template

import numpy as np

from podium.export.portable import Linear, Network, Portable, Trees
from podium.export.target import NAN_IS_MISSING
from podium.version import __version__


class _Words(Template):
    """A text with ``%{word}`` where words go: dollars and braces are as they are."""

    delimiter = "%"


def usage(target: str, **words: object) -> str:
    """Return how to use a model in a target, ``targets/<target>.md`` with these words in their places."""
    text = resources.files("podium.export.targets").joinpath(f"{target}.md").read_text("utf-8")
    return _Words(text).substitute(words).rstrip("\n")


def page(title: str, file: str, usage: str, notes: Sequence[str]) -> str:
    """Return FILE.README.md: how to use the model in ``file``, and what to know about it."""
    parts = [f"# {file}: {title}", f"Written by Podium {__version__}.", usage]
    if notes:
        parts += ["## Good to know", "\n".join(f"- {note}" for note in notes)]
    return "\n\n".join(parts) + "\n"


def described(model: Portable) -> str:
    """Return what the model is, in a few words."""
    n = len(model.feature_names)
    if isinstance(model, Linear):
        return f"a linear model of {n} features"
    if isinstance(model, Network):
        widths = ", ".join(str(len(layer.bias)) for layer in model.layers[:-1])
        return f"a network of {n} features with layers of {widths} and 1 units"
    return f"a sum of {model.forest.n_trees} trees of {n} features"


def on_missing_values(model: Portable, becomes: str) -> list[str]:
    """Return what to know about missing values, where the engine replaces them by something else."""
    if not isinstance(model, Trees) or not (model.forest.missing == NAN_IS_MISSING).any():
        return []
    nodes = model.forest.missing == NAN_IS_MISSING
    names = sorted({model.feature_names[j] for j in model.forest.feature[nodes]}, key=model.feature_names.index)
    shown = ", ".join(names[:10]) + (f" and {len(names) - 10} more" if len(names) > 10 else "")
    return [
        f"This model was trained on data with missing values ({shown}), and sends them to a side of their own choice "
        f"at each split. {becomes} Documents that have all features are scored as in Podium."
    ]


def on_intercept(model: Portable) -> list[str]:
    """Return what to know where the engine's linear models have no intercept."""
    if not isinstance(model, Linear):
        return []
    constant = model.intercept
    if model.centers is not None:
        constant += float(model.weights @ model.centers.astype(np.float64))
    if constant == 0:
        return []
    return [
        f"The engine's linear models have no intercept, so {constant:g} is missing from each score. The order of "
        "documents does not depend on it."
    ]


def on_centers(model: Portable) -> list[str]:
    """Return what to know about features from which the model subtracts a mean first."""
    if isinstance(model, Trees) or model.centers is None:
        return []
    names = ", ".join(name for name, center in zip(model.feature_names, model.centers, strict=True) if center)
    return [
        f"The values of {names} are far from 0, compared with how they differ. Single precision would lose the "
        "differences between documents, so a normalizer in the model subtracts the mean first."
    ]
