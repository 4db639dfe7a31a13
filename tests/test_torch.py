"""The PyTorch extra: our losses under autograd, modules as scorers, our networks against autograd."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import torch

import podium
import podium.torch
from podium.data.queries import Queries
from podium.files.models import ModelFileError
from podium.losses import ListNetLoss, PMOPLoss, RankNetLoss
from podium.losses.ties import DavidsonLoss
from podium.scorers import MLP, Potentials, Torch, TorchModel
from podium.training import LBFGS, Stochastic

OFFSETS = np.array([0, 4, 4, 9, 10])
LABELS = np.random.default_rng(0).integers(0, 3, 10)


def scores(dtype=torch.float64) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(1).standard_normal(10)).to(dtype).requires_grad_()


class ScaledTanh(torch.nn.Module):
    def forward(self, z: torch.Tensor) -> torch.Tensor:
        return 1.7159 * torch.tanh(z * 2 / 3)


def small_net(n_features: int = 4) -> torch.nn.Module:
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(n_features, 5), torch.nn.Tanh(), torch.nn.Linear(5, 1))


class Centered(torch.nn.Module):
    """Scores depend on the whole list: each document is compared with the list's mean."""

    def __init__(self, n_features: int = 4) -> None:
        super().__init__()
        self.inner = small_net(n_features)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.inner(x - x.mean(dim=0)) + 0.1 * x.sum()


# ---- losses


def test_value_and_gradient_are_podiums() -> None:
    for loss in (ListNetLoss(), PMOPLoss(), RankNetLoss()):
        s = scores()
        value = podium.torch.loss(loss)(s, LABELS, OFFSETS)
        (3.0 * value).backward()
        expected = loss.value_and_gradient(s.detach().numpy(), LABELS, OFFSETS)
        assert value.item() == pytest.approx(expected.value, rel=1e-12)
        np.testing.assert_allclose(s.grad.numpy(), 3.0 * expected.d_scores, rtol=1e-12)


def test_listnet_agrees_with_autograd_through_softmax() -> None:
    s, t = scores(), scores()
    podium.torch.loss(ListNetLoss())(s, LABELS, OFFSETS).backward()
    value = 0.0
    for a, b in pairwise(OFFSETS):
        if b - a > 1:
            target = torch.softmax(torch.from_numpy(LABELS[a:b]).double(), 0)
            value = value - (target * torch.log_softmax(t[a:b], 0)).sum() / (len(OFFSETS) - 1)
    value.backward()
    np.testing.assert_allclose(s.grad.numpy(), t.grad.numpy(), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16])
def test_the_value_has_the_scores_type(dtype) -> None:
    s = scores(dtype)
    value = podium.torch.loss(ListNetLoss())(s, torch.from_numpy(LABELS), torch.from_numpy(OFFSETS))
    value.backward()
    assert value.dtype == s.grad.dtype == dtype
    exact = ListNetLoss().value_and_gradient(scores().detach().numpy(), LABELS, OFFSETS)
    tolerance = 1e-5 if dtype in (torch.float32, torch.float64) else 0.05
    assert value.item() == pytest.approx(exact.value, rel=tolerance)


def test_padded_lists_equal_lists_in_a_row() -> None:
    flat = scores()
    padded_scores, padded_labels = torch.full((4, 5), 1e9, dtype=torch.float64), np.full((4, 5), np.nan)
    mask = torch.zeros(4, 5, dtype=torch.bool)
    for q, (a, b) in enumerate(pairwise(OFFSETS)):
        padded_scores[q, : b - a] = flat.detach()[a:b]
        padded_labels[q, : b - a] = LABELS[a:b]
        mask[q, : b - a] = True
    padded_scores.requires_grad_()
    criterion = podium.torch.loss(ListNetLoss())
    one, other = criterion(flat, LABELS, OFFSETS), criterion(padded_scores, padded_labels, mask=mask)
    assert one.item() == other.item()
    one.backward()
    other.backward()
    np.testing.assert_array_equal(padded_scores.grad[mask].numpy(), flat.grad.numpy())
    assert (padded_scores.grad[~mask] == 0).all()


def test_the_gradient_passes_gradcheck() -> None:
    bound = podium.torch.loss(ListNetLoss()).bind(LABELS, OFFSETS, query_weight=[1, 2, 1, 3])
    assert torch.autograd.gradcheck(bound, (scores(),))


