"""A weighted sum of the features."""

from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from podium.core.parameters import number
from podium.numerics.compiling import compiled
from podium.numerics.pool import share
from podium.scorers.base import PLAIN, Arrays, Buffers, Model, Queries, Scorer, StartOptions, require_array
from podium.scorers.compiled import CompiledModel, Kernels
from podium.scorers.linear.rows import add_rows, rows_of, score_rows
from podium.scorers.standardization import Standardization

__all__ = ["Linear", "LinearModel"]


class LinearTable(NamedTuple):
    """What the compiled functions of a linear model work on."""

    rows: Any
    """Features, see :func:`podium.scorers.linear.rows.rows_of`."""
    mean: np.ndarray
    inverse_scale: np.ndarray
    has_intercept: bool
    coef: np.ndarray
    """(n_features + 1,) weights of the features as given, then the intercept."""
    theta: np.ndarray
    """(n_parameters,) weights of standardized features, then the intercept if there is one."""
    scores: np.ndarray
    d_scores: np.ndarray


def _begin(model: LinearTable, start: int, stop: int, block: int, sums: np.ndarray) -> None:
    n_features = len(model.mean)
    intercept = model.theta[n_features] if model.has_intercept else 0.0
    for j in range(n_features):
        model.coef[j] = model.theta[j] * model.inverse_scale[j]
        if model.has_intercept:
            intercept -= model.mean[j] * model.coef[j]
    model.coef[n_features] = intercept


def _forward(model: LinearTable, start: int, stop: int, block: int, sums: np.ndarray) -> None:
    score_rows(model.rows, start, stop, model.coef[:-1], model.coef[-1], model.scores[start:stop])


def _backward(model: LinearTable, start: int, stop: int, block: int, sums: np.ndarray) -> None:
    """Add ``features.T @ d_scores`` and, last, the sum of ``d_scores``."""
    slopes = model.d_scores[start:stop]
    for i in range(len(slopes)):
        sums[-1] += slopes[i]
    add_rows(model.rows, start, stop, slopes, sums[:-1])


def _finish(model: LinearTable, start: int, stop: int, block: int, sums: np.ndarray) -> None:
    if model.has_intercept:
        for j in range(len(model.mean)):
            sums[j] -= model.mean[j] * sums[-1]
    for j in range(len(model.mean)):
        sums[j] *= model.inverse_scale[j]


def _score_documents(first: int, stop: int, rows: Any, coef: np.ndarray, intercept: float, out: np.ndarray) -> None:
    score_rows(rows, first, stop, coef, intercept, out[first:stop])


score_documents = compiled(_score_documents)


