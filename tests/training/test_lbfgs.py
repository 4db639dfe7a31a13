"""L-BFGS, against other solvers, optimality conditions and its own contract."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning

import podium
from podium.losses import ListNetLoss
from podium.losses.ties import DavidsonLoss
from podium.scorers import Linear
from podium.training import LBFGS, Problem, Validation
from podium.training.objective import Objective


def _problem(queries=None, loss=None, *, l1=0.0, l2=1e-3, **settings):
    queries = podium.make_queries(60, 12, 6, random_state=0) if queries is None else queries
    standardized = (queries.features - queries.features.mean(axis=0)) / queries.features.std(axis=0)
    return Problem(
        loss=loss or ListNetLoss(),
        scorer=Linear(l1=l1, l2=l2),
        queries=queries.with_features(standardized),
        **settings,
    )


def _objective(problem):
    return Objective(problem.start_model(problem.rng), problem.bind_loss(), problem.queries)


@pytest.mark.parametrize("loss", [ListNetLoss(), DavidsonLoss()], ids=repr)
def test_reaches_the_optimum_that_another_solver_finds(loss) -> None:
    problem = _problem(loss=loss, l2=0.01)
    fit = LBFGS(tolerance=1e-14, gradient_tolerance=1e-9).fit(problem)
    assert fit.convergence.converged
    function = _objective(problem)
    other = minimize(function, function.initial(), jac=True, method="BFGS", options={"gtol": 1e-9})
    np.testing.assert_allclose(np.append(fit.model.theta, fit.loss_parameters), other.x, atol=1e-6)
    assert np.abs(function(np.append(fit.model.theta, fit.loss_parameters))[1]).max() < 1e-7


def test_l1_meets_the_optimality_conditions() -> None:
    l1 = 0.02
    problem = _problem(l1=l1, l2=0.01)
    theta = LBFGS(tolerance=1e-15, gradient_tolerance=1e-9).fit(problem).model.theta
    gradient = _objective(problem)(theta)[1]  # of the smooth part
    zero = theta == 0
    assert 0 < zero.sum() < len(theta)
    assert np.abs(gradient[zero]).max() <= l1
    np.testing.assert_allclose(gradient[~zero], -l1 * np.sign(theta[~zero]), atol=1e-6)


def test_l1_agrees_with_proximal_gradient_steps() -> None:
    l1 = 0.02
    problem = _problem(l1=l1, l2=0.05)
    function = _objective(problem)
    expected = function.initial()
    for _ in range(800):  # the textbook iteration: gradient step on the smooth part, then soft thresholding
        moved = expected - 0.5 * function(expected)[1]
        expected = np.sign(moved) * np.maximum(np.abs(moved) - 0.5 * l1, 0)
    theta = LBFGS(tolerance=1e-15, gradient_tolerance=1e-9).fit(problem).model.theta
    np.testing.assert_allclose(theta, expected, atol=1e-6)
    np.testing.assert_array_equal(theta == 0, expected == 0)


def test_a_strong_l1_leaves_nothing() -> None:
    np.testing.assert_array_equal(LBFGS().fit(_problem(l1=100.0)).model.theta, 0.0)


def test_the_curve_goes_down_and_ends_at_the_objective() -> None:
    problem = _problem()
    fit = LBFGS().fit(problem)
    story = fit.convergence
    assert story.n_iter == len(story.losses) > 1
    assert story.n_evaluations >= story.n_iter
    assert (np.diff(story.losses) <= 1e-12).all()
    assert story.losses[-1] == pytest.approx(_objective(problem)(fit.model.theta)[0], rel=1e-12)


def test_running_out_of_iterations_is_said() -> None:
    with pytest.warns(ConvergenceWarning, match="3 iterations"):
        fit = LBFGS(max_iter=3, tolerance=0, gradient_tolerance=0).fit(_problem())
    assert fit.convergence.converged is False
    assert fit.convergence.n_iter == 3


def _validation():
    # Labels that are all noise: the metric wanders, so the best iterate is not the last.
    queries = podium.make_queries(30, 12, 6, random_state=5)
    labels = np.random.default_rng(0).integers(0, 3, queries.n_documents)
    return Validation(queries.with_labels(labels), podium.metric("ndcg@5"))


def test_the_best_iterate_can_be_kept() -> None:
    problem = _problem(validation=_validation(), l2=1e-6)
    last = LBFGS(select="last").fit(problem)
    best = LBFGS(select="best").fit(problem)
    watched = best.convergence.validation
    assert len(watched) == best.convergence.n_iter
    assert best.convergence.metric == "ndcg@5 (standard)"
    assert best.convergence.best_iter == int(np.argmax(watched)) + 1 < len(watched)
    assert problem.validation.judge(best.model) == max(watched)
    assert last.convergence.best_iter is None
    assert problem.validation.judge(last.model) == pytest.approx(watched[-1])


def test_patience_ends_it() -> None:
    fit = LBFGS(select="best", patience=2, tolerance=0, gradient_tolerance=0).fit(
        _problem(validation=_validation(), l2=1e-6)
    )
    assert fit.convergence.n_iter == fit.convergence.best_iter + 2
    assert "no better" in fit.convergence.message
    assert fit.convergence.converged


def test_callback_sees_progress_and_may_stop() -> None:
    seen = []

    def stop_at_three(progress) -> bool:
        seen.append(progress)
        return progress.iteration == 3

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit = LBFGS(tolerance=0, gradient_tolerance=0).fit(_problem(callback=stop_at_three))
    assert [p.iteration for p in seen] == [1, 2, 3]
    assert tuple(p.loss for p in seen) == fit.convergence.losses
    assert fit.convergence.converged is None
    assert "callback" in fit.convergence.message


def test_control_c_keeps_what_was_reached() -> None:
    def interrupt(progress) -> None:
        if progress.iteration == 4:
            raise KeyboardInterrupt

    with pytest.warns(ConvergenceWarning, match="interrupted"):
        fit = LBFGS().fit(_problem(callback=interrupt))
    assert fit.convergence.interrupted
    assert fit.convergence.converged is False
    assert fit.convergence.n_iter == 4
    assert np.abs(fit.model.theta).max() > 0


def test_verbose_prints_a_line_an_iteration(capsys) -> None:
    fit = LBFGS().fit(_problem(verbose=1, validation=_validation()))
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == fit.convergence.n_iter
    assert "loss" in lines[0]
    assert "ndcg@5 (standard)" in lines[0]


@pytest.mark.parametrize(
    "settings", [{"max_iter": 0}, {"tolerance": -1}, {"memory": 1.5}, {"select": "first"}, {"patience": 0}]
)
def test_settings_are_checked(settings) -> None:
    with pytest.raises(ValueError, match=next(iter(settings))):
        LBFGS(**settings).fit(_problem())
