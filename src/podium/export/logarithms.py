"""Models of logarithms for engines whose models take none: the feature set defines them, under names of their own.

A model replaces some features x by ``sign(x) log(1 + |x| / u)``. Where features cannot be negative, that is the
difference of two features, one of which is 0.
"""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from podium.export.portable import Linear, Network


class Derived(NamedTuple):
    """A feature of the engine that is a logarithm of another one."""

    name: str
    column: int
    """The column of the feature it is made of."""
    unit: float
    minus: bool = False
    """``log(1 + max(−x, 0) / u)`` in place of ``log(1 + max(x, 0) / u)``."""


def names_of_logarithms(names: tuple[str, ...]) -> dict[str, tuple[int, bool]]:
    """Return what logarithms of features are called: name to column, and whether it is of the values below 0.

    >>> names_of_logarithms(("a", "log_a"))
    {'_log_a': (0, False), '_neglog_a': (0, True), '_log_log_a': (1, False), '_neglog_log_a': (1, True)}
    """
    prefix = ""
    while any(f"{prefix}{kind}_{name}" in names for name in names for kind in ("log", "neglog")):
        prefix += "_"
    return {
        f"{prefix}{kind}_{name}": (column, kind == "neglog")
        for column, name in enumerate(names)
        for kind in ("log", "neglog")
    }


def derived_features(model: Linear | Network, *, split: bool) -> list[Derived]:
    """Return the logarithms that a model takes as features of their own.

    With ``split`` there are two of a feature that was below 0 in training, one per sign; else one has both signs.
    """
    if model.logarithms is None:
        return []
    units, negative = model.logarithms, model.negative
    named = {place: name for name, place in names_of_logarithms(model.feature_names).items()}
    heavy = np.flatnonzero(units).tolist()
    found = [Derived(named[j, False], j, float(units[j])) for j in heavy]
    if split:
        found += [Derived(named[j, True], j, float(units[j]), True) for j in heavy if negative is None or negative[j]]
    return found


def of_derived(model: Linear | Network, *, split: bool) -> Linear | Network:
    """Return the same model as one of the features themselves, some of which are logarithms."""
    derived = derived_features(model, split=split)
    if not derived:
        return model
    names, n = list(model.feature_names), len(model.feature_names)
    for feature in derived:
        if not feature.minus:
            names[feature.column] = feature.name
    minus = [feature for feature in derived if feature.minus]
    columns = [*range(n), *(feature.column for feature in minus)]
    signs = np.append(np.ones(n), -np.ones(len(minus)))
    centers = model.centers
    changes: dict[str, Any] = {
        "feature_names": (*names, *(feature.name for feature in minus)),
        "centers": None if centers is None else np.append(centers, np.zeros(len(minus), centers.dtype)),
        "logarithms": None,
        "negative": None,
    }
    if isinstance(model, Linear):
        return replace(model, weights=model.weights[columns] * signs, **changes)
    first, *others = model.layers
    first = first._replace(weights=first.weights[columns] * signs[:, np.newaxis])
    return replace(model, layers=(first, *others), **changes)
