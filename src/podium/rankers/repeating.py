"""The mean of several fits that differ only in their seeds, as one sum of trees."""

from dataclasses import replace
from statistics import median_low

from sklearn.base import clone

from podium.core.random_state import consecutive_seeds
from podium.rankers.estimator import BaseRanker
from podium.rankers.inputs import TrainingInput
from podium.scorers.trees.model import TreesModel
from podium.training.base import Convergence, Fit, NotedCallback


def repeated_fit(ranker: BaseRanker, given: TrainingInput, repeats: int) -> Fit:
    """Return the mean of fits with consecutive seeds; those after an interruption are left out."""
    callback = NotedCallback(given.callback)
    fits: list[Fit] = []
    for seed in consecutive_seeds(ranker.random_state, repeats):
        one = clone(ranker).set_params(repeats=1, random_state=seed)
        one.standardization_ = None
        fit = one._train(replace(given, callback=callback))
        ended = callback.stopped or fit.convergence.interrupted
        if not (ended and fits):  # one that was cut short would spoil the mean
            fits.append(fit)
        if ended:
            break
    models = [fit.model for fit in fits if isinstance(fit.model, TreesModel)]
    history = _history(fits, interrupted=fit.convergence.interrupted)
    return Fit(TreesModel.mean(models), fits[0].loss_parameters, history)


def _history(fits: list[Fit], interrupted: bool) -> Convergence:
    """Return the curves of the first fit, with the median of the numbers of trees that were best on validation."""
    first, best = fits[0].convergence, [fit.convergence.best_iter for fit in fits]
    known = [number for number in best if number is not None]
    return replace(
        first,
        message=f"mean of {len(fits)} fits with other seeds; the first: {first.message}",
        n_evaluations=sum(fit.convergence.n_evaluations for fit in fits),
        best_iter=min(median_low(known), first.n_iter) if known else None,
        interrupted=interrupted,
    )
