"""Steps that touch only what a batch touches; the oracle is the same step on all parameters."""

import numpy as np
import pytest

import podium
from podium.losses import DavidsonLoss, Loss, PMOPLoss
from podium.numerics import pool
from podium.ratings.factors.scorer import FactorParameters, Layout, as_queries
from podium.scorers.base import SmoothModel
from podium.training import Stochastic
from podium.training.objective import Objective


def trained(loss: Loss, ratings: podium.Ratings, **settings: object) -> podium.FactorRanker:
    trainer = Stochastic(epochs=3, batch_size=7, learning_rate=4.0, optimizer="sgd")
    options: dict[str, object] = {"n_factors": 3, "regularization": 2.0, "trainer": trainer, "random_state": 0}
    return podium.FactorRanker(loss, **(options | settings)).fit(ratings)


@pytest.mark.parametrize(
    ("loss", "settings"),
    [
        (PMOPLoss(), {}),
        (PMOPLoss(), {"biases": False}),
        (PMOPLoss(), {"n_factors": 0, "bias_center": "zero", "bias_regularization": 50.0}),
        (DavidsonLoss(), {"regularization": 0.0}),  # has a parameter of its own
    ],
    ids=["all", "no biases", "biases alone", "a loss with parameters"],
)
def test_steps_are_those_on_all_parameters(
    loss: Loss, settings: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    ratings = podium.make_ratings(40, 30, 700, min_ratings=5).take(np.arange(100, 700))  # some users have no ratings
    assert (ratings.sizes == 0).any()
    sparse = trained(loss, ratings, **settings)
    monkeypatch.setattr(FactorParameters, "sparse_steps", SmoothModel.sparse_steps)
    dense = trained(loss, ratings, **settings)
    for name, expected in dense.model_.to_arrays().items():
        assert sparse.model_.to_arrays()[name] == pytest.approx(expected, rel=1e-9, abs=1e-11)
    assert sparse.convergence_.losses == pytest.approx(dense.convergence_.losses, rel=1e-11)
    assert sparse.loss_parameters_ == pytest.approx(dense.loss_parameters_, rel=1e-10)


def test_the_number_of_threads_changes_no_step(monkeypatch: pytest.MonkeyPatch) -> None:
    ratings = podium.make_ratings(40, 30, 700, min_ratings=5)
    one = trained(PMOPLoss(), ratings)
    monkeypatch.setattr(pool, "_available", lambda: 3)
    monkeypatch.setattr(pool, "LITTLE_WORK", 0)
    many = trained(PMOPLoss(), ratings)
    assert (one.model_.user_factors == many.model_.user_factors).all()
    assert (one.model_.item_bias == many.model_.item_bias).all()


def test_parameters_that_shrink_by_much_keep_their_digits(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rate times the penalty is 0.9, so that they shrink to a millionth every six steps."""
    ratings = podium.make_ratings(40, 30, 700, min_ratings=5)
    sparse = trained(PMOPLoss(), ratings, regularization=9.0)
    monkeypatch.setattr(FactorParameters, "sparse_steps", SmoothModel.sparse_steps)
    dense = trained(PMOPLoss(), ratings, regularization=9.0)
    assert sparse.model_.user_factors == pytest.approx(dense.model_.user_factors, rel=1e-9, abs=1e-13)


def test_what_is_not_a_plain_step_is_taken_on_all_parameters() -> None:
    ratings = podium.make_ratings(20, 15, 200, min_ratings=5)
    layout = Layout(20, 15, 2, 15, 0)
    start = FactorParameters(layout, np.ones(sum(layout.sizes)), np.full(sum(layout.sizes), 0.5))
    queries = as_queries(ratings, ratings.user)
    assert start.sparse_steps(queries, start.theta, 1.0) is not None
    assert start.sparse_steps(queries, start.theta, 2.0) is None  # all would shrink to nothing
    uneven = FactorParameters(layout, start.theta, np.arange(85.0))
    assert uneven.sparse_steps(queries, start.theta, 1e-3) is None
    bound = PMOPLoss().bind(queries.labels, queries.offsets)
    for optimizer, sparse in (("sgd", True), ("adam", False)):
        epoch = Stochastic(optimizer=optimizer).epoch(Objective(start, bound, queries), start.theta, np.zeros(85))
        assert (getattr(epoch, "sparse", None) is not None) is sparse
