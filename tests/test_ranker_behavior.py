"""What every ranker must do, run on each method."""

from __future__ import annotations

import inspect
import warnings

import numba
import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import podium
from podium.rankers.methods import METHODS

# Variants are the same rankers with other settings; what needs an extra is in test_ranker_behavior_torch.py.
NAMES = [name for name, method in METHODS.items() if method.in_all]

QUICK = {
    "structrank": {"epochs": 3, "restarts": 1},
    "boltzrank": {"epochs": 20, "restarts": 1, "early_stopping": True},
    "softrank": {"epochs": 20, "early_stopping": True},
    **{key: {"n_trees": 15} for key in ("gbdt", "gbrank", "intervalrank", "lambdamart", "random-forest")},
    "coordinate-ascent": {"restarts": 2},
}


def build(name: str, **settings):
    make = METHODS[name].build
    seed = {"random_state": 0} if "random_state" in inspect.signature(make).parameters else {}
    return make(**seed, **{**QUICK.get(name, {}), **settings})


def data(seed: int = 0, **settings):
    """Features, labels and query ids as a user has them: rows in no order, queries called by strings."""
    queries = podium.make_queries(
        **({"n_queries": 20, "n_documents": 8, "n_features": 6, "random_state": seed} | settings)
    )
    qid = np.array([f"query {q}" for q in range(len(queries))])[queries.query_of_document]
    order = np.random.default_rng(seed).permutation(queries.n_documents)
    return queries.features.astype(np.float64)[order], queries.labels[order], qid[order]


def looks_at_lists(ranker) -> bool:
    """Whether a document's score depends on the others of its list, so that ``predict`` needs ``qid``."""
    return ranker._needs_lists()


@pytest.fixture(params=NAMES, name="name")
def _name(request) -> str:
    return request.param


@pytest.fixture(scope="module")
def fitted():
    """One fitted ranker per method, for tests that do not change it."""
    X, y, qid = data()
    return {name: build(name).fit(X, y, qid=qid) for name in NAMES}


def test_learns_what_is_easy(name, fitted) -> None:
    X, y, qid = data(seed=0)
    score, floor = fitted[name].score(X, y, qid=qid), fitted["random"].score(X, y, qid=qid)
    assert 0 <= score <= 1
    if name != "random":
        assert score > floor + 0.1


def test_carries_over_to_unseen_queries(name, fitted) -> None:
    if name == "random":
        pytest.skip("chance has nothing to carry over")
    # The generator's weights depend on the seed, so unseen queries are the second half of one data set.
    queries = podium.make_queries(50, 8, 6, random_state=1)
    train, test = queries.take(np.arange(20)), queries.take(np.arange(20, 50))
    floor = build("random").fit(train).score(test)
    assert build(name).fit(train).score(test) > floor + 0.1


def test_scores_come_in_the_order_of_the_rows(name, fitted) -> None:
    X, _, qid = data()
    scores = fitted[name].predict(X, qid=qid)
    assert scores.shape == (len(X),)
    assert scores.dtype == np.float64
    order = np.random.default_rng(1).permutation(len(X))
    shuffled = fitted[name].predict(X[order], qid=qid[order])
    if looks_at_lists(fitted[name]):
        np.testing.assert_allclose(shuffled, scores[order], rtol=1e-9, atol=1e-12)
        return
    np.testing.assert_array_equal(shuffled, scores[order])
    np.testing.assert_array_equal(fitted[name].predict(X), scores)
    np.testing.assert_array_equal(fitted[name].predict(X[:1]), scores[:1])


def test_the_order_of_rows_does_not_matter_in_training(name) -> None:
    X, y, qid = data()
    order = np.argsort(qid, kind="stable")  # whole queries; documents within a query keep their order
    shuffled = build(name).fit(X, y, qid=qid)
    grouped = build(name).fit(X[order], y[order], qid=qid[order])
    # Not equal in bits: queries are summed in order of first appearance. Stochastic steps see another order.
    if METHODS[name].stochastic:
        assert shuffled.score(X, y, qid=qid) == pytest.approx(grouped.score(X, y, qid=qid), abs=0.05)
    else:
        np.testing.assert_allclose(shuffled.predict(X, qid), grouped.predict(X, qid), rtol=1e-3, atol=1e-3)


def test_ranks(name, fitted) -> None:
    X, _, qid = data()
    ranks, scores = fitted[name].rank(X, qid=qid), fitted[name].predict(X, qid=qid)
    for q in np.unique(qid):
        rows = np.flatnonzero(qid == q)
        assert sorted(ranks[rows]) == list(range(1, len(rows) + 1))
        best_first = rows[np.argsort(ranks[rows])]
        assert (np.diff(scores[best_first]) <= 0).all()


