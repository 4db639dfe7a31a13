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
    return [SimpleNamespace(parameters=given, error=None) for given in parameters]


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


def test_stumps_are_the_smallest_trees() -> None:
    choices = chosen({"n_leaves": 2}, {"n_leaves": 8})
    assert at_the_edge({"n_leaves": [2, 4, 8]}, choices) == ["n_leaves=8 (highest, 1 of 2)"]


def test_a_comparison_says_so() -> None:
    queries = podium.make_queries(n_queries=15, n_documents=5, n_features=3, random_state=0)
    ends_only = replace(METHODS["regression"], grid={"l2": [1e-3, 1e-2]})
    with_ends, without = (
        podium.compare(queries, {"regression": method}, folds=3, jobs=1, metrics=["ndcg@3"]).to_markdown()
        for method in (ends_only, replace(METHODS["regression"], grid={}))
    )
    assert "Chosen at the end of a grid, beyond which a better value may lie: regression l2=" in with_ends
    assert "end of a grid" not in without