def test_a_loss_learns_its_own_parameters() -> None:
    criterion = podium.torch.loss(DavidsonLoss())
    s = scores()
    value = criterion(s, LABELS, OFFSETS)
    value.backward()
    expected = DavidsonLoss().value_and_gradient(s.detach().numpy(), LABELS, OFFSETS)
    assert len(list(criterion.parameters())) == 1
    np.testing.assert_allclose(criterion.own.grad.numpy(), expected.d_parameters, rtol=1e-12)


def test_wrong_shapes_are_refused() -> None:
    criterion = podium.torch.loss(ListNetLoss())
    with pytest.raises(ValueError, match="mask, not offsets"):
        criterion(torch.zeros(2, 3), np.zeros((2, 3)), [0, 3, 6])
    with pytest.raises(ValueError, match="shape"):
        criterion(torch.zeros(2, 3), np.zeros((2, 3)), mask=np.ones((2, 2)))
    with pytest.raises(ValueError, match="offsets"):
        criterion(torch.zeros(3), np.zeros(3), mask=np.ones(3))
    with pytest.raises(ValueError, match="shape"):
        criterion(torch.zeros(4), np.zeros(3))
    with pytest.raises(ValueError, match="finite"):
        criterion(torch.tensor([0.0, float("nan")]), [1, 0])
    with pytest.raises(TypeError, match=r"podium\.losses"):
        podium.torch.loss(torch.nn.MSELoss())


# ---- our networks against autograd


@pytest.mark.parametrize("pool", ["sum", "mean"])
def test_potentials_agree_with_autograd(pool: str) -> None:
    rng = np.random.default_rng(2)
    queries = Queries(rng.standard_normal((12, 3)), sizes=[5, 7])
    model = Potentials(2, 3, pool).start(queries, rng)
    model = model.at(rng.standard_normal(len(model.theta)))
    theta = torch.from_numpy(model.theta).requires_grad_()
    w, b, v, c, a, pair_b, pair_v, pair_c = torch.split(theta, [6, 2, 2, 1, 18, 3, 3, 1])
    t, parts = ScaledTanh(), []
    for s in queries.slices():
        x = torch.from_numpy(queries.features[s])
        p, q = (x @ a.reshape(6, 3).T).split(3, dim=1)
        pairs = t(t((p + pair_b)[:, None] + q[None]) @ pair_v + pair_c) * (1 - torch.eye(len(x)))
        parts.append(t(t(x @ w.reshape(2, 3).T + b) @ v + c) + pairs.sum(1) / (len(x) - 1 if pool == "mean" else 1))
    expected = torch.cat(parts)
    d_scores = rng.standard_normal(12)
    expected.backward(torch.from_numpy(d_scores))
    found, backward = model.forward(queries)
    np.testing.assert_allclose(found, expected.detach().numpy(), rtol=1e-10)
    np.testing.assert_allclose(backward(d_scores), theta.grad.numpy(), rtol=1e-9, atol=1e-11)


def test_mlp_agrees_with_a_module() -> None:
    rng = np.random.default_rng(3)
    queries = Queries(rng.standard_normal((20, 4)), sizes=[8, 12])
    module = torch.nn.Sequential(
        torch.nn.Linear(4, 6), torch.nn.ReLU(), torch.nn.Linear(6, 3), torch.nn.ReLU(), torch.nn.Linear(3, 1)
    ).double()
    theirs = Torch(module).start(queries, rng)
    ours = MLP((6, 3), "relu").start(queries, rng).at(theirs.theta)  # both hold matrix, biases, layer by layer
    d_scores = rng.standard_normal(20)
    for (found, backward), (expected, back) in [(ours.forward(queries), theirs.forward(queries))]:
        np.testing.assert_allclose(found, expected, rtol=1e-10)
        np.testing.assert_allclose(backward(d_scores), back(d_scores), rtol=1e-9, atol=1e-12)


# ---- modules as scorers


@pytest.mark.parametrize(("module", "per"), [(small_net(), "document"), (Centered(), "list")])
def test_backward_by_finite_differences(module: torch.nn.Module, per: str) -> None:
    queries = podium.make_queries(n_queries=4, n_documents=5, n_features=4, random_state=0).normalized("zscore")
    model = Torch(module.double(), per=per).start(queries, np.random.default_rng(0))
    d_scores = np.random.default_rng(1).standard_normal(queries.n_documents)
    gradient = model.forward(queries)[1](d_scores)
    for i in range(len(gradient)):
        step = np.zeros(len(gradient))
        step[i] = 1e-6
        up, down = model.at(model.theta + step).scores(queries), model.at(model.theta - step).scores(queries)
        assert gradient[i] == pytest.approx(d_scores @ (up - down) / 2e-6, rel=1e-5, abs=1e-7)


