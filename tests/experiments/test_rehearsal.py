"""The rehearsal: no query judges what it had a say in, test parts stay out, and flattery does not take it in."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import BaseEstimator

import podium
from podium.experiments import Comparison
from podium.experiments.plan.protocol import KFold
from podium.experiments.plan.rehearsal import RehearsalFolds, pick
from podium.experiments.plan.sources import DealtQueries


class Memory(BaseEstimator):
    """Learns the validation part by heart, and knows nothing else."""

    def fit(self, queries, eval_set=None, eval_metric=None):
        self.known_ = {bytes(row): label for row, label in zip(eval_set.features, eval_set.labels, strict=True)}
        return self

    def predict(self, queries):
        return np.array([self.known_.get(bytes(row), 0.0) for row in queries.features])


RANKERS = {"memory": Memory(), "regression": None}


def run(queries, **options):
    plain = {"metrics": ["ndcg@5", "map"], "jobs": 1, "folds": 3}
    return podium.compare(queries, RANKERS, **(plain | options))


def test_halves_of_the_validation_part_choose_and_judge(queries):
    source = DealtQueries(queries, "q", KFold(3), 0)
    folds = RehearsalFolds(source)
    assert folds.folds[:2] == ["fold 1, half 1", "fold 1, half 2"]
    for i, name in enumerate(folds.folds):
        train, chooses, judges = folds.load(name)
        whole = source.load(source.folds[i // 2])
        assert train.qids.tolist() == whole[0].qids.tolist()
        assert sorted([*chooses.qids, *judges.qids]) == sorted(whole[1].qids)
        assert not {*chooses.qids} & {*judges.qids}
        assert not {*whole[2].qids} & {*train.qids, *chooses.qids, *judges.qids}
        assert abs(len(chooses) - len(judges)) <= 1
    first, second = folds.load(folds.folds[0]), folds.load(folds.folds[1])
    assert first[1].qids.tolist() == second[2].qids.tolist()


def test_it_is_not_taken_in_by_what_knows_the_validation_part_by_heart(queries, tmp_path):
    flattered = run(queries)
    assert flattered.pick == "memory"
    assert flattered.rehearsal is None
    comparison = run(queries, rehearse=True, out=tmp_path)
    assert comparison.pick == "regression"
    assert comparison.values("regression", "map").tolist() == flattered.values("regression", "map").tolist()
    # every validation query was judged once, none of it by Memory's heart
    assert sorted(comparison.rehearsal.qids) == sorted(map(str, queries.qids))
    assert comparison.rehearsal.figure("memory", "map") < comparison.rehearsal.figure("regression", "map")
    again = Comparison.load(tmp_path)
    assert again.pick == "regression"
    assert again.to_dict()["pick"] == "regression"
    assert "without the test parts: regression" in str(again)
    page = again.to_html()
    assert again.best == "best-feature"  # by chance, on these few
    assert "Without the test parts, regression was picked" in page
    assert "after a rehearsal of" in page
    run(queries, out=tmp_path)  # the last run had no rehearsal: it is not that of an earlier one
    assert Comparison.load(tmp_path).pick == "memory"


def test_the_pick_is_by_the_mean_of_all_metrics_and_never_a_floor(make_comparison):
    comparison = make_comparison(methods=("one", "two"))
    means = {
        row.method: np.mean([estimate.mean for estimate in row.estimates.values()])
        for row in comparison.rows
        if row.method not in ("best-feature", "random")
    }
    assert pick(comparison) == max(means, key=means.__getitem__)


def test_one_validation_query_is_not_enough(queries):
    few = queries.take(range(3))
    with pytest.raises(ValueError, match="two validation queries or more"):
        run(few, rehearse=True)
