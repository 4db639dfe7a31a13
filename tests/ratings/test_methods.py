"""The table of methods that learn from ratings, and the parameters of their classes."""

from __future__ import annotations

import inspect
import re

import pytest

import podium
from podium.ratings import RatingRanker
from podium.ratings.estimator import RATING_METHODS
from podium.ratings.rankers.floors import FLOORS

_TRAINED = "cold random_state verbose"
_FACTORS = (
    "n_factors regularization biases bias_regularization priors n_folds init trainer early_stopping bias_center "
    "strength feature_regularization " + _TRAINED
)
PARAMETERS = {
    "FactorRanker": f"loss {_FACTORS}",
    "PMOPFactors": f"potential {_FACTORS}",
    "PlackettLuceFactors": f"ties {_FACTORS}",
    "CoFiRank": f"loss n_factors regularization biases weights max_iter tol {_TRAINED}",
    "PMF": f"n_factors l2 bias_l2 max_iter tol {_TRAINED}",
    "PeerRanker": "method n_factors regularization iterations learning_rate alpha relevant_from cold random_state",
    "ImplicitFactors": "loss n_factors regularization bias_regularization scaling biases relevant_from group_size "
    f"counts n_drawn epochs learning_rate batch_size patience early_stopping {_TRAINED}",
    "TasteFactors": "by n_factors damping cold random_state",
    "ItemMean": "damping cold",
    "GlobalRanking": "by cold",
}


@pytest.mark.parametrize("name", list(PARAMETERS))
def test_parameters_have_their_order_and_are_all_documented(name: str) -> None:
    cls = getattr(podium, name)
    names = list(inspect.signature(cls).parameters)
    assert names == PARAMETERS[name].split()
    section = re.search(r"^Parameters\n-+\n(.*?)(\n\n|\Z)", inspect.getdoc(cls) or "", re.DOTALL | re.MULTILINE)
    assert section is not None
    documented = [
        part for entry in re.findall(r"^(\w[\w, ]*) : ", section[1], re.MULTILINE) for part in entry.split(", ")
    ]
    assert sorted(documented) == sorted(names)


@pytest.mark.parametrize("name", list(RATING_METHODS))
def test_a_method_takes_every_value_that_is_searched(name: str) -> None:
    method = RATING_METHODS[name]
    assert isinstance(method.build(), RatingRanker)
    for parameter, values in method.grid.items():
        for value in values:
            assert method.build(**{parameter: value}).get_params()[parameter] == value


def test_floors_come_last_and_variants_are_entered_by_name_only() -> None:
    names = list(RATING_METHODS)
    assert tuple(names[-2:]) == FLOORS
    assert [name for name in names if not RATING_METHODS[name].variant] == [
        "cofirank",
        "plackett-luce-factors",
        "pmf",
        "pmop-factors",
        "pmop-mix",
        *FLOORS,
    ]
