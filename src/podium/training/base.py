"""The contract of a trainer: from a problem to a fitted model and its training history."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np

from podium.core.parameters import Parameterized
from podium.data.queries import Queries
from podium.data.remote import RemoteQueries
from podium.losses.base import Loss
from podium.losses.bound import BoundLoss
from podium.metrics.definition import Metric
from podium.metrics.telling import watched_metric
from podium.scorers.base import Model, Scorer, SmoothModel, StartOptions
from podium.scorers.standardization import Standardization
from podium.training.objective import Objective, SummedObjective, remote_objective

__all__ = ["Convergence", "Fit", "Problem", "Progress", "Trainer", "Validation"]


@dataclass(frozen=True, slots=True)
class Progress:
    """The state of a training run after an iteration or epoch, for callbacks.

    Parameters
    ----------
    iteration : int
        Iterations or epochs so far.
    loss : float
        The objective: mean loss over the training queries plus penalties.
    validation : float, optional
        The metric on the validation queries, if there are any.
    total : int, optional
        The most iterations that the run may take, if that is known.

    Examples
    --------
    >>> import podium
    >>> losses = []
    >>> queries = podium.make_queries(n_queries=50, n_documents=10, n_features=5)
    >>> ranker = podium.ListNet().fit(queries, callback=lambda progress: losses.append(progress.loss))
    >>> losses[0] > losses[-1], len(losses) == ranker.n_iter_
    (True, True)
    """

    iteration: int
    loss: float
    validation: float | None = None
    total: int | None = None


Callback = Callable[[Progress], Any] | None
"""Told of each iteration; it stops the run by returning True."""


@dataclass(slots=True)
class NotedCallback:
    """The user's callback for several runs, and whether it asked to stop."""

    callback: Callback
    stopped: bool = False

    def __call__(self, progress: Progress) -> bool:
        self.stopped = self.callback is not None and self.callback(progress) is True
        return self.stopped


@dataclass(frozen=True, slots=True)
class Validation:
    """Validation queries, and the metric that judges a model on them (higher is better).

    Parameters
    ----------
    queries : Queries
        In this process or, for trainers that work remotely, on a cluster.
    metric : Metric
        What judges.

    Examples
    --------
    >>> import podium
    >>> queries = podium.make_queries(n_queries=5)
    >>> podium.training.Validation(queries, podium.metric("ndcg@5")).judge_scores(queries.labels)
    1.0
    """

    queries: Any
    metric: Metric

    @classmethod
    def by(cls, asked: str | Metric, queries: Queries) -> Self | None:
        """Return what judges by this metric, or by the next that can tell; None, with a warning, if none can."""
        measure = watched_metric(asked, queries)
        return None if measure is None else cls(queries, measure)

    def judge(self, model: Model) -> float:
        """Return the mean of the metric over the queries it is defined for."""
        if isinstance(self.queries, RemoteQueries):
            return mean_of_defined(np.concatenate(self.queries.each(_judged_beside, model, self.rules())))
        return self.judge_scores(model.scores(self.queries))

    def judge_scores(self, scores: np.ndarray) -> float:
        """Return the same for known scores of queries in this process."""
        return mean_of_defined(per_query(self.queries, scores, self.metric))

    def judging(self, model: SmoothModel) -> Callable[[np.ndarray], float]:
        """Return a function that judges this model at other parameters, which alone are sent where queries are."""
        if not isinstance(self.queries, RemoteQueries):
            return lambda theta: self.judge(model.at(theta))
        bound = self.queries.bind(_judging_beside, model, self.rules())
        return lambda theta: mean_of_defined(np.concatenate(bound(theta)))

    def rules(self) -> Metric:
        """Return the metric for parts of the queries, which do not know the grades of the others."""
        return self.metric.for_parts_of(self.queries)


def per_query(queries: Queries, scores: np.ndarray, metric: Metric) -> np.ndarray:
    """Return the metric of each query."""
    return metric.per_query(scores, queries.labels, queries.offsets, queries.document_ids)


def _judged_beside(part: Queries, model: Model, metric: Metric) -> np.ndarray:
    return per_query(part, model.scores(part), metric)


def _judging_beside(part: Queries, model: SmoothModel, metric: Metric) -> Callable[[np.ndarray], np.ndarray]:
    return lambda theta: _judged_beside(part, model.at(theta), metric)


def mean_of_defined(values: np.ndarray) -> float:
    """Return the mean of the values that are defined, 0 if none is."""
    defined = values[~np.isnan(values)]
    return float(defined.mean()) if len(defined) else 0.0


