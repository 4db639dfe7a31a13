"""The contract of a scorer: what the user configures, and the function of the features that is learned."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np

from podium.core.arrays import Arrays as Arrays
from podium.core.arrays import require_array as require_array
from podium.core.docstrings import complete_docstrings
from podium.core.parameters import Parameterized
from podium.data.queries import Queries as Queries
from podium.data.remote import RemoteQueries
from podium.numerics.calls import Routine
from podium.numerics.loop import Blocks, ModelRoutines
from podium.scorers.standardization import Standardization

__all__ = ["Model", "Scorer", "SmoothModel", "StartOptions"]


class StartOptions(NamedTuple):
    """What the ranker asks of a model besides a weight for each feature.

    Parameters
    ----------
    intercept : bool
        Learn a constant: the loss is not invariant to a shift of all scores.
    standardization : Standardization, optional
        Include this map of the features in the model; only given to scorers that fold it in.

    Examples
    --------
    >>> import numpy as np, podium
    >>> from podium.scorers import Linear, StartOptions
    >>> queries, rng = podium.make_queries(n_queries=5, n_features=3), np.random.default_rng(0)
    >>> len(Linear().start(queries, rng).theta), len(Linear().start(queries, rng, StartOptions(intercept=True)).theta)
    (3, 4)
    """

    intercept: bool = False
    standardization: Standardization | None = None


PLAIN = StartOptions()


class Scorer(Parameterized):
    """A family of scoring functions. It holds parameters, never data.

    A scorer that is a smooth function of a flat vector says how to :meth:`start`; every general trainer can then train
    it. (:class:`podium.scorers.FunctionScorer` needs even less.) One that is not, such as boosted trees, says so in
    ``trained_by``.

    Examples
    --------
    >>> from podium.scorers import MLP, Linear, Potentials, Scorer, Trees
    >>> [(scorer.__name__, scorer.trained_by, scorer.listwise) for scorer in (Linear, MLP, Potentials)]
    [('Linear', 'quasi-newton', False), ('MLP', 'stochastic', False), ('Potentials', 'stochastic', True)]
    >>> issubclass(Trees, Scorer), Trees.accepts_missing
    (True, True)
    """

    trained_by: ClassVar[Literal["quasi-newton", "stochastic", "boosting"]] = "quasi-newton"
    """The kind of trainer that suits it, used when the user names none."""
    training_options: ClassVar[Mapping[str, Any]] = {}
    """Parameters of that trainer that suit it, where they are not the trainer's defaults."""
    accepts_missing: ClassVar[bool] = False
    """May features be NaN?"""
    listwise: ClassVar[bool] = False
    """Does a document's score depend on the other documents of its list? Predicting then needs query ids."""
    scale_free: ClassVar[bool] = False
    """Is it the same function whatever the features are multiplied by? Features are then never normalized for it."""
    folds_standardization: ClassVar[bool] = False
    """Does :meth:`start` include a standardization in the model? Otherwise it receives standardized features."""

    model_class: ClassVar[type[Model]]

    def start(self, queries: Queries, rng: np.random.Generator, options: StartOptions = PLAIN) -> SmoothModel:
        """Return a model of the right shape for these queries, from which training starts.

        Parameters
        ----------
        queries : Queries
            What it will be trained on.
        rng : numpy.random.Generator
            Of the model's initial parameters.
        options : StartOptions
            What the ranker asks for besides.

        Returns
        -------
        SmoothModel
            A model that is not trained yet.
        """
        raise NotImplementedError(f"{type(self).__name__} cannot be trained by gradient steps on a parameter vector")


class Model:
    """A learned function from features to scores.

    Examples
    --------
    >>> import podium
    >>> class FirstFeature(podium.scorers.Model):
    ...     def scores(self, queries):
    ...         return queries.features[:, 0]
    >>> FirstFeature().scores(podium.Queries([[3.0, 1.0], [2.0, 5.0]], sizes=[2])).tolist()
    [3.0, 2.0]
    """

    def __init_subclass__(cls) -> None:
        complete_docstrings(cls)

    n_features: int | None = None
    """How many features it takes; None if it takes any number."""

    def scores(self, queries: Queries) -> np.ndarray:
        """Return (n_documents,) float64 scores, higher is better, in the grouped order."""
        raise NotImplementedError

    kind: ClassVar[str] = ""
    """What a model file calls it, if not by the name of its class."""
    uses_blas: ClassVar[bool] = False
    """Do scores come from products of matrices? Their last bits depend on the number of threads of BLAS."""
    contributions_method: ClassVar[str] = ""
    """What :meth:`contributions` are, if it returns any: exact, SHAP values, …"""

    def contributions(self, queries: Queries) -> np.ndarray | None:
        """Return each feature's part in each score, (n_documents, n_features + 1), the constant last.

        The sum of a row is the score. None if scores are no sum over features.
        """
        return None

    def input_gradients(self, features: np.ndarray) -> np.ndarray | None:
        """Return the derivatives of the score of each row by its features, (n_rows, n_features); None if unknown."""
        return None

    def scoring(self) -> dict[str, Any]:
        """Return in JSON what :mod:`podium.serving` has to know besides the arrays, first of all the ``kind``."""
        return {"kind": self.kind or type(self).__name__}

    def to_arrays(self) -> Arrays:
        """Return everything needed to score again, for :meth:`from_arrays`."""
        raise ValueError(
            f"{type(self).__name__} cannot be saved: it has no to_arrays(), which returns its arrays by name, and "
            "from_arrays(scorer, arrays), which makes the model again"
        )

    @classmethod
    def from_arrays(cls, scorer: Scorer | None, arrays: Arrays) -> Self:
        """Return the model that gave these arrays; raise ValueError or KeyError if they cannot be a model's."""
        raise ValueError(f"{cls.__name__} cannot be loaded: it has no from_arrays(scorer, arrays)")


