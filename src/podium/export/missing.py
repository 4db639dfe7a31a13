"""Missing values at the splits of trees."""

import numpy as np

from podium.numerics.trees.forest import NEVER, Forest


def goes_left_if_missing(forest: Forest) -> np.ndarray:
    """Return (n_nodes,) whether a missing value goes left: NaN counts as 0 at nodes that know no missing values."""
    as_zero = (forest.missing == NEVER) & (forest.threshold >= 0.0)
    by_default = (forest.missing != NEVER) & forest.default_left
    return (as_zero | by_default) & ~forest.categorical
