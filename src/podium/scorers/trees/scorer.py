"""Boosted regression trees, grown by LightGBM on Podium's gradients.

    score(x) = Σ_k tree_k(x)

Trees use only the order of a feature's values: no scaling changes them, and missing values are handled. They
are grown by :class:`podium.training.Boosting`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from podium.core.parameters import count, number, require_choice
from podium.scorers.base import Queries, Scorer
from podium.scorers.growing import GrowthStart
from podium.scorers.trees.growth import TreeGrowth, network_settings
from podium.scorers.trees.model import TreesModel, lightgbm_threads

__all__ = ["Trees"]

_SAME = {
    "num_iterations": "n_trees",
    "num_leaves": "n_leaves",
    "learning_rate": "learning_rate",
    "min_data_in_leaf": "min_documents_in_leaf",
    "lambda_l2": "l2",
    "bagging_fraction": "document_fraction",
    "feature_fraction": "feature_fraction",
    "deterministic": "deterministic",
    "force_col_wise": "deterministic",  # a histogram is then summed by one thread, in order
}
OWN_NAMES = _SAME | {
    "max_depth": "max_depth",
    "bagging_freq": "document_fraction",
    "bagging_by_query": "query_fraction",
    "monotone_constraints": "monotone",
    "categorical_feature": "categorical",
    "seed": "random_state (of the ranker)",
}
"""LightGBM's parameters that have a name here; the first have the same values, too."""
REFUSED_NAMES = ("objective", "metric", "boosting", "linear_tree", "num_class", "num_threads")
"""LightGBM's parameters that would make the model something other than a sum of trees grown on our gradients."""
_SIZES = ((10_000, 150, 7), (40_000, 200, 7), (200_000, 300, 15), (1_000_000, 300, 31), (math.inf, 300, 63))
"""Documents at most, trees, leaves."""


MORE = 3
"""Times as many trees are grown, at most, where validation queries tell when to stop."""


