"""What presets do without being told: sizes of trees, early stopping, means over seeds, features with heavy tails."""

from inspect import signature

import numpy as np
import pytest

import podium
from podium.cli.main import build_parser
from podium.experiments.plan.candidates import candidates
from podium.experiments.run.carrying import carried_over
from podium.export.portable import portable
from podium.rankers.methods import METHODS
from podium.rankers.presets import boosted

FEW = {"n_trees": 5, "n_leaves": 4, "min_documents_in_leaf": 5}


@pytest.fixture(scope="module")
def parts() -> tuple[podium.Queries, podium.Queries]:
    queries = podium.make_queries(n_queries=40, n_documents=10, n_features=6, random_state=3)
    return queries.take(range(30)), queries.take(range(30, 40))


@pytest.fixture(scope="module")
def heavy(parts) -> tuple[podium.Queries, podium.Queries]:
    """The same lists, with features that are e to the power of twice their standardized value, of any scale."""
    train, _ = parts
    mean, deviation = train.features.mean(axis=0), train.features.std(axis=0)
    scale = 10.0 ** np.array([-6, 4, 0, 2, -3, 5])

    def raw(queries: podium.Queries) -> podium.Queries:
        return queries.with_features((np.exp(2 * (queries.features - mean) / deviation) * scale).astype(np.float32))

    return raw(parts[0]), raw(parts[1])


def test_trees_stop_early_by_default_and_may_be_three_times_as_many(parts) -> None:
    train, valid = parts
    ranker = podium.GBDT(random_state=0)
    alone = podium.GBDT(random_state=0)._scorer().for_data(train)
    assert (alone.n_trees, ranker._scorer().for_data(train, validated=True).n_trees) == (150, 450)
    ranker.fit(train, eval_set=valid)
    history = ranker.convergence_
    assert history.n_iter - history.best_iter == ranker.patience == 50
    assert history.n_iter < 450
    assert ranker.model_.n_trees == history.best_iter
    assert carried_over(ranker) == {"n_trees": history.best_iter}  # although the parameter is None


def test_methods_by_name_have_the_defaults_of_their_classes() -> None:
    for name, preset in (("lambdamart", podium.LambdaMART), ("gbdt", podium.GBDT), ("gbrank", podium.GBRank)):
        assert repr(METHODS[name].build()) == repr(preset())


def test_train_and_compare_rescale_features_alike() -> None:
    """Otherwise figures of the one would not be those of the other."""
    usual = podium.ListNet().normalize
    assert signature(podium.compare).parameters["normalize"].default == usual
    for command in (["train", "data.txt", "--method", "listnet", "-o", "model.podium"], ["compare", "data.txt"]):
        assert build_parser().parse_args(command).normalize == usual


