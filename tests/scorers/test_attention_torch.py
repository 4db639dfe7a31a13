"""Attention: order, padding, files, ONNX, losses, comparisons. Its contract is in test_scorer_contract_torch.py."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.exceptions import ConvergenceWarning

import podium
from podium.data.queries import Queries
from podium.files.models import ModelFileError
from podium.losses import DrawnLabels, FunctionLoss, ListNetLoss, Loss, PMOPLoss, RegressionLoss, WithRegression
from podium.scorers import MLP, Attention, LinearModel
from podium.scorers import attention_torch as attention
from podium.training import LBFGS, Stochastic
from podium.training.stochastic import CompiledEpoch

TOLERANCE = {"float32": 1e-5, "float64": 1e-10}
FEW = Stochastic(epochs=2, batch_size=8)
LOSSES = [
    found()
    for found in vars(podium.losses).values()
    if isinstance(found, type)
    and issubclass(found, Loss)
    and found not in (Loss, DrawnLabels, FunctionLoss, WithRegression)
]
both_types = pytest.mark.parametrize("dtype", list(TOLERANCE))


def lists(sizes: Any = (7, 0, 1, 30, 12, 12, 5), seed: int = 0) -> Queries:
    rng = np.random.default_rng(seed)
    n = int(np.sum(sizes))
    return Queries(rng.standard_normal((n, 4)), rng.integers(0, 3, n), sizes=list(sizes))


def model_of(dtype: str, queries: Queries, **settings: Any) -> Any:
    model = Attention(layers=2, heads=2, width=16, dtype=dtype, **settings).start(queries, np.random.default_rng(0))
    return model.at(model.theta + np.random.default_rng(1).normal(0.0, 0.2, len(model.theta)))


@both_types
def test_documents_in_another_order_get_the_same_scores(dtype: str) -> None:
    queries = lists()
    rng, model = np.random.default_rng(5), model_of(dtype, queries)
    order = np.concatenate([one.start + rng.permutation(one.stop - one.start) for one in queries.slices()])
    scores = model.scores(queries)
    assert scores.std() > 0.3
    moved = model.scores(queries.with_features(queries.features[order]))
    np.testing.assert_allclose(moved, scores[order], rtol=0, atol=TOLERANCE[dtype])


@both_types
def test_padding_changes_no_score(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    queries = lists(sizes=(7, 0, 1, 30, 12, 12, 5) * 3)
    model = model_of(dtype, queries)
    padded = model.scores(queries)  # one batch, as long as its longest list
    masks = [mask for _, mask in attention.padded_batches(queries.offsets)]
    assert len(masks) == 1
    assert masks[0] is not None
    alone = np.concatenate([model.scores(queries.take([q])) for q in range(len(queries))])
    np.testing.assert_allclose(padded, alone, rtol=0, atol=TOLERANCE[dtype])
    module = model.to_module()
    documents = torch.from_numpy(queries.take([3]).features).to(getattr(torch, dtype))
    with torch.no_grad():  # and whatever stands in its place
        beside = torch.full((1, 40, 4), 1e3, dtype=documents.dtype)
        beside[0, :30] = documents
        found = module(beside, torch.arange(40)[None] < 30)[0, :30]
    np.testing.assert_allclose(found.numpy(), model.scores(queries.take([3])), rtol=0, atol=TOLERANCE[dtype])


def test_batches_are_of_similar_lengths_and_leave_nothing_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attention, "SMALL", 20)
    monkeypatch.setattr(attention, "LARGEST_BATCH", 200)
    monkeypatch.setattr(attention, "LARGEST_ATTENTION", 4_000)
    queries = lists(sizes=np.random.default_rng(3).integers(0, 60, 80))
    queries = lists(sizes=[*queries.sizes, 500])
    seen, longest = [], []
    for rows, mask in attention.padded_batches(queries.offsets):
        where = np.ones(rows.shape, bool) if mask is None else mask
        own = where.sum(axis=1)
        assert own.max() == rows.shape[1]
        assert rows.size <= 20 or own.max() <= 1.25 * own.min()
        assert len(rows) == 1 or (rows.size <= 200 and rows.size * rows.shape[1] <= 4_000)
        owner = queries.query_of_document[rows]
        assert (owner == owner[:, :1]).all()  # padding is of the same list
        seen.append(rows[where])
        longest.append(rows.shape[1])
    assert sorted(np.concatenate(seen)) == list(range(queries.n_documents))
    assert longest == sorted(longest)
    model = model_of("float64", queries)
    batched = model.scores(queries)
    monkeypatch.undo()
    np.testing.assert_allclose(batched, model.scores(queries), rtol=0, atol=1e-10)


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
def test_any_loss_trains_it(loss: Loss) -> None:
    queries = podium.make_queries(n_queries=12, n_documents=6, n_features=4, random_state=3)
    scorer, trainer = Attention(layers=1, width=8, dropout=0.0), Stochastic(6, batch_size=4, learning_rate=0.01)
    ranker = podium.Ranker(loss, scorer, trainer, random_state=0).fit(queries)
    assert ranker.score(queries) > podium.RandomRanker(random_state=0).fit(queries).score(queries) + 0.1


def test_lbfgs_trains_it_too() -> None:
    queries = podium.make_queries(n_queries=12, n_documents=6, n_features=4, random_state=3)
    scorer = Attention(layers=1, width=4, dropout=0.0, dtype="float64", l2=1e-3)
    ranker = podium.Ranker(PMOPLoss(), scorer, LBFGS(max_iter=10), random_state=0)
    with pytest.warns(match="10 iterations"):
        ranker.fit(queries)
    assert ranker.convergence_.losses[-1] < ranker.convergence_.losses[0]


def test_a_saved_ranker_needs_no_module(tmp_path: Any) -> None:
    queries = podium.make_queries(n_queries=12, n_documents=6, n_features=4, random_state=3)
    for dtype in TOLERANCE:
        scorer = Attention(layers=1, heads=4, width=8, dtype=dtype)
        ranker = podium.Ranker(PMOPLoss(), scorer, FEW, random_state=0).fit(queries)
        ranker.save(tmp_path / "model.podium")
        again = podium.load(tmp_path / "model.podium")
        assert again.scorer == scorer
        np.testing.assert_array_equal(again.predict(queries), ranker.predict(queries))
        with pytest.raises(ModelFileError, match="no use for module"):
            podium.load(tmp_path / "model.podium", module=torch.nn.Linear(4, 1))
    with pytest.raises(ValueError, match="cannot be served"):
        podium.serving.load(tmp_path / "model.podium")


def test_training_starts_from_equal_scores_or_from_a_linear_model() -> None:
    queries = lists(sizes=[15] * 30)
    scorer = Attention(layers=1, width=8, dtype="float64")
    start = scorer.start(queries, np.random.default_rng(0))
    assert not start.scores(queries).any()
    line = LinearModel.from_coefficients(np.array([2.0, -1.0, 0.0, 0.5]), intercept=3.0)
    np.testing.assert_allclose(start.continued(line).scores(queries), line.scores(queries), rtol=0, atol=1e-12)
    still = {"epochs": 1, "learning_rate": 1e-12, "dtype": "float64", "normalize": "standard", "random_state": 0}
    for loss in (ListNetLoss(), PMOPLoss(), RegressionLoss()):
        scores = podium.AttentionRanker(loss=loss, **still).fit(queries).predict(queries)
        design = np.column_stack((queries.features, np.ones(queries.n_documents)))
        weights, *_ = np.linalg.lstsq(design, scores)
        np.testing.assert_allclose(design @ weights, scores, rtol=0, atol=1e-6)
        assert np.abs(weights[:-1]).max() > 0.01
    assert abs(scores.mean() - queries.labels.mean()) < 0.2  # the constant of squared error's


def test_penalties_are_on_weights_only() -> None:
    queries = lists()
    model = Attention(layers=1, width=8, l2=3.0).start(queries, np.random.default_rng(0))
    weights = np.concatenate([p.detach().numpy().ravel() for p in model.module.parameters() if p.ndim == 2])
    value, gradient = model.penalty()
    assert value == pytest.approx(1.5 * np.sum(weights.astype(float) ** 2))
    assert np.count_nonzero(gradient) == np.count_nonzero(weights)


def test_going_on_does_not_begin_with_a_line_again() -> None:
    queries = podium.make_queries(n_queries=12, n_documents=6, n_features=4, random_state=3)
    ranker = podium.AttentionRanker(layers=1, width=8, epochs=5, learning_rate=0.01, random_state=0).fit(queries)
    scores = ranker.predict(queries)
    again = ranker.set_params(epochs=1, learning_rate=1e-12).fit(queries, init=ranker)
    np.testing.assert_allclose(again.predict(queries), scores, rtol=0, atol=1e-5)


def test_an_interrupted_start_is_a_linear_model(monkeypatch: pytest.MonkeyPatch) -> None:
    queries = podium.make_queries(n_queries=12, n_documents=6, n_features=4, random_state=3)

    def interrupt(*_: Any) -> float:
        raise KeyboardInterrupt

    monkeypatch.setattr(CompiledEpoch, "run", interrupt)
    with pytest.warns(ConvergenceWarning, match="interrupted after 0 epochs"):
        ranker = podium.AttentionRanker(layers=1, width=8, random_state=0).fit(queries)
    assert ranker.convergence_.interrupted
    assert ranker.convergence_.converged is False
    assert not ranker.predict(queries).any()


def test_weights_of_another_architecture_are_refused() -> None:
    queries = podium.make_queries(n_queries=3, n_documents=4, n_features=4, random_state=0)
    scorer = Attention(layers=2, heads=2, width=8)
    arrays = scorer.start(queries, np.random.default_rng(0)).to_arrays()
    assert {value.dtype for value in arrays.values()} == {np.dtype(np.float32)}
    build = scorer.model_class.from_arrays
    for other in (Attention(layers=100, width=8), Attention(layers=2, width=16), Attention(width=8, dtype="float64")):
        with pytest.raises(ValueError, match=r"2 layers|array of float64"):
            build(other, arrays)
    with pytest.raises(ValueError, match="do not fit"):
        build(scorer, arrays | {"blocks.0.join.weight": arrays["score.weight"]})
    with pytest.raises(ValueError, match=r"(?s)do not fit.*direct\.weight"):  # as before there was a linear part
        build(scorer, {name: values for name, values in arrays.items() if name != "direct.weight"})
    with pytest.raises(ValueError, match="finite"):
        build(scorer, arrays | {"score.weight": np.full((1, 8), np.nan, np.float32)})
    with pytest.raises(ValueError, match="needs its scorer"):
        build(None, arrays)


@both_types
def test_onnx_gives_the_same_scores_of_one_list_at_a_time(dtype: str, tmp_path: Any) -> None:
    queries = podium.make_queries(n_queries=12, n_documents=6, n_features=4, random_state=3)
    scorer = Attention(layers=2, heads=2, width=8, dtype=dtype)
    ranker = podium.Ranker(ListNetLoss(), scorer, Stochastic(5, 4, 0.01), random_state=0).fit(queries)
    path = tmp_path / "attention.onnx"
    podium.export(ranker, path, format="onnx")
    (check,) = podium.check_export(ranker, path, queries, format="onnx")
    assert check, str(check)
    assert check.largest_difference <= 1e-5 * check.largest_score
    assert "documents of one query" in path.with_name("attention.onnx.README.md").read_text().replace("all ", "")
    assert [name for name, why in podium.export_refusals(ranker).items() if why is None] == ["onnx"]


def test_dropout_is_seeded_and_only_for_training() -> None:
    queries = podium.make_queries(n_queries=12, n_documents=6, n_features=4, random_state=3)
    ranker = podium.AttentionRanker(layers=1, width=8, dropout=0.5, epochs=2, random_state=0)
    state = torch.get_rng_state()
    first = ranker.fit(queries).predict(queries)
    assert torch.equal(state, torch.get_rng_state())
    torch.rand(7)
    np.testing.assert_array_equal(first, ranker.fit(queries).predict(queries))
    np.testing.assert_array_equal(first, ranker.predict(queries))
    assert not np.array_equal(first, ranker.set_params(dropout=0.0).fit(queries).predict(queries))


def test_it_is_compared_by_name() -> None:
    queries = podium.make_queries(n_queries=12, n_documents=6, n_features=4, random_state=3)
    small = (podium.AttentionRanker(layers=1, width=8, epochs=2, random_state=0), {"learning_rate": [1e-3, 1e-2]})
    found = podium.compare(
        queries, {"small": small, "attention": None}, folds=3, search="random", budget=1, progress=False
    )
    assert {"small", "attention"} <= set(found.methods)


@pytest.mark.parametrize(
    "settings", [{"width": 9}, {"heads": 0}, {"layers": 0}, {"dropout": 1.0}, {"dtype": "float16"}]
)
def test_wrong_parameters_are_refused(settings: Any) -> None:
    with pytest.raises(ValueError, match=next(iter(settings))):
        Attention(**settings).start(lists(), np.random.default_rng(0))


def test_without_pytorch_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    queries = lists()
    for refused in (
        lambda: podium.AttentionRanker().fit(queries),
        lambda: podium.compare(queries, "attention", progress=False),
    ):
        with pytest.raises(ImportError, match=r"pip install 'podium-rank\[torch\]'"):
            refused()


def test_it_sees_what_a_network_of_single_documents_cannot(load_tool: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A small part of docs/results/attention.md: of documents that say the same, only the best is of use."""
    tool = load_tool("attention_study")
    monkeypatch.setattr(tool, "RATES", (0.01,))
    parts = [tool.lists("novelty", n, seed) for seed, n in enumerate((400, 100, 600))]
    small = {"Attention": Attention(1, 2, 16, dropout=0.0), "MLP": MLP((48, 48), "relu")}
    ours = tool.judge(tool.Contestant((small["Attention"],), "robust"), ListNetLoss(), parts, epochs=15)
    for normalize in ("robust", "zscore", "minmax"):
        other = tool.judge(tool.Contestant((small["MLP"],), normalize), ListNetLoss(), parts, epochs=15)
        assert ours.mean() > other.mean()
        assert tool.randomization_test(ours, other, 2_000) < 0.01


def test_without_a_trainer_it_is_trained_in_batches() -> None:
    queries = lists()
    by_default = podium.Ranker(ListNetLoss(), Attention(1, 2, 8), random_state=0).fit(queries)
    trainer = Stochastic(epochs=50, batch_size=8, learning_rate=3e-3)
    told = podium.Ranker(ListNetLoss(), Attention(1, 2, 8), trainer, random_state=0).fit(queries)
    np.testing.assert_array_equal(by_default.model_.theta, told.model_.theta)
