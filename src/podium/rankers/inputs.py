"""Queries from what users pass to an estimator, with errors that say what to do."""

import warnings
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from podium.core.random_state import seed_of
from podium.data.queries import Queries
from podium.data.remote import RemoteQueries
from podium.losses.base import Loss
from podium.losses.drawn import DrawnLabels
from podium.metrics import Metric
from podium.rankers.debiased import Debiasing
from podium.scorers.base import Model
from podium.scorers.standardization import Standardization
from podium.training.base import Progress


@dataclass(frozen=True, slots=True)
class Start:
    """What training goes on from."""

    model: Model
    standardization: Standardization | None
    """Applied to the features before the model, where its scorer does not take it into the model."""
    loss: type
    loss_parameters: np.ndarray

    def continued(self, loss: Loss) -> Loss:
        """Return the loss, its own parameters starting where the other training ended, if that was of the same loss."""
        if type(loss) is not self.loss or len(self.loss_parameters) != loss.n_parameters:
            return loss
        started = copy(loss)
        started.initial_parameters = partial(np.array, self.loss_parameters)  # type: ignore[method-assign]
        return started


@dataclass(frozen=True, slots=True)
class Drawing:
    """How labels are drawn for losses that need them: documents drawn relevant have the grade ``highest``."""

    highest: float
    n_judged: int

    def around(self, loss: Loss, random_state: Any) -> Loss:
        """Return the mean of a loss over drawn labels; one that is such a mean already keeps its numbers of draws."""
        facts = {"highest": self.highest, "n_judged": self.n_judged}
        if isinstance(loss, DrawnLabels):
            return DrawnLabels(**{**loss.get_params(deep=False), **facts})
        return DrawnLabels(loss, **facts, looks=loss.looks, random_state=seed_of(random_state))


@dataclass(frozen=True, slots=True)
class TrainingInput:
    """The arguments of ``fit``, checked and grouped by query."""

    queries: Any
    """:class:`podium.Queries`, or :class:`podium.data.remote.RemoteQueries`, as are those of the validation."""
    query_weight: np.ndarray | None
    validation: Any
    eval_metric: str | Metric
    callback: Callable[[Progress], Any] | None
    init: Start | None = None
    drawing: Drawing | Debiasing | None = None
    """How labels that are probabilities are drawn, or what lists are learned from instead."""


NO_QID = (
    "qid is missing: a ranker learns from lists, and needs to know which rows belong together. "
    "Give qid= (one query id per row); if all rows are one list, qid=np.zeros(len(X))"
)


GROUPED = (Queries, RemoteQueries)
"""Queries, in this process or elsewhere, which bring their labels and query ids."""


def as_queries(X: Any, y: Any = None, qid: Any = None, *, labeled: bool, preferences: Any = None) -> Any:
    """Return the queries given as ``Queries``, or as features, labels and query ids in any row order.

    ``preferences`` are pairs beside the labels, which may then be NaN where unknown.

    Queries elsewhere (:class:`podium.data.remote.RemoteQueries`) are returned as they are.
    """
    if isinstance(X, GROUPED):
        if y is not None or qid is not None or preferences is not None:
            raise ValueError("Queries bring their own labels and query ids: leave out y, qid and preferences")
        if labeled and isinstance(X, Queries):
            _ = X.targets  # raises, saying so, if there are none
        elif labeled and not X.has_labels:
            raise ValueError("these queries have no labels; read them with labels to train on or evaluate them")
        return X
    if labeled and y is None and preferences is None:
        raise ValueError("labels are missing: this requires y to be passed, but the target y is None")
    if qid is None:
        raise ValueError(NO_QID)
    return Queries(as_features(X), y if labeled else None, qid=qid, preferences=preferences)


def as_validation_queries(eval_set: Any, eval_qid: Any) -> Any:
    """Return the queries given as ``Queries``, or as a pair of features and labels with their query ids."""
    given = (eval_set, None) if isinstance(eval_set, GROUPED) else eval_set
    if not isinstance(given, tuple | list) or len(given) != 2:
        raise ValueError("eval_set must be Queries or a pair (X, y) with their query ids in eval_qid")
    if given is eval_set and eval_qid is None:
        raise ValueError("eval_qid is missing: the query ids of the documents in eval_set")
    queries = as_queries(given[0], given[1], eval_qid, labeled=True)
    if queries.n_documents == 0:
        raise ValueError("eval_set holds no document")
    return queries


def as_features(X: Any) -> Any:
    """Return features as they are; raise, in scikit-learn's words, for those that its estimators refuse."""
    if not hasattr(X, "shape"):
        X = np.asarray(X)
    if not hasattr(X, "dtype"):  # a frame
        return X
    if len(X.shape) == 1:
        raise ValueError(
            f"Expected 2D array, got 1D array of shape {X.shape} instead. Reshape your data: "
            "array.reshape(-1, 1) for a single feature, array.reshape(1, -1) for a single document"
        )
    if X.dtype.kind == "c":
        raise ValueError("Complex data not supported")
    if X.shape[1] == 0:
        raise ValueError(f"0 feature(s) (shape={X.shape}) while a minimum of 1 is required.")
    return X


def check_features(queries: Any, n_features: int, names: Any, *, given: Any, estimator: str) -> None:
    """Raise unless these queries have the features the ranker was fitted on, in the same order."""
    found, known = queries.feature_names, None if names is None else tuple(names)
    if found is not None and known is not None and found != known:
        raise ValueError(_names_differ(found, known))
    if queries.n_features != n_features:
        raise ValueError(
            f"X has {queries.n_features} features, but {estimator} is expecting {n_features} features as input"
        )
    if isinstance(given, GROUPED) or (found is None) == (known is None):
        return
    now, before = ("has", "without") if known is None else ("does not have valid", "with")
    warnings.warn(f"X {now} feature names, but {estimator} was fitted {before} feature names", stacklevel=3)


def _names_differ(found: tuple[str, ...], known: tuple[str, ...]) -> str:
    message = "The feature names should match those that were passed during fit.\n"
    unseen, missing = sorted(set(found) - set(known)), sorted(set(known) - set(found))
    if not unseen and not missing:
        return f"{message}Feature names must be in the same order as they were in fit.\n"
    for title, names in (("unseen at fit time", unseen), ("seen at fit time, yet now missing", missing)):
        if names:
            shown = "".join(f"- {name}\n" for name in names[:5])
            message += f"Feature names {title}:\n{shown}" + ("- ...\n" if len(names) > 5 else "")
    return message


def query_weights(sample_weight: Any, queries: Any) -> np.ndarray | None:
    """Return one weight per query, from one per query or one per document (then equal within each query)."""
    if sample_weight is None:
        return None
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.size and not weights.any():
        raise ValueError("sample_weight is 0 for every query: there is nothing to learn from")
    if weights.shape == (len(queries),):
        return weights
    if weights.shape != (queries.n_documents,):
        raise ValueError(
            f"sample_weight must have one entry for each of the {len(queries)} queries (in order of first appearance) "
            f"or of the {queries.n_documents} documents; got shape {weights.shape}"
        )
    weights = queries.group(weights)
    per_query = np.zeros(len(queries))
    filled = queries.sizes > 0
    per_query[filled] = weights[queries.offsets[:-1][filled]]
    differs = np.flatnonzero(weights != np.repeat(per_query, queries.sizes))
    if len(differs):
        q = int(queries.query_of_document[differs[0]])
        raise ValueError(
            f"query {queries.qids[q]!r} has documents with different weights; a list is weighted as a whole: "
            "give one weight per query"
        )
    return per_query
