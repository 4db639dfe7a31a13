"""Stochastic training: compiled and general steps agree, schedules, early stopping, restarts, interruption."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import podium
from podium.losses import ListNetLoss
from podium.losses.ties import DavidsonLoss
from podium.numerics.optimizers import OPTIMIZERS, Optimizer, take_step
from podium.numerics.pool import threads
from podium.scorers import Linear
from podium.scorers.base import Scorer, SmoothModel
from podium.scorers.standardization import Standardization
from podium.training import LBFGS, Problem, Stochastic, Validation


class PlainModel(SmoothModel):
    """The linear model again, as NumPy writes it: it goes the general way through trainers."""

    def __init__(self, theta, standardization, l1, l2, has_intercept):
        self.theta, self.standardization, self.has_intercept = theta, standardization, has_intercept
        is_weight = np.arange(len(theta)) < len(theta) - has_intercept
        self.l1, self.l2 = is_weight * l1 if l1 else None, is_weight * l2

    def forward(self, queries):
        x = (queries.features - self.standardization.mean) * self.standardization.inverse_scale
        if self.has_intercept:
            x = np.column_stack([x, np.ones(len(x))])
        with np.errstate(over="ignore", invalid="ignore"):
            return x @ self.theta, lambda d: x.T @ d


class Plain(Scorer):
    l1: float = 0.0
    l2: float = 0.0

    def start(self, queries, rng, options):
        intercept, standardization = options
        return PlainModel(np.zeros(queries.n_features + intercept), standardization, self.l1, self.l2, intercept)


class NeedsIntercept(DavidsonLoss):
    shift_invariant = False


def _problem(scorer=None, loss=None, seed=0, n_queries=40, **settings):
    queries = podium.make_queries(n_queries, 8, 5, random_state=0)
    queries = queries.with_features(queries.features.astype(np.float64))
    return Problem(
        loss=loss or ListNetLoss(),
        scorer=scorer or Linear(l2=1e-2),
        queries=queries,
        standardization=Standardization.fit(queries.features),
        rng=np.random.default_rng(seed),
        **settings,
    )


@pytest.mark.parametrize("optimizer", ["sgd", "momentum", "adam"])
@pytest.mark.parametrize("loss", [ListNetLoss(), NeedsIntercept()], ids=repr)
@pytest.mark.parametrize("batch_size", [1, 7])
def test_compiled_epochs_take_the_same_steps_as_the_general_ones(optimizer, loss, batch_size) -> None:
    penalties = {"l1": 0.0 if optimizer == "adam" else 0.01, "l2": 0.1}
    trainer = Stochastic(epochs=3, batch_size=batch_size, learning_rate=0.02, optimizer=optimizer)
    weights = np.random.default_rng(1).integers(0, 3, 40).astype(float)
    compiled = trainer.fit(_problem(Linear(**penalties), loss, query_weight=weights))
    general = trainer.fit(_problem(Plain(**penalties), loss, query_weight=weights))
    np.testing.assert_allclose(compiled.model.theta, general.model.theta, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(compiled.loss_parameters, general.loss_parameters, rtol=1e-8)
    np.testing.assert_allclose(compiled.convergence.losses, general.convergence.losses, rtol=1e-8)


@pytest.mark.parametrize(("optimizer", "rate"), [("sgd", 0.3), ("momentum", 0.05), ("adam", 0.05)])
def test_approaches_the_optimum_of_the_whole(optimizer, rate) -> None:
    optimum = LBFGS(tolerance=1e-14).fit(_problem())
    trainer = Stochastic(epochs=400, learning_rate=rate, schedule="exponential", decay=0.98, optimizer=optimizer)
    fit = trainer.fit(_problem())
    np.testing.assert_allclose(fit.model.theta, optimum.model.theta, atol=0.02)


def test_l1_gives_the_zeros_of_the_optimum() -> None:
    scorer = Linear(l1=0.03, l2=0.01)
    optimum = LBFGS(tolerance=1e-14).fit(_problem(scorer)).model.theta
    # All queries in one step: with fewer, the noise of the gradient keeps weights off zero.
    trainer = Stochastic(epochs=1000, learning_rate=0.3, schedule="constant", optimizer="sgd", batch_size=40)
    theta = trainer.fit(_problem(scorer)).model.theta
    np.testing.assert_array_equal(theta == 0, optimum == 0)
    np.testing.assert_allclose(theta, optimum, atol=1e-4)
    with pytest.raises(ValueError, match="L1"):
        Stochastic(optimizer="adam").fit(_problem(scorer))


def test_adam_steps_by_hand() -> None:
    # First step: both moments are unbiased to g and g², so each coordinate moves by the rate, toward −sign g.
    theta, moments = np.zeros(2), np.zeros((2, 2))
    adam = Optimizer(OPTIMIZERS.index("adam"), rate=0.1, momentum=0.9, l1=np.zeros(2))
    take_step(theta, np.array([0.5, -3.0]), moments, 1, adam)
    np.testing.assert_allclose(theta, [-0.1, 0.1], rtol=1e-6)
    # Second: m = 0.9·0.05 + 0.1·1 = 0.145, unbiased 0.145/0.19; v = (0.999·0.25 + 1)/1000, unbiased /0.001999.
    take_step(theta, np.array([1.0, 0.0]), moments, 2, adam)
    expected = -0.1 - 0.1 * (0.145 / 0.19) / math.sqrt((0.999 * 0.25 + 1) / 1.999)
    assert theta[0] == pytest.approx(expected, rel=1e-6)


def test_schedules() -> None:
    assert [Stochastic(learning_rate=0.4, schedule="constant").rate(k) for k in (0, 9)] == [0.4, 0.4]
    assert Stochastic(learning_rate=0.4, schedule="sqrt").rate(3) == pytest.approx(0.2)
    assert Stochastic(learning_rate=0.4, schedule="exponential").rate(2) == pytest.approx(0.2)  # (1/√2)² = ½


def _validation(seed=5):
    queries = podium.make_queries(30, 8, 5, random_state=seed)
    labels = np.random.default_rng(0).integers(0, 3, queries.n_documents)  # noise: the best epoch is an early one
    return Validation(queries.with_labels(labels), podium.metric("ndcg@5"))


def test_early_stopping_keeps_the_best_epoch() -> None:
    problem = _problem(validation=_validation())
    fit = Stochastic(epochs=200, patience=4, learning_rate=0.05).fit(problem)
    story = fit.convergence
    assert story.converged
    assert story.n_iter == story.best_iter + 4 < 200
    assert problem.validation.judge(fit.model) == max(story.validation)


def test_without_validation_all_epochs_run() -> None:
    fit = Stochastic(epochs=7, patience=1).fit(_problem())
    assert fit.convergence.n_iter == 7
    assert fit.convergence.converged is None


def test_the_seed_decides_and_nothing_else() -> None:
    trainer = Stochastic(epochs=3)
    first, same, other = (trainer.fit(_problem(seed=s)).model.theta for s in (1, 1, 2))
    np.testing.assert_array_equal(first, same)
    assert (first != other).any()
    with threads(1):
        np.testing.assert_array_equal(trainer.fit(_problem(seed=1)).model.theta, first)


def test_restarts_keep_the_best() -> None:
    problem = _problem(validation=_validation())
    single = [
        max(Stochastic(epochs=3, learning_rate=0.3).fit(_part(problem, rng)).convergence.validation)
        for rng in np.random.default_rng(0).spawn(4)
    ]
    fit = Stochastic(epochs=3, learning_rate=0.3, restarts=4).fit(_problem(validation=_validation()))
    assert problem.validation.judge(fit.model) == max(single)
    assert "of 4" in fit.convergence.message
    by_loss = Stochastic(epochs=3, learning_rate=0.3, restarts=4).fit(_problem())
    assert np.isfinite(by_loss.model.theta).all()


def _part(problem, rng):
    """The problem with the generator that a restart would spawn from: one restart of a run spawns once more."""

    class Once:
        def spawn(self, n):
            return [rng]

    return Problem(**{**problem.__dict__, "rng": Once()})


@pytest.mark.parametrize("scorer", [Linear(l2=0.0), Plain(l2=0.0)])
def test_divergence_is_an_error_that_says_what_to_do(scorer) -> None:
    with pytest.raises(ValueError, match="learning_rate"):
        Stochastic(optimizer="sgd", learning_rate=1e308, epochs=5).fit(_problem(scorer))


def test_a_large_penalty_shortens_plain_steps() -> None:
    """Without that, each step multiplies the weights by 1 − rate · penalty, far below −1."""
    trainer = Stochastic(epochs=3, optimizer="sgd", learning_rate=1.0, schedule="constant")
    thousandfold, weights = (trainer.fit(_problem(Linear(l2=l2))).model.theta for l2 in (1e3, 1e6))
    np.testing.assert_allclose(1e3 * weights, thousandfold, rtol=1e-2)  # both are −gradient at zero / penalty
    assert np.abs(weights).max() > 0


def test_control_c_keeps_the_best_so_far() -> None:
    def interrupt(progress) -> None:
        if progress.iteration == 6:
            raise KeyboardInterrupt

    problem = _problem(validation=_validation(), callback=interrupt)
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        fit = Stochastic(epochs=50, patience=None, restarts=3).fit(problem)
    assert fit.convergence.interrupted
    assert fit.convergence.n_iter == 6
    assert problem.validation.judge(fit.model) == max(fit.convergence.validation)


def test_the_loss_is_told_of_every_epoch() -> None:
    epochs = []

    class Listening(ListNetLoss):
        def prepare_epoch(self, prepared, data, epoch):
            epochs.append(epoch)
            return prepared

    Stochastic(epochs=3).fit(_problem(loss=Listening()))
    assert epochs == [0, 1, 2]


@pytest.mark.parametrize(
    "settings",
    [
        {"epochs": 0},
        {"batch_size": 0},
        {"learning_rate": 0},
        {"schedule": "linear"},
        {"optimizer": "newton"},
        {"momentum": 1.0},
        {"restarts": 0},
        {"patience": -1},
        {"decay": 0},
    ],
)
def test_settings_are_checked(settings) -> None:
    with pytest.raises(ValueError, match=next(iter(settings))):
        Stochastic(**settings).fit(_problem())
