"""What every scorer must do. A new scorer joins with one line in SCORERS."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import podium
from podium.data.queries import Queries
from podium.losses import ListNetLoss
from podium.numerics import pool
from podium.numerics.pool import n_threads, threads
from podium.scorers import MLP, Kernel, Linear, Potentials
from podium.scorers.base import Scorer, SmoothModel, StartOptions
from podium.scorers.standardization import Standardization
from podium.training import Stochastic

SCORERS: list[Scorer] = [
    Linear(),
    Kernel(n_landmarks=40),
    MLP(5),
    MLP((4, 3), activation="relu", output="tanh"),
    Potentials(3, 5),
    Potentials(2, 3, pool="mean"),
]
SPARSE = (Linear, MLP, Potentials)  # those that take CSR matrices


def queries_of(dtype: type = np.float64) -> Queries:
    q = podium.make_queries(n_queries=6, n_documents=8, n_features=4, random_state=1).normalized("minmax")
    sizes = np.insert(q.sizes, 3, 0)  # an empty list
    return Queries(q.features.astype(dtype), q.labels, sizes=sizes)


def model_of(scorer: Scorer, queries: Queries, seed: int = 0) -> SmoothModel:
    standardization = Standardization.fit(queries.features) if scorer.folds_standardization else None
    model = scorer.start(queries, np.random.default_rng(seed), StartOptions(standardization=standardization))
    if isinstance(scorer, Kernel):
        return model
    # Away from biases of 0, where layers of dead units sit exactly on the kink of relu.
    return model.at(model.theta + np.random.default_rng(seed + 1).normal(0.0, 0.3, len(model.theta)))


every_scorer = pytest.mark.parametrize("scorer", SCORERS, ids=repr)


@every_scorer
def test_backward_is_the_derivative_of_forward(scorer: Scorer) -> None:
    queries = queries_of()
    model = model_of(scorer, queries)
    d_scores = np.random.default_rng(2).standard_normal(queries.n_documents)
    gradient = model.forward(queries)[1](d_scores)
    numerical = np.empty_like(gradient)
    for i in range(len(gradient)):
        step = np.zeros_like(gradient)
        step[i] = 1e-6
        up, down = (model.at(model.theta + s).forward(queries)[0] for s in (step, -step))
        numerical[i] = d_scores @ (up - down) / 2e-6
    np.testing.assert_allclose(gradient, numerical, rtol=1e-5, atol=1e-7)


@every_scorer
def test_penalty_has_its_gradient(scorer: Scorer) -> None:
    model = model_of(scorer, queries_of())
    _, gradient = model.penalty()
    direction = np.random.default_rng(3).standard_normal(len(model.theta))
    up, down = (model.at(model.theta + s * direction).penalty()[0] for s in (1e-6, -1e-6))
    assert gradient @ direction == pytest.approx((up - down) / 2e-6, rel=1e-6, abs=1e-9)


@every_scorer
def test_float32_features_give_nearly_the_same(scorer: Scorer) -> None:
    double, single = queries_of(np.float64), queries_of(np.float32)
    model, same = model_of(scorer, double), model_of(scorer, single)
    d_scores = np.random.default_rng(4).standard_normal(double.n_documents)
    assert same.scores(single).dtype == np.float64
    np.testing.assert_allclose(same.scores(single), model.scores(double), rtol=1e-4, atol=1e-4)
    gradients = [m.forward(q)[1](d_scores) for m, q in ((model, double), (same, single))]
    assert gradients[1].dtype == np.float64
    np.testing.assert_allclose(gradients[1], gradients[0], rtol=1e-3, atol=1e-3)


@every_scorer
def test_documents_in_another_order_get_the_same_scores(scorer: Scorer) -> None:
    queries = queries_of()
    order = np.concatenate([s.start + np.random.default_rng(5).permutation(s.stop - s.start) for s in queries.slices()])
    shuffled = queries.with_features(queries.features[order])
    model = model_of(scorer, queries)
    np.testing.assert_allclose(model.scores(shuffled), model.scores(queries)[order], rtol=1e-10, atol=1e-12)


@every_scorer
def test_a_part_of_the_queries_is_scored_as_in_the_whole(scorer: Scorer) -> None:
    queries = queries_of()
    model = model_of(scorer, queries)
    part = queries.take([4, 1])
    whole = model.scores(queries)
    o = queries.offsets
    np.testing.assert_allclose(
        model.scores(part), np.concatenate((whole[o[4] : o[5]], whole[o[1] : o[2]])), rtol=1e-10, atol=1e-12
    )


@every_scorer
def test_only_a_listwise_scorer_sees_the_list(scorer: Scorer) -> None:
    queries = queries_of()
    model = model_of(scorer, queries)
    one_list = Queries(queries.features, sizes=[queries.n_documents])
    same = np.allclose(model.scores(one_list), model.scores(queries), rtol=1e-10, atol=1e-12)
    assert same is not scorer.listwise


@every_scorer
def test_lists_of_one_document_and_of_none(scorer: Scorer) -> None:
    queries = queries_of()
    model = model_of(scorer, queries)
    assert np.isfinite(model.scores(queries.take([0]).with_features(queries.take([0]).features))).all()
    single = Queries(queries.features[:1], sizes=[1])
    assert np.isfinite(model.scores(single)).all()
    assert model.scores(Queries(np.empty((0, 4)), sizes=[])).shape == (0,)


@every_scorer
def test_its_arrays_bring_the_model_back(scorer: Scorer) -> None:
    queries = queries_of()
    model = model_of(scorer, queries)
    arrays = {name: np.asarray(value).copy() for name, value in model.to_arrays().items()}
    again = scorer.model_class.from_arrays(scorer, arrays)
    np.testing.assert_array_equal(again.scores(queries), model.scores(queries))
    for name in arrays:
        with pytest.raises((ValueError, KeyError)):
            scorer.model_class.from_arrays(scorer, {k: v for k, v in arrays.items() if k != name})


@every_scorer
def test_the_same_seed_gives_the_same_start(scorer: Scorer) -> None:
    queries = queries_of()
    first, again = (scorer.start(queries, np.random.default_rng(7)) for _ in range(2))
    np.testing.assert_array_equal(first.theta, again.theta)
    np.testing.assert_array_equal(first.scores(queries), again.scores(queries))


@every_scorer
def test_inputs_are_left_alone_and_models_do_not_change(scorer: Scorer) -> None:
    queries = queries_of()
    model = model_of(scorer, queries)
    features, theta = queries.features.copy(), model.theta.copy()
    d_scores = np.ones(queries.n_documents)
    scores, backward = model.forward(queries)
    backward(d_scores)
    model.at(theta + 1.0).scores(queries)
    np.testing.assert_array_equal(queries.features, features)
    np.testing.assert_array_equal(model.theta, theta)
    np.testing.assert_array_equal(d_scores, 1.0)
    np.testing.assert_array_equal(model.forward(queries)[0], scores)


@every_scorer
def test_threads_do_not_change_a_bit(scorer: Scorer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "LITTLE_WORK", 0)
    queries = queries_of().take(np.arange(7).repeat(30))
    model = model_of(scorer, queries)
    d_scores = np.random.default_rng(8).standard_normal(queries.n_documents)
    results = []
    for n in (1, n_threads()):
        with threads(n):
            scores, backward = model.forward(queries)
            results.append((scores, backward(d_scores)))
    for scores, gradient in results[1:]:
        np.testing.assert_array_equal(scores, results[0][0])
        np.testing.assert_array_equal(gradient, results[0][1])


@pytest.mark.parametrize("scorer", [s for s in SCORERS if isinstance(s, SPARSE)], ids=repr)
def test_sparse_features_score_like_dense_ones(scorer: Scorer) -> None:
    dense = queries_of()
    csr = dense.with_features(sparse.csr_matrix(dense.features))
    model, same = model_of(scorer, dense), model_of(scorer, csr)
    d_scores = np.random.default_rng(9).standard_normal(dense.n_documents)
    np.testing.assert_allclose(same.scores(csr), model.scores(dense), rtol=1e-9, atol=1e-11)
    gradients = [m.forward(q)[1](d_scores) for m, q in ((model, dense), (same, csr))]
    np.testing.assert_allclose(gradients[1], gradients[0], rtol=1e-9, atol=1e-10)


@every_scorer
def test_it_learns_in_a_ranker(scorer: Scorer) -> None:
    queries = podium.make_queries(n_queries=30, n_documents=8, n_features=4, random_state=3)
    trainer = Stochastic(epochs=3, learning_rate=0.02)
    fits = [podium.Ranker(ListNetLoss(), scorer, trainer, random_state=0).fit(queries) for _ in range(2)]
    assert fits[0].convergence_.losses[-1] < fits[0].convergence_.losses[0]
    x, qid = queries.features, queries.query_of_document
    np.testing.assert_array_equal(fits[0].predict(x, qid), fits[1].predict(x, qid))
    if scorer.listwise:
        with pytest.raises(ValueError, match="qid="):
            fits[0].predict(x)
    else:
        np.testing.assert_allclose(fits[0].predict(x), fits[0].predict(x, qid))