def test_equal_scores_are_ranked_as_given(name, fitted) -> None:
    X, _, _ = data()
    same = np.repeat(X[:1], 5, axis=0)
    assert fitted[name].rank(same, qid=np.zeros(5)).tolist() == [1, 2, 3, 4, 5]


def test_queries_arrays_and_frames_are_the_same(name, fitted) -> None:
    X, y, qid = data()
    expected = fitted[name].predict(X, qid=qid)
    names = [f"f{j}" for j in range(6)]
    from_queries = build(name).fit(podium.Queries(X, y, qid=qid))
    np.testing.assert_array_equal(from_queries.predict(X, qid=qid), expected)
    queries = podium.Queries(X, qid=qid)
    np.testing.assert_array_equal(from_queries.predict(queries), expected)  # the caller's order again
    for frame in (pd.DataFrame(X, columns=names), pl.DataFrame(X, schema=names)):
        ranker = build(name).fit(frame, y, qid=qid)
        assert ranker.feature_names_in_.tolist() == names
        np.testing.assert_array_equal(ranker.predict(frame, qid=qid), expected)


def test_odd_queries_do_no_harm(name) -> None:
    X, y, qid = data()
    lone = np.vstack([X, X[:1], X[:4]])
    labels = np.concatenate([y, [2.0], np.ones(4)])
    ids = np.concatenate([qid, ["only one document"], ["all tied"] * 4])
    ranker = build(name).fit(lone, labels, qid=ids)
    assert np.isfinite(ranker.predict(lone, qid=ids)).all()
    assert ranker.n_queries_ == 22


def test_only_queries_that_say_nothing(name) -> None:
    X, _, qid = data()
    with warnings.catch_warnings():
        if name in ("best-feature", "coordinate-ascent"):  # warn that they have nothing to choose by
            warnings.simplefilter("ignore", UserWarning)
        ranker = build(name).fit(X, np.ones(len(X)), qid=qid)
    assert np.isfinite(ranker.predict(X, qid=qid)).all()


def test_sizes_zero_are_allowed(name) -> None:
    queries = podium.make_queries(12, 6, 4)
    with_empty = podium.Queries(queries.features, queries.labels, sizes=np.insert(queries.sizes, [0, 5, 12], 0))
    assert np.isfinite(build(name).fit(with_empty).predict(with_empty)).all()


def test_constant_feature_has_no_effect(name) -> None:
    X, y, qid = data()
    X = np.column_stack([X, np.full(len(X), 0.1)])
    ranker = build(name).fit(X, y, qid=qid)
    if hasattr(ranker, "coef_"):
        assert ranker.coef_[-1] == 0


def test_float32_sparse_and_dense_agree(name) -> None:
    X, y, qid = data()
    X = X.astype(np.float32).astype(np.float64)  # the same numbers in each form
    dense = build(name).fit(X, y, qid=qid)
    forms = [X.astype(np.float32)]
    if dense.__sklearn_tags__().input_tags.sparse:
        forms.append(sparse.csr_matrix(X))
    for form in forms:
        scores = build(name).fit(form, y, qid=qid).predict(form, qid=qid)
        np.testing.assert_allclose(scores, dense.predict(X, qid=qid), rtol=1e-4, atol=1e-4)


def test_same_seed_same_bits_whatever_the_threads(name, fitted) -> None:
    X, y, qid = data()
    before = numba.get_num_threads()
    try:
        for threads in {1, before}:
            numba.set_num_threads(threads)
            scores = build(name).fit(X, y, qid=qid).predict(X, qid=qid)
            np.testing.assert_array_equal(scores, fitted[name].predict(X, qid=qid))
    finally:
        numba.set_num_threads(before)


def test_inputs_are_left_alone(name) -> None:
    X, y, qid = data()
    copies = X.copy(), y.copy(), qid.copy()
    for array in (X, y, qid):
        array.flags.writeable = False  # writing to them would raise
    ranker = build(name).fit(X, y, qid=qid, eval_set=(X, y), eval_qid=qid)
    ranker.predict(X, qid=qid)
    for array, copy in zip((X, y, qid), copies, strict=True):
        np.testing.assert_array_equal(array, copy)


def test_clone_and_parameters(name) -> None:
    X, y, qid = data()
    ranker = build(name)
    parameters = ranker.get_params()
    copy = clone(ranker.fit(X, y, qid=qid))
    assert copy.get_params() == parameters
    with pytest.raises(NotFittedError):
        copy.predict(X, qid=qid)
    for key, value in parameters.items():
        assert copy.set_params(**{key: value}).get_params()[key] == value
    with pytest.raises(ValueError, match="no_such"):
        copy.set_params(no_such=1)
    assert type(ranker).__name__ in repr(ranker)


def test_every_grid_value_trains(name) -> None:
    X, y, qid = data(n_queries=6)
    for key, values in METHODS[name].grid.items():
        for value in values:
            build(name, **{key: value}).fit(X, y, qid=qid)


