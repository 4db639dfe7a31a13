"""Quantiles of ranks in the report, against exact distributions."""

from __future__ import annotations

import numpy as np

from podium.experiments.plan.configuration import MethodFacts
from podium.experiments.report.rank_spreads import QUANTILES, Spread, _spread
from podium.experiments.run.outcomes import Result
from podium.probabilities.arriving import PlackettLuce


def test_quantiles_of_drawn_ranks_are_those_of_the_distribution():
    scores = np.array([2.0, 0.0, 1.0, -3.0, 0.3])
    found = np.array(Spread(PlackettLuce, 10).ranks(scores, np.array([0, 3])))
    cumulated = np.cumsum(PlackettLuce(scores, 0).rank_distribution[[0, 3]], axis=1)
    for k, share in enumerate(QUANTILES):
        for d in range(2):
            rank = found[d, k]
            assert cumulated[d, rank - 1] > share - 0.05  # 1,000 draws: three standard errors
            assert rank == 1 or cumulated[d, rank - 2] < share + 0.05
    assert Spread(PlackettLuce, 4).ranks(scores, np.array([0])) is None


def test_only_built_in_methods_with_a_distribution_have_one():
    result = Result("x", "Fold1", 0, parameters={})

    def known(name, family="listwise"):
        return _spread(name, MethodFacts(family=family), result) is not None

    assert known("pmop")
    assert known("listmle")
    assert not known("pmop", family="own")  # somebody's own ranker of that name
    assert not known("ranknet")  # no distribution over rankings
    assert not known("davidson")  # learns a parameter of its distribution, which a run does not keep
    assert not known("structrank")  # pairs only
    assert not known("best-feature")
