"""Features that an exported model had the engine derive from others, found among those that it logged."""

import re

import numpy as np

from podium.data.queries import Queries

_LOGARITHM = re.compile(r"_*(?P<kind>log|neglog)_(?P<name>.+)", re.DOTALL)


def derived_logarithms(queries: Queries) -> dict[str, str]:
    """Return the features that are logarithms of others, by name, and those others.

    Linear models are exported to search engines with features ``log_NAME`` that are log(1 + x / u) of others. They are
    logged with these, say nothing new, and are derived again from data by the next model, which would take logarithms
    of logarithms. Only those whose values are such logarithms in every row are found, whatever else is called so.
    """
    names = list(queries.feature_names or ())
    found = {}
    for name in names:
        match = _LOGARITHM.fullmatch(name)
        if match is not None and match["name"] in names:
            x, y = (_column(queries, names.index(column)) for column in (match["name"], name))
            if _is_logarithm(y, -x if match["kind"] == "neglog" else x, signed=match["kind"] == "log"):
                found[name] = match["name"]
    return found


def without_features(queries: Queries, names: dict[str, str]) -> Queries:
    """Return queries without features of these names."""
    all_names = list(queries.feature_names or ())
    kept = [j for j, name in enumerate(all_names) if name not in names]
    return queries.with_features(queries.features[:, kept], [all_names[j] for j in kept])


def _column(queries: Queries, j: int) -> np.ndarray:
    column = queries.features[:, j]
    return np.asarray(column if isinstance(column, np.ndarray) else column.toarray(), np.float64).ravel()


def _is_logarithm(y: np.ndarray, x: np.ndarray, signed: bool) -> bool:
    """Return whether y is log(1 + max(x, 0) / u) for some u, or, if it may be signed, sign(x) log(1 + |x| / u)."""
    if not np.isfinite(x).all() or len(np.unique(y[y != 0])) < 2:  # a single value is some logarithm of any other
        return False
    with np.errstate(all="ignore"):
        for size in (np.maximum(x, 0), np.abs(x))[: 1 + signed]:
            largest = int(size.argmax())
            unit = size[largest] / np.expm1(abs(y[largest]))
            expected = np.copysign(np.log1p(size / unit), x)  # 0 where x is cut off
            if unit > 0 and np.allclose(y, expected, rtol=1e-4, atol=1e-5):
                return True
    return False
