"""The functions of saved models, from the facts and arrays in their files.

Each takes what the model's ``scoring()`` and ``to_arrays()`` gave, and the number of features; checks them, since the
file may come from a stranger; and returns a function from one query's rows to scores.
"""

import logging
import time
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from podium.core.arrays import Arrays, require_array
from podium.core.feature_names import feature_name
from podium.numerics import forward
from podium.serving.quick_numba import import_numba

Function = Callable[[np.ndarray], np.ndarray]
Facts = Mapping[str, Any]


def _linear(facts: Facts, arrays: Arrays, n: int) -> Function:
    coef, intercept = require_array(arrays, "coef", (n,)), float(require_array(arrays, "intercept", ()))
    return lambda rows: rows @ coef + intercept


def _mlp(facts: Facts, arrays: Arrays, n: int) -> Function:
    sizes = facts["layers"]
    if not isinstance(sizes, list) or len(sizes) < 2 or sizes[0] != n or sizes[-1] != 1:
        raise ValueError(f"its network's layers are {sizes!r}")
    for size in sizes:
        _count("a layer", size)
    hidden, output = (_activation(facts[name]) for name in ("activation", "output"))
    theta = require_array(arrays, "weights", (sum((a + 1) * b for a, b in pairwise(sizes)),))
    layers, (center, scale) = forward.layers_of(theta, sizes), _standardization(arrays, n)
    return lambda rows: forward.network_scores((require_finite(rows) - center) * scale, layers, hidden, output)


def _potentials(facts: Facts, arrays: Arrays, n: int) -> Function:
    hidden, pairs = _count("hidden", facts["hidden"]), _count("pair_hidden", facts["pair_hidden"])
    if facts["pool"] not in ("sum", "mean"):
        raise ValueError(f"its potentials are pooled by {facts['pool']!r}")
    mean = facts["pool"] == "mean"
    n_own = (n + 2) * hidden + 1
    theta = require_array(arrays, "weights", (n_own + 2 * pairs * n + 2 * pairs + 1,))
    center, scale = _standardization(arrays, n)
    layers = forward.layers_of(theta[:n_own], (n, hidden, 1))

    def scores(rows: np.ndarray) -> np.ndarray:
        x = (require_finite(rows) - center) * scale
        own = forward.network_scores(x, layers, forward.TANH, forward.TANH)
        return own + forward.pair_scores(x, theta[n_own:], pairs, mean=mean)

    return scores


def _steps(facts: Facts, arrays: Arrays, n: int) -> Function:
    feature = require_array(arrays, "feature", (None,))
    threshold, weight = (require_array(arrays, name, feature.shape) for name in ("threshold", "weight"))
    if not ((feature == np.floor(feature)) & (feature >= 0) & (feature < n)).all():
        raise ValueError(f"the model's 'feature' must hold whole numbers from 0 to {n - 1}")
    order = np.lexsort((threshold, feature))
    tables = list(forward.step_tables(feature[order].astype(np.int64), threshold[order], weight[order]))

    def scores(rows: np.ndarray) -> np.ndarray:
        columns = require_finite(rows).T.astype(np.float64)
        total = np.zeros(len(rows))
        for table in tables:
            total += forward.step_part(table, columns[table[0]])
        return total

    return scores


def _kernel_regression(facts: Facts, arrays: Arrays, n: int) -> Function:
    grades, widths = require_array(arrays, "grades", (None,)), require_array(arrays, "widths", (n,))
    features = require_array(arrays, "features", (len(grades), n))
    return lambda rows: forward.kernel_weights(require_finite(rows).astype(np.float64), widths, features) @ grades


def _hash(facts: Facts, arrays: Arrays, n: int) -> Function:
    seed: Any = arrays.get("seed")
    if not isinstance(seed, np.ndarray) or seed.shape != () or seed.dtype.kind != "i" or seed < 0:
        raise ValueError("the model's 'seed' must be one whole number, at least 0")
    return lambda rows: forward.row_hashes(rows, int(seed))


def _trees(facts: Facts, arrays: Arrays, n: int) -> Function:
    import_numba()
    from podium.numerics.trees.evaluate import TreeEvaluator, n_compiled
    from podium.numerics.trees.forest import read_forest

    text = arrays.get("trees")
    if not isinstance(text, str):
        raise ValueError("the model's 'trees' are missing")
    forest = read_forest(text)
    if forest.n_features != n:
        raise ValueError(f"its trees have {forest.n_features} features, but it says {n}")
    evaluator = TreeEvaluator(forest)
    ready: set[np.dtype] = set()

    def scores(rows: np.ndarray) -> np.ndarray:
        if rows.dtype in ready:
            return evaluator.scores(rows)
        before, started = n_compiled(), time.perf_counter()
        result = evaluator.scores(rows)
        if n_compiled() > before:
            logging.getLogger("podium.serving").warning(
                "compiled the evaluator of trees for %s rows, which took %.1f s: run `podium compile MODEL` when "
                "installing, so that processes start with a filled cache",
                rows.dtype,
                time.perf_counter() - started,
            )
        ready.add(rows.dtype)
        return result

    return scores


FUNCTIONS: Mapping[str, Callable[[Facts, Arrays, int], Function]] = {
    "linear": _linear,
    "mlp": _mlp,
    "potentials": _potentials,
    "steps": _steps,
    "kernel regression": _kernel_regression,
    "hash": _hash,
    "trees": _trees,
}
"""By the ``kind`` in the file."""


def require_finite(rows: np.ndarray) -> np.ndarray:
    """Return the rows; raise ValueError, naming the first value that is not finite, if there is one."""
    if not np.isfinite(rows).all():
        i, j = np.argwhere(~np.isfinite(rows))[0].tolist()
        raise ValueError(f"row {i}, {feature_name(j)} is {rows[i, j]}: this model takes finite numbers only")
    return rows


def _count(what: str, value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ValueError(f"{what} of its network has the size {value!r}")
    return value


def _activation(name: Any) -> int:
    if name not in forward.ACTIVATIONS:
        raise ValueError(f"its network's activation {name!r} is unknown")
    return forward.ACTIVATIONS.index(name)


def _standardization(arrays: Arrays, n: int) -> tuple[np.ndarray, np.ndarray]:
    return require_array(arrays, "mean", (n,)), require_array(arrays, "inverse_scale", (n,))
