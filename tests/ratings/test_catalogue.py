"""Whole-catalogue metrics against brute force: plain Python over every item, and every order of tied ones."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from itertools import pairwise, permutations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import podium
from podium.cli.main import main
from podium.ratings.catalogue import lists

METRICS = ["recall@3", "ndcg@3", "map@3", "hit@3", "p@3", "mrr@3", "novelty@3", "popularity@3", "lift@3", "coverage@3"]
RANX = {
    "recall@3": 0.4,
    "ndcg@3": 0.2261859507142915,
    "map@3": 0.16666666666666666,
    "hit_rate@3": 0.4,
    "map": 0.31666666666666665,
    "mrr": 0.29,
}


class Table:
    """Scores by user and item that anybody could have computed."""

    def __init__(self, scores: np.ndarray, train: podium.Ratings) -> None:
        self.scores, self.seen_ = scores, train

    @property
    def item_ids_(self) -> np.ndarray:
        return self.seen_.item_ids

    def score_matrix(self, users: Any, items: Any = None) -> np.ndarray:
        assert items is None
        return self.scores[self.seen_.user_numbers.numbers(users)]


def small(ties: bool) -> tuple[Table, podium.Ratings, podium.Ratings]:
    """6 users, 9 items named so that their order as text is not that of their numbers."""
    generator = np.random.default_rng(4)
    user, item = np.divmod(generator.permutation(54)[:34], 9)
    values = generator.integers(1, 6, 34).astype(float)
    names = {"user_ids": [f"u{i}" for i in range(6)], "item_ids": [f"i{i * 7 % 10}" for i in range(9)]}
    ratings = podium.Ratings.from_numbers(user, item, values, **names)
    train, test = podium.random_split(ratings, 0.5, random_state=1)
    scores = generator.integers(0, 3, (6, 9)).astype(float) if ties else generator.permutation(54).reshape(6, 9) / 54.0
    return Table(scores, train), train, test


def orders(scores: Sequence[float], items: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Yield all orders of the items by descending score."""
    yield from (o for o in permutations(items) if all(scores[a] >= scores[b] for a, b in pairwise(o)))


def metrics_of(
    order: Sequence[int], grades: dict[int, float], counts: np.ndarray, profile: Sequence[int], n: int
) -> Any:
    """The definitions, one by one, for a list of at least three items and exponential gains."""
    top, n_users = list(order)[:3], n
    hits = [i in grades for i in top]
    gain = [2 ** grades.get(i, 0.0) - 1 for i in top]
    best = sorted((2**g - 1 for g in grades.values()), reverse=True)[:3]
    dcg, ideal = (sum(g / math.log2(r + 2) for r, g in enumerate(gs)) for gs in (gain, best))
    precisions = [sum(hits[: r + 1]) / (r + 1) for r in range(3) if hits[r]]
    found = len(grades)
    percentile = [((counts < counts[i]).sum() + 0.5 * (counts == counts[i]).sum()) / len(counts) for i in top]
    return [
        sum(hits) / found if found else 0.0,
        dcg / ideal if found else 0.0,
        sum(precisions) / found if found else 0.0,
        float(any(hits)),
        sum(hits) / 3,
        1 / (hits.index(True) + 1) if any(hits) else 0.0,
        np.mean([-math.log2((counts[i] + 1) / (n_users + 1)) for i in top]),
        np.mean(percentile),
        np.mean([counts[i] for i in top]) / np.mean([counts[i] for i in profile]) - 1,
    ]


def brute_force(table: Table, train: podium.Ratings, test: podium.Ratings) -> tuple[np.ndarray, float]:
    """Every user's metrics as means over all orders of tied items, and the mean coverage over all draws of them."""
    counts = train.item_counts()
    per_user, tops = [], []
    for u in range(train.n_users):
        profile = train.item[train.offsets[u] : train.offsets[u + 1]].tolist()
        own = slice(test.offsets[u], test.offsets[u + 1])
        grades = {i: v for i, v in zip(test.item[own].tolist(), test.values[own].tolist(), strict=True) if v >= 4}
        found = list(orders(table.scores[u].tolist(), [i for i in range(train.n_items) if i not in profile]))
        per_user.append(np.mean([metrics_of(o, grades, counts, profile, train.n_users) for o in found], axis=0))
        sets, times = np.unique([sorted(o[:3]) for o in found], axis=0, return_counts=True)
        tops.append([(set(s), n / len(found)) for s, n in zip(sets.tolist(), times.tolist(), strict=True)])
    coverage = sum(
        math.prod(p for _, p in drawn) * len(set().union(*(s for s, _ in drawn))) for drawn in product(*tops)
    )
    return np.array(per_user), coverage / train.n_items


