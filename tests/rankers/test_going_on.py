"""Training that goes on from a fitted model."""

from __future__ import annotations

import numpy as np
import pytest

import podium


@pytest.fixture(scope="module")
def queries():
    return podium.make_queries(n_queries=30, n_documents=8, n_features=4, random_state=1)


@pytest.fixture(scope="module")
def fresh():
    return podium.make_queries(n_queries=20, n_documents=8, n_features=4, random_state=2)


TREES = {"n_leaves": 4, "min_documents_in_leaf": 5}


@pytest.mark.parametrize("make", [podium.LambdaMART, podium.GBDT])
def test_trees_are_added(queries, fresh, tmp_path, make):
    first = make(n_trees=5, random_state=0, **TREES).fit(queries)
    first.save(tmp_path / "first.podium")
    both = make(n_trees=3, random_state=1, **TREES).fit(fresh, init=tmp_path / "first.podium")
    assert both.model_.forest.n_trees == 8
    assert both.n_iter_ == 3
    stages = list(both.staged_predict(fresh))
    np.testing.assert_allclose(stages[4], first.predict(fresh))  # the first five trees are those of the first model
    assert both.convergence_.losses[-1] < first_loss(first, fresh)
    both.save(tmp_path / "both.podium")
    assert podium.load(tmp_path / "both.podium").predict(fresh).tolist() == both.predict(fresh).tolist()


def first_loss(ranker, queries):
    loss = ranker._loss()
    return loss.value_and_gradient(ranker.predict(queries), queries.labels, queries.offsets).value


def test_trees_in_two_steps_are_those_of_one(queries):
    # Without anything drawn, boosting from the scores of five trees is boosting on.
    everything = {"feature_fraction": 1.0, "query_fraction": 1.0}
    settings = {"learning_rate": 0.1, "tree_options": everything, **TREES}
    whole = podium.GBDT(n_trees=10, **settings).fit(queries)
    half = podium.GBDT(n_trees=5, **settings).fit(queries)
    half.fit(queries, init=half)
    assert half.model_.forest.n_trees == 10
    np.testing.assert_allclose(half.predict(queries), whole.predict(queries), rtol=1e-4, atol=1e-4)


def test_early_stopping_counts_the_trees_of_the_model(queries, fresh):
    first = podium.LambdaMART(n_trees=5, random_state=0, **TREES).fit(queries)
    both = podium.LambdaMART(n_trees=4, random_state=0, **TREES).fit(queries, eval_set=fresh, init=first)
    kept = both.convergence_.best_iter
    assert both.model_.forest.n_trees == 5 + kept
    judged = podium.evaluate(fresh, both.predict(fresh), metrics=["ndcg@10"]).mean["ndcg@10"]
    assert max(both.convergence_.validation) == pytest.approx(judged)


@pytest.mark.parametrize("normalize", ["standard", None, "minmax"])
@pytest.mark.parametrize("loss", [podium.losses.ListNetLoss(), podium.losses.RegressionLoss()])
def test_weights_start_where_they_were(queries, fresh, tmp_path, normalize, loss):
    def ranker(max_iter):
        trainer = podium.training.LBFGS(max_iter=max_iter)
        return podium.Ranker(loss, podium.scorers.Linear(l2=0.01), trainer, normalize=normalize)

    first = ranker(1000).fit(queries)
    first.save(tmp_path / "first.podium")
    again = ranker(1000).fit(queries, init=tmp_path / "first.podium")
    assert again.n_iter_ <= 3 < first.n_iter_
    np.testing.assert_allclose(again.predict(queries), first.predict(queries), rtol=1e-3, atol=1e-3)
    other = ranker(1000).fit(fresh, init=first)  # another scale of features, another optimum
    np.testing.assert_allclose(other.predict(fresh), ranker(1000).fit(fresh).predict(fresh), rtol=0.02, atol=0.02)


def test_networks_keep_their_scale_of_features(queries, fresh):
    first = podium.Ranker(podium.losses.RankNetLoss(), podium.scorers.MLP(hidden=(3,)), random_state=0).fit(queries)
    no_step = podium.training.Stochastic(epochs=1, learning_rate=1e-12)
    shifted = fresh.with_features(fresh.features * 10 + 3)
    again = podium.Ranker(first.loss, first.scorer, no_step, random_state=0).fit(shifted, init=first)
    np.testing.assert_allclose(again.predict(shifted), first.predict(shifted), rtol=1e-4, atol=1e-6)


def test_what_cannot_go_on(queries, fresh):
    linear, trees = podium.ListNet().fit(queries), podium.GBDT(n_trees=2, **TREES).fit(queries)
    wide = podium.make_queries(n_queries=5, n_features=6, random_state=0)
    named = fresh.with_features(fresh.features, feature_names=["a", "b", "c", "d"])
    of_others = podium.ListNet().fit(fresh.with_features(fresh.features, feature_names=["a", "b", "d", "c"]))
    hidden = podium.Ranker(podium.losses.RankNetLoss(), podium.scorers.MLP(hidden=(2,)), random_state=0).fit(queries)
    wider = podium.Ranker(podium.losses.RankNetLoss(), podium.scorers.MLP(hidden=(5,)), random_state=0)
    for ranker, data, init, message in [
        (podium.ListNet(), queries, trees, "the same kind of model"),
        (podium.ListNet(), wide, linear, "is expecting 4 features"),
        (podium.ListNet(), named, of_others, "same order"),
        (podium.ListNet(normalize="minmax"), queries, linear, "normalize='robust'"),
        (podium.AdaRank(), queries, linear, "AdaRank cannot go on"),
        (podium.Blend([podium.ListNet()]), queries, linear, "Blend cannot go on"),
        (podium.ListNet(), queries, 3, "init must be a fitted ranker"),
        (podium.ListNet(), queries, podium.ListNet(), "not fitted yet"),
        (wider, queries, hidden, "another function"),
    ]:
        with pytest.raises(ValueError, match=message):
            ranker.fit(data, init=init)


@pytest.mark.filterwarnings("ignore:L-BFGS did not converge")
def test_parameters_of_the_loss_are_taken_over(queries):
    first = podium.PairTies().fit(queries)
    assert abs(first.loss_parameters_ - podium.PairTies()._loss().initial_parameters()).max() > 0.1
    again = podium.PairTies(max_iter=1).fit(queries, init=first)
    np.testing.assert_allclose(again.loss_parameters_, first.loss_parameters_, atol=1e-3)
    other = podium.ListNet(max_iter=1).fit(queries, init=first)  # has none of its own
    assert len(other.loss_parameters_) == 0
