"""Trees: against LightGBM itself, what is passed through to it, and what it must not be trusted with."""

from __future__ import annotations

import tracemalloc

import lightgbm
import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

import podium
from podium.data.queries import Queries
from podium.losses import DavidsonLoss, LambdaRankLoss, RegressionLoss
from podium.numerics.pool import n_threads, threads
from podium.scorers import Linear, Trees
from podium.scorers.trees.model import TreesModel
from podium.training import LBFGS, Boosting

SMALL = {"n_trees": 8, "n_leaves": 6}
SQUARES = RegressionLoss(normalize=False)


@pytest.fixture(scope="module")
def queries() -> Queries:
    return podium.make_queries(30, 12, 5, random_state=0)


def fit(queries, loss=SQUARES, trainer=None, eval_set=None, seed=0, **trees):
    ranker = podium.Ranker(loss, Trees(**SMALL | trees), trainer, random_state=seed)
    return ranker.fit(queries, eval_set=eval_set)


def test_squared_error_grows_the_trees_of_lightgbm(queries) -> None:
    settings = {"objective": "regression", "num_leaves": 6, "min_data_in_leaf": 20, "verbosity": -1, "num_threads": 1}
    data = lightgbm.Dataset(queries.features, queries.labels)
    theirs = lightgbm.train(settings, data, 8)
    np.testing.assert_allclose(fit(queries).predict(queries), theirs.predict(queries.features), rtol=1e-5)


def test_lambdamart_grows_the_first_tree_of_lightgbm(queries, monkeypatch) -> None:
    # LightGBM ranks equal scores in the order of the rows.
    in_order = np.concatenate([np.arange(n, dtype=np.uint32) for n in queries.sizes])
    monkeypatch.setattr("podium.losses.lambdarank.shuffled_lists", lambda offsets, streams: in_order)
    # Later ones drift apart by the error of LightGBM's table of the logistic function.
    settings = {"objective": "lambdarank", "num_leaves": 6, "verbosity": -1, "num_threads": 1}
    settings["lambdarank_truncation_level"] = 5  # of lists of up to 18 documents
    theirs = lightgbm.train(settings, lightgbm.Dataset(queries.features, queries.labels, group=queries.sizes), 1)
    ours = fit(queries, LambdaRankLoss(truncation=5, truncated_ideal=True), n_trees=1)
    np.testing.assert_allclose(ours.predict(queries), theirs.predict(queries.features), rtol=1e-3, atol=1e-5)


def test_any_scale_of_the_loss_gives_the_same_trees(queries) -> None:
    # The mean over documents is their sum divided by one number if all lists are equally long.
    even = podium.make_queries(20, 10, 5, vary_sizes=False)
    scores = [fit(even, RegressionLoss(normalize=n), l2=1.0).predict(even) for n in (True, False)]
    np.testing.assert_allclose(scores[0], scores[1], rtol=1e-5)


@pytest.mark.parametrize("curvature", [True, False])
def test_each_tree_lowers_the_loss(queries, curvature) -> None:
    ranker = fit(queries, curvature=curvature)
    losses = ranker.convergence_.losses
    assert len(losses) == 8
    assert (np.diff(losses) < 0).all()
    scores = ranker.predict(queries)
    assert losses[-1] == pytest.approx(SQUARES.value_and_gradient(scores, queries.labels, queries.offsets).value)


def test_parameters_of_the_loss_are_learned(queries) -> None:
    ranker = fit(queries, DavidsonLoss())
    assert ranker.loss_parameters_ != DavidsonLoss().initial_parameters()
    bound = DavidsonLoss().bind(queries.labels, queries.offsets)
    learned = bound.value_and_gradient(ranker.predict(queries), parameters=ranker.loss_parameters_)
    assert abs(learned.d_parameters) < 0.01  # near the best for these scores


def test_the_best_number_of_trees_is_kept(queries) -> None:
    train, validation = podium.train_test_split(queries, 0.4, random_state=0)
    ranker = podium.Ranker(LambdaRankLoss(), Trees(n_trees=30), random_state=0)
    ranker.fit(train, eval_set=validation, eval_metric="ndcg@3 (letor)")
    story = ranker.convergence_
    assert story.metric == "ndcg@3 (letor)"
    assert story.best_iter == ranker.model_.n_trees == 1 + int(np.argmax(story.validation))
    assert story.n_iter == len(story.validation) == 30
    stages = list(ranker.staged_predict(validation))
    judged = [podium.evaluate(validation, s, metrics=["ndcg@3"], convention="letor").mean["ndcg@3"] for s in stages]
    np.testing.assert_allclose(judged, story.validation[: len(judged)], rtol=1e-12)
    patient = podium.Ranker(LambdaRankLoss(), Trees(n_trees=30), Boosting(patience=3), random_state=0)
    patient.fit(train, eval_set=validation, eval_metric="ndcg@3 (letor)")
    assert patient.convergence_.converged
    assert patient.n_iter_ == patient.convergence_.best_iter + 3
    last = podium.Ranker(LambdaRankLoss(), Trees(n_trees=30), Boosting(select="last"), random_state=0)
    assert last.fit(train, eval_set=validation).model_.n_trees == 30