@pytest.mark.parametrize("ties", [False, True])
def test_every_metric_is_that_of_brute_force(ties: bool) -> None:
    table, train, test = small(ties)
    expected, coverage = brute_force(table, train, test)
    evaluation = podium.evaluate_catalogue(table, test, metrics=METRICS)
    assert evaluation.qids.tolist() == train.user_ids.tolist()
    for name, column in zip(METRICS, expected.T, strict=False):
        np.testing.assert_allclose(evaluation.per_query[name], column, rtol=1e-12, err_msg=name)
    assert evaluation.mean["coverage@3"] == pytest.approx(coverage, rel=1e-12)
    assert evaluation.convention == "standard+relevant_from=4"


@pytest.mark.parametrize("convention", ["standard", "trec", "letor", "catboost"])
def test_short_lists_in_blocks_are_whole_lists(convention: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Evaluated as lists of documents, complete, by :func:`podium.evaluate`; rounding alone makes ties."""
    table, train, test = small(ties=False)
    close = Table(table.scores + 1e-12 * np.arange(9), train)
    whole = ["map", "mrr", "recall@3", "ndcg@3", "err@3"]
    rules = podium.metrics.convention(f"{convention}+relevant_from=4+max_grade=5")
    seen = train.to_csr(np.ones(len(train))).toarray() > 0
    grades = test.to_csr(np.where(test.values >= 4, test.values, 0.0)).toarray()
    arrays = (grades[~seen], close.scores[~seen], np.repeat(train.item_ids[None], 6, 0)[~seen])
    metrics = whole[:4] if convention == "catboost" else whole
    expected = podium.evaluate(
        *arrays[:2], sizes=(~seen).sum(1), document_ids=arrays[2], metrics=metrics, convention=rules
    )
    monkeypatch.setattr(lists, "BLOCK", 18)  # two users at a time
    for asked in (metrics, metrics[2:]):
        found = podium.evaluate_catalogue(close, test, metrics=asked, convention=rules)
        for name in asked:
            np.testing.assert_allclose(found.per_query[name], expected.per_query[name], rtol=1e-12, err_msg=name)


def test_figures_of_ranx() -> None:
    """Computed by ranx 0.3.21 from the same scores, with all candidates in the run and relevant items in the qrels."""
    table, _, test = small(ties=False)
    names = ["recall@3", "ndcg@3", "map@3", "hit@3", "map", "mrr"]
    found = podium.evaluate_catalogue(table, test, metrics=names, convention="trec+no_relevant=skip")
    np.testing.assert_allclose(list(found.mean.values()), list(RANX.values()), rtol=1e-12)


def test_ties_are_never_broken_by_the_number_of_an_item() -> None:
    """All scores equal: the first item is found as often as any other, also where ties go by rows."""
    n = 4000
    train = podium.Ratings.from_numbers([0], [0], [3.0], user_ids=range(n), item_ids=range(5))
    test = podium.Ratings.from_numbers(range(n), np.ones(n, int), np.full(n, 5.0), user_ids=range(n), item_ids=range(5))
    table = Table(np.zeros((n, 5)), train)
    for convention, share in (("standard", 1 / 5), ("letor", 1 / 5), ("trec", 0.0)):
        values = podium.evaluate_catalogue(table, test, metrics=["hit@1"], convention=convention).per_query["hit@1"]
        assert values[1:].mean() == pytest.approx(share, abs=4 * math.sqrt(share * (1 - share) / n) + 1e-12)
    seeds = [
        podium.evaluate_catalogue(table, test, metrics=["hit@1"], convention="letor", random_state=seed).per_query
        for seed in (0, 0, 1)
    ]
    assert (seeds[0]["hit@1"] == seeds[1]["hit@1"]).all()
    assert (seeds[0]["hit@1"] != seeds[2]["hit@1"]).any()


def test_scores_of_a_ranker_are_those_it_predicts() -> None:
    ratings = podium.make_ratings(20, 15, 200, random_state=1, min_ratings=8)
    ranker = podium.PMF(3, random_state=0).fit(ratings)
    users = [*ratings.user_ids[:4].tolist(), 999]
    matrix = ranker.score_matrix(users)
    np.testing.assert_allclose(matrix, [ranker.predict(u, ratings.item_ids) for u in users], rtol=1e-12)
    some = [ratings.item_ids[3], 777]
    np.testing.assert_allclose(ranker.score_matrix(users, some), [ranker.predict(u, some) for u in users], rtol=1e-12)


def test_what_is_graded() -> None:
    table, _, test = small(ties=False)
    graded = podium.evaluate_catalogue(table, test, metrics=["ndcg@3", "recall@3"])
    binary = podium.evaluate_catalogue(table, test, metrics=["ndcg@3", "recall@3"], binary=True)
    assert (graded.per_query["recall@3"] == binary.per_query["recall@3"]).all()
    assert (graded.per_query["ndcg@3"] != binary.per_query["ndcg@3"]).any()
    assert binary.convention == "standard"
    three = podium.evaluate_catalogue(table, test, metrics=["recall@3"], relevant=3)
    assert three.convention == "standard+relevant_from=3"
    by_name = podium.evaluate_catalogue(table, test, metrics=["recall@3"], convention="standard+relevant_from=3")
    assert (three.per_query["recall@3"] == by_name.per_query["recall@3"]).all()


def test_new_users_are_folded_in_and_popularity_stays_that_of_training() -> None:
    ratings = podium.make_ratings(40, 25, 600, random_state=3, min_ratings=12)
    split = podium.held_out_users(ratings, 5, test_size=0.3, min_test=5)
    ranker = podium.PMF(2, random_state=0).fit(split.train)
    found = podium.evaluate_catalogue(ranker, split.test, given=split.given, metrics=["ndcg@5", "novelty@5", "lift@5"])
    folded = ranker.with_users(split.given)
    by_hand = podium.evaluate_catalogue(folded, split.test, metrics=["ndcg@5"])
    assert (found.per_query["ndcg@5"] == by_hand.per_query["ndcg@5"]).all()
    most = np.log2(split.train.n_users + 1)
    assert 0 < found.mean["novelty@5"] < most
    assert np.isfinite(found.per_query["lift@5"]).all()


def test_unknown_users_and_items_are_said_and_count() -> None:
    _, train, _ = small(ties=False)
    ranker = podium.GlobalRanking().fit(train)
    test = podium.Ratings(["u0", "stranger"], ["new", train.item_ids[0]], [5, 5])
    found = podium.evaluate_catalogue(ranker, test, metrics=["recall@99", "lift@2"])
    assert found.per_query["recall@99"].tolist() == [0.0, 1.0]  # k beyond the catalogue: everything but the new item
    assert found.left_out["lift@2"] == 1
    assert "1 users were not fitted on" in str(found)
    assert "1 relevant test ratings are of items that are not in the catalogue" in str(found)
    strict = podium.GlobalRanking(cold="error").fit(train)
    with pytest.raises(ValueError, match="'stranger'"):
        podium.evaluate_catalogue(strict, test)
    wider = podium.evaluate_catalogue(ranker, test, metrics=["recall@99"], items=[*train.item_ids, "new"])
    assert wider.per_query["recall@99"].tolist() == [1.0, 1.0]
    with pytest.raises(ValueError, match="each item of the catalogue once"):
        podium.evaluate_catalogue(ranker, test, items=["new", "new"])
    again = podium.Ratings(["u0"], [train.items[0]], [5])
    assert "1 relevant test ratings are of items rated in training" in str(podium.evaluate_catalogue(ranker, again))


def test_nothing_to_find() -> None:
    table, train, test = small(ties=False)
    low = podium.Ratings(["u0", "u1"], [train.item_ids[0]] * 2, [3, 5])
    one = podium.evaluate_catalogue(table, low, metrics=["recall@3"])
    assert "1 of the 2 users have no relevant test item" in str(one)
    assert one.per_query["recall@3"][0] == 0.0
    skipped = podium.evaluate_catalogue(table, low, metrics=["recall@3"], convention="standard+no_relevant=skip")
    assert skipped.left_out["recall@3"] == 1
    with pytest.raises(ValueError, match="no test rating is 6 or more, the highest is 5: set relevant="):
        podium.evaluate_catalogue(table, test, relevant=6)
    with pytest.raises(ValueError, match="relevant must be above 0"):
        podium.evaluate_catalogue(table, test, relevant=0)
    with pytest.raises(ValueError, match="no test ratings"):
        podium.evaluate_catalogue(table, test.take([]))


def test_scores_that_cannot_be_ranked_are_refused() -> None:
    table, train, test = small(ties=False)
    bad = table.scores.copy()
    bad[1, 2] = np.nan
    with pytest.raises(ValueError, match=f"Table gives user 'u1' the score nan for item '{train.item_ids[2]}'"):
        podium.evaluate_catalogue(Table(bad, train), test)
    with pytest.raises(ValueError, match=r"shape \(6, 8\) for 6 users and 9 items"):
        podium.evaluate_catalogue(Table(bad[:, 1:], train), test)
    left_out = table.scores.copy()
    left_out[:, 1:] = -np.inf  # a ranker that recommends one item only
    found = podium.evaluate_catalogue(Table(left_out, train), test, metrics=["coverage@3", "hit@9"])
    assert found.mean["coverage@3"] == pytest.approx(1 / 9)

    class Bare:
        def score_matrix(self, users: Any, items: Any = None) -> np.ndarray:
            return np.zeros((len(users), 9))

    with pytest.raises(ValueError, match="Bare does not say what users have seen"):
        podium.evaluate_catalogue(Bare(), test)
    assert podium.evaluate_catalogue(Bare(), test, seen=train, metrics="hit@3").mean["hit@3"] > 0


def test_metrics_of_a_catalogue_are_refused_elsewhere() -> None:
    table, _, test = small(ties=False)
    with pytest.raises(ValueError, match=r"podium\.evaluate_catalogue"):
        podium.evaluate([1, 0], [0.2, 0.1], sizes=[2], metrics="novelty@1")
    with pytest.raises(ValueError, match="bpref looks at judged items only"):
        podium.evaluate_catalogue(table, test, metrics="bpref")
    evaluation = podium.evaluate_catalogue(table, test, metrics=["coverage@3", "hit@3"])
    with pytest.raises(ValueError, match="one figure for all lists together"):
        evaluation.compare(evaluation, "coverage@3")
    assert evaluation.interval("coverage@3") == (evaluation.mean["coverage@3"],) * 2


def test_the_command_prints_what_python_computes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, train, test = small(ties=False)
    model, file = tmp_path / "model.podium", tmp_path / "test.csv"
    ranker = podium.ItemMean().fit(train)
    ranker.save(model)
    rows = zip(test.users, test.items, test.values, strict=True)
    file.write_text("".join(f"{u},{i},{v:g}\n" for u, i, v in rows))
    words = ["ratings", "evaluate", str(model), str(file)]
    assert main([*words, "--json", "--per-user", "--relevant", "3", "--convention", "trec"]) == 0
    found = json.loads(capsys.readouterr().out)
    expected = podium.evaluate_catalogue(ranker, test, relevant=3, convention="trec")
    assert found["mean"] == pytest.approx(expected.mean)
    assert found["convention"] == "trec+relevant_from=3"
    assert found["per_query"]["ndcg@10"] == expected.per_query["ndcg@10"].tolist()
    assert any(line.startswith("candidates: the 9 items") for line in found["notes"])
    assert main([*words, "--candidates", "rated", "--metrics", "ndcg@5"]) == 0
    figure = podium.evaluate_ratings(ranker, test, metrics=["ndcg@5"]).mean["ndcg@5"]
    assert f"{figure:.4f}" in capsys.readouterr().out
    assert main([*words, "--candidates", "rated", "--binary"]) == 2
    assert "--binary are for --candidates catalogue" in capsys.readouterr().err
    documents = tmp_path / "documents.podium"
    podium.Regression().fit([[1.0], [2.0]], [0, 1], qid=[1, 1]).save(documents)
    assert main(["ratings", "evaluate", str(documents), str(file)]) == 2
    assert "podium evaluate is for documents" in capsys.readouterr().err