@pytest.mark.parametrize("trainer", [LBFGS(max_iter=15), Stochastic(epochs=3, learning_rate=0.02)], ids=repr)
@pytest.mark.parametrize(("build", "per"), [(small_net, "document"), (Centered, "list")])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # few iterations
def test_a_module_learns_and_stays_as_it_was(trainer, build, per: str) -> None:
    queries = podium.make_queries(n_queries=20, n_documents=6, n_features=4, random_state=1)
    module = build()
    before = [p.detach().clone() for p in module.parameters()]
    ranker = podium.Ranker(ListNetLoss(), Torch(module, per), trainer, random_state=0)
    first = ranker.fit(queries).predict(queries)
    second = ranker.fit(queries).predict(queries)
    assert ranker.convergence_.losses[-1] < ranker.convergence_.losses[0]
    np.testing.assert_array_equal(first, second)
    assert all(torch.equal(p, q) for p, q in zip(module.parameters(), before, strict=True))
    if per == "list":
        with pytest.raises(ValueError, match="qid="):
            ranker.predict(queries.features)


def test_dropout_is_seeded_and_the_programs_random_numbers_are_left_alone() -> None:
    queries = podium.make_queries(n_queries=8, n_documents=5, n_features=4, random_state=1)
    module = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Dropout(0.5), torch.nn.Linear(8, 1))
    ranker = podium.Ranker(ListNetLoss(), Torch(module), Stochastic(epochs=2), random_state=0)
    state = torch.get_rng_state()
    first = ranker.fit(queries).predict(queries)
    assert torch.equal(state, torch.get_rng_state())
    torch.rand(7)
    np.testing.assert_array_equal(first, ranker.fit(queries).predict(queries))


def test_reset_starts_differ_and_given_ones_do_not() -> None:
    queries = podium.make_queries(n_queries=2, n_documents=3, n_features=4, random_state=0)
    for initialize, same in (("given", True), ("reset", False)):
        scorer = Torch(small_net(), initialize=initialize)
        a, b, c = (scorer.start(queries, np.random.default_rng(seed)).theta for seed in (0, 1, 0))
        assert np.array_equal(a, b) is same
        assert np.array_equal(a, c)


def test_the_state_needs_a_module_that_fits() -> None:
    queries = podium.make_queries(n_queries=3, n_documents=4, n_features=4, random_state=0)
    scorer = Torch(small_net())
    model = scorer.start(queries, np.random.default_rng(0))
    model = model.at(model.theta + 0.5)
    state = model.to_arrays()
    assert {value.dtype for value in state.values()} == {np.dtype(np.float32)}
    again = TorchModel.from_arrays(Torch(small_net()), state)
    np.testing.assert_array_equal(again.scores(queries), model.scores(queries))
    x = torch.from_numpy(queries.features)
    np.testing.assert_allclose(model.to_module()(x)[:, 0].detach().numpy(), model.scores(queries), rtol=1e-6)
    with pytest.raises(ValueError, match="does not fit"):
        TorchModel.from_arrays(Torch(small_net(3)), state)
    with pytest.raises(ValueError, match="not its code"):
        TorchModel.from_arrays(None, state)


def test_a_saved_ranker_asks_for_its_module(tmp_path) -> None:
    queries = podium.make_queries(20, 6, 4, random_state=0)
    ranker = podium.Ranker(ListNetLoss(), Torch(small_net()), Stochastic(epochs=2), random_state=0).fit(queries)
    ranker.save(tmp_path / "model.podium")
    with pytest.raises(ModelFileError, match=r"module is code.*load\(path, module=\.\.\.\)"):
        podium.load(tmp_path / "model.podium")
    with pytest.raises(ModelFileError, match="no use for other"):
        podium.load(tmp_path / "model.podium", module=small_net(), other=1)
    with pytest.raises(ModelFileError, match="does not fit the saved weights"):
        podium.load(tmp_path / "model.podium", module=small_net(5))
    again = podium.load(tmp_path / "model.podium", module=small_net())
    np.testing.assert_array_equal(again.predict(queries.features), ranker.predict(queries.features))


def test_wrong_modules_are_refused() -> None:
    queries = podium.make_queries(n_queries=3, n_documents=4, n_features=4, random_state=0)
    start = lambda scorer: scorer.start(queries, np.random.default_rng(0))  # noqa: E731
    with pytest.raises(ValueError, match=r"nn\.Module"):
        start(Torch(torch.nn.Linear))
    with pytest.raises(ValueError, match="per"):
        start(Torch(small_net(), per="query"))
    with pytest.raises(ValueError, match="scores"):
        start(Torch(torch.nn.Linear(4, 2))).scores(queries)
