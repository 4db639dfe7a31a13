"""What an estimated bias is worth where the ranker before was decent: NDCG on grades, tested over 300 lists."""

from functools import cache

import numpy as np
import pytest

import podium
from podium.clicks import PositionBias, simulate
from podium.metrics.significance import randomization_test

QUERIES = podium.make_queries(n_queries=500, n_documents=20, random_state=2)
TRAIN, TEST = QUERIES.take(range(200)), QUERIES.take(range(200, 500))


def per_query(scores: np.ndarray, of: podium.Queries) -> np.ndarray:
    return podium.metric("ndcg@10").per_query(scores, of.labels, of.offsets)


@cache
def log() -> podium.Clicks:
    """Clicks on lists of a linear ranker that learned from the grades of two queries."""
    decent = podium.Regression(normalize="standard").fit(TRAIN.take([0, 1])).predict(TRAIN)
    assert 0.65 < per_query(decent, TRAIN).mean() < 0.85  # in no order, these lists have .5; .93 is within reach
    return simulate(TRAIN, decent, exponent=2.0, sessions=50_000, aggregate=True)


@pytest.mark.parametrize(
    "ranker", [podium.ListNet(), podium.PMOP(), podium.LambdaMART(n_trees=60, random_state=0)], ids=repr
)
def test_an_estimated_bias_is_worth_something_although_the_ranker_before_was_decent(
    ranker: podium.rankers.BaseRanker,
) -> None:
    biases = {
        "naive": "naive",
        "swaps": PositionBias(bootstrap=0).fit(log()),
        "true": PositionBias.known(log().truth.propensities),
    }
    values = {name: per_query(ranker.fit(log(), bias=bias).predict(TEST), TEST) for name, bias in biases.items()}
    assert values["swaps"].mean() > values["naive"].mean()
    assert randomization_test(values["swaps"], values["naive"]) < 0.01
    assert abs(values["swaps"].mean() - values["true"].mean()) < 0.01
