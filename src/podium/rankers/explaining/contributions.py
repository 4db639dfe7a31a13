"""What each feature contributes to the difference between the scores of two documents.

A model that is a sum over features says so itself (:meth:`podium.scorers.base.Model.contributions`: linear models,
rules on single features, and trees by their SHAP values). For all others, features are switched from the values of one
document to those of the other, and a feature's contribution is its Shapley value: the mean change of the score when it
is switched, over all orders of switching. Features in which the two do not differ contribute nothing. A score that
depends on the whole list is computed for the list with one document changed, all others as they are.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from podium.data.features import Features
from podium.data.queries import Queries
from podium.numerics.shapley import Game, exact_shapley, sampled_shapley
from podium.scorers.base import Model

MOST_EXACT = 12
"""Features that differ, at most, for exact Shapley values: 2^12 scores."""
_MOST_ROWS = 1_000_000
"""Documents that are scored for one explanation, about, where a score depends on the whole list."""
_MOST_ORDERS = 128
_ROWS_AT_ONCE = 4_000_000
"""Numbers in a matrix of changed documents."""
_POINTS = (32, 128, 512, 2048)
"""Points of the path at which gradients are taken, until they add up."""


@dataclass(frozen=True, slots=True)
class Contributions:
    """Contributions of features to a difference of scores, and how they were found."""

    values: np.ndarray
    """(n_features,)"""
    method: str
    error: float = 0.0
    """Largest standard error of a contribution, where orders of features were drawn at random."""


def score_difference(model: Model, listed: Queries, a: int, b: int, listwise: bool) -> Contributions:
    """Return the contributions to ``score(a) − score(b)`` for two documents of one list, as the model sees it."""
    found = model.contributions(_only(listed, [a, b]))
    if found is not None:
        return Contributions(found[0, :-1] - found[1, :-1], model.contributions_method)
    return _compare(model, listed, a, [b], listwise)


def score_above_mean(model: Model, listed: Queries, a: int, listwise: bool) -> Contributions:
    """Return the contributions to ``score(a)`` minus the mean score of the list: the mean over all comparisons."""
    own = model.contributions(_only(listed, [a]))
    if own is not None:
        total = np.zeros(listed.n_features)
        for rows in _blocks(listed.n_documents, listed.n_features):
            total += model.contributions(_only(listed, rows))[:, :-1].sum(axis=0)  # type: ignore[index]
        return Contributions(own[0, :-1] - total / listed.n_documents, model.contributions_method)
    others = [i for i in range(listed.n_documents) if i != a]
    some = _some(model, listed, a, others, listwise)
    compared = _compare(model, listed, a, some, listwise)
    share = len(others) / listed.n_documents  # the document itself is one of the list
    values = compared.values * share
    if len(some) == len(others):
        return Contributions(values, compared.method, compared.error * share)
    scores = model.scores(listed)
    method = f"{compared.method}, compared with {len(some)} of the {len(others)} others"
    return Contributions(_adding_up(values, float(scores[a] - scores.mean())), method, compared.error * share)


def _some(model: Model, listed: Queries, a: int, others: list[int], listwise: bool) -> list[int]:
    """Return documents to compare with, spread over the list: all, unless that were too many scores."""
    k = listed.n_features
    if listwise:
        affordable = _MOST_ROWS // (4 * listed.n_documents * (k + 1))
    elif _has_gradients(model, listed, a):
        return others
    else:
        affordable = _MOST_ROWS // 5 // min(2**k if k <= MOST_EXACT else 2 * (k + 1), _MOST_ROWS)
    n = max(8, affordable)
    return others if n >= len(others) else [others[i] for i in np.linspace(0, len(others) - 1, n).round().astype(int)]


def _adding_up(values: np.ndarray, total: float) -> np.ndarray:
    """Return contributions that add up to a total: what is left over is shared out in proportion to their sizes."""
    sizes = np.abs(values)
    share = sizes / sizes.sum() if sizes.any() else np.full(len(values), 1.0 / max(len(values), 1))
    return values + (total - values.sum()) * share


def _only(listed: Queries, rows: Sequence[int] | np.ndarray) -> Queries:
    return Queries(listed.features[rows], sizes=[len(rows)], feature_names=listed.feature_names)


def _blocks(n: int, width: int) -> Iterator[np.ndarray]:
    """Yield numbers of rows, so many at once that a matrix of them has a bearable size."""
    at_once = max(1, _ROWS_AT_ONCE // max(1, width))
    for start in range(0, n, at_once):
        yield np.arange(start, min(start + at_once, n))


def _compare(model: Model, listed: Queries, a: int, others: Sequence[int], listwise: bool) -> Contributions:
    """Return the mean over ``others`` of the contributions to the difference from each."""
    total, squares = np.zeros(listed.n_features), np.zeros(listed.n_features)
    methods: dict[str, None] = {}
    for b in others:
        columns = _differing(listed.features, a, b)
        part = _compare_two(model, listed, a, b, columns, listwise, len(others))
        total[columns] += part.values
        squares[columns] += part.error**2
        if len(columns):
            methods[part.method] = None
    n = max(len(others), 1)
    return Contributions(
        total / n, "; ".join(methods) or "no feature differs", float(np.sqrt(squares).max(initial=0) / n)
    )


def _compare_two(
    model: Model, listed: Queries, a: int, b: int, columns: np.ndarray, listwise: bool, n_comparisons: int
) -> Contributions:
    """Return (len(columns),) contributions of the features that differ."""
    k = len(columns)
    if k == 0:
        return Contributions(np.zeros(0), "")
    n_rows = 2 * listed.n_documents if listwise else 1
    if k <= MOST_EXACT and 2**k * n_rows * min(n_comparisons, 64) <= _MOST_ROWS:
        how = "exact Shapley values"
        found = [exact_shapley(game, k) for game in _games(model, listed, a, b, columns, listwise)]
        return Contributions(np.mean(found, axis=0), how + _HELD_FIXED * listwise)
    if not listwise and _has_gradients(model, listed, a):
        return _integrated_gradients(model, listed, a, b, columns)
    affordable = int(_MOST_ROWS / (n_rows * (k + 1) * n_comparisons)) if listwise else _MOST_ORDERS // n_comparisons
    n_orders = 2 * max(2 if n_comparisons == 1 else 1, min(affordable, _MOST_ORDERS) // 2)
    seed = (min(a, b), max(a, b))  # the same orders for both games, and for b against a: the signs change, no more
    games = _games(model, listed, a, b, columns, listwise)
    estimates = [sampled_shapley(game, k, n_orders, np.random.default_rng(seed)) for game in games]
    values = np.mean([value for value, _ in estimates], axis=0)
    error = np.mean([np.nan_to_num(error) for _, error in estimates], axis=0)
    how = f"Shapley values of {n_orders} sampled orders"
    return Contributions(values, how + _HELD_FIXED * listwise, float(error.max()))


_HELD_FIXED = ", the other documents of the list held fixed"


def _differing(features: Features, a: int, b: int) -> np.ndarray:
    """Return the columns in which two rows differ; missing values are alike."""
    if isinstance(features, np.ndarray):
        x, y = features[a], features[b]
        return np.flatnonzero(~((x == y) | (np.isnan(x) & np.isnan(y))))
    candidates = np.union1d(features[[a]].indices, features[[b]].indices)
    x, y = _dense(features, a, candidates), _dense(features, b, candidates)
    return candidates[~((x == y) | (np.isnan(x) & np.isnan(y)))]


def _dense(features: Features, row: int, columns: np.ndarray) -> np.ndarray:
    """Return the values of one row in these columns."""
    if isinstance(features, np.ndarray):
        return features[row, columns]
    return np.asarray(features[[row]][:, columns].todense()).ravel()


def _games(model: Model, listed: Queries, a: int, b: int, columns: np.ndarray, listwise: bool) -> list[Game]:
    """Return games whose players are the columns and whose Shapley values, averaged, are the contributions.

    One changes document b into a, feature by feature. Where a score depends on the list, both documents are in it, and
    a changed one is compared with the other: changing a into b is another game, and the two are treated alike.
    """
    if not listwise:

        def scores(joined: np.ndarray) -> np.ndarray:
            """Return the score of b when it has taken these features of a."""
            blocks = _blocks(len(joined), listed.n_features)
            return np.concatenate([model.scores(_changed_rows(listed, b, a, columns, joined[rows])) for rows in blocks])

        return [scores]

    def forward(joined: np.ndarray) -> np.ndarray:
        """Return a's lead over b when a has only these features of its own, and b's others."""
        return _leads(model, listed, a, b, columns, ~joined)

    def backward(joined: np.ndarray) -> np.ndarray:
        """Return a's lead over b when b has these features of its own, and a's others."""
        return -_leads(model, listed, b, a, columns, ~joined)

    return [forward, backward]


def _leads(
    model: Model, listed: Queries, changed: int, other: int, columns: np.ndarray, taken: np.ndarray
) -> np.ndarray:
    """Return ``score(changed) − score(other)`` for lists in which one document has taken features of the other."""
    n, leads = listed.n_documents, []
    for numbers in _blocks(len(taken), listed.n_documents * listed.n_features):
        block = taken[numbers]
        rows = _rows(listed.features, changed, other, columns, block)
        parts: list[Any] = []
        for i in range(len(block)):
            parts += [listed.features[:changed], rows[i : i + 1], listed.features[changed + 1 :]]
        together: Any = (
            np.concatenate(parts) if isinstance(rows, np.ndarray) else sparse.csr_matrix(sparse.vstack(parts))
        )
        lists = Queries(together, sizes=np.full(len(block), n), feature_names=listed.feature_names)
        scores = model.scores(lists).reshape(len(block), n)
        leads.append(scores[:, changed] - scores[:, other])
    return np.concatenate(leads)


def _changed_rows(listed: Queries, base: int, source: int, columns: np.ndarray, taken: np.ndarray) -> Queries:
    rows = _rows(listed.features, base, source, columns, taken)
    return Queries(rows, sizes=[len(taken)], feature_names=listed.feature_names)


def _rows(features: Features, base: int, source: int, columns: np.ndarray, taken: np.ndarray) -> Features:
    """Return copies of one row, (m, n_features), that have taken features of another: ``taken`` (m, len(columns))."""
    ours, theirs = _dense(features, base, columns), _dense(features, source, columns)
    values = np.where(taken, theirs, ours)
    if isinstance(features, np.ndarray):
        rows = np.repeat(features[base : base + 1], len(taken), axis=0)
        rows[:, columns] = values
        return rows
    kept = features[[base]].tocoo()
    kept = sparse.coo_matrix((np.where(np.isin(kept.col, columns), 0, kept.data), (kept.row, kept.col)), kept.shape)
    fixed = sparse.csr_matrix(kept)[np.zeros(len(taken), int)]
    place = (np.repeat(np.arange(len(taken)), len(columns)), np.tile(columns, len(taken)))
    return sparse.csr_matrix(fixed + sparse.csr_matrix((values.ravel(), place), fixed.shape))


def _has_gradients(model: Model, listed: Queries, row: int) -> bool:
    return isinstance(listed.features, np.ndarray) and model.input_gradients(listed.features[row : row + 1]) is not None


def _integrated_gradients(model: Model, listed: Queries, a: int, b: int, columns: np.ndarray) -> Contributions:
    """Return gradients integrated along the straight path from b to a (Sundararajan et al., ICML 2017).

    What rounding and kinks leave over is shared out in proportion to the contributions.
    """
    start, stop = (listed.features[i].astype(np.float64) for i in (b, a))
    scores = model.scores(_changed_rows(listed, b, a, columns, np.array([[True], [False]]).repeat(len(columns), 1)))
    difference = float(scores[0] - scores[1])
    for n_points in _POINTS:
        middle = (np.arange(n_points) + 0.5) / n_points
        gradients: Any = model.input_gradients(start + middle[:, None] * (stop - start))
        values = (gradients.mean(axis=0) * (stop - start))[columns]
        left_over = difference - values.sum()
        if abs(left_over) <= 1e-6 * np.abs(values).sum():
            break
    return Contributions(_adding_up(values, difference), "integrated gradients")
