"""Presets are nothing but a loss, a scorer and a trainer; and the table of methods lists them."""

from __future__ import annotations

import inspect
import math
import re

import numpy as np
import pytest

import podium
from podium import losses
from podium.rankers.methods import METHODS, MethodTable, accepted
from podium.scorers import Linear
from podium.training import LBFGS, Stochastic


@pytest.fixture(scope="module")
def queries():
    return podium.make_queries(25, 8, 4, random_state=0)


@pytest.mark.parametrize(
    ("preset", "loss"),
    [
        (podium.ListNet(l2=0.1), losses.ListNetLoss()),
        (podium.ListNet(k=2, temperature=0.5, l2=0.1), losses.ListNetLoss(k=2, temperature=0.5)),
        (podium.ListMLE(l2=0.1, random_state=0), losses.ListMLELoss()),
        (podium.ListMLE(ties="random", random_state=5, l2=0.1), losses.ListMLELoss(ties="random", random_state=5)),
        (podium.PMOP(l2=0.1), losses.PMOPLoss()),
        (podium.PMOP(potential="geometric", l2=0.1), losses.PMOPLoss(potential="geometric")),
        (podium.RankNet(l2=0.1), losses.RankNetLoss()),
        (podium.RankSVM(l2=0.1), losses.RankSVMLoss(squared=True)),
        (podium.RankSVM(squared=False, l2=0.1), losses.RankSVMLoss(squared=False)),
        (podium.RankRegress(l2=0.1), losses.RankRegressLoss()),
        (podium.Regression(l2=0.1), losses.RegressionLoss()),
    ],
    ids=repr,
)
def test_a_preset_is_its_parts(queries, preset, loss) -> None:
    of_parts = podium.Ranker(loss, Linear(l2=0.1), LBFGS(), random_state=0).fit(queries)
    np.testing.assert_array_equal(preset.fit(queries).predict(queries), of_parts.predict(queries))
    assert preset.score(queries) > 0.7


@pytest.mark.parametrize("preset", [podium.ListNet, podium.RankNet])
def test_gradient_steps_per_query_keep_the_best_epoch_on_validation_queries(queries, preset) -> None:
    train, valid = queries.take(range(15)), queries.take(range(15, 25))
    steps = preset(optimizer="sgd", learning_rate=0.1, max_iter=12, l2=0.0, random_state=0)
    ranker = steps.fit(train, eval_set=valid, eval_metric="ndcg@5")
    history = ranker.convergence_
    assert (history.n_iter, len(history.validation)) == (12, 12)
    assert history.best_iter == 1 + int(np.argmax(history.validation))
    found = podium.evaluate(valid, ranker.predict(valid), metrics=["ndcg@5"]).mean["ndcg@5"]
    assert found == pytest.approx(max(history.validation))
    # One step per query, in random order: the first epoch of a single query is the gradient at 0, by hand.
    one = podium.Queries(train.take([0]).features, train.take([0]).labels, sizes=[train.sizes[0]])
    plain = preset(optimizer="sgd", learning_rate=0.1, max_iter=1, l2=0.0, normalize=None).fit(one)
    slope = plain._loss().value_and_gradient(np.zeros(one.n_documents), one.labels, one.offsets).d_scores
    np.testing.assert_allclose(plain.coef_, -0.1 * slope @ one.features, rtol=1e-6)
    with pytest.raises(ValueError, match="optimizer must be one of"):
        preset(optimizer="adam").fit(train)


def test_lambdarank_is_its_parts(queries) -> None:
    preset = podium.LambdaRank(epochs=5, l2=0.01, truncation=5, random_state=3).fit(queries)
    parts = podium.Ranker(
        losses.LambdaRankLoss(truncation=5, random_state=3), Linear(l2=0.01), Stochastic(epochs=5), random_state=3
    )
    np.testing.assert_array_equal(preset.predict(queries), parts.fit(queries).predict(queries))


@pytest.mark.parametrize("method", ["gibbs", "mh"])
def test_samplers_come_near_the_exact_likelihood(queries, method) -> None:
    ranker = podium.PMOP(method=method, random_state=0, max_iter=30).fit(queries)
    assert ranker.n_iter_ == 30
    assert ranker.score(queries) > podium.PMOP().fit(queries).score(queries) - 0.1


def test_l1_makes_sparse_presets() -> None:
    queries = podium.make_queries(40, 10, 12, random_state=1)  # a third of the features carries no signal
    ranker = podium.RankNet(l1=0.01).fit(queries)
    assert 3 < np.count_nonzero(ranker.coef_) < 12


@pytest.mark.parametrize("name", METHODS)
def test_the_table_of_methods(name) -> None:
    method = METHODS[name]
    assert method.name == name
    assert method.summary
    assert method.reference
    assert method.family in {"listwise", "pairwise", "pointwise", "floor"}
    accepted = inspect.signature(method.build).parameters
    assert set(method.grid) <= set(accepted)
    assert all(len(values) >= 2 for values in method.grid.values())
    assert math.prod(map(len, method.grid.values())) <= 24
    ranker = method.build()
    assert not hasattr(ranker, "model_")
    described = inspect.getdoc(type(ranker)) or ""
    for parameter in ranker.get_params(deep=False):
        assert re.search(rf"^(\w+, )*{parameter}\b", described, re.MULTILINE), parameter


def test_tables_of_methods() -> None:
    table = MethodTable()
    table.add("b", podium.RandomRanker, "chance", "folklore", "floor")
    table.add("z", podium.ListNet, "z", "Z 1999", "listwise", {"l2": [1.0]}, stochastic=True)
    table.add_variant("z", "y", podium.ListMLE, "y", grid={"l2": [2.0]})
    assert list(table) == ["y", "z", "b"]  # by family, then by name
    assert table["y"].variant
    assert not table["z"].variant
    assert (table["y"].reference, table["y"].stochastic, table["y"].grid) == ("Z 1999", True, {"l2": [2.0]})
    assert table.find("z").build is podium.ListNet
    assert "z" not in METHODS
    with pytest.raises(ValueError, match="'z' is in the table already"):
        table.add("z", podium.ListNet, "z", "Z 1999", "listwise")
    with pytest.raises(ValueError, match=r"no method named 'lisnet'; there are .*\. Did you mean listnet"):
        METHODS.find("lisnet")


def test_settings_that_a_method_accepts() -> None:
    settings = {"normalize": "minmax", "random_state": 1}
    assert accepted(podium.ListNet, settings) == settings
    assert accepted(podium.RandomRanker, settings) == {"random_state": 1}
    assert accepted(lambda **any_: any_, settings) == settings


@pytest.mark.parametrize("preset", [podium.PMOP, podium.ListMLE, podium.ListNet])
def test_penalties_of_sums_over_documents_count_per_document(queries, preset) -> None:
    ranker = preset(l2=0.05, normalize=None, tolerance=1e-14, random_state=0).fit(queries)
    loss = ranker._loss().value_and_gradient(ranker.predict(queries), queries.labels, queries.offsets)
    per = 1.0 if preset is podium.ListNet else queries.n_documents / len(queries)
    # At the optimum the gradient of the mean loss is balanced by that of per * l2/2 ‖w‖².
    np.testing.assert_allclose(queries.features.T @ loss.d_scores, -per * 0.05 * ranker.coef_, atol=1e-5)