@dataclass(frozen=True)
class Problem:
    """What a trainer receives.

    Parameters
    ----------
    loss : Loss
        What is minimized.
    scorer : Scorer
        What is trained.
    queries : Queries
        Training queries, in this process or, for trainers that work remotely, on a cluster.
    query_weight : (n_queries,) array, optional
        Their weights in the mean loss.
    standardization : Standardization, optional
        Only where the scorer folds it into its model.
    validation : Validation, optional
        What tells when to stop, and which iteration to keep.
    rng : numpy.random.Generator
        Of everything random.
    callback : callable, optional
        Called with the :class:`podium.training.Progress`; returning True stops the training.
    verbose : int
        1 prints a line for each iteration.
    init : Model, optional
        A fitted model that training goes on from.
    scales_penalties : bool
        Multiply penalties by the mean number of documents per query where the loss of a query is a sum over them.

    Examples
    --------
    >>> import podium
    >>> queries = podium.make_queries(n_queries=50, n_documents=10, n_features=5)
    >>> problem = podium.training.Problem(podium.losses.ListNetLoss(), podium.scorers.Linear(), queries)
    >>> fit = podium.training.LBFGS().fit(problem)
    >>> fit.model.coef.shape, fit.convergence.converged
    ((5,), True)
    """

    loss: Loss
    scorer: Scorer
    queries: Any
    query_weight: np.ndarray | None = None
    standardization: Standardization | None = None
    validation: Validation | None = None
    rng: np.random.Generator = field(default_factory=np.random.default_rng)
    callback: Callback = None
    verbose: int = 0
    init: Model | None = None
    scales_penalties: bool = True

    def objective(self, model: SmoothModel) -> SummedObjective:
        """Return the function to minimize, wherever the queries are."""
        if isinstance(self.queries, RemoteQueries):
            return remote_objective(model, self.loss, self.queries, self.query_weight)
        return Objective(model, self.bind_loss(), self.queries)

    def bind_loss(self) -> BoundLoss:
        """Return the loss on the queries' labels."""
        return self.loss.bind(self.queries.targets, self.queries.offsets, self.query_weight)

    def start_model(self, rng: np.random.Generator) -> SmoothModel:
        """Return the model that training starts from, with the penalties that it is trained with."""
        options = StartOptions(not self.loss.shift_invariant, self.standardization)
        model = self.scorer.start(self.queries, rng, options)
        if self.init is not None:
            model = model.continued(self.init)
        if self.scales_penalties and self.loss.sums_documents:
            documents = float(np.average(self.queries.sizes, weights=self.query_weight))
            model.l2 = documents * model.l2
            model.l1 = None if model.l1 is None else documents * model.l1
        return model


@dataclass(frozen=True, slots=True, repr=False)
class Convergence:
    """How a training run ended, with its curves.

    Printing it says so in a line, notebooks show the curves, and :meth:`plot` draws them.

    Parameters
    ----------
    converged : bool or None
        True: the optimum was reached, or the validation metric stopped improving. None: it was not tested.
    message : str
        Why it ended.
    n_iter : int
        Iterations, epochs, trees or rounds.
    n_evaluations : int
        How often the loss of all training queries was computed, or the equivalent in epochs.
    losses : tuple of float
        The objective after each iteration or epoch.
    validation : tuple of float
        The validation metric after each iteration or epoch.
    metric : str, optional
        Name and convention of that metric.
    best_iter : int, optional
        The iteration (from 1) whose parameters were kept, where they were chosen on the validation queries.
    interrupted : bool
        Whether the user stopped it with Ctrl-C.
    step : {"iteration", "epoch", "tree", "round"}
        What this trainer calls one of the ``n_iter``.

    Examples
    --------
    >>> import podium
    >>> convergence = podium.ListNet().fit(podium.make_queries(n_queries=50, n_documents=10, n_features=5)).convergence_
    >>> convergence.converged, len(convergence.losses) == convergence.n_iter
    (True, True)
    >>> print(podium.training.Convergence(True, "done", n_iter=3, losses=(1.5, 1.2, 1.1)))
    converged, 3 iterations, loss 1.1
    """

    converged: bool | None
    message: str
    n_iter: int
    n_evaluations: int = 0
    losses: tuple[float, ...] = ()
    validation: tuple[float, ...] = ()
    metric: str | None = None
    best_iter: int | None = None
    interrupted: bool = False
    step: str = "iteration"

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Convergence:
        """Return what a model file has of it; values are those of the parameters."""
        plain: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in values.items()}
        return cls(**plain)

    def plot(self, ax: Any = None) -> Any:
        """Draw the loss by iteration, and the validation metric with the iteration that was kept, if there is one.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default in a new figure. Needs the extra ``report``.

        Returns
        -------
        matplotlib Axes
            What was drawn in.
        """
        from podium.training.notebook import plot

        return plot(self, ax)

    def _repr_html_(self) -> str:
        from podium.training.notebook import html

        return html(self)

    def __repr__(self) -> str:
        return f"Convergence({self})"

    def __str__(self) -> str:
        from podium.training.notebook import summary

        return summary(self)


@dataclass(frozen=True, slots=True)
class Fit:
    """The result of training.

    Parameters
    ----------
    model : Model
        The learned function from features to scores.
    loss_parameters : (n_parameters,) array
        Parameters of the loss itself that were learned; often empty.
    convergence : Convergence
        How the training ended.

    Examples
    --------
    >>> import podium
    >>> queries = podium.make_queries(n_queries=50, n_documents=10, n_features=5)
    >>> problem = podium.training.Problem(podium.losses.ListNetLoss(), podium.scorers.Linear(), queries)
    >>> fit = podium.training.LBFGS().fit(problem)
    >>> type(fit.model).__name__, len(fit.loss_parameters), str(fit.convergence).split(",")[0]
    ('LinearModel', 0, 'converged')
    """

    model: Model
    loss_parameters: np.ndarray
    convergence: Convergence


class Trainer(Parameterized):
    """Base class of all trainers. A trainer holds settings, never data.

    Examples
    --------
    >>> from podium.training import LBFGS, Boosting, Stochastic, Trainer
    >>> [(trainer.__name__, trainer.works_remotely) for trainer in (LBFGS, Stochastic, Boosting)]
    [('LBFGS', True), ('Stochastic', False), ('Boosting', True)]
    >>> isinstance(LBFGS(max_iter=200), Trainer), LBFGS(max_iter=200)
    (True, LBFGS(max_iter=200))
    """

    needs_gradient: ClassVar[bool] = False
    """Must the loss's gradient be the derivative of its value? (A line search compares the two.)"""
    works_remotely: ClassVar[bool] = False
    """Can the training queries be on a cluster?"""

    def fit(self, problem: Problem) -> Fit:
        """Train the problem's scorer on its loss.

        Parameters
        ----------
        problem : Problem
            Loss, scorer and queries.

        Returns
        -------
        Fit
            The trained model and how the training ended.
        """
        raise NotImplementedError
