"""Random forests: their mean, their bags of whole queries, and losses of any kind."""

import numpy as np
import pytest

import podium
from podium.training.bagging import _Bag
from podium.training.base import Problem

SMALL = {"n_leaves": 8, "min_documents_in_leaf": 3, "random_state": 0}


@pytest.fixture(scope="module")
def queries() -> podium.Queries:
    return podium.make_queries(n_queries=30, n_documents=8, n_features=4, n_grades=3, random_state=2)


def test_a_forest_is_the_mean_of_its_trees(queries) -> None:
    """Each tree as the leaves' means say: values of the trees, one by one, from LightGBM's own text."""
    forest = podium.RandomForest(n_trees=5, **SMALL).fit(queries)
    staged = list(forest.staged_predict(queries))
    trees = np.diff([np.zeros(queries.n_documents), *staged], axis=0)
    assert len(trees) == 6
    np.testing.assert_allclose(trees[-1], queries.labels.mean(), rtol=1e-6)  # the constant
    alone = podium.RandomForest(n_trees=1, **SMALL).fit(queries)
    np.testing.assert_allclose(5 * trees[0] + trees[-1], alone.predict(queries), rtol=1e-6)


def test_leaves_of_a_tree_hold_means_of_the_documents_drawn(queries) -> None:
    """Oracle: least squares. Queries drawn k times count k times, those not drawn not at all."""
    forest = podium.RandomForest(n_trees=1, **SMALL).fit(queries)
    rng = np.random.default_rng(0)
    rng.integers(2**31 - 1)  # LightGBM's seed
    drawn = np.bincount(rng.choice(len(queries), len(queries)), minlength=len(queries))
    assert (drawn == 0).any()
    assert (drawn > 1).any()
    scores, counts = forest.predict(queries), np.repeat(drawn, queries.sizes)
    for leaf in np.unique(scores):
        inside = scores == leaf
        if counts[inside].any():
            assert leaf == pytest.approx(np.average(queries.labels[inside], weights=counts[inside]), abs=1e-5)


def test_bags_leave_out_queries_without_documents_or_weight() -> None:
    queries = podium.Queries(np.zeros((6, 1)), np.zeros(6), sizes=[2, 0, 3, 1])
    weights = np.array([1.0, 1.0, 0.0, 1.0])
    problem = Problem(podium.losses.RegressionLoss(), podium.scorers.Trees(), queries, weights)
    drawn = sum(_Bag(problem, 1.0).draw() for _ in range(50))
    assert drawn[0] == drawn[1] > 0  # whole queries
    assert (drawn[2:5] == 0).all()
    assert drawn[5] + drawn[0] == 100


@pytest.mark.parametrize("loss", ["RankNetLoss", "ListNetLoss", "RankSVMLoss", "PMOPLoss"])
def test_any_loss_grows_a_forest(queries, loss) -> None:
    train, test = queries.take(range(20)), queries.take(range(20, 30))
    forest = podium.RandomForest(getattr(podium.losses, loss)(), n_trees=20, **SMALL).fit(train, eval_set=test)
    assert forest.score(test) > podium.RandomRanker(random_state=0).fit(train).score(test) + 0.1
    assert len(forest.convergence_.validation) == 20
    assert forest.score(test) == pytest.approx(forest.convergence_.validation[-1])


def test_a_forest_that_is_stopped_is_the_mean_of_fewer_trees(queries) -> None:
    stopped = podium.RandomForest(n_trees=9, **SMALL)
    stopped.fit(queries, callback=lambda progress: progress.iteration == 3)
    np.testing.assert_array_equal(
        stopped.predict(queries), podium.RandomForest(n_trees=3, **SMALL).fit(queries).predict(queries)
    )


def test_it_does_not_go_on_from_a_fitted_model(queries) -> None:
    forest = podium.RandomForest(n_trees=2, **SMALL).fit(queries)
    with pytest.raises(ValueError, match="independent of each other"):
        forest.fit(queries, init=forest)
