"""Bagging: each tree is fitted to the gradient of the loss where all scores are equal, on queries drawn anew."""

from contextlib import closing

import numpy as np

from podium.data.remote import RemoteQueries
from podium.numerics.blas import quiet_blas
from podium.scorers.growing import Growable, GrowthStart
from podium.training.base import Fit, Problem, Trainer, mean_of_defined
from podium.training.boosted_lists import BoostedLists
from podium.training.boosting import best_constant, unit_scale
from podium.training.monitor import Watch

__all__ = ["Bagging"]


class Bagging(Trainer):
    """Grows the trees of :class:`podium.scorers.Trees` independently of each other; the model is their mean.

    Breiman: Random forests. Machine Learning 45, 2001. For each tree as many queries as there are
    (times ``query_fraction``) are drawn with replacement, each with all its documents. The tree is one step from equal
    scores along the gradient of the loss, a Newton step where the loss has second derivatives: for squared errors this
    is a regression tree on the grades, for a loss on pairs one on how many documents each should be above.

    The scorer's ``learning_rate`` multiplies the mean: 1 for a forest. All trees are kept: more of them only vary less.
    With validation queries the metric after each tree is recorded. Parameters that the loss itself has stay as they
    start. Ctrl-C ends the training with the mean of the trees grown so far.

    Examples
    --------
    >>> import podium
    >>> queries = podium.make_queries(n_queries=50, n_documents=10, n_features=5)
    >>> scorer = podium.scorers.Trees(n_trees=10, learning_rate=1.0)
    >>> forest = podium.Ranker(podium.losses.RegressionLoss(), scorer, podium.training.Bagging(), random_state=0)
    >>> forest.fit(queries).n_iter_
    10
    """

    def fit(self, problem: Problem) -> Fit:
        queries = problem.queries
        if not isinstance(problem.scorer, Growable):
            raise ValueError(f"Bagging grows trees: it needs the scorer Trees, not {type(problem.scorer).__name__}")
        if problem.init is not None:
            raise ValueError("a forest cannot go on from a fitted model: its trees are independent of each other")
        if isinstance(queries, RemoteQueries):
            raise ValueError("a forest is grown in one process: boosted trees can be grown on a cluster")
        scorer = problem.scorer.for_data(queries)
        assert scorer.n_trees is not None
        assert scorer.query_fraction is not None
        watch = Watch(problem.validation, problem.callback, problem.verbose, step="tree", total=scorer.n_trees)
        parameters = problem.loss.initial_parameters()
        lists = BoostedLists([queries], [problem.bind_loss()], scorer.curvature and problem.loss.has_curvature)
        constant = 0.0 if problem.loss.shift_invariant else best_constant(lambda c: lists.slope(c, parameters))
        validation = [] if problem.validation is None else [problem.validation.queries]
        bag = _Bag(problem, scorer.query_fraction)
        with quiet_blas(), closing(lists):
            lists.grow(validation, GrowthStart(0.0, int(problem.rng.integers(2**31 - 1))), scorer)
            start = np.full(queries.n_documents, constant, np.float32)
            with watch.interruptible("bagging"):
                while len(watch.losses) < scorer.n_trees and watch.reason is None:
                    found = lists.evaluate(None, len(watch.losses), parameters, scores=start)
                    lists.weigh(bag.draw())
                    if not lists.add_tree(unit_scale(found, lists.newton)) and watch.losses:
                        watch.end("no split improves the loss")
                        break
                    judged = None if problem.validation is None else lists.judge(problem.validation.metric)
                    watch.record(found.value, None if judged is None else mean_of_defined(np.concatenate(judged)))
            model = lists.growth.mean(len(watch.losses), constant)
        return Fit(model, parameters, watch.convergence(f"grew the {scorer.n_trees} trees asked for", best=False))


class _Bag:
    """Draws whole queries with replacement."""

    def __init__(self, problem: Problem, fraction: float) -> None:
        self.rng, self.sizes = problem.rng, problem.queries.sizes
        weights = np.ones(len(self.sizes)) if problem.query_weight is None else problem.query_weight
        self.filled = np.flatnonzero((self.sizes > 0) & (weights > 0))
        self.n_drawn = max(1, round(fraction * len(self.filled)))

    def draw(self) -> np.ndarray:
        """Return how often each document's query was drawn, (n_documents,)."""
        drawn = self.rng.choice(self.filled, self.n_drawn)
        return np.repeat(np.bincount(drawn, minlength=len(self.sizes)), self.sizes)
