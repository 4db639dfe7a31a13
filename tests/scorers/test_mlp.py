"""The compiled network against NumPy's, layer by layer; and the compiled epoch against single steps."""

from __future__ import annotations

import numpy as np
import pytest

import podium
from podium.data.queries import Queries
from podium.losses import ListNetLoss
from podium.scorers.base import StartOptions
from podium.scorers.network.mlp import MLP, MLPModel
from podium.scorers.standardization import Standardization
from podium.training import Stochastic, stochastic
from podium.training.base import Problem


def by_definition(theta: np.ndarray, x: np.ndarray, scorer: MLP) -> np.ndarray:
    activations = {
        "tanh": lambda z: 1.7159 * np.tanh(2 * z / 3),
        "relu": lambda z: np.maximum(z, 0),
        "linear": lambda z: z,
    }
    hidden = scorer.hidden if isinstance(scorer.hidden, tuple) else (scorer.hidden,)
    at = 0
    for n_out, kind in [*((h, scorer.activation) for h in hidden), (1, scorer.output)]:
        n_in = x.shape[1]
        w = theta[at : at + n_in * n_out].reshape(n_out, n_in)
        b = theta[at + n_in * n_out : at + (n_in + 1) * n_out]
        x = activations[kind](x @ w.T + b)
        at += (n_in + 1) * n_out
    assert at == len(theta)
    return x[:, 0]


@pytest.mark.parametrize(
    "scorer",
    [MLP(), MLP((7, 3), "relu"), MLP((3, 2, 4), "tanh", "tanh"), MLP((), output="tanh"), MLP((40, 24))],
    ids=repr,
)
@pytest.mark.parametrize("n", [1, 255, 256, 1300])  # around the sizes of blocks and parts
def test_scores_follow_the_definition(scorer: MLP, n: int) -> None:
    rng = np.random.default_rng(n)
    x = rng.normal(3.0, 2.0, (n, 6))
    queries = Queries(x, sizes=[n])
    standardization = Standardization(np.full(6, 3.0), np.full(6, 0.5))
    model = scorer.start(queries, rng, StartOptions(standardization=standardization))
    model = model.at(rng.standard_normal(len(model.theta)))
    np.testing.assert_allclose(
        model.scores(queries), by_definition(model.theta, (x - 3.0) * 0.5, scorer), rtol=1e-10, atol=1e-12
    )


def test_wide_layers_take_the_matrix_products_of_blas_and_agree() -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((700, 60))
    queries = Queries(x, sizes=[700])
    scorer = MLP((64, 40))  # 60 · 64 · 256 multiplications per block: above the threshold
    model = scorer.start(queries, rng)
    np.testing.assert_allclose(model.scores(queries), by_definition(model.theta, x, scorer), rtol=1e-9, atol=1e-11)
    d_scores = rng.standard_normal(700)
    gradient = model.forward(queries)[1](d_scores)
    for _ in range(5):
        direction = rng.standard_normal(len(gradient))
        up, down = (by_definition(model.theta + s * direction, x, scorer) for s in (1e-6, -1e-6))
        assert gradient @ direction == pytest.approx(d_scores @ (up - down) / 2e-6, rel=1e-6)


def test_extreme_features_saturate_and_stay_finite() -> None:
    queries = Queries(np.array([[1e6, -1e6], [-1e6, 1e6], [0.0, 0.0]], np.float32), sizes=[3])
    model = MLP(4, output="tanh").start(queries, np.random.default_rng(0))
    scores, backward = model.forward(queries)
    assert (np.abs(scores) <= 1.7159 * (1 + 1e-6)).all()
    assert np.isfinite(backward(np.ones(3))).all()


@pytest.mark.parametrize("optimizer", ["adam", "momentum"])
@pytest.mark.parametrize("batch_size", [1, 4])
def test_the_compiled_epoch_takes_the_same_steps(monkeypatch, optimizer: str, batch_size: int) -> None:
    queries = podium.make_queries(n_queries=15, n_documents=9, n_features=4, random_state=2).normalized("zscore")
    weights = np.random.default_rng(0).integers(0, 3, 15).astype(float)
    trainer = Stochastic(epochs=3, batch_size=batch_size, optimizer=optimizer)

    def fit():
        problem = Problem(ListNetLoss(), MLP(3, l2=0.1), queries, weights, rng=np.random.default_rng(1))
        return trainer.fit(problem)

    compiled = fit()
    monkeypatch.setattr(stochastic, "CompiledEpoch", stochastic.Epoch)
    one_by_one = fit()
    np.testing.assert_allclose(compiled.model.theta, one_by_one.model.theta, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(compiled.convergence.losses, one_by_one.convergence.losses, rtol=1e-5)


def test_wrong_parameters_and_states_are_refused() -> None:
    queries = Queries(np.ones((2, 3)), sizes=[2])
    for scorer, words in (
        (MLP(0), "hidden"),
        (MLP((3, -1)), "hidden"),
        (MLP(activation="sigmoid"), "activation"),
        (MLP(output="relu"), "output"),
        (MLP(l2=-1.0), "l2"),
    ):
        with pytest.raises(ValueError, match=words):
            scorer.start(queries, np.random.default_rng(0))
    state = MLP(3).start(queries, np.random.default_rng(0)).to_arrays()
    with pytest.raises(ValueError, match="13 weights"):
        MLPModel.from_arrays(MLP(3), {**state, "weights": np.ones(13)})


def test_a_saved_ranker_predicts_the_same(tmp_path) -> None:
    queries = podium.make_queries(n_queries=10, n_documents=6, n_features=3, random_state=0)
    for scorer in (MLP((3, 2)), podium.scorers.Potentials(2, 2)):
        ranker = podium.Ranker(ListNetLoss(), scorer, Stochastic(epochs=1), random_state=0).fit(queries)
        ranker.save(tmp_path / "model.podium")
        again = podium.load(tmp_path / "model.podium")
        np.testing.assert_array_equal(again.predict(queries), ranker.predict(queries))
