"""A scorer of the user's own: a function of parameters and features, and its derivative."""

from __future__ import annotations

from functools import partial
from typing import Self

import numpy as np

from podium.core.parameters import number, require_count
from podium.scorers.base import PLAIN, Arrays, Backward, Queries, Scorer, SmoothModel, StartOptions, require_array

__all__ = ["FunctionModel", "FunctionScorer"]


class FunctionModel(SmoothModel):
    """The function of a :class:`podium.scorers.FunctionScorer` with learned parameters.

    Parameters
    ----------
    theta : (n_parameters,) array
        The parameters.
    n_features : int
        Features that it takes.
    scorer : FunctionScorer
        What computes scores.

    Examples
    --------
    >>> import numpy as np, podium
    >>> from podium.scorers import FunctionModel, FunctionScorer
    >>> class Product(FunctionScorer):
    ...     def n_parameters(self, n_features):
    ...         return n_features
    ...
    ...     def forward(self, theta, queries):
    ...         return queries.features @ theta, lambda d_scores: queries.features.T @ d_scores
    >>> model = FunctionModel(np.array([2.0, 1.0]), n_features=2, scorer=Product())
    >>> model.scores(podium.Queries([[3.0, 1.0], [2.0, 5.0]], sizes=[2])).tolist()
    [7.0, 9.0]
    """

    n_features: int

    def __init__(self, theta: np.ndarray, n_features: int, scorer: FunctionScorer) -> None:
        self.theta = theta
        self.n_features = n_features
        self.scorer = scorer
        self.l2 = scorer.l2

    def forward(self, queries: Queries) -> tuple[np.ndarray, Backward]:
        scores, backward = self.scorer.forward(self.theta, queries)
        scores = self._checked("scores", scores, queries.n_documents, "one per document")
        return scores, partial(self._backward, backward)

    def _backward(self, backward: Backward, d_scores: np.ndarray) -> np.ndarray:
        gradient = self._checked("gradient", backward(d_scores), len(self.theta), "one number per parameter")
        if not np.isfinite(gradient).all():
            j = int(np.flatnonzero(~np.isfinite(gradient))[0])
            raise ValueError(f"{type(self.scorer).__name__}: the derivative by parameter {j} is {gradient[j]}")
        return gradient

    def _checked(self, what: str, given: np.ndarray, n: int, meaning: str) -> np.ndarray:
        array = np.ascontiguousarray(given, dtype=np.float64)
        if array.shape != (n,):
            raise ValueError(
                f"{type(self.scorer).__name__}: the {what} must have shape ({n},), {meaning}; got {array.shape}"
            )
        return array

    def to_arrays(self) -> Arrays:
        return {"theta": self.theta, "n_features": np.array(float(self.n_features))}

    @classmethod
    def from_arrays(cls, scorer: Scorer | None, arrays: Arrays) -> Self:
        assert isinstance(scorer, FunctionScorer)
        n_features = int(require_array(arrays, "n_features", ()))
        theta = require_array(arrays, "theta", (scorer.n_parameters(n_features),))
        return cls(theta, n_features, scorer)


class FunctionScorer(Scorer, model_class=FunctionModel):
    """Base class for scorers of your own: say how many parameters there are, and how they make scores.

    A subclass defines :meth:`n_parameters` and :meth:`forward`; every trainer then trains it on every loss. Features
    arrive normalized as the ranker's ``normalize`` says. Parameters of the subclass itself (here ``degree``) are class
    attributes with a type, as everywhere in Podium. Where scores depend on the other documents of the list, which
    ``queries.offsets`` tell apart, set ``listwise = True``; where many local optima are likely,
    ``trained_by = "stochastic"``.

    Parameters
    ----------
    l2 : float
        Penalty ``l2/2 ‖theta‖²`` added to the mean loss over queries.

    Examples
    --------
    >>> import podium
    >>> class Polynomial(podium.scorers.FunctionScorer):
    ...     degree: int = 2
    ...
    ...     def n_parameters(self, n_features):
    ...         return self.degree * n_features
    ...
    ...     def forward(self, theta, queries):
    ...         powers = np.hstack([queries.features**k for k in range(1, self.degree + 1)])
    ...         return powers @ theta, lambda d_scores: powers.T @ d_scores
    >>> queries = podium.make_queries(n_queries=50, n_documents=10, n_features=5)
    >>> ranker = podium.Ranker(podium.losses.ListNetLoss(), Polynomial(degree=3), random_state=0).fit(queries)
    >>> ranker.score(queries) > 0.8
    True

    ``ranker.save(path)`` names the class in the file: ``podium.load(path, parts={"mine:Polynomial": Polynomial})``.
    """

    l2: float = number(0.0, at_least=0)

    def n_parameters(self, n_features: int) -> int:
        """Return the number of parameters for this number of features.

        Parameters
        ----------
        n_features : int
            Features of the data.

        Returns
        -------
        int
            Length of ``theta``.
        """
        raise NotImplementedError(f"{type(self).__name__} must define n_parameters(self, n_features)")

    def forward(self, theta: np.ndarray, queries: Queries) -> tuple[np.ndarray, Backward]:
        """Return scores, and the function that turns their derivatives into those of the parameters.

        Parameters
        ----------
        theta : (n_parameters,) array
            The parameters.
        queries : Queries
            What to score.

        Returns
        -------
        scores : (n_documents,) array
            In the grouped order.
        backward : callable
            Turns (n_documents,) derivatives with respect to the scores into (n_parameters,) ones.
        """
        raise NotImplementedError(f"{type(self).__name__} must define forward(self, theta, queries)")

    def initial(self, n_features: int, rng: np.random.Generator) -> np.ndarray:
        """Return the parameters from which training starts; by default small random numbers."""
        return rng.normal(0.0, 0.1, self.n_parameters(n_features))

    def start(self, queries: Queries, rng: np.random.Generator, options: StartOptions = PLAIN) -> FunctionModel:
        n = self.n_parameters(queries.n_features)
        require_count(f"{type(self).__name__}.n_parameters", n)
        self.check_parameters()
        theta = np.array(self.initial(queries.n_features, rng), dtype=np.float64)
        if theta.shape != (n,) or not np.isfinite(theta).all():
            raise ValueError(f"{type(self).__name__}.initial must return {n} finite numbers; got {theta!r}")
        return FunctionModel(theta, queries.n_features, self)
