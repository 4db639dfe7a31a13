"""What all rankers of ratings share: ids, unknown users and items, recommending."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import podium
from podium.ratings.estimator import RatingRanker, solved
from podium.ratings.factors.model import FactorModel
from podium.ratings.ids import Ids

_TRIPLE = (["ann", "ann", "bob", "cid"], ["up", "alien", "up", "brazil"], [5, 2, 3, 4])


def _given(model: FactorModel, ratings: tuple = _TRIPLE, cold: str = "average") -> RatingRanker:
    """A ranker with these factors."""
    ranker = RatingRanker()
    ranker.cold = cold
    ranker._train = lambda *_: solved(model)
    return ranker.fit(ratings)


@pytest.fixture
def ranker() -> RatingRanker:
    # Items in order of first appearance: up, alien, brazil. Scores of ann: 1, 4, 3; bob: 1, 0, 0; cid: 1, 2, 3.
    users, items = np.array([[1.0, 1.0], [0.0, -0.0], [0.0, 1.0]]), np.array([[0.0, 0.0], [2.0, 2.0], [0.0, 3.0]])
    return _given(FactorModel(users, items, np.array([1.0, 0.0, 0.0])))


def test_predict_by_ids(ranker: RatingRanker) -> None:
    assert ranker.predict(["ann", "cid"], ["alien", "brazil"]).tolist() == [4.0, 3.0]
    assert ranker.predict("ann", ["brazil", "up"]).tolist() == [3.0, 1.0]
    assert float(ranker.predict("bob", "up")) == 1.0
    assert ranker.predict(ranker.user_ids_[:, None], ranker.item_ids_).shape == (3, 3)


def test_unknown_users_and_items_are_average_or_refused(ranker: RatingRanker) -> None:
    # The average user is (1/3, 2/3), the average item (2/3, 5/3) with bias 1/3.
    assert ranker.predict("eve", "alien") == pytest.approx(2.0)
    assert ranker.predict("ann", "heat") == pytest.approx(1 / 3 + 7 / 3)
    assert ranker.recommend("eve").scores == pytest.approx([2.0, 2.0, 1.0])  # who has seen nothing
    strict = _given(ranker.model_, cold="error")
    with pytest.raises(ValueError, match="1 of the users were not among those fitted on, for example 'eve'"):
        strict.predict("eve", "up")
    with pytest.raises(ValueError, match="of the items"):
        strict.fold_in(["heat"], [3])
    with pytest.raises(ValueError, match="cold must be one of"):
        _given(ranker.model_, cold="zero")


def test_recommend_is_the_sorted_list_without_the_seen() -> None:
    rng = np.random.default_rng(0)
    users, items, bias = rng.normal(size=(6, 3)), rng.normal(size=(50, 3)), rng.integers(0, 3, 50).astype(float)
    items[:20] = 0.0  # ties between these: the lower number first
    seen = [(u, i) for u in range(6) for i in rng.choice(50, 1 + 8 * u, replace=False)]
    u, i = np.array([*seen, *((0, i) for i in range(50))]).T  # user 0 has seen everything
    ratings = podium.Ratings(u, i, np.ones(len(u)))
    number = np.argsort(ratings.item_ids)  # items are numbered as they appear
    model = FactorModel(users, items[ratings.item_ids], bias[ratings.item_ids])
    ranker = _given(model, ratings)
    for user, found in enumerate(ranker.recommend(range(6), 45)):
        scores = model.item_bias + model.item_factors @ users[user]
        left = np.setdiff1d(np.arange(50), number[[i for v, i in seen if v == user]] if user else np.arange(50))
        expected = left[np.lexsort((left, -scores[left]))][:45]
        assert found.items.tolist() == ratings.item_ids[expected].tolist()
        assert found.scores == pytest.approx(scores[expected])
    everything = ranker.recommend(0, 60, exclude_seen=False)
    assert sorted(everything.items.tolist()) == list(range(50))
    with pytest.raises(ValueError, match="n must be a whole number"):
        ranker.recommend(0, 0)


def test_types_of_ids(ranker: RatingRanker, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="users were of type <U3 when the ranker was fitted"):
        ranker.predict([1], ["up"])
    mixed = np.array(["a", 7, ("x", 1)], dtype=object)
    ids = Ids(mixed)
    assert ids.numbers(mixed).tolist() == [0, 1, 2]
    assert ids.numbers(("x", 1)) == 2
    assert ids.numbers(["a", 8]).tolist() == [0, -1]
    with pytest.raises(ValueError, match="neither numbers nor texts"):
        ids.to_stored()
    for kept in (np.array([3, 1]), np.array(["b", "a"]), np.array(["b", 2], dtype=object)):
        back = Ids.from_stored(Ids(kept).to_stored()).ids
        assert back.tolist() == kept.tolist()
        assert back.dtype == kept.dtype
    with pytest.raises(ValueError, match="not distinct"):
        Ids.from_stored(np.array([1, 1]))


def test_refused(ranker: RatingRanker) -> None:
    with pytest.raises(NotFittedError, match="call fit first"):
        RatingRanker().predict("ann", "up")
    with pytest.raises(ValueError, match="minimum of 1"):
        RatingRanker().fit(([], [], []))
    with pytest.raises(ValueError, match="three arrays"):
        RatingRanker().fit([1, 2])
    with pytest.raises(ValueError, match="more than once"):
        ranker.fold_in(["up", "up"], [1, 2])
    with pytest.raises(ValueError, match="one entry for each of the 2 items"):
        ranker.fold_in(["up", "alien"], [1])
    with pytest.raises(NotImplementedError, match="fold in"):
        ranker.fold_in(["up"], [1])


def test_score_is_the_mean_over_users(ranker: RatingRanker) -> None:
    # ann's order is alien, brazil, up: with grades 0, 1, 2 DCG = 1/log2(3) + 3/2, ideal 3 + 1/log2(3); cid's is right.
    test = (["ann"] * 3 + ["cid"] * 2, ["alien", "brazil", "up", "brazil", "alien"], [0, 1, 2, 2, 0])
    dcg, ideal = 1 / np.log2(3) + 3 / 2, 3 + 1 / np.log2(3)
    assert ranker.score(test) == pytest.approx((dcg / ideal + 1) / 2)
