"""Restarts: the best run is kept, and the number of processes changes nothing."""

from __future__ import annotations

import numpy as np
import pytest

import podium
from podium.data.queries import Queries
from podium.losses.base import Loss
from podium.losses.listnet import ListNetLoss
from podium.scorers.base import Scorer
from podium.scorers.linear.scorer import Linear
from podium.scorers.network.mlp import MLP
from podium.training.base import Problem, Validation
from podium.training.restarts import Restarts, merit
from podium.training.stochastic import Stochastic

STEPS = Stochastic(epochs=4, learning_rate=0.03)


@pytest.fixture(scope="module")
def queries() -> Queries:
    return podium.make_queries(40, 8, 5, random_state=0)


def problem(queries: Queries, validated: bool = True, **changes: object) -> Problem:
    kept_aside = Validation(queries.take(np.arange(25, 40)), podium.metric("ndcg@3")) if validated else None
    return Problem(
        **{  # type: ignore[arg-type]
            "loss": ListNetLoss(),
            "scorer": MLP(3),
            "queries": queries.take(np.arange(25)),
            "validation": kept_aside,
            "rng": np.random.default_rng(1),
            **changes,
        }
    )


@pytest.mark.parametrize("validated", [True, False])
def test_the_best_run_is_kept(queries: Queries, validated: bool) -> None:
    fit = Restarts(STEPS, 4).fit(problem(queries, validated))
    rngs = np.random.default_rng(1).spawn(4)
    alone = [STEPS.fit(problem(queries, validated, rng=rng)) for rng in rngs]
    merits = [merit(f) for f in alone]
    assert len(set(merits)) > 1
    best = int(np.argmax(merits))
    np.testing.assert_array_equal(fit.model.theta, alone[best].model.theta)  # type: ignore[attr-defined]
    assert f"run {best + 1} of 4 was best" in fit.convergence.message
    assert fit.convergence.n_evaluations == sum(f.convergence.n_evaluations for f in alone)


def test_without_early_stopping_runs_go_to_their_end(queries: Queries) -> None:
    fit = Restarts(STEPS, 3, early_stopping=False).fit(problem(queries))
    rngs = np.random.default_rng(1).spawn(3)
    alone = [STEPS.fit(problem(queries, validated=False, rng=rng)) for rng in rngs]
    judge = problem(queries).validation.judge  # type: ignore[union-attr]
    best = int(np.argmax([judge(f.model) for f in alone]))
    np.testing.assert_array_equal(fit.model.theta, alone[best].model.theta)  # type: ignore[attr-defined]
    assert fit.convergence.validation == (judge(fit.model),)
    assert fit.convergence.best_iter == 4


def test_processes_change_nothing(queries: Queries) -> None:
    here = Restarts(STEPS, 3).fit(problem(queries))
    spread = Restarts(STEPS, 3, n_jobs=2).fit(problem(queries))
    np.testing.assert_array_equal(here.model.theta, spread.model.theta)  # type: ignore[attr-defined]
    assert here.convergence == spread.convergence


def test_the_best_candidate_is_kept(queries: Queries) -> None:
    flat = ListNetLoss(temperature=1e6)  # its target is uniform: there is nothing to learn from it
    candidates: list[tuple[Loss, Scorer]] = [(flat, Linear()), (ListNetLoss(), Linear()), (flat, Linear())]
    fit = Restarts(STEPS, 2, candidates).fit(problem(queries))
    assert fit.candidate == 1
    assert "of 6 was best" in fit.convergence.message


def test_choosing_needs_something_to_choose_by(queries: Queries) -> None:
    with pytest.raises(ValueError, match="needs validation queries: give eval_set"):
        Restarts(STEPS, 1, [(ListNetLoss(), Linear())] * 2).fit(problem(queries, validated=False))


def test_a_callback_stops_all_runs(queries: Queries) -> None:
    told = []
    fit = Restarts(STEPS, 5).fit(problem(queries, callback=lambda p: told.append(p.iteration) or len(told) == 6))
    assert told == [1, 2, 3, 4, 1, 2]
    assert not fit.convergence.interrupted


def test_ctrl_c_keeps_the_best_so_far(queries: Queries) -> None:
    told = []

    def interrupt(progress: object) -> None:
        told.append(progress)
        if len(told) == 6:
            raise KeyboardInterrupt

    from sklearn.exceptions import ConvergenceWarning

    with pytest.warns(ConvergenceWarning, match="interrupted"):
        fit = Restarts(STEPS, 5).fit(problem(queries, callback=interrupt))
    assert fit.convergence.interrupted
    assert len(told) == 6


def test_progress_is_printed(queries: Queries, capsys: pytest.CaptureFixture[str]) -> None:
    Restarts(STEPS, 2).fit(problem(queries, verbose=1))
    assert "[podium] run   2 of 2   4 epochs   ndcg@3 (standard)" in capsys.readouterr().err