def test_the_number_of_threads_does_not_change_a_tree() -> None:
    wide = podium.make_queries(60, 70, 130, random_state=0)  # enough work to be shared
    texts = set()
    for n in (1, n_threads()):
        with threads(n):
            texts.add(fit(wide, n_trees=3).model_.text)
    assert len(texts) == 1


def test_long_lists() -> None:
    # LightGBM's own ranking objectives refuse lists of more than 10,000 documents.
    queries = podium.make_queries(2, 12_000, 3, random_state=0, vary_sizes=False)
    assert fit(queries, LambdaRankLoss(), n_trees=3, query_fraction=0.5).score(queries) > 0.5


def test_features_are_not_copied() -> None:
    queries = podium.make_queries(200, 50, 200, random_state=0)
    fit(queries, n_trees=1)  # what is loaded and compiled does not count
    tracemalloc.start()
    fit(queries, n_trees=1).predict(queries)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < queries.features.nbytes / 3


def test_missing_and_infinite_values_have_a_place(queries, tmp_path) -> None:
    x = queries.features.astype(np.float64)
    x[::3, 0] = np.nan
    x[1::50, 1], x[2::50, 1] = np.inf, -np.inf
    labels = np.isnan(x[:, 0]).astype(float)  # that a value is missing is all there is to learn
    ranker = fit(Queries(x, labels, sizes=queries.sizes))
    assert ranker.score(Queries(x, labels, sizes=queries.sizes)) == 1
    assert " inf" in ranker.model_.text.replace("=", " ")  # a split between missing values and all others
    ranker.save(tmp_path / "model.podium")
    assert np.array_equal(podium.load(tmp_path / "model.podium").predict(x), ranker.predict(x))
    assert ranker.__sklearn_tags__().input_tags.allow_nan


def test_monotone_and_categorical_features(queries) -> None:
    rng = np.random.default_rng(0)
    category = rng.integers(0, 12, queries.n_documents)
    x = np.column_stack([rng.standard_normal((queries.n_documents, 2)), category])
    worth = rng.permutation(12)[category]  # in no order of the categories' numbers
    labels = np.round(4 * (worth > 5) + x[:, 0] + 3 * np.abs(x[:, 1])) + 9
    data = Queries(x, labels, sizes=queries.sizes, feature_names=["a", "b", "kind"])
    ranker = fit(data, monotone={"a": 1, 1: -1}, categorical=["kind"], lightgbm_params={"min_data_per_group": 5})
    assert "num_cat=1" in ranker.model_.text
    grid = np.linspace(-3, 3, 50)
    for feature, sign in ((0, 1), (1, -1)):
        rows = np.zeros((50, 3))
        rows[:, feature] = grid
        assert (sign * np.diff(ranker.model_.scores(Queries(rows, sizes=[50]))) >= 0).all()
    again = TreesModel.from_arrays(None, ranker.model_.to_arrays())
    np.testing.assert_array_equal(again.scores(data), ranker.predict(data))
    assert fit(data, monotone=[0, 0, -1]).model_.text != fit(data).model_.text
    with pytest.raises(ValueError, match="'z'; there are a, b, kind"):
        fit(data, categorical=["z"])
    with pytest.raises(ValueError, match="2 entries for 3 features"):
        fit(data, monotone=[0, 1])


@pytest.mark.parametrize("share", ["query_fraction", "document_fraction", "feature_fraction"])
def test_shares_of_the_data_are_drawn_by_the_seed(queries, share) -> None:
    fits = [fit(queries, seed=seed, **{share: 0.6}) for seed in (0, 0, 1)]
    assert fits[0].model_.text == fits[1].model_.text != fits[2].model_.text
    assert fits[0].score(queries) > 0.7


def test_a_tree_sees_whole_queries(queries) -> None:
    one = fit(queries, RegressionLoss(normalize=False), n_trees=1, n_leaves=2, query_fraction=1e-9, learning_rate=1.0)
    values = np.unique(one.predict(queries))
    # With a single query, each side's value is the mean of that query's labels there.
    base = queries.labels.mean()
    sides = [np.isclose(one.predict(queries), v) for v in values]
    means = [[queries.labels[s][side[s]].mean() if side[s].any() else base for side in sides] for s in queries.slices()]
    assert any(np.allclose(m, values, atol=1e-5) for m in means)


