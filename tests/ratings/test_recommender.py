"""What is asked of fitted rankers of ratings: one user or many, similar items, reasons."""

from __future__ import annotations

import json

import numpy as np
import pytest

import podium
from podium.ratings import explaining
from podium.ratings.estimator import RatingRanker
from podium.ratings.recommending import BLOCK, Recommendations, top_blocks


@pytest.fixture(scope="module")
def ratings() -> podium.Ratings:
    return podium.make_ratings(30, 25, 400, min_ratings=8, random_state=3)


@pytest.fixture(scope="module")
def squares(ratings: podium.Ratings) -> podium.PMF:
    return podium.PMF(n_factors=3, l2=2.0, random_state=0).fit(ratings)


@pytest.fixture(scope="module")
def mixed(ratings: podium.Ratings) -> podium.FactorRanker:
    priors = [podium.ItemMean(), podium.PMF(n_factors=2, random_state=0), podium.TasteFactors("rated", n_factors=2)]
    loss = podium.losses.PMOPLoss()
    return podium.FactorRanker(loss, n_factors=2, priors=priors, n_folds=2, random_state=0).fit(ratings)


def test_one_user_or_many(squares: podium.PMF) -> None:
    users = [3, 11, 999]  # the last is not known: the average user
    many = squares.recommend(users, 4)
    assert [type(found) for found in many] == [Recommendations] * 3
    for given in (np.array(users), (user for user in users), range(3)):
        several = squares.recommend(list(given) if not hasattr(given, "__len__") else given, 4)
        assert len(several) == 3
    for user, found in zip(users, many, strict=True):
        alone = squares.recommend(user, 4)
        assert alone.items.tolist() == found.items.tolist()
        assert alone.scores.tolist() == found.scores.tolist()
    assert len(squares.recommend([], 4)) == 0
    assert isinstance(squares.recommend(np.int64(3)), Recommendations)


def test_texts_and_tuples_are_one_id() -> None:
    ranker = podium.ItemMean().fit((["ann", "bob"], ["up", "alien"], [5, 3]))
    assert isinstance(ranker.recommend("ann"), Recommendations)
    with pytest.raises(ValueError, match=r"a tuple is one id.*give many users as a list"):
        ranker.recommend(("ann", "bob"))
    with pytest.raises(ValueError, match="one id or a list of ids"):
        ranker.recommend([["ann", "bob"]])
    pairs = np.empty(2, dtype=object)
    pairs[:] = [("ann", 1), ("bob", 2)]
    by_tuple = podium.ItemMean().fit((pairs, ["up", "alien"], [5, 3]))
    assert by_tuple.recommend(("bob", 2)).items.tolist() == ["up"]
    assert [found.items.tolist() for found in by_tuple.recommend([("bob", 2), ("ann", 1)])] == [["up"], ["alien"]]


def test_blocks_change_nothing(squares: podium.PMF) -> None:
    users = np.array([4, 0, -1, 7, 7])
    whole = list(top_blocks(squares.model_, squares.seen_, users, 3))
    parts = list(top_blocks(squares.model_, squares.seen_, users, 3, size=2))
    assert len(whole) == 1 < BLOCK
    assert [len(items) for items, _ in parts] == [2, 2, 1]
    for k in range(2):
        np.testing.assert_array_equal(np.concatenate([part[k] for part in parts]), whole[0][k])


def test_similar_items_are_those_with_the_highest_cosines(squares: podium.PMF) -> None:
    factors = squares.model_.item_factors[:, :3]  # the last is 1 for every item
    item = 6
    expected = {
        j: float(factors[item] @ factors[j] / np.linalg.norm(factors[item]) / np.linalg.norm(factors[j]))
        for j in range(len(factors))
        if j != item
    }
    best = sorted(expected, key=lambda j: -expected[j])[:5]
    found = squares.similar_items(squares.item_ids_[item], 5)
    assert found.items.tolist() == squares.item_ids_[best].tolist()
    assert found.scores == pytest.approx([expected[j] for j in best])
    assert len(squares.similar_items(squares.item_ids_[item], 500).items) == len(factors) - 1


def test_similar_items_refused(squares: podium.PMF, ratings: podium.Ratings) -> None:
    with pytest.raises(ValueError, match="ItemMean has no factors to compare items by"):
        podium.ItemMean().fit(ratings).similar_items(0)
    with pytest.raises(ValueError, match="777 is not the id of one of the items fitted on"):
        squares.similar_items(777)
    with pytest.raises(ValueError, match="n must be a whole number"):
        squares.similar_items(0, 0)
    unrated = podium.Ratings.from_numbers(
        [0, 0, 1, 1], [0, 1, 0, 1], [1, 2, 3, 1], user_ids=[0, 1], item_ids=["a", "b", "never"]
    )
    with pytest.raises(ValueError, match="factors of this item are all 0"):
        podium.TasteFactors("rated", n_factors=1, random_state=0).fit(unrated).similar_items("never")


