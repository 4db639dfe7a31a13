"""Boosted regression trees, grown by LightGBM on Podium's gradients.

    score(x) = Σ_k tree_k(x)

Trees look only at the order of a feature's values: no scaling changes them, and missing values have a place of their
own. They are grown by :class:`podium.training.Boosting`. The model is LightGBM's own text, nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, Literal, Self

import numpy as np

from podium.core.arrays import Arrays
from podium.core.parameters import require_choice, require_count, require_number
from podium.data.queries import Queries
from podium.scorers.base import Model, Scorer
from podium.scorers.trees.text import check_trees

OWN_NAMES = {
    "num_iterations": "n_trees",
    "num_leaves": "n_leaves",
    "learning_rate": "learning_rate",
    "min_data_in_leaf": "min_documents_in_leaf",
    "lambda_l2": "l2",
    "max_depth": "max_depth",
    "bagging_fraction": "document_fraction",
    "bagging_freq": "document_fraction",
    "bagging_by_query": "query_fraction",
    "feature_fraction": "feature_fraction",
    "monotone_constraints": "monotone",
    "categorical_feature": "categorical",
    "deterministic": "deterministic",
    "force_col_wise": "deterministic",
    "seed": "random_state (of the ranker)",
}
"""LightGBM's parameters that have a name here."""
REFUSED_NAMES = ("objective", "metric", "boosting", "linear_tree", "num_class", "num_threads")
"""LightGBM's parameters that would make the model something else than a sum of trees grown on our gradients."""


class Trees(Scorer):
    """Gradient-boosted regression trees.

    Parameters
    ----------
    n_trees, n_leaves, learning_rate : int, int, float
        Most trees, most leaves of each, and the factor on each tree.
    min_documents_in_leaf : int
        A leaf holds at least so many training documents.
    l2 : float
        Shrinks a leaf's value by m / (m + l2), where m is its curvature: about its number of documents.
    max_depth : int, optional
    query_fraction : float
        Each tree is grown on a fresh random share of the queries, each with all its documents. The others are still
        counted by ``min_documents_in_leaf``.
    document_fraction, feature_fraction : float
        Each tree sees a random share of the documents, of the features.
    curvature : bool
        Newton steps, where the loss has second derivatives; False takes gradient steps with every loss.
    monotone : mapping from features to −1 or +1, or a sequence with −1, 0 or +1 for each feature, optional
        Scores may only fall or only rise with these features, which are columns' numbers or names.
    categorical : sequence of columns' numbers or names, optional
        Features whose values are categories: whole numbers from 0 on.
    deterministic : bool
        The same bits for any number of threads. It costs up to a tenth of the time; False leaves it to LightGBM.
    lightgbm_params : mapping, optional
        Any other parameter of LightGBM, by its main name: ``{"max_bin": 63}``.

    Any loss trains them. ``n_trees`` is where training stops at the latest: with validation queries, the number of
    trees that is best on them is kept.

    Examples
    --------
    >>> import podium
    >>> queries = podium.make_queries(n_queries=50, n_documents=10, n_features=5)
    >>> ranker = podium.Ranker(podium.losses.PMOPLoss(), Trees(n_trees=20), random_state=0).fit(queries)
    >>> ranker.score(queries) > 0.8
    True
    """

    n_trees: int = 100
    n_leaves: int = 31
    learning_rate: float = 0.1
    min_documents_in_leaf: int = 20
    l2: float = 0.0
    max_depth: int | None = None
    query_fraction: float = 1.0
    document_fraction: float = 1.0
    feature_fraction: float = 1.0
    curvature: bool = True
    monotone: Mapping[Any, int] | Sequence[int] | None = None
    categorical: Sequence[Any] | None = None
    deterministic: bool = True
    lightgbm_params: Mapping[str, Any] | None = None

    trained_by: ClassVar[Literal["boosting"]] = "boosting"
    accepts_missing: ClassVar[bool] = True
    scale_free: ClassVar[bool] = True

    def check(self) -> None:
        """Raise unless the parameters make sense."""
        require_count("n_trees", self.n_trees)
        require_count("n_leaves", self.n_leaves, at_least=2)
        require_number("learning_rate", self.learning_rate, above=0)
        require_count("min_documents_in_leaf", self.min_documents_in_leaf)
        require_number("l2", self.l2, at_least=0)
        if self.max_depth is not None:
            require_count("max_depth", self.max_depth)
        for name in ("query_fraction", "document_fraction", "feature_fraction"):
            require_number(name, getattr(self, name), above=0)
            if getattr(self, name) > 1:
                raise ValueError(f"{name} must be at most 1; got {getattr(self, name)!r}")
        for name in self.lightgbm_params or {}:
            if name in OWN_NAMES:
                raise ValueError(f"LightGBM's {name} is set by {OWN_NAMES[name]}, not by lightgbm_params")
            if name in REFUSED_NAMES:
                raise ValueError(f"lightgbm_params cannot set {name}: the loss and the trainer see to it")

    def parameters(self, queries: Queries, *, seed: int, n_threads: int) -> dict[str, Any]:
        """All of this as LightGBM's parameters."""
        sampled = self.document_fraction < 1
        return {
            **(self.lightgbm_params or {}),
            "objective": "none",
            "metric": "none",
            "boosting": "gbdt",
            "num_iterations": self.n_trees,
            "num_leaves": self.n_leaves,
            "learning_rate": self.learning_rate,
            "min_data_in_leaf": self.min_documents_in_leaf,
            "lambda_l2": self.l2,
            "max_depth": -1 if self.max_depth is None else self.max_depth,
            "bagging_fraction": self.document_fraction,
            "bagging_freq": int(sampled),
            "feature_fraction": self.feature_fraction,
            "monotone_constraints": self.directions(queries),
            "deterministic": self.deterministic,
            "force_col_wise": self.deterministic,  # a histogram is then summed by one thread, in order
            "seed": seed,
            "num_threads": n_threads,
            "verbosity": -1,
        }

    def directions(self, queries: Queries) -> list[int] | None:
        """−1, 0 or +1 for each feature; None where all are free."""
        if self.monotone is None:
            return None
        if isinstance(self.monotone, Mapping):
            signs = [0] * queries.n_features
            for feature, sign in self.monotone.items():
                signs[column(queries, feature, "monotone")] = sign
        else:
            signs = list(self.monotone)
            if len(signs) != queries.n_features:
                raise ValueError(f"monotone has {len(signs)} entries for {queries.n_features} features")
        for sign in signs:
            require_choice("monotone", sign, (-1, 0, 1))  # type: ignore[arg-type]
        return [int(sign) for sign in signs]

    def categories(self, queries: Queries) -> list[int]:
        """The columns that hold categories."""
        return [column(queries, feature, "categorical") for feature in self.categorical or ()]