def test_repeats_are_the_mean_over_consecutive_seeds(parts, tmp_path) -> None:
    train, valid = parts
    sampled = {"query_fraction": 0.5, "feature_fraction": 0.5}
    mean = podium.LambdaMART(**FEW, tree_options=sampled, random_state=7, repeats=3).fit(train)
    singles = [podium.LambdaMART(**FEW, tree_options=sampled, random_state=7 + i).fit(train) for i in range(3)]
    scores = [single.predict(valid) for single in singles]
    assert not np.allclose(scores[0], scores[1])
    np.testing.assert_allclose(mean.predict(valid), np.mean(scores, axis=0), rtol=1e-12, atol=1e-14)
    assert portable(mean).forest.n_trees == mean.model_.n_trees == 15
    shap = np.mean([single.contributions(valid) for single in singles], axis=0)
    np.testing.assert_allclose(mean.contributions(valid), shap, rtol=1e-9, atol=1e-12)
    mean.save(tmp_path / "mean.podium")
    np.testing.assert_array_equal(podium.load(tmp_path / "mean.podium").predict(valid), mean.predict(valid))
    text = tmp_path / "mean.txt"
    mean.export_lightgbm(text)
    booster = pytest.importorskip("lightgbm").Booster(model_file=str(text))
    np.testing.assert_allclose(booster.predict(valid.features), mean.predict(valid), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("name", ["softmax-trees", "unique-softmax-trees", "xendcg-trees", "yetirank-trees"])
def test_few_documents_are_fitted_three_times_unless_told_otherwise(parts, name, monkeypatch) -> None:
    train, valid = parts

    def scores(**given) -> np.ndarray:
        ranker = METHODS[name].build(**FEW, tree_options={"query_fraction": 0.5}, random_state=7, **given)
        return ranker.fit(train).predict(valid)

    once = scores(repeats=1)
    np.testing.assert_array_equal(scores(), scores(repeats=3))
    assert not np.allclose(scores(), once)
    monkeypatch.setattr(boosted, "FEW_DOCUMENTS", train.n_documents - 1)
    np.testing.assert_array_equal(scores(), once)


def test_xendcg_on_trees_sees_all_lists() -> None:
    ranker = METHODS["xendcg-trees"].build()
    scorer = ranker._scorer().for_data(podium.make_queries(n_queries=30, n_documents=10, n_features=12))
    assert (scorer.query_fraction, scorer.feature_fraction, scorer.min_documents_in_leaf) == (1.0, 0.5, 20)


def test_a_fit_that_is_stopped_is_no_part_of_the_mean(parts) -> None:
    train, _ = parts
    seen: list[int] = []

    def stop_in_the_second(progress: podium.training.Progress) -> bool:
        seen.append(progress.iteration)
        return len(seen) == 7

    ranker = podium.GBDT(**FEW, random_state=0, repeats=3).fit(train, callback=stop_in_the_second)
    assert seen == [1, 2, 3, 4, 5, 1, 2]
    np.testing.assert_allclose(ranker.predict(train), podium.GBDT(**FEW, random_state=0).fit(train).predict(train))


def test_a_blend_repeats_what_depends_on_a_seed(parts, tmp_path) -> None:
    train, valid = parts
    trees = podium.GBDT(**FEW, tree_options={"feature_fraction": 0.5}, random_state=2)
    blend = podium.Blend([podium.ListNet(), trees], repeats=2).fit(train)
    np.testing.assert_array_equal(blend.weights_, [0.5, 0.25, 0.25])
    again = podium.GBDT(**trees.get_params() | {"random_state": 3})
    by_hand = podium.Blend([podium.ListNet(), trees, again], [0.5, 0.25, 0.25]).fit(train)
    np.testing.assert_array_equal(blend.predict(valid), by_hand.predict(valid))
    blend.save(tmp_path / "blend.podium")
    np.testing.assert_array_equal(podium.load(tmp_path / "blend.podium").predict(valid), blend.predict(valid))


@pytest.mark.parametrize("name", ["listnet", "pmop", "ranksvm", "regression", "adarank-map", "rankboost", "gbdt"])
def test_no_method_is_worse_than_one_feature_whose_tails_are_heavy(heavy, name) -> None:
    train, valid = heavy
    floor = podium.BestFeature().fit(train).score(valid)
    ranker = METHODS[name].build(random_state=0, normalize="robust").fit(train)
    assert ranker.score(valid) > floor - 0.02  # there are ten validation lists
    if name == "pmop":  # as the raw features are, weights on them are worse than a single one
        assert METHODS[name].build(normalize="standard").fit(train).score(valid) < floor


def test_auto_tries_features_rescaled_within_queries_unless_a_model_must_leave(parts) -> None:
    train, _ = parts
    free, bound = (candidates(train, None, 0, per_document=bound) for bound in (False, True))
    assert {c.method.name for c in free if c.needs_lists} == {"listnet", "ranksvm", "lambdamart", "gbdt"}
    assert len({c.name for c in free}) == len(free)
    assert not any(c.needs_lists for c in bound)
    assert {c.ranker().normalize for c in bound if c.method.name != "best-feature"} == {"robust"}