def test_saved_and_loaded_gives_the_same_bits(name, fitted, tmp_path) -> None:
    X, _, qid = data()
    path = tmp_path / "model.podium"
    fitted[name].save(path)
    again = podium.load(path)
    assert type(again) is type(fitted[name])
    assert again.get_params() == fitted[name].get_params()
    assert again.convergence_ == fitted[name].convergence_
    np.testing.assert_array_equal(again.predict(X, qid=qid), fitted[name].predict(X, qid=qid))
    np.testing.assert_array_equal(again.rank(X, qid=qid), fitted[name].rank(X, qid=qid))


def test_missing_values_are_an_error_unless_accepted(name) -> None:
    X, y, qid = data()
    X[3, 2] = np.nan
    if name == "random":
        assert np.isfinite(build(name).fit(X, y, qid=qid).predict(X)).all()
        return
    if build(name).__sklearn_tags__().input_tags.allow_nan:
        pytest.skip("its scorer accepts missing values")
    with pytest.raises(ValueError, match="feature 3 is nan"):
        build(name).fit(X, y, qid=qid)
    good, *_ = data()
    ranker = build(name).fit(good, y, qid=qid)
    with pytest.raises(ValueError, match="feature 3 is nan"):
        ranker.predict(X, qid=qid)
    with pytest.raises(ValueError, match="feature 3 is nan"):
        build(name).fit(good, y, qid=qid, eval_set=(X, y), eval_qid=qid)


def test_wrong_features_are_an_error(name, fitted) -> None:
    X, y, qid = data()
    with pytest.raises(ValueError, match="5 features"):
        fitted[name].predict(X[:, :5], qid=qid)
    frame = pd.DataFrame(X, columns=list("abcdef"))
    ranker = build(name).fit(frame, y, qid=qid)
    with pytest.raises(ValueError, match="same order"):
        ranker.predict(frame[list("bacdef")], qid=qid)
    with pytest.raises(ValueError, match="unseen"):
        ranker.predict(frame.rename(columns={"a": "z"}), qid=qid)


def test_forgotten_query_ids_are_an_error(name, fitted) -> None:
    X, y, _ = data()
    with pytest.raises(ValueError, match="qid is missing"):
        build(name).fit(X, y)
    with pytest.raises(ValueError, match="qid is missing"):
        fitted[name].score(X, y)
    with pytest.raises(ValueError, match="qid is missing"):
        fitted[name].rank(X)


def test_validation_is_watched(name) -> None:
    X, y, qid = data()
    Xv, yv, qv = data(seed=3)
    ranker = build(name).fit(X, y, qid=qid, eval_set=(Xv, yv), eval_qid=qv, eval_metric="ndcg@5 (letor)")
    from_queries = build(name).fit(
        podium.Queries(X, y, qid=qid), eval_set=podium.Queries(Xv, yv, qid=qv), eval_metric="ndcg@5 (letor)"
    )
    np.testing.assert_array_equal(ranker.predict(X, qid=qid), from_queries.predict(X, qid=qid))
    if METHODS[name].family != "floor":
        assert len(ranker.convergence_.validation) == ranker.n_iter_
        assert ranker.convergence_.metric == "ndcg@5 (letor)"


def test_query_weights(name) -> None:
    X, y, qid = data()
    queries = podium.Queries(X, y, qid=qid)
    weights = 1.0 + np.arange(len(queries)) % 3
    by_query = build(name).fit(X, y, qid=qid, sample_weight=weights)
    position = {q: k for k, q in enumerate(queries.qids)}
    per_document = np.array([weights[position[q]] for q in qid])
    by_document = build(name).fit(X, y, qid=qid, sample_weight=per_document)
    np.testing.assert_array_equal(by_query.predict(X, qid=qid), by_document.predict(X, qid=qid))
    per_document[0] += 1
    with pytest.raises(ValueError, match="different weights"):
        build(name).fit(X, y, qid=qid, sample_weight=per_document)
    with pytest.raises(ValueError, match="sample_weight"):
        build(name).fit(X, y, qid=qid, sample_weight=[1.0, 2.0])


@pytest.mark.parametrize("normalize", ["minmax", "zscore"])
def test_normalised_within_queries_it_needs_to_know_them(name, normalize) -> None:
    if METHODS[name].family == "floor":
        pytest.skip("floors do not normalize")
    X, y, qid = data()
    ranker = build(name, normalize=normalize).fit(X, y, qid=qid)
    with pytest.raises(ValueError, match="qid"):
        ranker.predict(X)
    scores = ranker.predict(X, qid=qid)
    order = np.random.default_rng(0).permutation(len(X))
    np.testing.assert_allclose(ranker.predict(X[order], qid=qid[order]), scores[order], rtol=1e-9, atol=1e-12)
    assert ranker.score(X, y, qid=qid) > 0.7
