"""Scorers that a user writes: with FunctionScorer, and from the contract itself."""

from __future__ import annotations

import sys
import types

import numpy as np
import pytest

import podium
from podium.losses import DavidsonLoss, ListNetLoss
from podium.scorers import FunctionScorer, Linear, Scorer, SmoothModel
from podium.training import LBFGS, Boosting, Stochastic


class Polynomial(FunctionScorer):
    degree: int = 2

    def n_parameters(self, n_features):
        return self.degree * n_features

    def forward(self, theta, queries):
        powers = np.hstack([queries.features**k for k in range(1, self.degree + 1)])
        return powers @ theta, lambda d_scores: powers.T @ d_scores


class Centered(Polynomial):
    """Scores minus their mean over the list: a scorer of whole lists."""

    listwise = True
    degree: int = 1

    def forward(self, theta, queries):
        scores, backward = super().forward(theta, queries)
        groups = queries.query_of_document

        def center(values):
            return values - (np.bincount(groups, values, len(queries)) / np.maximum(queries.sizes, 1))[groups]

        return center(scores), lambda d_scores: backward(center(d_scores))


@pytest.fixture(scope="module")
def queries() -> podium.Queries:
    return podium.make_queries(n_queries=40, n_documents=9, n_features=4, random_state=0)


def test_parameters_are_fields() -> None:
    assert Polynomial(3).get_params() == {"degree": 3, "l2": 0.0}
    assert repr(Polynomial(l2=0.5)) == "Polynomial(l2=0.5)"


def test_degree_one_is_the_linear_scorer(queries) -> None:
    mine = podium.Ranker(ListNetLoss(), Polynomial(1, l2=1e-3), random_state=0).fit(queries)
    linear = podium.Ranker(ListNetLoss(), Linear(l2=1e-3)).fit(queries)
    assert mine.convergence_.converged
    difference = mine.predict(queries) - linear.predict(queries)
    centered = difference - np.repeat(
        [difference[s].mean() for s in queries.slices()], queries.sizes
    )  # the linear model need not subtract the features' means
    np.testing.assert_allclose(centered, 0.0, atol=1e-3)


@pytest.mark.parametrize("trainer", [LBFGS(), Stochastic(epochs=20, learning_rate=0.03)], ids=repr)
@pytest.mark.parametrize("loss", [ListNetLoss(), DavidsonLoss()], ids=repr)
@pytest.mark.parametrize("scorer", [Polynomial(2), Centered()], ids=repr)
def test_any_trainer_trains_it_on_any_loss(queries, scorer, loss, trainer) -> None:
    ranker = podium.Ranker(loss, scorer, trainer, random_state=0).fit(queries, eval_set=queries)
    assert ranker.convergence_.losses[-1] < ranker.convergence_.losses[0]
    assert ranker.score(queries) > 0.8
    again = podium.Ranker(loss, scorer, trainer, random_state=0).fit(queries, eval_set=queries)
    np.testing.assert_array_equal(again.predict(queries), ranker.predict(queries))


def test_a_listwise_one_needs_query_ids(queries) -> None:
    ranker = podium.Ranker(ListNetLoss(), Centered(), random_state=0).fit(queries)
    with pytest.raises(ValueError, match="qid="):
        ranker.predict(queries.features)


def test_it_grows_no_trees(queries) -> None:
    with pytest.raises(ValueError, match="Boosting grows trees: it needs the scorer Trees, not Polynomial"):
        podium.Ranker(ListNetLoss(), Polynomial(), Boosting()).fit(queries)


def test_it_is_saved_by_name_and_loaded_with_the_class(queries, tmp_path, monkeypatch) -> None:
    module = types.ModuleType("my_scorers")
    monkeypatch.setitem(sys.modules, "my_scorers", module)
    mine = type("Mine", (Polynomial,), {"__module__": "my_scorers", "__doc__": "Mine."})
    module.Mine = mine
    ranker = podium.Ranker(ListNetLoss(), mine(3), random_state=0).fit(queries)
    ranker.save(tmp_path / "model.podium")
    with pytest.raises(ValueError, match="my_scorers:Mine"):
        podium.load(tmp_path / "model.podium")
    again = podium.load(tmp_path / "model.podium", parts={"my_scorers:Mine": mine})
    np.testing.assert_array_equal(again.predict(queries), ranker.predict(queries))


def test_it_competes(queries) -> None:
    methods = {"mine": podium.Ranker(ListNetLoss(), Polynomial(), random_state=0), "listnet": podium.ListNet()}
    comparison = podium.compare(queries, methods, folds=3, jobs=1)
    table = str(comparison)
    assert "mine" in table
    assert "listnet" in table


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"forward": lambda self, theta, queries: (np.zeros((3, 1)), None)}, r"Wrong: the scores must have shape \("),
        (
            {"forward": lambda self, theta, queries: (queries.features @ theta[:4], lambda d: d)},
            r"Wrong: the gradient must have shape \(8,\), one number per parameter",
        ),
        (
            {"forward": lambda self, theta, queries: (queries.features @ theta[:4], lambda d: np.full(8, np.nan))},
            "Wrong: the derivative by parameter 0 is nan",
        ),
        (
            {"forward": lambda self, theta, queries: (np.full(len(queries.labels), np.nan), lambda d: np.zeros(8))},
            "query number 0 is nan",
        ),
        ({"n_parameters": lambda self, n_features: 0}, "Wrong.n_parameters must be a whole number of at least 1"),
        ({"initial": lambda self, n_features, rng: np.zeros(3)}, "Wrong.initial must return 8 finite numbers"),
    ],
)
def test_mistakes_are_named(queries, change, message) -> None:
    wrong = type("Wrong", (Polynomial,), change)
    with pytest.raises(ValueError, match=message):
        podium.Ranker(ListNetLoss(), wrong(), random_state=0).fit(queries)


def test_an_error_in_the_function_reaches_the_user(queries) -> None:
    class Broken(Polynomial):
        def forward(self, theta, queries):
            raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        podium.Ranker(ListNetLoss(), Broken(), random_state=0).fit(queries)


class ProductModel(SmoothModel):
    """``score(x) = w₁ · x w₂ · x`` from the contract itself; it says nothing about saving."""

    def __init__(self, theta):
        self.theta = theta

    def forward(self, queries):
        x = queries.features.astype(float)
        first, second = self.theta.reshape(2, -1)
        a, b = x @ first, x @ second
        return a * b, lambda d_scores: np.concatenate((x.T @ (d_scores * b), x.T @ (d_scores * a)))


class Product(Scorer):
    trained_by = "stochastic"
    model_class = ProductModel

    def start(self, queries, rng, options):
        return ProductModel(rng.normal(0.0, 0.5, 2 * queries.n_features))


def test_the_contract_itself(queries, tmp_path) -> None:
    ranker = podium.Ranker(ListNetLoss(), Product(), random_state=0).fit(queries)
    assert ranker.convergence_.step == "epoch"
    assert ranker.convergence_.losses[-1] < ranker.convergence_.losses[0]
    with pytest.raises(ValueError, match=r"ProductModel cannot be saved: it has no to_arrays\(\)"):
        ranker.save(tmp_path / "model.podium")