def test_parameters_of_lightgbm(queries) -> None:
    assert fit(queries, lightgbm_params={"max_bin": 3}).model_.text != fit(queries).model_.text
    for params, message in (
        ({"num_leaves": 3}, "set by n_leaves"),
        ({"objective": "binary"}, "cannot set objective"),
        ({"max_bins": 3}, "Did you mean .*max_bin"),
    ):
        with pytest.raises(ValueError, match=message):
            fit(queries, lightgbm_params=params)
    for trees, message in (({"n_leaves": 1}, "n_leaves"), ({"query_fraction": 1.5}, "at most 1"), ({"l2": -1}, "l2")):
        with pytest.raises(ValueError, match=message):
            fit(queries, **trees)


def test_trees_and_boosting_belong_together(queries) -> None:
    with pytest.raises(ValueError, match="needs the scorer Trees, not Linear"):
        podium.Ranker(SQUARES, Linear(), Boosting(), normalize=None).fit(queries)
    with pytest.raises(NotImplementedError, match="Trees cannot be trained by gradient steps"):
        podium.Ranker(SQUARES, Trees(), LBFGS()).fit(queries)


def test_nothing_to_split_is_a_constant(queries) -> None:
    ranker = fit(queries.with_labels(np.full(queries.n_documents, 3.0)))
    np.testing.assert_allclose(ranker.predict(queries), 3.0)
    assert ranker.convergence_.converged


def test_sparse_features(queries) -> None:
    x = np.where(queries.features > 0, queries.features, 0)
    forms = [queries.with_features(form) for form in (x, sparse.csr_matrix(x), sparse.csr_array(x))]
    rankers = [fit(form, eval_set=form) for form in forms]
    for ranker, form in zip(rankers, forms, strict=True):
        np.testing.assert_array_equal(ranker.predict(form), rankers[0].predict(forms[0]))
        np.testing.assert_allclose(ranker.contributions(form), rankers[0].contributions(forms[0]), atol=1e-12)


@pytest.mark.parametrize("n_documents", [1, 20])
def test_features_that_cannot_be_split(queries, n_documents) -> None:
    few = Queries(np.ones((n_documents, 2)), np.arange(n_documents), sizes=[n_documents])
    ranker = fit(few, eval_set=queries.with_features(queries.features[:, :2]))
    np.testing.assert_allclose(ranker.predict(few), few.labels.mean())
    assert len(ranker.convergence_.validation) == ranker.n_iter_ == 1
    again = TreesModel.from_arrays(None, ranker.model_.to_arrays())
    np.testing.assert_array_equal(again.scores(queries.with_features(queries.features[:, :2])), few.labels.mean())


def test_interrupted_it_keeps_its_trees(queries) -> None:
    def stop(progress) -> None:
        if progress.iteration == 3:
            raise KeyboardInterrupt

    with pytest.warns(ConvergenceWarning, match="interrupted after 3 trees"):
        ranker = podium.Ranker(SQUARES, Trees(**SMALL)).fit(queries, callback=stop)
    assert ranker.convergence_.interrupted
    assert ranker.model_.n_trees == 3


@pytest.fixture(scope="module")
def text(queries) -> str:
    return fit(queries, n_trees=2, n_leaves=4).model_.text


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("left_child=", "left_child=7 "),
        ("right_child=1", "right_child=0"),
        ("num_leaves=4", "num_leaves=4000000000"),
        ("num_leaves=4", "num_leaves=-4"),
        ("split_feature=", "split_feature=5 "),
        ("leaf_value=", "leaf_value=nan "),
        ("threshold=", "threshold=x "),
        ("threshold=", "threshold=nan "),
        ("num_cat=0", "num_cat=1"),
        ("decision_type=2", "decision_type=1"),
        ("is_linear=0", "is_linear=1"),
        ("version=v4", "version=v3"),
        ("max_feature_idx=4", "max_feature_idx=400"),
        ("num_class=1", "num_class=2"),
        ("Tree=1", "Tree=2"),
        ("end of trees\n", ""),
        ("end of trees\n", "end of trees\nparameters:\n"),
        ("tree\n", "forest\n"),
        ("leaf_value=", "leaf_value=1_0 "),
        ("Tree=1\n", "Tree=1\x0b"),
        ("num_leaves=4", "tree_sizes=99999\nnum_leaves=4"),
    ],
)
def test_texts_that_are_no_trees_never_reach_lightgbm(text, old, new) -> None:
    assert TreesModel.from_arrays(None, {"trees": text}).n_trees == 2
    assert old in text
    with pytest.raises(ValueError, match="model"):
        TreesModel.from_arrays(None, {"trees": text.replace(old, new, 1)})


def test_child_out_of_range_is_refused(text) -> None:
    line = next(line for line in text.splitlines() if line.startswith("left_child="))
    _, *others = line.removeprefix("left_child=").split()
    for child in ("99", "-99", "0"):
        with pytest.raises(ValueError, match="is not a tree"):
            TreesModel.from_arrays(None, {"trees": text.replace(line, f"left_child={' '.join([child, *others])}", 1)})