Backward = Callable[[np.ndarray], np.ndarray]


class Buffers(NamedTuple):
    """Arrays that a model's compiled functions share with the loop over queries."""

    theta: np.ndarray
    """(n_parameters,) the model's parameters."""
    scores: np.ndarray
    """(n_documents,)"""
    d_scores: np.ndarray
    """(n_documents,) derivatives with respect to the scores."""


class SmoothModel(Model):
    """A model that is a smooth function of a flat parameter vector. Models do not change; :meth:`at` makes others.

    Examples
    --------
    >>> import numpy as np, podium
    >>> queries = podium.Queries([[3.0, 1.0], [2.0, 5.0]], sizes=[2])
    >>> start = podium.scorers.Linear().start(queries, np.random.default_rng(0))
    >>> start.theta.tolist(), start.at(np.array([1.0, 1.0])).scores(queries).tolist()
    ([0.0, 0.0], [4.0, 7.0])
    >>> scores, backward = start.forward(queries)
    >>> backward(np.array([1.0, -1.0])).tolist()
    [1.0, -4.0]
    """

    theta: np.ndarray
    """(n_parameters,) float64."""
    l1: np.ndarray | None = None
    """(n_parameters,) weight of each ``|theta|`` in the objective. Not smooth: trainers treat it separately."""
    l2: np.ndarray | float = 0.0
    """(n_parameters,) weight of each ``theta²/2`` in the objective, or one for all."""

    def at(self, theta: np.ndarray) -> Self:
        """Return the same function with other parameters."""
        other = copy(self)
        other.theta = theta
        return other

    def continued(self, fitted: Model) -> Self:
        """Return this function with the parameters of a fitted one, from which training is to go on."""
        theta = getattr(fitted, "theta", np.empty(0))
        if not isinstance(fitted, type(self)) or theta.shape != self.theta.shape:
            raise ValueError(
                f"the fitted model is another function, with {len(theta)} parameters; this one has {len(self.theta)}"
            )
        return self.at(theta.copy())

    def scores(self, queries: Queries) -> np.ndarray:
        return self.forward(queries)[0]

    def forward(self, queries: Queries) -> tuple[np.ndarray, Backward]:
        """Return the scores, and the function that turns the gradient of the scores into that of ``theta``."""
        raise NotImplementedError

    def routines(self, queries: Queries, buffers: Buffers, n_blocks: int = 1) -> ModelRoutines | None:
        """Return the model as compiled functions for the loop over queries; None if it has only :meth:`forward`.

        They read the parameters from ``buffers``, not from this model, and have scratch space for ``n_blocks`` blocks.
        """
        return None

    def sparse_steps(self, queries: Queries, theta: np.ndarray, rate: float) -> Any:
        """Return what takes an epoch of plain stochastic steps on ``theta`` by itself, at up to this rate; or None.

        For models in which a batch of queries touches few of the parameters. Its ``run(bound, buffers, parameters,
        order, batch_size, rate)`` takes the steps of an epoch and returns the mean loss met on the way.
        """
        return None

    sums_by_block: ClassVar[bool] = False
    """Are gradients summed over fixed blocks of queries? Then they are the same wherever the blocks are summed."""

    @property
    def n_sums(self) -> int:
        """How many numbers are summed over queries; the parameters' derivatives come first."""
        return len(self.theta)

    def forward_in_blocks(self, queries: Queries, blocks: Blocks) -> tuple[np.ndarray, Backward]:
        """Return the scores, and the function that turns their gradient into sums by block, (n_rows, n_sums).

        The gradient of ``theta`` is their sum over rows, finished by :meth:`finishing`. Without ``sums_by_block``
        there is one row.
        """
        scores, backward = self.forward(queries)
        return scores, lambda d_scores: backward(d_scores)[None]

    def divided(self, queries: RemoteQueries, blocks: Sequence[Blocks]) -> Divided:
        """Return how the sums are computed in parts that are elsewhere, each of which has some of the blocks."""
        return Divided([self] * len(blocks), np.zeros(len(blocks) + 1, np.int64), np.concatenate)

    def finishing(self, queries: Queries) -> Routine | None:
        """Return what turns sums over queries into the gradient of ``theta``; None if they are that gradient."""
        return None

    def penalty(self) -> tuple[float, np.ndarray]:
        """Return the smooth penalty that is added to the mean loss, and its gradient, (n_parameters,)."""
        gradient: Any = self.l2 * self.theta
        return 0.5 * float(gradient @ self.theta), gradient


@dataclass(frozen=True, slots=True)
class Divided:
    """A smooth model as parts of the queries, each elsewhere, compute it."""

    models: Sequence[SmoothModel]
    """The model of each part."""
    own: np.ndarray
    """(n_parts + 1,): part p alone needs ``theta[own[p]:own[p + 1]]``; all need what follows ``own[-1]``."""
    join: Callable[[Sequence[np.ndarray]], np.ndarray]
    """Turns what the models' backward functions return, part after part, into rows whose sum is the gradient."""
