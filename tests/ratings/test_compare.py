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
from podium.ratings.catalogue.folds import first_items
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


def test_held_out_ratings_choose_penalties_and_do_not_also_end_fits(ratings: podium.Ratings) -> None:
    """Stopped where the held-out ratings are ranked best, fits with any penalty look alike."""
    train, validation, _ = RatingSource(ratings, "r", RatingProtocol("given-n", 5, 1), 0).load("replicate 1")
    sizes = ratings.n_users, ratings.n_items
    penalized = OnQueries(podium.PMOPFactors(n_factors=2, random_state=0), *sizes).fit(train, validation, "ndcg@10")
    assert penalized.chosen_ == {}
    free = OnQueries(podium.PMOPFactors(n_factors=2, regularization=0.0, random_state=0), *sizes)
    assert free.fit(train, validation, "ndcg@10").chosen_["iterations"] > 0


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
    whole = ["--protocol", "random", "--candidates", "catalogue", "--relevant", "5", "--binary", "--methods", "pmf"]
    shown = ["--metrics", "recall@5,coverage@5", "--replicates", "1", "--quiet", "--jobs", "1"]
    assert main(["ratings", "compare", "stars.csv", *whole, *shown]) == 0
    table = capsys.readouterr().out
    assert "to be found those rated 5 or more, counted alike" in table
    assert "Convention of all metrics: standard" in table
    with pytest.raises(SystemExit, match="2"):
        main([*words[:4], "x", "--quiet"])
    assert main(["ratings", "compare", "stars.csv", "--protocol", "time", "--quiet"]) == 2
    assert "no times" in capsys.readouterr().err
    assert main(["methods", "--ratings"]) == 0
    assert "cofirank" in capsys.readouterr().out


@pytest.fixture(scope="module")
def timed(ratings: podium.Ratings) -> podium.Ratings:
    times = np.random.default_rng(1).integers(0, 6, len(ratings))
    return podium.Ratings(ratings.users, ratings.items, ratings.values, times)


CATALOGUE = ["recall@5", "ndcg@5", "hit@5", "coverage@5", "novelty@5", "lift@5"]


@pytest.mark.parametrize(("protocol", "n"), [("leave-last-out", 2), ("random", 10), ("held-out-users", 5)])
def test_the_whole_catalogue_has_the_figures_of_a_loop(
    timed: podium.Ratings, protocol: str, n: int, tmp_path: Path
) -> None:
    found = compare_ratings(
        *(timed, {"undamped": podium.ItemMean(damping=0.0)}),
        **{"protocol": protocol, "n": n, "replicates": 1, "candidates": "catalogue", "metrics": CATALOGUE},
        **{"out": tmp_path, "jobs": 1},
    )[n]
    split = {
        "leave-last-out": lambda: podium.leave_last_out(timed, 2, (0, 0), min_train=3),
        "random": lambda: podium.random_split(timed, 0.2, (0, 0)),
        "held-out-users": lambda: podium.held_out_users(timed, 5, (0, 0)),
    }[protocol]()
    ranker = podium.ItemMean(damping=0.0).fit(split.train)
    expected = podium.evaluate_catalogue(ranker, split.test, given=split.given, metrics=CATALOGUE)
    for name in CATALOGUE:
        measured = podium.metric(name).name
        assert found.figure("undamped", measured) == pytest.approx(expected.mean[name], rel=1e-12), name
    assert found.convention == "standard+relevant_from=4"
    text = str(found)
    assert "relevant_from=4" in text
    folder = found.folder
    assert folder is not None
    assert "all items not rated in training" in (folder / "report.html").read_text("utf-8")
    assert not found.leads(found.rows[0], "coverage@5")
    run = (folder / "runs" / "undamped.run").read_text().splitlines()
    known = split.train if split.given is None else split.given
    sizes = timed.n_items - known.take_users(known.user_numbers.numbers(split.test.user_ids)).sizes
    assert np.minimum(sizes, 20).sum() <= len(run) <= sizes.sum()


def test_only_the_first_items_keep_their_scores() -> None:
    scores = np.array([3.0, 1.0, 2.0, 2.0, 5.0, 4.0])
    kept = first_items(scores, np.array([0, 4, 6]), 2)
    assert kept.tolist() == [3.0, -np.inf, 2.0, 2.0, 5.0, 4.0]  # both that share the second place
    with pytest.raises(ValueError, match="the score NaN"):
        first_items(np.array([np.nan, 1.0]), np.array([0, 2]), 1)


def test_hyperparameters_are_chosen_by_the_same_split_of_the_training_part(timed: podium.Ratings) -> None:
    protocol = RatingProtocol("leave-last-out", 2, 1, candidates="catalogue")
    source = RatingSource(timed, "r", protocol, 0)
    train, validation, test = source.load("replicate 1")
    split = podium.leave_last_out(timed, 2, (0, 0), min_train=3)
    inner = podium.leave_last_out(split.train, 2, (0, 0, 1))
    roles = train.features[:, 2]
    assert (roles == 2.0).sum() == len(inner.test)
    assert (roles == 0.0).sum() == len(inner.train)
    for part, known, wanted in ((validation, inner.train, inner.test), (test, split.train, split.test)):
        assert part.n_documents == wanted.n_users * timed.n_items - len(known)
        assert sorted(part.labels[part.labels > 0]) == sorted(wanted.values[wanted.values >= 4])
        assert not np.array_equal(np.sort(part.features[:30, 1]), part.features[:30, 1])  # rows say nothing


def test_what_is_trained_from_a_run_learns_from_what_the_run_took_for_liked(
    timed: podium.Ratings, tmp_path: Path
) -> None:
    compare_ratings(
        *(timed, ["implicit-softmax"]),
        **{"protocol": "random", "candidates": "catalogue", "relevant": 3, "replicates": 1, "metrics": ["ndcg@5"]},
        **{"search": "random", "budget": 1, "out": tmp_path, "jobs": 1},
    )
    ranker = podium.train_from_comparison(tmp_path / "random-catalogue", "implicit-softmax", data=timed)
    assert ranker.relevant_from == 3.0


def test_what_does_not_fit_the_protocol_is_said(ratings: podium.Ratings, timed: podium.Ratings) -> None:
    with pytest.raises(ValueError, match="nothing to order: give a larger n, or rank the whole catalogue"):
        compare_ratings(timed, [], protocol="leave-last-out")
    untimed = podium.Ratings(ratings.users, ratings.items, ratings.values)
    with pytest.raises(ValueError, match="have no times"):
        compare_ratings(untimed, [], protocol="leave-last-out", candidates="catalogue")
    with pytest.raises(ValueError, match="novelty@5 is of a whole catalogue"):
        compare_ratings(ratings, [], metrics=["ndcg@5", "novelty@5"])
    with pytest.raises(ValueError, match="are for candidates='catalogue'"):
        compare_ratings(ratings, [], relevant=3)
    with pytest.raises(ValueError, match="candidates must be one of"):
        compare_ratings(ratings, [], candidates="sampled")
