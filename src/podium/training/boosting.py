"""Functional gradient descent: each tree is fitted to the gradient of the loss at the scores so far."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing

import numpy as np

from podium.core.parameters import choice, count
from podium.data.remote import RemoteQueries
from podium.losses.checks import mean_weights
from podium.numerics.blas import quiet_blas
from podium.scorers.growing import Growable, GrowthStart
from podium.training.base import Fit, Problem, Trainer, mean_of_defined
from podium.training.boosted_lists import BoostedLists, BoostedLoss
from podium.training.boosting_team import BoostingTeam
from podium.training.monitor import Watch

__all__ = ["Boosting"]


class Boosting(Trainer, works_remotely=True):
    """Grows the trees of :class:`podium.scorers.Trees`, one at a time.

    **Steps.** LightGBM receives the gradient and the curvature of each document's score, both multiplied by one
    constant that makes the curvatures at the start 1 on average: ``l2`` and ``min_sum_hessian_in_leaf`` then count
    documents, whatever the scale of the loss. For a loss without curvature (or ``Trees(curvature=False)``) the
    curvature is 1 everywhere and the mean square of the gradients is 1 at the start: plain gradient steps, the first
    of which moves scores by about ``learning_rate``.

    **Start.** Scores start at 0 or, if the loss is not invariant to a shift of all scores, at the best constant, which
    is then added to the first tree. Trees that are added to those of a fitted model start from its scores. Parameters
    that the loss itself learns take a few quasi-Newton steps after each tree.

    Ctrl-C ends the training and keeps what would have been kept had this been the last tree.

    Parameters
    ----------
    patience : int, optional
        With validation queries: stop after this many trees without a better validation metric. None: grow them all.
    select : {"best", "last"}
        With validation queries: keep as many trees as were best on them, or all that were grown.

    Examples
    --------
    >>> import podium
    >>> train, valid = podium.train_test_split(podium.make_queries(n_queries=60, n_documents=10), random_state=0)
    >>> trainer, scorer = podium.training.Boosting(patience=5), podium.scorers.Trees(n_trees=50, n_leaves=4)
    >>> ranker = podium.Ranker(podium.losses.LambdaRankLoss(), scorer, trainer, random_state=0)
    >>> ranker.fit(train, eval_set=valid).model_.n_trees == ranker.convergence_.best_iter
    True
    """

    patience: int | None = count(None)
    select: str = choice("best", "last")

    def fit(self, problem: Problem) -> Fit:
        self.check_parameters()
        scorer = problem.scorer
        if not isinstance(scorer, Growable):
            raise ValueError(f"Boosting grows trees: it needs the scorer Trees, not {type(scorer).__name__}")
        watch = Watch(problem.validation, problem.callback, problem.verbose, patience=self.patience, step="tree")
        with quiet_blas():
            run = _BoostingRun(problem, scorer.for_data(problem.queries, validated=problem.validation is not None))
            watch.total = run.n_trees
            with closing(run.lists):
                with watch.interruptible("boosting"):
                    _grow(run, watch)
                best = self.select == "best" and watch.best_iter is not None
                n_trees = watch.best_iter if best and watch.best_iter else len(watch.losses)
                model = run.lists.model(n_trees)
        grown = f"grew the {run.n_trees} trees asked for"
        convergence = watch.convergence(grown, best=best, n_evaluations=run.n_evaluations)
        return Fit(model, run.parameters[n_trees], convergence)


def _grow(run: _BoostingRun, watch: Watch) -> None:
    """Grow trees until there is a reason to stop."""
    while len(watch.losses) < run.n_trees and watch.reason is None:
        found_split = run.add_tree()
        if found_split or not watch.losses:  # a first tree without a split is kept: it gives the constant score
            watch.record(run.loss, run.judge())
        if not found_split:
            watch.end("no split improves the loss any more", converged=True)


class _BoostingRun:
    """The trees so far, the loss there, and what the next tree is grown on."""

    def __init__(self, problem: Problem, scorer: Growable) -> None:
        assert scorer.n_trees is not None
        assert scorer.query_fraction is not None
        self.n_trees, self.query_fraction = scorer.n_trees, scorer.query_fraction
        self.problem, self.queries = problem, problem.queries
        self.weights = mean_weights(problem.query_weight, len(self.queries))
        self.parameters = [problem.loss.initial_parameters()]
        """The loss's own, by number of trees."""
        self.newton = scorer.curvature and problem.loss.has_curvature
        self.n_evaluations = 0
        self.scale: float | None = None
        self.metric = None if problem.validation is None else problem.validation.rules()
        self.lists = self._lists()
        try:
            shifts = problem.init is None and not problem.loss.shift_invariant
            constant = self._best_constant() if shifts else 0.0
            seed = int(problem.rng.integers(2**31 - 1))
            validation = [] if problem.validation is None else [problem.validation.queries]
            self.lists.grow(validation, GrowthStart(constant, seed, problem.init), scorer)
            self._evaluate()
        except BaseException:
            self.lists.close()
            raise

    def _lists(self) -> BoostedLists | BoostingTeam:
        problem = self.problem
        validation = None if problem.validation is None else problem.validation.queries
        if isinstance(self.queries, RemoteQueries):
            return BoostingTeam(problem.loss, self.queries, validation, self.weights, self.newton)
        if isinstance(validation, RemoteQueries):
            raise ValueError("trees are grown in this process: give eval_set as Queries, or train on the cluster too")
        return BoostedLists([self.queries], [problem.bind_loss()], self.newton)

    def judge(self) -> float | None:
        """Return the metric on the validation queries."""
        return None if self.metric is None else mean_of_defined(np.concatenate(self.lists.judge(self.metric)))

    def add_tree(self) -> bool:
        """Grow a tree and evaluate the loss there; return False if there was nothing to split."""
        assert self.scale is not None
        renewed = self.problem.loss.renewed(self.parameters[-1], self.d_parameters)
        if renewed is not None:
            self.parameters.append(renewed)
            return self._evaluate(self.scale)
        found_split = self.lists.add_tree(self.scale)
        self.parameters.append(self._learned_parameters())
        self._evaluate()
        return found_split

    def _evaluate(self, scale: float | None = None) -> bool:
        """Compute the loss and what the next tree is grown on, at the scores so far; with a scale, after one more tree.

        Return False if there was nothing to split.
        """
        self.n_evaluations += 1
        bag, found_split = self._bag(), True
        bags, where = None if bag is None else [bag], (len(self.parameters) - 1, self.parameters[-1])
        if scale is None:
            found = self.lists.evaluate(bags, *where)
        else:
            found_split, found = self.lists.step(bags, scale, *where)
        share = 1.0 if bag is None else float(self.weights[bag].sum())
        self.loss, self.d_parameters = found.value / share, found.d_parameters
        if self.scale is None:
            self.scale = unit_scale(found, self.newton)
        return found_split

    def _bag(self) -> np.ndarray | None:
        """Draw the queries that the next tree is grown on; None for all."""
        if self.query_fraction == 1:
            return None
        filled = np.flatnonzero((self.queries.sizes > 0) & (self.weights > 0))
        n = max(1, round(self.query_fraction * len(filled)))
        return np.sort(self.problem.rng.choice(filled, n, replace=False))

    def _learned_parameters(self) -> np.ndarray:
        """Return the loss's own parameters after a few quasi-Newton steps at the scores so far."""
        before = self.parameters[-1]
        from scipy.optimize import minimize

        def value_and_gradient(parameters: np.ndarray) -> tuple[float, np.ndarray]:
            self.n_evaluations += 1
            return self.lists.loss(parameters)

        bounds, few = self.problem.loss.parameter_bounds(), {"maxiter": 2}
        return np.asarray(
            minimize(value_and_gradient, before, jac=True, method="L-BFGS-B", bounds=bounds, options=few).x
        )

    def _best_constant(self) -> float:
        """Return the score that has the lowest loss if all documents have it."""

        def slope(constant: float) -> float:
            self.n_evaluations += 1
            return self.lists.slope(constant, self.parameters[-1])

        return best_constant(slope)


def best_constant(slope: Callable[[float], float]) -> float:
    """Return where the derivative of the loss by a constant score is 0: secant steps; one solves a square."""
    before, here = 0.0, 1.0
    slope_before, slope_here = slope(before), slope(here)
    for _ in range(10):
        if slope_here == slope_before:
            break
        step = -slope_here * (here - before) / (slope_here - slope_before)
        before, slope_before = here, slope_here
        here += step
        if abs(step) < 1e-6 * max(1.0, abs(here)):
            break
        slope_here = slope(here)
    return here


def unit_scale(start: BoostedLoss, newton: bool) -> float:
    """Return the factor described in :class:`Boosting`; documents outside the first bag, all 0, do not count."""
    mean = start.size / max(start.n_sized, 1)
    if not mean > 0:
        return 1.0
    return float(1.0 / mean if newton else 1.0 / np.sqrt(mean))
