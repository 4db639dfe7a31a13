"""Estimators of other libraries as rankers: scikit-learn's regressors; LightGBM's, XGBoost's and CatBoost's rankers.

These libraries say in different ways which rows belong together. They are told apart by the parameters of ``fit``, so
none of them needs to be installed.
"""

import inspect
import sys
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import clone

from podium.core.random_state import as_generator
from podium.data.queries import Queries
from podium.rankers.estimator import BaseRanker
from podium.rankers.inputs import TrainingInput
from podium.scorers.base import Model, Scorer
from podium.training.base import Convergence, Fit

__all__ = ["AdaptedRanker", "adapt"]


def adapt(estimator: Any) -> BaseRanker:
    """Return a Podium ranker around an estimator of another library, for :func:`podium.compare` and all else.

    Any estimator with ``fit`` and ``predict`` will do. One whose ``fit`` takes ``group``, ``qid`` or ``group_id``, as
    the rankers of LightGBM, XGBoost and CatBoost do, learns from lists; any other learns the grades, one document at a
    time. Validation queries are passed on to those that take them.

    Parameters
    ----------
    estimator : estimator
        Not fitted; a clone of it will be.

    Returns
    -------
    BaseRanker
        An :class:`podium.rankers.AdaptedRanker`; a ranker of Podium as it is.

    Examples
    --------
    >>> import podium
    >>> from sklearn.linear_model import Ridge
    >>> queries = podium.make_queries(n_queries=50, n_documents=10, n_features=5)
    >>> ranker = podium.adapt(Ridge()).set_params(estimator__alpha=0.1).fit(queries)
    >>> ranker.score(queries) > 0.8
    True
    """
    return estimator if isinstance(estimator, BaseRanker) else AdaptedRanker(estimator)


class AdaptedRanker(BaseRanker):
    """A ranker around an estimator of another library; made by :func:`podium.adapt`.

    Podium cannot save it: save ``estimator_`` as its own library does.

    Parameters
    ----------
    estimator : estimator
        A clone of it is fitted. Its parameters are reached as ``estimator__name``.
    normalize : {None, "robust", "standard", "minmax", "zscore"}
        How features are rescaled before the estimator sees them.
    random_state : int, optional
        Seeds the estimator, if that has a ``random_state``; None leaves its own.
    verbose : int
        0 silences estimators whose ``fit`` has a parameter ``verbose``.

    Attributes
    ----------
    estimator_ : estimator
        The fitted clone.

    Examples
    --------
    >>> import podium
    >>> from sklearn.linear_model import Ridge
    >>> ranker = podium.adapt(Ridge()).fit(podium.make_queries(n_queries=20, n_features=5))
    >>> type(ranker).__name__, ranker.estimator_
    ('AdaptedRanker', Ridge())
    """

    estimator: Any
    normalize: str | None = None

    @property
    def estimator_(self) -> Any:
        """Return the fitted estimator."""
        self._require_fitted()
        return self.model_.estimator  # type: ignore[attr-defined]

    def _scorer(self) -> Scorer:
        return _Adapted()

    def _train(self, given: TrainingInput) -> Fit:
        for method in ("fit", "predict"):
            if not callable(getattr(self.estimator, method, None)):
                raise ValueError(f"estimator must have a method {method}; got {self.estimator!r}")
        estimator = clone(self.estimator, safe=False)
        if self.random_state is not None and "random_state" in estimator.get_params():
            estimator.set_params(random_state=int(as_generator(self.random_state).integers(2**31 - 1)))
        queries, _ = self._prepared(given)
        taken = inspect.signature(estimator.fit).parameters
        options = _group_options(taken, queries, given.query_weight)
        if given.validation is not None:
            options |= _validation_options(estimator, taken, self._as_trained(given.validation))
        if "verbose" in taken:
            options["verbose"] = bool(self.verbose)
        estimator.fit(queries.features, queries.targets, **options)
        done = Convergence(None, f"fitted by {type(estimator).__name__}", n_iter=1)
        return Fit(EstimatorModel(estimator), np.empty(0), done)

    @property
    def unsavable(self) -> str:
        """Return why it cannot be saved, and what to do."""
        return (
            f"{type(self.estimator).__name__} is not Podium's, and a Podium model file holds no pickle: "
            "save ranker.estimator_ as its own library does (scikit-learn: joblib.dump)"
        )


class EstimatorModel(Model):
    """The scores that a fitted estimator predicts."""

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def scores(self, queries: Queries) -> np.ndarray:
        if queries.n_documents == 0:
            return np.empty(0)
        with warnings.catch_warnings():  # LightGBM 4.6 says so of every array, after a fit on arrays
            warnings.filterwarnings("ignore", "X does not have valid feature names", UserWarning)
            scores = np.asarray(self.estimator.predict(queries.features), dtype=np.float64)
        if scores.shape not in ((queries.n_documents,), (queries.n_documents, 1)):
            raise ValueError(
                f"{type(self.estimator).__name__}.predict gave an array of shape {scores.shape} for "
                f"{queries.n_documents} documents; expected one score per document"
            )
        return scores.reshape(-1)


class _Adapted(Scorer, accepts_missing=True, model_class=EstimatorModel):
    """Stands for the estimator where a ranker is asked for its scorer; it refuses itself what it cannot take."""


def _lists(taken: Mapping[str, Any], queries: Queries, prefix: str = "") -> dict[str, Any]:
    """Return the argument of ``fit`` that says which rows are one list; none if it does not take any."""
    for name in (f"{prefix}group_id", f"{prefix}qid"):  # CatBoost, XGBoost
        if name in taken:
            return {name: queries.query_of_document}
    group = f"{prefix}group"  # LightGBM
    return {group: queries.sizes[queries.sizes > 0]} if group in taken else {}


def _group_options(taken: Mapping[str, Any], queries: Queries, query_weight: np.ndarray | None) -> dict[str, Any]:
    """Return the arguments of ``fit`` that say which rows are one list, and what the lists weigh."""
    options = _lists(taken, queries)
    if query_weight is not None:
        weight = "group_weight" if "group_id" in options else "sample_weight"
        if weight not in taken:
            raise ValueError("this estimator cannot weigh queries: its fit takes no sample_weight")
        per_list = "qid" in options  # XGBoost's weights are those of lists, all others' those of documents
        options[weight] = query_weight[queries.sizes > 0] if per_list else np.repeat(query_weight, queries.sizes)
    return options


def _validation_options(estimator: Any, taken: Mapping[str, Any], queries: Queries) -> dict[str, Any]:
    """Return the arguments of ``fit`` for validation queries; none if it does not take any."""
    X, y = queries.features, queries.targets
    if "group_id" in taken:
        pool = _class_beside(estimator, "Pool")
        return {} if pool is None else {"eval_set": pool(X, y, group_id=queries.query_of_document)}
    lists = {name: [value] for name, value in _lists(taken, queries, "eval_").items()}
    if "eval_X" in taken:  # LightGBM from version 4.7 on, in place of eval_set
        return {"eval_X": (X,), "eval_y": (y,), **lists}
    return {"eval_set": [(X, y)], **lists} if "eval_set" in taken else {}


def _class_beside(estimator: Any, name: str) -> Any:
    """Return the class of this name from the module that defines the estimator or one of its base classes."""
    modules = (sys.modules.get(cls.__module__) for cls in type(estimator).__mro__)
    return next((getattr(module, name) for module in modules if hasattr(module, name)), None)
