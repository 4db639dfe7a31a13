"""Names in the table of methods mean different methods, on the command line too."""

from typing import Any

import numpy as np
import pytest

from podium import Queries, make_queries
from podium.cli import parts
from podium.rankers.methods import METHODS
from podium.scorers.trees.scorer import Trees

QUERIES: Queries = make_queries(n_queries=20, n_documents=6, n_features=3, random_state=0)


def as_trained(name: str, **settings: Any) -> Any:
    """Return the unfitted ranker that ``podium train --method NAME`` trains."""
    return parts.method(name, {"normalize": "standard", "random_state": 0}, settings)


def test_no_two_names_train_the_same_method() -> None:
    learned_by = {}
    for name in METHODS:
        ranker = as_trained(name)
        # Sizes of trees and rates do not make another method.
        own = (type(ranker), repr(ranker._loss()), type(ranker._scorer()), getattr(ranker, "metric", None))
        own = (*own, getattr(ranker._scorer(), "pair_hidden", None))
        assert learned_by.setdefault(own, name) == name, f"{name} is {learned_by[own]}"


@pytest.mark.parametrize("name", [name for name in METHODS if name.endswith("-reg")])
def test_methods_with_a_regression_term_have_it(name: str) -> None:
    """The term is in the fitted trees, not in the name only."""
    plain, with_term = as_trained(name, n_trees=3, regression=0.0), as_trained(name, n_trees=3)
    assert with_term.regression > 0
    fitted = with_term.fit(QUERIES)
    assert fitted.get_params()["regression"] == with_term.regression
    assert isinstance(fitted._scorer(), Trees)
    assert not np.array_equal(fitted.predict(QUERIES), plain.fit(QUERIES).predict(QUERIES))


@pytest.mark.parametrize("name", list(METHODS))
def test_a_grid_is_small_and_all_its_values_are_taken(name: str) -> None:
    grid = METHODS[name].grid
    assert np.prod([len(values) for values in grid.values()], initial=1) <= 24
    for parameter, values in grid.items():
        assert len(set(values)) == len(values)
        for value in values:
            assert as_trained(name, **{parameter: value}) is not None


@pytest.mark.parametrize("name", [name for name in METHODS if "l2" in METHODS[name].grid])
def test_a_penalty_is_searched_from_none_on(name: str) -> None:
    assert min(METHODS[name].grid["l2"]) == 0