class LinearModel(CompiledModel):
    """``scores = features @ coef + intercept``.

    It is learned in the coordinates of standardized features: ``coef = theta * inverse_scale``. The features are read
    as they are, never copied, and yet the optimizer and the penalties see features of unit variance.

    Parameters
    ----------
    theta : (n_features,) or (n_features + 1,) array
        Weights of the standardized features, then the intercept, if there is one.
    has_intercept : bool
        Whether there is.
    standardization : Standardization, optional
        The map under which it is learned.
    l1, l2 : float
        Penalties on the weights.

    Examples
    --------
    >>> import numpy as np, podium
    >>> model = podium.scorers.LinearModel.from_coefficients(np.array([2.0, -1.0]), intercept=0.5)
    >>> model.scores(podium.Queries([[1.0, 1.0], [0.0, 1.0]], sizes=[2])).tolist()
    [1.5, -0.5]
    """

    kind: ClassVar[str] = "linear"
    kernels: ClassVar[Kernels] = Kernels(*map(compiled, (_begin, _forward, _backward, _finish)))
    standardization: Standardization | None
    """The map under which it was learned, if any; weights and intercept are those of the features as given."""

    def __init__(
        self,
        theta: np.ndarray,
        *,
        has_intercept: bool,
        standardization: Standardization | None = None,
        l1: float = 0.0,
        l2: float = 0.0,
    ) -> None:
        self.theta = theta
        self.has_intercept = has_intercept
        self.n_features = len(theta) - has_intercept
        self.standardization = standardization
        self.mean = np.zeros(self.n_features) if standardization is None else standardization.mean
        self.inverse_scale = np.ones(self.n_features) if standardization is None else standardization.inverse_scale
        is_weight = np.arange(len(theta)) < self.n_features  # the intercept is free
        self.l1 = np.where(is_weight, l1, 0.0) if l1 > 0 else None
        self.l2 = np.where(is_weight, l2, 0.0)

    def continued(self, fitted: Model) -> Self:
        assert isinstance(fitted, LinearModel)
        scale = np.where(self.inverse_scale == 0, 1.0, self.inverse_scale)
        theta = np.where(self.inverse_scale == 0, 0.0, fitted.coef / scale)
        constant = [fitted.intercept + self.mean @ fitted.coef] if self.has_intercept else []
        return self.at(np.append(theta, constant))

    @property
    def coef(self) -> np.ndarray:
        """(n_features,) weight of each feature as given, not standardized."""
        return self.theta[: self.n_features] * self.inverse_scale

    @property
    def intercept(self) -> float:
        """The constant in each score."""
        return float(self.theta[-1] - self.mean @ self.coef) if self.has_intercept else 0.0

    def scores(self, queries: Queries) -> np.ndarray:
        scores = np.empty(queries.n_documents)
        arguments = (rows_of(queries), self.coef, self.intercept, scores)
        share(score_documents, queries.n_documents, *arguments, work=self.work(queries))
        return scores

    contributions_method: ClassVar[str] = "exact: the model is linear"

    def contributions(self, queries: Queries) -> np.ndarray:
        features = queries.features
        dense = features if isinstance(features, np.ndarray) else features.toarray()
        constant = np.full((queries.n_documents, 1), self.intercept)
        return np.hstack([dense * self.coef, constant])

    @property
    def n_sums(self) -> int:
        return self.n_features + 1

    def work(self, queries: Queries) -> float:
        return float(queries.n_values)

    def tables(self, queries: Queries, buffers: Buffers, n_blocks: int) -> tuple[LinearTable, LinearTable]:
        table = LinearTable(
            rows_of(queries),
            self.mean,
            self.inverse_scale,
            self.has_intercept,
            np.append(self.coef, self.intercept),
            *buffers,
        )
        return table, table

    def to_arrays(self) -> Arrays:
        # What it was learned on is not needed for scoring, but for exporting to systems that compute in float32.
        learned_on = {} if self.standardization is None else self.standardization.to_arrays()
        return {"coef": self.coef, "intercept": np.array(self.intercept), **learned_on}

    @classmethod
    def from_arrays(cls, scorer: Scorer | None, arrays: Arrays) -> Self:
        coef = require_array(arrays, "coef", (None,))
        model = cls.from_coefficients(coef, float(require_array(arrays, "intercept", ())))
        if "mean" in arrays or "inverse_scale" in arrays:
            model.standardization = Standardization.from_arrays(arrays, len(coef))
        return model

    @classmethod
    def from_coefficients(cls, coef: np.ndarray, intercept: float = 0.0) -> Self:
        """Return the model with these weights.

        Parameters
        ----------
        coef : (n_features,) array
            Weights of the features as given.
        intercept : float
            The constant in each score.

        Returns
        -------
        LinearModel
            The model.
        """
        return cls(np.append(coef, intercept), has_intercept=True)


class Linear(Scorer, folds_standardization=True, model_class=LinearModel):
    """Linear scorer: ``score(x) = coef · x``, plus an intercept if the loss depends on one.

    Most losses do not change when a constant is added to all scores of a list; there is then no intercept.

    Parameters
    ----------
    l1, l2 : float
        Penalties ``l1 ‖w‖₁ + l2/2 ‖w‖²`` added to the mean loss over queries, where ``w`` are the weights of the
        normalized features. With ``l1`` many weights become exactly zero. A loss that is a sum over the documents of
        a list (PMOP, ListMLE) multiplies both by the mean length of the lists, so that they count per document.

    Examples
    --------
    >>> import podium
    >>> queries = podium.make_queries(n_queries=50, n_documents=10, n_features=5)
    >>> ranker = podium.Ranker(podium.losses.ListNetLoss(), podium.scorers.Linear(l1=0.05)).fit(queries)
    >>> ranker.coef_.shape, 0 in ranker.coef_
    ((5,), True)
    """

    l1: float = number(0.0, at_least=0)
    l2: float = number(1e-2, at_least=0)

    def start(self, queries: Queries, rng: np.random.Generator, options: StartOptions = PLAIN) -> LinearModel:
        self.check_parameters()
        return LinearModel(
            np.zeros(queries.n_features + options.intercept),
            has_intercept=options.intercept,
            standardization=options.standardization,
            l1=self.l1,
            l2=self.l2,
        )
