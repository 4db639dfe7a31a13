"""Several starts, several settings, side by side: the best on the validation queries is kept."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from podium.core.parameters import require_count
from podium.losses.base import Loss
from podium.scorers.base import Scorer
from podium.training.base import Fit, Problem, Progress, Trainer
from podium.training.monitor import warn_not_converged


@dataclass(frozen=True, slots=True)
class BestFit(Fit):
    """The best of several fits."""

    candidate: int = 0
    """Which of the candidates it is of."""


class Restarts(Trainer):
    """Train every candidate from several random starts.

    Parameters
    ----------
    trainer : Trainer
        What each run is trained by.
    restarts : int
        Runs per candidate.
    candidates : sequence of (Loss, Scorer), optional
        Settings to choose between, in place of the problem's own. Choosing needs validation queries: losses of
        different settings cannot be compared.
    early_stopping : bool
        Keep each run's best epoch on the validation queries. False: train each run to its end, and use the validation
        queries only to choose between runs; with few of them, the best of many epochs is mostly luck.
    n_jobs : int, optional
        Processes; None or 1 stays in this one, −1 takes all cores. The result is the same.

    The run with the best validation metric is kept; without validation queries, the one with the lowest objective. The
    first run is always done here, so that compiled code is in the cache before processes ask for it. Callbacks are
    told of the epochs of runs done here, not of those in other processes.
    """

    trainer: Trainer
    restarts: int = 10
    candidates: Sequence[tuple[Loss, Scorer]] | None = None
    early_stopping: bool = True
    n_jobs: int | None = None

    def fit(self, problem: Problem) -> BestFit:
        require_count("restarts", self.restarts)
        candidates = self.candidates or [(problem.loss, problem.scorer)]
        if len(candidates) > 1 and problem.validation is None:
            raise ValueError(
                f"there are {len(candidates)} settings to choose from, and nothing to choose by: give eval_set, "
                "validation queries"
            )
        callback = _Callback(problem)
        runs = [
            replace(problem, loss=loss, scorer=scorer, rng=rng, callback=callback)
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
        story = fits[best].convergence
        if len(runs) > 1:
            story = replace(
                story,
                message=f"run {best + 1} of {len(runs)} was best: {story.message}",
                n_evaluations=sum(fit.convergence.n_evaluations for fit in fits),
                interrupted=interrupted,
            )
        return BestFit(fits[best].model, fits[best].loss_parameters, story, best // self.restarts)

    def _fits(self, runs: list[Problem]) -> Iterator[Fit]:
        """The fit of each run, in order."""
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
        story = replace(
            fit.convergence,
            validation=(run.validation.judge(fit.model),),
            metric=str(run.validation.metric),
            best_iter=fit.convergence.n_iter,
        )
        return replace(fit, convergence=story)


class _Callback:
    """The problem's own callback; remembers that it asked to stop, which is meant for all runs."""

    def __init__(self, problem: Problem) -> None:
        self.tell = problem.callback
        self.stopped = False

    def __call__(self, progress: Progress) -> bool:
        self.stopped = self.tell is not None and self.tell(progress) is True
        return self.stopped


def merit(fit: Fit) -> float:
    """What decides between runs, higher is better."""
    story = fit.convergence
    if story.best_iter is not None:
        return max(story.validation)
    return -story.losses[-1] if story.losses else float("-inf")


def _report(problem: Problem, done: int, of: int, fit: Fit) -> None:
    story = fit.convergence
    judged = None if story.best_iter is None else merit(fit)
    if problem.verbose > 0:
        found = "" if judged is None else f"   {story.metric} {judged:.4f}"
        print(f"[podium] run {done:3d} of {of}   {story.n_iter} {story.step}s{found}", file=sys.stderr)
