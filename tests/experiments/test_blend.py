"""The blend: the average of what is best on validation, and of nothing else."""

from __future__ import annotations

import shutil

import numpy as np
import pytest
from scipy.stats import rankdata
from sklearn.base import BaseEstimator

import podium
from podium import Queries
from podium.experiments import execution
from podium.experiments.blend import Member, blend, ranks
from podium.experiments.entrants import Candidate, Entrant, entrants
from podium.experiments.sealed import seal
from podium.metrics import metric


class Feature(BaseEstimator):
    """Scores by one feature; fails if there is no such feature."""

    def __init__(self, number=0):
        self.number = number

    def fit(self, queries, eval_set=None, eval_metric=None):
        return self

    def predict(self, queries):
        return np.asarray(queries.features[:, self.number], float)


RANKERS = {"a": Feature(0), "b": Feature(1), "c": Feature(2), "blend": None}


def run(queries, methods=None, **options):
    return podium.compare(queries, methods or RANKERS, **({"metrics": ["map"], "jobs": 1, "folds": 3} | options))


def test_ranks_within_queries():
    rng = np.random.default_rng(0)
    sizes = [3, 0, 1, 40]
    scores = np.concatenate([[1.0, 3.0, 1.0], [5.0], rng.integers(0, 9, 40)])
    found = ranks(scores, Queries(np.zeros((44, 1)), sizes=sizes))
    assert found[:4].tolist() == [2.5, 1.0, 2.5, 1.0]  # by hand
    assert found[4:].tolist() == rankdata(-scores[4:]).tolist()


def test_equal_weights_and_then_more_for_what_helps(tmp_path):
    part = Queries([[1.0], [2.0]], [0, 1], sizes=[2])
    fold, _ = seal("f", part, part, part)
    scores = {"wrong": [5.0, 1.0], "also wrong": [2.0, 1.0], "right": [1.0, 2.0]}
    for name, values in scores.items():
        np.savez(tmp_path / f"{name}.npz", validation_scores=values, test_scores=values[::-1])
    members = [Member(name, tmp_path / f"{name}.npz") for name in scores]

    def trial(extra):
        return blend(Entrant("blend"), Candidate({"extra": extra}, None), members, fold, metric("map"))

    # by hand: minus the mean of the ranks' logarithms; one more share of the right one makes a tie, two win
    log2 = np.log(2.0)
    assert trial(0).validation_scores.tolist() == pytest.approx([-log2 / 3, -2 * log2 / 3])
    assert trial(0).validation == 0.5
    assert trial(2).validation == 1.0
    assert trial(2).validation_scores.tolist() == pytest.approx([-3 * log2 / 5, -2 * log2 / 5])
    assert trial(2).test_scores.tolist() == pytest.approx([-2 * log2 / 5, -3 * log2 / 5])
    members = []
    with pytest.raises(ValueError, match="failed"):
        trial(0)


def test_a_blend_takes_part_like_any_method(queries, tmp_path, monkeypatch):
    comparison = run(queries, out=tmp_path / "run")
    assert comparison.failed == []
    assert comparison.methods == ["a", "b", "c", "blend", "best-feature", "random"]
    records = {record.method: record for record in comparison.records if record.fold == "fold 1"}
    tried = {c["parameters"]["extra"]: c["validation"] for c in records["blend"].candidates}
    assert list(tried) == [0, 1]
    assert records["blend"].validation == max(tried.values())
    # what was finished is not made again, and is the same in whichever order trials end
    shutil.rmtree(tmp_path / "run" / "results")
    monkeypatch.setattr(execution, "attempt", None)
    again = run(queries, out=tmp_path / "run")
    assert [r.per_query for r in again.records] == [r.per_query for r in comparison.records]


def test_another_method_makes_another_blend(queries, tmp_path):
    two = {name: RANKERS[name] for name in ("a", "b", "blend")}
    before = run(queries, two, out=tmp_path)
    after = run(queries, out=tmp_path)
    fresh = run(queries)
    assert [c["parameters"] for c in before.records[6].candidates] == [{"extra": 0}, {"extra": 1}]
    assert after.values("blend", "map").tolist() == fresh.values("blend", "map").tolist()


def test_a_method_that_fails_is_not_in_it(queries):
    comparison = run(queries, RANKERS | {"c": Feature(99)})
    assert comparison.failed == ["c"]
    assert len(comparison.values("blend", "map")) == 30
    with pytest.raises(ValueError, match="two methods or more"):
        run(queries, ["listnet", "blend"])


def test_all_and_a_blend_of_all_that_are_no_variants():
    found = entrants("all, blend", primary="map", normalize=None)
    blended = next(entrant for entrant in found if entrant.members)
    assert {"listnet", "pmop"} <= set(blended.members)
    assert not {"pmop-mh", "best-feature", "blend"} & set(blended.members)
    named = entrants(["listnet", "pmop", "pmop-mh", "blend"], primary="map", normalize=None)
    assert next(entrant for entrant in named if entrant.members).members == ("listnet", "pmop")
