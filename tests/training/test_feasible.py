"""Steps that stay feasible, and the projection against a generic solver."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

import podium
from podium.losses import StructRankLoss
from podium.scorers import Kernel
from podium.training import Feasible
from podium.training.feasible import project


@pytest.mark.parametrize("seed", range(5))
def test_projection_against_a_generic_solver(seed: int) -> None:
    rng = np.random.default_rng(seed)
    point = rng.standard_normal(4) * 2
    solved = minimize(
        lambda x: ((x - point) ** 2).sum(),
        np.full(4, 0.1),
        bounds=[(0, None)] * 4,
        constraints={"type": "ineq", "fun": lambda x: 1.5 - x.sum()},
        options={"ftol": 1e-12},
    )
    np.testing.assert_allclose(project(point, 1.5), solved.x, atol=1e-5)


@pytest.mark.parametrize("keep", ["shrink", "project"])
def test_training_stays_inside_and_learns(keep: str) -> None:
    train = podium.make_queries(n_queries=20, n_documents=10, n_features=4, random_state=0)
    valid = podium.make_queries(n_queries=10, n_documents=10, n_features=4, random_state=0)
    trainer = Feasible(radius=4.0, restarts=2, epochs=6, keep=keep)
    ranker = podium.Ranker(StructRankLoss(), Kernel(), trainer, normalize="minmax", random_state=0)
    ranker.fit(train, eval_set=valid)
    theta = np.concatenate((ranker.model_.theta, ranker.loss_parameters_))
    assert theta.min() >= 0
    assert theta.sum() <= 4.0 + 1e-9
    assert ranker.convergence_.losses[-1] < ranker.convergence_.losses[0]
    again = podium.Ranker(StructRankLoss(), Kernel(), trainer, normalize="minmax", random_state=0)
    assert np.array_equal(again.fit(train, eval_set=valid).model_.theta, ranker.model_.theta)


def test_settings_are_checked() -> None:
    queries = podium.make_queries(n_queries=4, n_documents=5, n_features=2)
    for trainer, message in ((Feasible(radius=0.0), "radius"), (Feasible(keep="bounce"), "keep must be one of")):
        with pytest.raises(ValueError, match=message):
            podium.Ranker(StructRankLoss(), Kernel(), trainer).fit(queries)
