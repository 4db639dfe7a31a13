"""The blend: the average of all models, each kind with one vote."""

from __future__ import annotations

import shutil

import numpy as np
import pytest
from scipy.stats import rankdata
from sklearn.base import BaseEstimator

import podium
from podium import Queries
from podium.experiments.plan.methods import Setting, StudyMethod, study_methods
from podium.experiments.run import runner
from podium.experiments.run.blend import Member, Model, blend, ranks, shares
from podium.experiments.run.seal import seal
from podium.metrics import metric
from podium.rankers.methods import METHODS
from podium.scorers.network.mlp import MLP
from podium.scorers.network.potentials import Potentials
from podium.scorers.trees.scorer import Trees


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


def member(name, kind, *files):
    models = tuple(Model(Setting({}, None, number), file, seconds=1.0) for number, file in enumerate(files))
    return Member(StudyMethod(name, kind=kind), models)


def test_equal_shares_for_kinds_then_methods_then_models(tmp_path):
    part = Queries([[1.0], [2.0]], [0, 1], sizes=[2])
    fold, _ = seal("f", part, part, part)
    right, wrong = tmp_path / "right.npz", tmp_path / "wrong.npz"
    np.savez(right, validation_scores=[1.0, 2.0], test_scores=[2.0, 1.0])
    np.savez(wrong, validation_scores=[5.0, 1.0], test_scores=[1.0, 5.0])

    def trial(*members):
        return blend(StudyMethod("blend"), Setting({}, None), members, fold, metric("map"))

    # by hand: of the kinds, the trees are right; of the two methods of weights, one is right in half of its models
    members = member("a", "weights", wrong), member("b", "weights", wrong, right), member("c", "trees", right)
    assert [share for _, share in shares(members)] == [1 / 4, 1 / 8, 1 / 2]
    wrong_share = 1 / 4 + 1 / 8
    log2 = np.log(2.0)
    found = trial(*members)
    assert found.validation_scores.tolist() == pytest.approx([-(1 - wrong_share) * log2, -wrong_share * log2])
    assert found.test_scores.tolist() == pytest.approx([-wrong_share * log2, -(1 - wrong_share) * log2])
    assert found.validation == 1.0
    assert trial(members[0], members[1]).validation == 0.5
    with pytest.raises(ValueError, match="failed"):
        trial()


def test_every_built_in_method_says_its_kind():
    kinds = {"network": {"boltzrank"}, "trees": {"gbdt", "gbrank-reg", "pmop-trees"}, "features": {"frank"}}
    for kind, names in kinds.items():
        assert names <= {method.name for method in METHODS.values() if method.kind == kind}
    for method in METHODS.values():
        scorer = getattr(method.build(), "_scorer", lambda: None)()
        assert method.kind == {Trees: "trees", MLP: "network", Potentials: "network"}.get(type(scorer), method.kind)
        assert (method.kind == "trees") == isinstance(scorer, Trees)


def test_a_blend_takes_part_like_any_method(queries, tmp_path, monkeypatch):
    comparison = run(queries, out=tmp_path / "run")
    assert comparison.failed == []
    assert comparison.methods == ["a", "b", "c", "blend", "best-feature", "random"]
    results = {result.method: result for result in comparison.results if result.fold == "fold 1"}
    assert [c["parameters"] for c in results["blend"].trials] == [{}]
    # it costs what all that it is of costs
    assert results["blend"].seconds > sum(results[name].seconds for name in "abc")
    # what was finished is not made again, and is the same in whichever order trials end
    shutil.rmtree(tmp_path / "run" / "results")
    monkeypatch.setattr(runner, "run_trial", None)
    again = run(queries, out=tmp_path / "run")
    assert [r.per_query for r in again.results] == [r.per_query for r in comparison.results]


SETTINGS = {"methods": ["listnet", "pmop", "blend"], "folds": 3}


def test_it_is_of_all_settings_and_only_the_chosen_ones_scores_stay(queries, tmp_path):
    comparison = run(queries, out=tmp_path, **SETTINGS)
    chosen = {result.trial for result in comparison.results}
    assert {path.stem for path in (tmp_path / "trials").glob("*.npz")} == chosen
    # by hand, from models fitted anew: rankings of all eight settings, averaged
    (fold,) = [r for r in comparison.results if r.method == "blend" and r.fold == "fold 1"]
    train, valid, test = next(iter(podium.data.splits.k_folds(len(queries), 3, random_state=0)))
    parts = [queries.take(numbers) for numbers in (train, valid, test)]
    total = 0.0
    for name in ("listnet", "pmop"):
        for l2 in METHODS[name].grid["l2"]:
            ranker = METHODS[name].build(l2=l2, normalize="minmax").fit(parts[0], eval_set=parts[1], eval_metric="map")
            total = total - np.log(ranks(np.asarray(ranker.predict(parts[2]), float), parts[2]))
    by_hand = metric("map").per_query(total, parts[2].labels, parts[2].offsets)
    assert fold.per_query["map"] == pytest.approx(by_hand.tolist())


def test_a_blend_that_comes_later_is_the_same(queries, tmp_path):
    run(queries, out=tmp_path, **(SETTINGS | {"methods": ["listnet", "pmop"]}))  # drops what was not chosen
    later = run(queries, out=tmp_path, **SETTINGS)
    fresh = run(queries, **SETTINGS)
    assert later.values("blend", "map").tolist() == fresh.values("blend", "map").tolist()


def test_another_method_makes_another_blend(queries, tmp_path):
    two = {name: RANKERS[name] for name in ("a", "b", "blend")}
    before = run(queries, two, out=tmp_path)
    after = run(queries, out=tmp_path)
    fresh = run(queries)
    assert after.values("blend", "map").tolist() == fresh.values("blend", "map").tolist()
    assert after.values("blend", "map").tolist() != before.values("blend", "map").tolist()


def test_a_method_that_fails_is_not_in_it(queries):
    comparison = run(queries, RANKERS | {"c": Feature(99)})
    assert comparison.failed == ["c"]
    assert len(comparison.values("blend", "map")) == 30
    with pytest.raises(ValueError, match="two methods or more"):
        run(queries, ["listnet", "blend"])


def test_all_and_a_blend_of_all_that_are_no_variants():
    found = study_methods("all, blend", primary="map", normalize=None)
    blended = next(method for method in found if method.members)
    assert {"listnet", "pmop"} <= set(blended.members)
    assert not {"pmop-mh", "best-feature", "blend"} & set(blended.members)
    named = study_methods(["listnet", "pmop", "pmop-mh", "blend"], primary="map", normalize=None)
    assert next(method for method in named if method.members).members == ("listnet", "pmop")