def _one_by_one(ranker: RatingRanker, ratings: podium.Ratings, user: int, item: int) -> dict[int, float]:
    """Return the contributions of a user's ratings, by separate fold-ins: the definition."""
    own = ratings.user == user
    items, values = ratings.items[own], ratings.values[own]
    whole = float(ranker.predict(ranker.fold_in(items, values), item))
    without = {i: ranker.fold_in(items[items != i], values[items != i]) for i in items.tolist()}
    return {i: whole - float(ranker.predict(new, item)) for i, new in without.items()}


@pytest.mark.parametrize(("name", "tolerance"), [("squares", 1e-10), ("mixed", 1e-4)])
def test_reasons_are_scores_without_each_rating(
    name: str, tolerance: float, ratings: podium.Ratings, request: pytest.FixtureRequest
) -> None:
    ranker, user = request.getfixturevalue(name), 5
    item = ranker.recommend(ratings.user_ids[user], 1).items[0]
    expected = _one_by_one(ranker, ratings, user, item)
    why = ranker.explain(ratings.user_ids[user], item)
    assert {r.item: r.contribution for r in why.reasons} == pytest.approx(expected, abs=tolerance)
    sizes = [abs(r.contribution) for r in why.reasons]
    assert sizes == sorted(sizes, reverse=True)
    own = ratings.user == user
    assert {r.item: r.rating for r in why.reasons} == dict(zip(ratings.items[own], ratings.values[own], strict=True))
    new = ranker.fold_in(ratings.items[own], ratings.values[own])
    same = ranker.explain(new, item, n=2)
    assert same.score == pytest.approx(float(ranker.predict(new, item)), abs=tolerance)
    assert [r.contribution for r in same.reasons] == [r.contribution for r in why.reasons[:2]]
    assert same.n_ratings == why.n_ratings == own.sum()


def test_many_ratings_are_folded_in_in_parts(squares: podium.PMF, monkeypatch: pytest.MonkeyPatch) -> None:
    at_once = squares.explain(4, 3)
    monkeypatch.setattr(explaining, "AT_ONCE", 1)
    assert squares.explain(4, 3) == at_once


def test_few_and_unknown_ratings(squares: podium.PMF, mixed: podium.FactorRanker) -> None:
    for ranker in (squares, mixed):
        (reason,) = ranker.explain(ranker.fold_in([2], [5.0]), 3).reasons
        nothing = ranker.fold_in([], [])
        assert reason.contribution == pytest.approx(
            float(ranker.predict(ranker.fold_in([2], [5.0]), 3) - ranker.predict(nothing, 3)), abs=1e-4
        )
        assert ranker.explain(nothing, 3).reasons == ()
        with_unknown = ranker.explain(ranker.fold_in([2, 999], [5.0, 1.0]), 3)
        assert {r.item for r in with_unknown.reasons} == {2, None}


def test_explanations_refused(squares: podium.PMF, ratings: podium.Ratings) -> None:
    with pytest.raises(ValueError, match="ItemMean has no factors to explain by"):
        podium.ItemMean().fit(ratings).explain(0, 0)
    with pytest.raises(ValueError, match=r"777 is not the id of one of the users fitted on; fold_in makes"):
        squares.explain(777, 0)
    with pytest.raises(ValueError, match="not the id of one of the items"):
        squares.explain(0, 777)
    with pytest.raises(ValueError, match="not the id of one of the users"):
        squares.explain([0, 1], 0)
    with pytest.raises(ValueError, match="values must be finite"):
        squares.fold_in([1], [np.nan])


def test_explanations_are_shown(squares: podium.PMF) -> None:
    why = squares.explain(4, 3)
    assert why.supporting == tuple(r for r in why.reasons if r.contribution > 0)
    text = str(why)
    assert text.startswith(f"Item 3 for user 4: score {why.score:.6g}, from {why.n_ratings} ratings")
    assert "█" in text
    assert why.to_text(2).count("|") == 2
    assert f"… and {why.n_ratings - 2} smaller" in why.to_text(2)
    assert repr(why).startswith("RatingExplanation(Item 3 for user 4")
    assert json.loads(json.dumps(why.to_dict()))["reasons"][0]["contribution"] == why.reasons[0].contribution
    frame = why.to_frame()
    assert frame["contribution"].to_list() == [r.contribution for r in why.reasons]
    assert why.to_frame("pandas").shape == (why.n_ratings, 3)
    html = why._repr_html_()
    assert html.count("<svg") == min(20, why.n_ratings)
    assert html in why.to_html()
    odd = podium.PMF(n_factors=1, random_state=0).fit((["u", "u", "v"], ["<b>", "x", "x"], [1, 2, 3]))
    assert "<b>" not in odd.explain("u", "x").to_html().replace("&lt;b&gt;", "")