def column(queries: Queries, feature: Any, parameter: str) -> int:
    """The number of a feature given by number or name."""
    if isinstance(feature, str):
        names = queries.feature_names or ()
        if feature not in names:
            known = f"there are {', '.join(names[:10])}" if names else "the features have no names"
            raise ValueError(f"{parameter} names the feature {feature!r}; {known}")
        return names.index(feature)
    if not 0 <= int(feature) < queries.n_features:
        raise ValueError(f"{parameter} names the feature {feature!r}; they are numbered 0 to {queries.n_features - 1}")
    return int(feature)


class TreesModel(Model):
    """A sum of trees, as LightGBM's text."""

    n_features: int

    def __init__(self, text: str) -> None:
        self.text = text
        self.n_features = self.booster.num_feature()

    @cached_property
    def booster(self) -> Any:
        """LightGBM's own object, for all that it can do."""
        lightgbm = import_lightgbm()
        try:
            return lightgbm.Booster(model_str=self.text)
        except lightgbm.basic.LightGBMError as error:
            raise ValueError(f"LightGBM cannot read the model's trees: {error}") from None

    @property
    def n_trees(self) -> int:
        return int(self.booster.num_trees())

    def scores(self, queries: Queries, n_trees: int | None = None) -> np.ndarray:
        """Scores by all trees, or by the first ``n_trees``."""
        return self._predict(queries, num_iteration=-1 if n_trees is None else n_trees)

    def staged_scores(self, queries: Queries) -> Iterator[np.ndarray]:
        """Scores after each tree."""
        scores = np.zeros(queries.n_documents)
        for k in range(self.n_trees):
            scores = scores + self._predict(queries, start_iteration=k, num_iteration=1)
            yield scores

    def contributions(self, queries: Queries) -> np.ndarray:
        """(n_documents, n_features + 1) SHAP values: each feature's part in the score, and the expected score last."""
        return self._predict(queries, pred_contrib=True)

    def feature_importance(self, kind: str = "gain") -> np.ndarray:
        """(n_features,) what splits on each feature gained in total, or how many there are (``"split"``)."""
        require_choice("kind", kind, ("gain", "split"))
        return np.asarray(self.booster.feature_importance(kind), dtype=np.float64)

    def _predict(self, queries: Queries, **how: Any) -> np.ndarray:
        from numba import get_num_threads

        if queries.n_documents == 0:
            return np.zeros((0, self.n_features + 1) if how.get("pred_contrib") else 0)
        threads = 1 if queries.n_documents < 1000 else get_num_threads()
        values = self.booster.predict(rows_for_lightgbm(queries), raw_score=True, num_threads=threads, **how)
        return np.asarray(values.toarray() if hasattr(values, "toarray") else values, dtype=np.float64)

    def to_arrays(self) -> Arrays:
        return {"trees": self.text}

    @classmethod
    def from_arrays(cls, scorer: Scorer | None, arrays: Arrays) -> Self:
        text = arrays.get("trees")
        if not isinstance(text, str):
            raise ValueError("the model's 'trees' are missing")
        return cls(check_trees(text))

    def __getstate__(self) -> dict[str, Any]:
        return {"text": self.text, "n_features": self.n_features}  # LightGBM's object is made from the text again


Trees.model_class = TreesModel


def rows_for_lightgbm(queries: Queries) -> Any:
    """The features, sparse ones as the kind of matrix that LightGBM knows; nothing is copied."""
    from scipy import sparse

    return sparse.csr_matrix(queries.features) if queries.is_sparse else queries.features


def import_lightgbm() -> Any:
    """The package, which takes seconds to load, or an error that says what to do."""
    try:
        import lightgbm
    except ImportError as error:
        raise ImportError(
            f"boosted trees need LightGBM, which cannot be loaded here ({error}): pip install lightgbm"
        ) from None
    return lightgbm