class Trees(Scorer, trained_by="boosting", accepts_missing=True, scale_free=True, model_class=TreesModel):
    """Gradient-boosted regression trees.

    Any loss trains them. With validation queries, the number of trees that is best on them is kept, at most
    ``n_trees``. ``n_trees``, ``n_leaves``, ``min_documents_in_leaf``, ``query_fraction`` and ``feature_fraction`` may
    be None: chosen by the size of the data (:meth:`for_data`), as the presets do.

    Parameters
    ----------
    n_trees : int, optional
        Most trees.
    n_leaves : int, optional
        Most leaves per tree.
    learning_rate : float
        Factor on each tree.
    min_documents_in_leaf : int, optional
        Fewest training documents in a leaf.
    l2 : float
        Shrinks a leaf's value by m / (m + l2), where m is its curvature, about its number of documents.
    max_depth : int, optional
        Most splits on the way to a leaf.
    query_fraction : float
        Each tree is grown on a fresh random share of the queries, each with all its documents. The others are still
        counted by ``min_documents_in_leaf``.
    document_fraction, feature_fraction : float
        Each tree sees a random share of the documents, of the features.
    curvature : bool
        Take Newton steps where the loss has second derivatives; False: gradient steps with every loss.
    monotone : mapping from features to −1 or +1, or a sequence with −1, 0 or +1 for each feature, optional
        Scores may only fall or only rise with these features, given by column number (from 0) or name.
    categorical : sequence of columns' numbers (from 0) or names, optional
        Features whose values are categories: whole numbers from 0 on.
    deterministic : bool
        Give the same bits with any number of threads, at up to 10 % more time.
    lightgbm_params : mapping, optional
        Any other parameter of LightGBM, by its main name: ``{"max_bin": 63}``.

    Examples
    --------
    >>> import podium
    >>> queries = podium.make_queries(n_queries=50, n_documents=10, n_features=5)
    >>> ranker = podium.Ranker(podium.losses.PMOPLoss(), Trees(n_trees=20), random_state=0).fit(queries)
    >>> ranker.score(queries) > 0.8
    True
    """

    n_trees: int | None = count(100, optional=True)
    n_leaves: int | None = count(31, at_least=2, optional=True)
    learning_rate: float = number(0.1, above=0)
    min_documents_in_leaf: int | None = count(20, optional=True)
    l2: float = number(0.0, at_least=0)
    max_depth: int | None = count(None)
    query_fraction: float | None = number(1.0, above=0, at_most=1, optional=True)
    document_fraction: float = number(1.0, above=0, at_most=1)
    feature_fraction: float | None = number(1.0, above=0, at_most=1, optional=True)
    curvature: bool = True
    monotone: Mapping[Any, int] | Sequence[int] | None = None
    categorical: Sequence[Any] | None = None
    deterministic: bool = True
    lightgbm_params: Mapping[str, Any] | None = None

    def for_data(self, queries: Queries, *, validated: bool = False) -> Trees:
        """Return the scorer with every parameter that is None chosen for these queries.

        Few documents carry few leaves, and trees on half of the features and 70 % of the queries err less alike. The
        values were chosen on training and validation parts of several sets of 500 to 10,000 documents and on synthetic
        ones of up to 60,000; beyond these the number of leaves grows with the data, as is usual.

        Parameters
        ----------
        queries : Queries
            What they will be grown on.
        validated : bool
            Whether there are validation queries, which tell when to stop: there may then be three times as many trees.

        Returns
        -------
        Trees
            A scorer with numbers everywhere.
        """
        n_trees, n_leaves = next(size[1:] for size in _SIZES if queries.n_documents <= size[0])
        chosen = {
            "n_trees": MORE * n_trees if validated else n_trees,
            "n_leaves": n_leaves,
            "min_documents_in_leaf": int(np.clip(queries.n_documents // 200, 5, 50)),
            "query_fraction": 0.7 if len(queries) >= 20 else 1.0,
            "feature_fraction": 0.5 if queries.n_features >= 10 else 1.0,
        }
        given = self.get_params(deep=False)
        return Trees(**given | {name: value for name, value in chosen.items() if given[name] is None})

    def grow(self, parts: Sequence[Queries], validation: Sequence[Queries], start: GrowthStart) -> TreeGrowth:
        """Return a growth without trees of its own."""
        self._check()
        settings = self._lightgbm_settings(parts, start.seed) | network_settings(start.network)
        columns = [_column(parts[0], feature, "categorical") for feature in self.categorical or ()]
        growth = TreeGrowth(parts, validation, start, settings, columns)
        growth.check_names(self.lightgbm_params or {})
        return growth

    def require_remote(self) -> None:
        """Raise if a parameter is set with which trees cannot be grown on a cluster."""
        for name in ("categorical", "monotone"):
            if getattr(self, name) is not None:
                raise ValueError(f"trees cannot be grown on a cluster with {name} features: train in one process")

    def _check(self) -> None:
        """Raise unless the parameters make sense."""
        self.check_parameters()
        for name in self.lightgbm_params or {}:
            if name in OWN_NAMES:
                raise ValueError(f"LightGBM's {name} is set by {OWN_NAMES[name]}, not by lightgbm_params")
            if name in REFUSED_NAMES:
                raise ValueError(f"lightgbm_params cannot set {name}: the loss and the trainer do")

    def _lightgbm_settings(self, parts: Sequence[Queries], seed: int) -> dict[str, Any]:
        """Return the parameters under LightGBM's names."""
        return {
            **(self.lightgbm_params or {}),
            **{theirs: getattr(self, ours) for theirs, ours in _SAME.items()},
            "objective": "none",
            "metric": "none",
            "boosting": "gbdt",
            "max_depth": -1 if self.max_depth is None else self.max_depth,
            "bagging_freq": int(self.document_fraction < 1),
            "monotone_constraints": self._directions(parts[0]),
            "seed": seed,
            "num_threads": lightgbm_threads(work=sum(part.n_values for part in parts)),
            "verbosity": -1,
        }

    def _directions(self, queries: Queries) -> list[int] | None:
        """Return −1, 0 or +1 for each feature; None where all are free."""
        if self.monotone is None:
            return None
        if isinstance(self.monotone, Mapping):
            signs = [0] * queries.n_features
            for feature, sign in self.monotone.items():
                signs[_column(queries, feature, "monotone")] = sign
        else:
            signs = list(self.monotone)
            if len(signs) != queries.n_features:
                raise ValueError(f"monotone has {len(signs)} entries for {queries.n_features} features")
        for sign in signs:
            require_choice("monotone", sign, (-1, 0, 1))
        return [int(sign) for sign in signs]


def _column(queries: Queries, feature: Any, parameter: str) -> int:
    """Return the number of a feature given by number or name."""
    if isinstance(feature, str):
        names = queries.feature_names or ()
        if feature not in names:
            known = f"there are {', '.join(names[:10])}" if names else "the features have no names"
            raise ValueError(f"{parameter} names the feature {feature!r}; {known}")
        return names.index(feature)
    if not 0 <= int(feature) < queries.n_features:
        raise ValueError(
            f"{parameter} names the feature {feature!r}; columns are numbered 0 to {queries.n_features - 1}"
        )
    return int(feature)
