"""A loss of one's own: NumPy, compiled and PyTorch functions, wherever a loss works, and what becomes of errors."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import pytest
from numba import njit

import podium
from podium.losses import FunctionLoss, Loss, RegressionLoss
from podium.numerics import pool
from podium.scorers import MLP, Linear, Trees
from podium.training import LBFGS, Stochastic


def squares(scores, labels):
    difference = scores - labels
    return 0.5 * difference @ difference, difference


def squares_with_curvature(scores, labels):
    return (*squares(scores, labels), np.ones(len(scores)))


@njit
def compiled_squares_with_curvature(scores, labels):
    difference = scores - labels
    return 0.5 * (difference * difference).sum(), difference, np.ones(len(scores))


compiled_squares = njit(squares)


def torch_squares(scores, labels):
    import torch

    return 0.5 * torch.square(scores - labels).sum()


def plain_squares(scores, labels):
    """Neither NumPy's nor PyTorch's by its code, but it returns the value alone."""
    return 0.5 * ((scores - labels) ** 2).sum()


needs_torch = pytest.mark.skipif(find_spec("torch") is None, reason="needs PyTorch")
every_kind = pytest.mark.parametrize(
    "function",
    [
        pytest.param(squares, id="numpy"),
        pytest.param(compiled_squares, id="compiled"),
        pytest.param(torch_squares, id="torch", marks=needs_torch),
        pytest.param(plain_squares, id="one value", marks=needs_torch),
    ],
)


@pytest.fixture(autouse=True)
def _import_torch():
    """A PyTorch function is known by PyTorch's being imported; a user's file does so at its top."""
    if find_spec("torch") is not None:
        import torch  # noqa: F401


def lists() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    offsets = np.concatenate(([0], np.cumsum([3, 0, 1, 6, 40])))
    return rng.normal(size=50), rng.integers(0, 4, 50).astype(float), offsets


@every_kind
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_value_and_gradient_are_the_functions(function, dtype) -> None:
    scores, labels, offsets = lists()
    weight = np.array([1.0, 2.0, 0.0, 3.0, 0.5])
    found = FunctionLoss(function).value_and_gradient(scores.astype(dtype), labels, offsets, query_weight=weight)
    expected = RegressionLoss(normalize=False).value_and_gradient(
        scores.astype(dtype).astype(float), labels, offsets, query_weight=weight
    )
    assert found.value == pytest.approx(expected.value, rel=1e-12)
    assert found.d_scores.dtype == dtype
    np.testing.assert_allclose(found.d_scores, expected.d_scores, rtol=1e-6 if dtype == np.float32 else 1e-12)


@pytest.mark.parametrize("function", [squares_with_curvature, compiled_squares_with_curvature], ids=["numpy", "njit"])
def test_curvature_is_the_functions(function) -> None:
    scores, labels, offsets = lists()
    loss = FunctionLoss(function, has_curvature=True)
    found = loss.value_and_gradient(scores, labels, offsets, curvature=True)
    expected = RegressionLoss(normalize=False).value_and_gradient(scores, labels, offsets, curvature=True)
    np.testing.assert_allclose(found.d2_scores, expected.d2_scores)
    assert loss.value_and_gradient(scores, labels, offsets).value == pytest.approx(expected.value)
    with pytest.raises(ValueError, match="no second derivative"):
        FunctionLoss(squares).value_and_gradient(scores, labels, offsets, curvature=True)


def test_facts_are_parameters() -> None:
    loss = FunctionLoss(squares, convex=True)
    assert (loss.convex, loss.shift_invariant, loss.has_curvature) == (True, False, False)
    assert loss.get_params()["function"] is squares
    assert FunctionLoss(squares) == FunctionLoss(squares) != loss


def data(n_queries: int = 12) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    x = rng.normal(size=(n_queries * 8, 3))
    y = np.clip(np.round(x[:, 0] + 1), 0, 3)
    return x, y, np.repeat(np.arange(n_queries), 8)


@every_kind
@pytest.mark.parametrize(
    ("scorer", "trainer"),
    [
        (Linear(l2=0.01), LBFGS()),
        (Linear(l2=0.01), Stochastic(epochs=3)),
        (MLP(hidden=(3,)), Stochastic(epochs=3)),
        (MLP(hidden=(3,)), LBFGS(max_iter=5)),
        (Trees(n_trees=5), None),
    ],
    ids=["linear", "linear steps", "mlp steps", "mlp", "trees"],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_trains_what_the_same_loss_of_ours_trains(function, scorer, trainer) -> None:
    x, y, qid = data()
    own, ours = (
        podium.Ranker(loss, scorer, trainer=trainer, random_state=0).fit(x, y, qid=qid)
        for loss in (FunctionLoss(function), RegressionLoss(normalize=False))
    )
    if not isinstance(scorer, Trees):  # ours tells them its second derivative
        np.testing.assert_allclose(own.predict(x), ours.predict(x), rtol=1e-4, atol=1e-4)
    assert podium.evaluate(y, own.predict(x), qid=qid, metrics="ndcg@10").mean["ndcg@10"] > 0.7


# ---- errors


def fails_on_threes(scores, labels):
    if labels[0] == 3.0:
        raise ArithmeticError("no threes, please")
    return 0.0, np.zeros(len(scores))


def wrong_shape(scores, labels):
    return 0.0, np.zeros(len(scores) + (labels[0] == 3.0))


def bad_gradient(scores, labels):
    return 0.0, np.where(labels == 3.0, np.nan, 0.0)


def bad_value(scores, labels):
    return (np.inf if labels[0] == 3.0 else 0.0), np.zeros(len(scores))


def only_a_value(scores, labels):
    return 1.0


def torch_fails(scores, labels):
    import torch

    if labels[0] == 3.0:
        raise ArithmeticError("no threes, please")
    return torch.sum(scores)


LABELS, OFFSETS = np.array([0.0, 1.0, 3.0, 0.0]), np.array([0, 1, 2, 4])


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (fails_on_threes, "no threes"),
        (njit(fails_on_threes), "no threes"),
        (wrong_shape, r"gradient has shape \(3,\); expected \(2,\)"),
        (njit(wrong_shape), "one entry per document"),
        (bad_gradient, "gradient is not finite"),
        (njit(bad_gradient), "gradient is not finite"),
        (bad_value, "the value is inf"),
        (njit(bad_value), "not a finite number"),
        pytest.param(torch_fails, "no threes", marks=needs_torch),
    ],
)
@pytest.mark.parametrize("where", ["value", "fit", "steps"])
def test_errors_name_the_query(function, message, where, monkeypatch) -> None:
    monkeypatch.setattr(pool, "LITTLE_WORK", 0)
    loss = FunctionLoss(function)

    def evaluate() -> None:
        if where == "value":
            loss.value_and_gradient(np.zeros(4), LABELS, OFFSETS)
        else:
            trainer = LBFGS() if where == "fit" else Stochastic(epochs=1)
            podium.Ranker(loss, Linear(), trainer=trainer).fit(np.eye(4), LABELS, qid=[0, 1, 2, 2])

    with pytest.raises(ArithmeticError if "threes" in message else ValueError, match=message) as caught:
        evaluate()
    by_id = [] if where == "value" else ["query number 2 has the id 2"]
    assert caught.value.__notes__ == ["FunctionLoss failed on query number 2", *by_id]
    if function in (fails_on_threes, torch_fails):  # the traceback leads into the user's code
        assert caught.traceback[-1].name == function.__name__


def test_a_function_that_returns_something_else() -> None:
    with pytest.raises(TypeError, match=r"must return \(value, gradient\)"):
        FunctionLoss(only_a_value).value_and_gradient(np.zeros(4), LABELS, OFFSETS)
    with pytest.raises(TypeError, match="function of scores and labels"):
        FunctionLoss("squares").bind(LABELS, OFFSETS)


def test_a_function_cannot_change_what_it_is_given() -> None:
    def changes(scores, labels):
        scores[0] = 1.0
        return 0.0, scores

    with pytest.raises(ValueError, match="read-only"):
        FunctionLoss(changes).value_and_gradient(np.zeros(4), LABELS, OFFSETS)


def test_an_interruption_is_not_wrapped() -> None:
    def interrupted(scores, labels):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        FunctionLoss(interrupted).value_and_gradient(np.zeros(4), LABELS, OFFSETS)


def test_scores_that_are_not_finite_are_refused_by_name() -> None:
    for function in (squares, compiled_squares):
        with pytest.raises(ValueError, match="document 0 of query number 2 is nan"):
            FunctionLoss(function).value_and_gradient([0.0, 0.0, np.nan, 0.0], LABELS, OFFSETS)


def test_a_subclass_in_plain_python() -> None:
    class Squares(Loss):
        scale: float = 1.0

        def choose_kernel(self):
            def kernel(given, prepared, out):
                labels, scale = prepared
                difference = given.scores - labels[given.start : given.start + len(given.scores)]
                out.gradient[:] = scale * difference
                return 0.5 * scale * difference @ difference

            return kernel

        def prepare(self, data):
            return data.labels, self.scale

    scores, labels, offsets = lists()
    found = Squares(scale=2.0).value_and_gradient(scores, labels, offsets)
    expected = RegressionLoss(normalize=False).value_and_gradient(scores, labels, offsets)
    assert found.value == pytest.approx(2 * expected.value)
    np.testing.assert_allclose(found.d_scores, 2 * expected.d_scores)


def test_saved_with_the_name_of_the_function(tmp_path) -> None:
    x, y, qid = data()
    ranker = podium.Ranker(FunctionLoss(squares), Linear()).fit(x, y, qid=qid)
    path = tmp_path / "model.podium"
    ranker.save(path)
    name = f"{__name__}:squares"
    with pytest.raises(Exception, match="squares"):
        podium.load(path)
    loaded = podium.load(path, parts={name: squares})
    np.testing.assert_array_equal(loaded.predict(x), ranker.predict(x))
