"""The BoltzRank preset: what it is made of, choosing settings, leaving irrelevant documents out."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import podium
from podium.data.queries import Queries
from podium.losses.boltzrank import BoltzRankLoss
from podium.rankers.presets.boltzrank import BoltzRank, drop_irrelevant
from podium.scorers.network.mlp import MLP
from podium.scorers.network.potentials import Potentials

QUICK = {"restarts": 2, "epochs": 5, "learning_rate": 0.03, "random_state": 0}


@pytest.fixture(scope="module")
def data() -> tuple[Queries, Queries]:
    queries = podium.make_queries(60, 10, 5, random_state=0)
    return queries.take(np.arange(40)), queries.take(np.arange(40, 60))


def test_parts_are_the_papers() -> None:
    one, two = BoltzRank(random_state=3), BoltzRank(pairwise=True)
    assert one._scorer() == MLP(5, output="tanh", l2=1e-3)
    assert two._scorer() == Potentials(3, 5, "mean", l2=1e-3)
    assert one._loss() == BoltzRankLoss("ndcg@5", 0.9, 100, random_state=3)
    assert one.restarts == two.restarts == 10


@pytest.mark.parametrize("pairwise", [False, True])
def test_learns_saves_and_repeats(data: tuple[Queries, Queries], pairwise: bool, tmp_path: Path) -> None:
    train, valid = data
    ranker = BoltzRank(pairwise=pairwise, pool="mean", **QUICK).fit(train, eval_set=valid)
    assert ranker.score(valid) > podium.RandomRanker(random_state=0).fit(train).score(valid) + 0.15
    again = BoltzRank(pairwise=pairwise, pool="mean", **QUICK).fit(train, eval_set=valid)
    to_the_end = BoltzRank(pairwise=pairwise, pool="mean", early_stopping=False, **QUICK).fit(train, eval_set=valid)
    assert len(to_the_end.convergence_.validation) == 1
    scores = ranker.predict(valid.features, qid=valid.query_of_document)
    np.testing.assert_array_equal(again.predict(valid.features, qid=valid.query_of_document), scores)
    if pairwise:
        with pytest.raises(ValueError, match="give predict the query ids"):
            ranker.predict(valid.features)
    ranker.save(tmp_path / "model.podium")
    loaded = podium.load(tmp_path / "model.podium")
    np.testing.assert_array_equal(loaded.predict(valid.features, qid=valid.query_of_document), scores)


def test_settings_are_chosen_on_validation_queries(data: tuple[Queries, Queries], tmp_path: Path) -> None:
    train, valid = data
    ranker = BoltzRank(hidden=[1, 4], weight=(0.5, 0.9), **QUICK).fit(train, eval_set=valid, eval_metric="map")
    assert set(ranker.chosen_) == {"hidden", "weight"}
    assert "of 8 was best" in ranker.convergence_.message
    # Every setting alone; the choice is the one that would have been made by hand.
    merits = {}
    for weight in (0.5, 0.9):
        for hidden in (1, 4):
            alone = BoltzRank(hidden=hidden, weight=weight, **QUICK).fit(train, eval_set=valid, eval_metric="map")
            merits[weight, hidden] = max(alone.convergence_.validation)
    # Starts differ from those of the joint search, so merits do too; both find something of the same quality.
    assert max(ranker.convergence_.validation) == pytest.approx(max(merits.values()), abs=0.1)
    ranker.save(tmp_path / "chosen.podium")
    loaded = podium.load(tmp_path / "chosen.podium")
    assert loaded.chosen_ == ranker.chosen_
    np.testing.assert_array_equal(loaded.predict(valid.features), ranker.predict(valid.features))
    with pytest.raises(ValueError, match="needs validation queries"):
        BoltzRank(hidden=[1, 4], **QUICK).fit(train)


def test_restarts_side_by_side(data: tuple[Queries, Queries]) -> None:
    train, valid = data
    here = BoltzRank(**QUICK).fit(train, eval_set=valid)
    spread = BoltzRank(n_jobs=2, **QUICK).fit(train, eval_set=valid)
    np.testing.assert_array_equal(here.predict(valid), spread.predict(valid))


def test_irrelevant_documents_are_left_out_of_training_only() -> None:
    labels = np.array([0, 1, 0, 0, 0, 0, 2, 0, 0, 0, 1, 0])
    queries = Queries(np.arange(24.0).reshape(12, 2), labels, qid=[1] * 6 + [2] * 3 + [3, 3, 3])
    few = drop_irrelevant(queries, 0.8, np.random.default_rng(0))
    # 5, 2 and 2 irrelevant documents: 4, 1 and 1 (4.0, 1.6, 1.6 rounded down) go.
    assert few.sizes.tolist() == [2, 2, 2]
    assert np.sort(few.labels).tolist() == [0, 0, 0, 1, 1, 2]
    kept = (few.features[:, 0] / 2).astype(int)  # the rows' numbers
    np.testing.assert_array_equal(labels[kept], few.labels)
    assert few.qids.tolist() == queries.qids.tolist()
    firsts = {tuple(drop_irrelevant(queries, 0.8, np.random.default_rng(s)).features[:, 0]) for s in range(30)}
    assert len(firsts) > 5
    whole = podium.make_queries(30, 12, 4, random_state=0)
    assert BoltzRank(subsample_irrelevant=0.5, **QUICK).fit(whole).n_documents_ == whole.n_documents


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"subsample_irrelevant": 1.0}, "subsample_irrelevant must be a finite number of at least 0 and below 1"),
        ({"weight": []}, "weight is an empty list"),
        ({"pair_hidden": [1, 3]}, "give pairwise=True"),
        ({"restarts": 0}, "restarts"),
    ],
)
def test_bad_settings(data: tuple[Queries, Queries], settings: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        BoltzRank(**settings).fit(data[0])  # type: ignore[arg-type]


def test_g_and_the_optimizer_reach_the_loss_and_the_trainer(data) -> None:
    queries = data[0]
    ranker = podium.BoltzRank(g="logistic", optimizer="sgd", restarts=1, epochs=3, random_state=0)
    assert (ranker._loss().g, ranker._trainer().trainer.optimizer) == ("logistic", "sgd")
    other = podium.BoltzRank(g="logistic", restarts=1, epochs=3, random_state=0)
    assert not np.allclose(ranker.fit(queries).predict(queries), other.fit(queries).predict(queries))
