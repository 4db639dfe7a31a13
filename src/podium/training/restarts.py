"""Training from several starts and with several settings; the best on the validation queries is kept."""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from podium.core.parameters import count
from podium.losses.base import Loss
from podium.scorers.base import Scorer
from podium.training.bar import prints_lines
from podium.training.base import Fit, NotedCallback, Problem, Trainer
from podium.training.monitor import warn_not_converged


@dataclass(frozen=True, slots=True)
class BestFit(Fit):
    """The best of several fits."""

    candidate: int = 0
    """The number of the setting it was trained with."""


class Restarts(Trainer):
    """Training of each setting from several random starts.

    Parameters
    ----------
    trainer : Trainer
        Trains each run.
    restarts : int
        Runs per setting.
    candidates : sequence of (Loss, Scorer), optional
        Settings to choose between, in place of the problem's own. Choosing needs validation queries: losses of
        different settings cannot be compared.
    early_stopping : bool
        Keep each run's best epoch on the validation queries. False: train each run to its end, and use the validation
        queries only to choose between runs; with few of them, the best of many epochs is mostly luck.
    n_jobs : int, optional
        Processes; None or 1 stays in this one, −1 takes all cores. The result is the same.

    The run with the best validation metric is kept; without validation queries, the one with the lowest objective. The
    first run is always done in this process, so that compiled code is in the cache before other processes need it.
    Callbacks are called for runs in this process only.
    """

    trainer: Trainer
    restarts: int = count(10)
    candidates: Sequence[tuple[Loss, Scorer]] | None = None
    early_stopping: bool = True
    n_jobs: int | None = None

    def fit(self, problem: Problem) -> BestFit:
        self.check_parameters()
        candidates = self.candidates or [(problem.loss, problem.scorer)]
        if len(candidates) > 1 and problem.validation is None:
            raise ValueError(f"choosing between {len(candidates)} settings needs validation queries: give eval_set")
        callback = NotedCallback(problem.callback)
        runs = [
            replace(problem, loss=problem.loss.around(loss), scorer=scorer, rng=rng, callback=callback)
            for loss, scorer in candidates
            for rng in problem.rng.spawn(self.restarts)
        ]
        fits: list[Fit] = []
        interrupted = False
        try:
            for fit in self._fits(runs):
                fits.append(fit)
                _report(problem, len(fits), len(runs), fit)
                interrupted = fit.convergence.interrupted
                if interrupted or callback.stopped:
                    break
        except KeyboardInterrupt:
            if not fits:
                raise
            interrupted = True
            warn_not_converged(f"restarts: interrupted after {len(fits)} of {len(runs)} runs; the best so far is kept")
        best = max(range(len(fits)), key=lambda i: merit(fits[i]))  # the first of equals
        history = fits[best].convergence
        if len(runs) > 1:
            history = replace(
                history,
                message=f"run {best + 1} of {len(runs)} was best: {history.message}",
                n_evaluations=sum(fit.convergence.n_evaluations for fit in fits),
                interrupted=interrupted,
            )
        return BestFit(fits[best].model, fits[best].loss_parameters, history, best // self.restarts)

    def _fits(self, runs: list[Problem]) -> Iterator[Fit]:
        """Yield the fit of each run, in order."""
        if self.n_jobs in (None, 1) or len(runs) == 1:
            yield from map(self._fit_one, runs)
            return
        from joblib import Parallel, delayed, parallel_config

        first, *others = runs
        yield self._fit_one(first)
        with parallel_config("loky", n_jobs=self.n_jobs, inner_max_num_threads=1):
            tasks = (delayed(self._fit_one)(replace(run, callback=None, verbose=0)) for run in others)
            yield from Parallel(return_as="generator")(tasks)

    def _fit_one(self, run: Problem) -> Fit:
        if self.early_stopping or run.validation is None:
            return self.trainer.fit(run)
        fit = self.trainer.fit(replace(run, validation=None))
        history = replace(
            fit.convergence,
            validation=(run.validation.judge(fit.model),),
            metric=str(run.validation.metric),
            best_iter=fit.convergence.n_iter,
        )
        return replace(fit, convergence=history)


def merit(fit: Fit) -> float:
    """Return what decides between runs, higher is better."""
    history = fit.convergence
    if history.best_iter is not None:
        return max(history.validation)
    return -history.losses[-1] if history.losses else float("-inf")


def _report(problem: Problem, done: int, of: int, fit: Fit) -> None:
    history = fit.convergence
    judged = None if history.best_iter is None else merit(fit)
    if prints_lines(problem.verbose):
        found = "" if judged is None else f"   {history.metric} {judged:.4f}"
        print(f"[podium] run {done:3d} of {of}   {history.n_iter} {history.step}s{found}", file=sys.stderr)
