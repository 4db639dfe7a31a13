"""Which choices lie at the end of their grid."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

import podium
from podium.experiments.result.edges import at_the_edge
from podium.rankers.methods import METHODS
from podium.rankers.spaces import LogUniform


def chosen(*parameters: dict[str, Any]) -> Any:
    return [SimpleNamespace(parameters=given, error=None, validation=0.5, trials=[]) for given in parameters]


@pytest.mark.parametrize(
    ("values", "choices", "expected"),
    [
        ([0.1, 0.01, 1.0, 10.0], [0.01, 0.1, 10.0], ["x=0.01 (lowest, 1 of 3)", "x=10.0 (highest, 1 of 3)"]),
        ([0.1, 1.0, 10.0], [1.0, 1.0], []),
        ([0.0, 0.1, 1.0], [0.0, 1.0], []),  # nothing is below no penalty, and no share above 1
        ([1, 5, 10], [1, 10], ["x=10 (highest, 1 of 2)"]),  # no count is below 1
        (LogUniform(0.0, 0.1, 1.0), [0.0, 1.0], ["x=1.0 (highest, 1 of 2)"]),  # a penalty is no share
        ([None, 10, 30], [None, 30], ["x=30 (highest, 1 of 2)"]),
        (["up", "both"], ["up"], []),
        ([True, False], [True], []),
        ([3], [3], []),
    ],
)
def test_ends_of_grids(values: list[Any], choices: list[Any], expected: list[str]) -> None:
    assert at_the_edge({"x": values}, chosen(*({"x": choice} for choice in choices))) == expected


def test_rates_end_at_full_steps_and_where_they_only_rescale() -> None:
    choices = chosen({"learning_rate": 1.0}, {"learning_rate": 0.001})
    assert at_the_edge({"learning_rate": LogUniform(0.001, 0.1, 1.0)}, choices) == []
    assert at_the_edge({"learning_rate": LogUniform(0.01, 0.1, 1.0, 10.0)}, chosen({"learning_rate": 10.0})) == [
        "learning_rate=10.0 (highest, 1 of 1)"
    ]


def test_stumps_are_the_smallest_trees() -> None:
    choices = chosen({"n_leaves": 2}, {"n_leaves": 8})
    assert at_the_edge({"n_leaves": [2, 4, 8]}, choices) == ["n_leaves=8 (highest, 1 of 2)"]


@pytest.mark.parametrize(("beside", "expected"), [(0.4995, []), (0.497, ["l2=100.0 (highest, 1 of 1)"]), (None, None)])
def test_an_end_where_the_metric_has_stopped_changing_is_inside(beside: float | None, expected: Any) -> None:
    def trial(l2: float, depth: int, validation: float) -> Any:
        return SimpleNamespace(parameters={"l2": l2, "depth": depth}, validation=validation)

    (result,) = chosen({"l2": 100.0, "depth": 3})
    result.trials = [trial(1.0, 3, 0.5), trial(10.0, 4, 0.5), trial(100.0, 3, 0.5)]  # none of them one step inside
    if beside is not None:
        result.trials.append(trial(10.0, 3, beside))
    grid = {"l2": [1.0, 10.0, 100.0], "depth": [3]}
    assert at_the_edge(grid, [result]) == (expected if expected is not None else ["l2=100.0 (highest, 1 of 1)"])


def test_a_comparison_says_so() -> None:
    queries = podium.make_queries(n_queries=15, n_documents=5, n_features=3, random_state=0)
    ends_only = replace(METHODS["regression"], grid={"l2": [1e-3, 1e3]})
    with_ends, without = (
        podium.compare(queries, {"regression": method}, folds=3, jobs=1, metrics=["ndcg@3"]).to_markdown()
        for method in (ends_only, replace(METHODS["regression"], grid={}))
    )
    assert "Chosen at the end of a grid, beyond which a better value may lie: regression l2=" in with_ends
    assert "end of a grid" not in without
