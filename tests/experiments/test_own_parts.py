"""Rankers, losses and metrics of the user's own in a comparison, with and without a search space."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import Ridge

import podium
from podium.rankers.methods import Method
from podium.rankers.spaces import LogUniform

from ..feature_ranker import Feature


def squared(scores, labels):
    return float(np.sum((scores - labels) ** 2)), 2 * (scores - labels)


def run(queries, methods, **options):
    return podium.compare(queries, methods, **({"metrics": ["map"], "jobs": 1, "folds": 3} | options))


def test_a_ranker_with_a_search_space_is_chosen_on_validation(queries):
    comparison = run(queries, {"mine": (Feature(), {"number": [0, 1, 2]}), "alone": Feature(2)})
    assert comparison.failed == []
    mine = [result for result in comparison.results if result.method == "mine"]
    for result in mine:
        assert [trial.parameters for trial in result.trials] == [{"number": i} for i in range(3)]
        best = max(result.trials, key=lambda trial: trial.validation)
        assert result.parameters == best.parameters
    alone = {r.fold: r.per_query for r in comparison.results if r.method == "alone"}
    for result in mine:
        if result.parameters == {"number": 2}:
            assert result.per_query == alone[result.fold]
    assert comparison.configuration.methods["mine"].family == "own"


def test_nested_parameters_and_own_losses_are_searched(queries):
    own = getattr(podium.losses, "FunctionLoss", None)
    loss = podium.losses.RegressionLoss() if own is None else own(squared)
    ranker = podium.Ranker(loss, podium.scorers.Linear(), normalize="standard")
    comparison = run(queries, {"mine": (ranker, {"scorer__l2": LogUniform(0.01, 1.0)})}, search="random", budget=3)
    assert comparison.failed == []
    tried = [trial.parameters["scorer__l2"] for trial in comparison.results[0].trials]
    assert len(set(tried)) == 3
    assert all(0.01 <= value <= 1.0 for value in tried)


def test_a_regressor_of_scikit_learn_is_adapted(queries):
    comparison = run(queries, {"ridge": (Ridge(), {"alpha": [0.1, 10.0]}), "class": Feature})
    assert comparison.failed == []
    assert comparison.results[0].parameters["alpha"] in (0.1, 10.0)


def test_the_footer_tells_how_own_rankers_rescale_features(queries):
    own = {
        "ridge": Ridge(),
        "within": podium.Regression(normalize="minmax"),
        "same": podium.Regression(),
        "raw": podium.Regression(normalize=None),
        "both": (podium.Regression(), {"normalize": ["standard", "zscore"]}),
        "feature": Feature(0),
        "regression": None,
    }
    told = " ".join(str(run(queries, own, folds=3)).split())
    assert (
        "Features: standardized by the training part's mean and deviation, as logarithms where tails are heavy (ridge, "
        "raw: as they are; within: rescaled to [0, 1] within each query; both: as the search chose; feature: as it "
        "does itself)."
    ) in told
    alone = " ".join(str(run(queries, ["regression"], normalize=None)).split())
    assert "Features: as they are." in alone


def test_a_method_of_the_users_is_like_a_built_in_one(queries):
    method = Method("any", podium.ListNet, "mine", "nobody", "listwise", {"l2": [0.01]})
    comparison = run(queries, {"mine": method, "listnet": None})
    assert comparison.configuration.methods["mine"].fixed == {"normalize": "robust"}
    same = {r.fold: r.per_query for r in comparison.results if r.method == "listnet" and r.parameters == {"l2": 0.01}}
    assert all(same.get(r.fold, r.per_query) == r.per_query for r in comparison.results if r.method == "mine")


@pytest.mark.parametrize(
    ("methods", "message"),
    [
        ({"mine": 3}, "method 'mine': 3 has no fit and no predict"),
        (
            {"mine": (Feature(), {"nmber": [1]})},
            "method 'mine': Feature has no parameter 'nmber'",
        ),
        ("no_such_module:ranker", "no_such_module:ranker: no module named 'no_such_module'"),
    ],
)
def test_what_is_no_ranker_is_named(queries, methods, message):
    with pytest.raises(ValueError, match=message):
        run(queries, methods)


def test_scores_of_the_wrong_shape_are_named(queries):
    class Short(Feature):
        def predict(self, queries):
            return np.zeros(3)

    comparison = run(queries, {"short": Short()})
    assert "short: predict returned (3,) scores" in comparison.rows[-1].failures[0].error


def test_an_own_object_is_computed_again_only_if_it_changed(queries, tmp_path):
    heard = []
    listener = type("Listener", (), {"note": lambda *_: None, "finished": lambda *_: None})()
    listener.start = lambda total, done: heard.append((total, done))
    for ranker in (Feature(0), Feature(0), Feature(1)):
        run(queries, {"mine": ranker}, out=tmp_path, progress=listener)
    assert heard == [(9, 0), (9, 6)]  # nothing to do the second time; then only the method that changed


def test_a_floor_keeps_its_name(queries):
    with pytest.raises(ValueError, match="'best-feature' is in every comparison: give your own ranker another name"):
        run(queries, {"best-feature": Feature()})
