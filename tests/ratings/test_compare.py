"""Ratings through the same experiment as documents: users as queries, draws as folds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import podium
from podium.cli.main import main
from podium.experiments import Comparison
from podium.ratings import compare_ratings
from podium.ratings.estimator import RATING_METHODS
from podium.ratings.folds import HELD_OUT, OnQueries, RatingProtocol, RatingSource
from podium.ratings.splits import hold_out


@pytest.fixture(scope="module")
def ratings() -> podium.Ratings:
    return podium.make_ratings(40, 30, 1000, random_state=2, min_ratings=12)


def _own() -> dict[str, Any]:
    """A method by name, a ranker of the user's, and one with a search space."""
    searched = (podium.ItemMean(), {"damping": [0.0, 50.0]})
    return {"pmf": None, "undamped": podium.ItemMean(damping=0.0), "searched": searched}


@pytest.fixture(scope="module")
def comparison(ratings: podium.Ratings, tmp_path_factory: pytest.TempPathFactory) -> Comparison:
    out = tmp_path_factory.mktemp("runs")
    own = _own()
    return compare_ratings(ratings, own, n=5, replicates=2, out=out, jobs=1)[5]


def test_a_floor_gets_the_figures_that_it_has_by_itself(ratings: podium.Ratings, comparison: Comparison) -> None:
    """The whole machinery against a loop of three lines: the final fit is on all n ratings of a user."""
    figures: dict[int, list[float]] = {}
    for i in range(2):
        train, test = podium.given_n(ratings, 5, random_state=(0, i))
        e = podium.evaluate_ratings(podium.ItemMean().fit(train), test, metrics=["ndcg@10"], scale=(1, 5))
        for user, value in zip(e.qids.tolist(), e.per_query["ndcg@10"], strict=True):
            figures.setdefault(user, []).append(value)
    expected = np.mean([np.mean(values) for values in figures.values()])
    assert comparison.figure("item-mean", "ndcg@10") == pytest.approx(expected, abs=1e-12)
    assert comparison.n_queries == len(figures)


def test_the_table_has_floors_choices_and_err_from_one_star_on(comparison: Comparison) -> None:
    assert not comparison.failed
    assert comparison.methods == ["pmf", "undamped", "searched", "item-mean", "popularity"]
    assert comparison.convention == "standard+min_grade=1"
    pmf = next(row for row in comparison.rows if row.method == "pmf")
    assert "l2=" in pmf.chosen
    assert len(pmf.results[0].trials) == len(RATING_METHODS["pmf"].grid["l2"])
    searched = next(row for row in comparison.rows if row.method == "searched")
    assert [trial.parameters["damping"] for trial in searched.results[0].trials] == [0.0, 50.0]
    text = str(comparison)
    assert "test users" in text
    assert "Features" not in text
    assert "report.html" in {path.name for path in comparison.folder.iterdir()}


def test_going_on_computes_nothing_again(ratings: podium.Ratings, comparison: Comparison) -> None:
    class Refusing:
        def note(self, text: str) -> None: ...

        def start(self, total: int, done: int) -> None:
            raise AssertionError("there is nothing left to compute")

        def finished(self, text: str, seconds_left: float | None = None) -> None: ...

    own = _own()
    out = comparison.folder.parent
    again = compare_ratings(ratings, own, n=5, replicates=2, out=out, jobs=1, progress=Refusing())[5]
    assert again.figure("pmf", "err") == comparison.figure("pmf", "err")


def test_validation_is_a_part_of_the_training_ratings_and_test_labels_stay_sealed(ratings: podium.Ratings) -> None:
    source = RatingSource(ratings, "r", RatingProtocol(n=5, replicates=1), 0)
    train, validation, test = source.load("replicate 1")
    split = podium.given_n(ratings, 5, random_state=(0, 0))
    kept, aside = hold_out(split.train, HELD_OUT, (0, 0, 1))
    assert train.n_documents == len(kept)
    assert validation.labels.tolist() == aside.values.tolist()
    assert (ratings.item_ids[test.features[:, 1].astype(int)] == test.document_ids).all()
    known = {tuple(row) for part in (train, validation) for row in part.features[:, :2]}
    assert not known & {tuple(row) for row in test.features[:, :2]}


def test_held_out_users_are_folded_in(ratings: podium.Ratings) -> None:
    source = RatingSource(ratings, "r", RatingProtocol("held-out-users", 5, 1), 0)
    train, validation, test = source.load("replicate 1")
    ranker = OnQueries(podium.PMF(2, random_state=0), ratings.n_users, ratings.n_items)
    ranker.fit(train, validation, "ndcg@10")
    split = podium.held_out_users(ratings, 5, (0, 0))
    direct = podium.PMF(2, random_state=0, max_iter=ranker.convergence_.best_iter, tol=0.0)
    with pytest.warns(UserWarning, match="no convergence"):
        direct.fit(split.train)
    expected = direct.with_users(split.given).predict(
        split.test.user_ids[split.test.user], split.test.item_ids[split.test.item]
    )
    unlabelled = podium.Queries(test.features, sizes=test.sizes)
    # Not to the last bit: the sums are over the same ratings in another order.
    assert np.corrcoef(ranker.predict(unlabelled), expected)[0, 1] > 0.99


def test_command_line(
    ratings: podium.Ratings, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = zip(ratings.user_ids[ratings.user], ratings.item_ids[ratings.item], ratings.values, strict=True)
    (tmp_path / "stars.csv").write_text("".join(f"{u},{i},{v:g}\n" for u, i, v in rows))
    words = ["ratings", "compare", "stars.csv", "--n", "3,5", "--replicates", "1", "--methods", "pmf", "--quiet"]
    assert main([*words, "--jobs", "1", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert list(found) == ["3", "5"]
    assert {row["method"] for row in found["3"]["rows"]} == {"pmf", "item-mean", "popularity"}
    assert (tmp_path / "podium-runs" / "stars" / "given-5" / "report.html").exists()
    with pytest.raises(SystemExit, match="2"):
        main([*words[:4], "x", "--quiet"])
    assert main(["ratings", "compare", "stars.csv", "--protocol", "time", "--quiet"]) == 2
    assert "no times" in capsys.readouterr().err
    assert main(["methods", "--ratings"]) == 0
    assert "cofirank" in capsys.readouterr().out
