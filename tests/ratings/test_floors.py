"""Rankers of ratings that are no factor model of our own: floors, least squares, CoFiRank; and their evaluation."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import podium
from podium import PMF, CoFiRank, GlobalRanking, ItemMean, Ratings, evaluate_ratings
from podium.ratings.evaluation import log_likelihoods


@pytest.fixture(scope="module")
def split() -> podium.ratings.splits.RatingSplit:
    return podium.given_n(podium.make_ratings(80, 50, 2400, random_state=1, noise=0.3), 10)


def test_item_means_by_hand() -> None:
    r = Ratings([1, 2, 1, 2], ["x", "x", "y", "z"], [5, 4, 2, 1])  # the mean of all is 3
    damped = ItemMean(damping=2).fit(r)
    np.testing.assert_allclose(damped.predict(1, ["x", "y", "z"]), [(9 + 6) / 4, (2 + 6) / 3, (1 + 6) / 3])
    assert ItemMean(damping=0).fit(r).predict(9, ["x"]).tolist() == [4.5]  # of an unknown user too
    assert GlobalRanking("mean").fit(r).recommend(1, exclude_seen=False).items.tolist() == ["x", "y", "z"]
    popular = GlobalRanking().fit(r)
    assert popular.predict(1, ["x", "y"]).tolist() == [2, 1]
    assert popular.recommend(2).items.tolist() == ["y"]
    with pytest.raises(ValueError, match="by must be one of 'popularity'"):
        GlobalRanking("fame").fit(r)


def test_pmf_is_at_a_minimum(split: podium.ratings.splits.RatingSplit) -> None:
    """At the end the gradient of the objective in every parameter, worked out here, is nothing against its terms."""
    train = split.train
    m = PMF(n_factors=3, l2=3.0, bias_l2=2.0, tol=1e-12, max_iter=2000, random_state=0).fit(train)
    w, h, b = m.model_.user_factors, m.model_.item_factors, m.model_.item_bias
    mean = train.values.mean()
    errors = m.predict(train.user_ids[train.user], train.item_ids[train.item]) - train.values
    d_bias = np.bincount(train.item, errors, train.n_items) + 2.0 * b
    d_user_bias = np.bincount(train.user, errors, train.n_users) + 2.0 * (w[:, -1] - mean)
    d_users = 3.0 * w[:, :-1]
    np.add.at(d_users, train.user, errors[:, None] * h[train.item, :-1])
    for gradient in (d_bias, d_user_bias, d_users):
        assert np.abs(gradient).max() < 1e-3
    assert (np.diff(m.convergence_.losses) <= 1e-9).all()


@pytest.mark.parametrize(
    "ranker", [PMF(4, random_state=0), *(CoFiRank(k, 4, random_state=0) for k in ("ndcg", "ordinal"))]
)
def test_learn_fold_in_save_and_repeat(
    ranker: podium.rankers.RatingRanker, split: podium.ratings.splits.RatingSplit, tmp_path: Path
) -> None:
    train, test = split
    m = ranker.fit(train)
    learned = evaluate_ratings(m, test)
    assert learned.mean["ndcg@5"] > evaluate_ratings(GlobalRanking().fit(train), test).mean["ndcg@5"] + 0.1
    assert learned.qids.tolist() == test.user_ids.tolist()
    # A user who comes with all the ratings of a known one is ranked nearly as that one.
    u = 3
    own = slice(train.offsets[u], train.offsets[u + 1])
    new = m.fold_in(train.item_ids[train.item[own]], train.values[own])
    items = train.item_ids
    here, there = m.predict(train.user_ids[u], items), m.predict(new, items)
    assert np.corrcoef(here, there)[0, 1] > 0.98
    assert set(m.recommend(new, 5).items) <= set(items) - set(train.item_ids[train.item[own]])
    path = tmp_path / "m.podium"
    m.save(path)
    np.testing.assert_array_equal(podium.load(path).predict(train.user_ids[u], items), here)
    again = type(m)(**m.get_params()).fit(train)
    np.testing.assert_array_equal(again.predict(train.user_ids[u], items), here)


def test_cofirank_lowers_its_objective_and_keeps_the_best_round(split: podium.ratings.splits.RatingSplit) -> None:
    train, test = split
    m = CoFiRank("regression", 3, regularization=5.0, tol=1e-5, random_state=0).fit(train)
    assert (np.diff(m.convergence_.losses) <= 1e-6).all()
    assert m.convergence_.converged
    watched = CoFiRank(n_factors=3, random_state=0).fit(train, eval_set=test)
    judged = watched.convergence_.validation
    assert watched.convergence_.best_iter == 1 + int(np.argmax(judged))
    assert watched.score(test) == pytest.approx(max(judged))
    bare = CoFiRank(n_factors=3, biases=False, random_state=0).fit(train)
    published = CoFiRank(n_factors=3, biases=False, weights="power", random_state=0).fit(train)
    assert not np.allclose(published.model_.item_factors, bare.model_.item_factors)
    assert not bare.model_.item_bias.any()
    with pytest.warns(UserWarning, match="no convergence .* in 1 rounds"):
        CoFiRank(max_iter=1, random_state=0).fit(train)
    with pytest.raises(ValueError, match="loss must be one of 'ndcg', 'ordinal', 'regression'"):
        CoFiRank("hinge").fit(train)


def test_err_counts_grades_from_the_lowest_rating() -> None:
    """By hand, stars 1 … 5 as grades 0 … 4: V = 15/16 for 5 stars, 3/16 for 3; then 5 stars second, 3 first."""
    train = Ratings([1, 2, 1], ["x", "x", "y"], [1, 5, 5])
    test = Ratings([2, 2], ["y", "z"], [5, 3])

    class Fixed:
        def predict(self, users: np.ndarray, items: np.ndarray) -> np.ndarray:
            return (items == "z").astype(float)

    e = evaluate_ratings(Fixed(), test, metrics=["err", "ndcg@1"], scale=(1, 5))
    assert e.mean["err"] == pytest.approx(3 / 16 + (1 - 3 / 16) * 15 / 16 / 2)
    assert e.mean["ndcg@1"] == pytest.approx(7 / 31)
    assert e.metrics["err"].convention == "standard+max_grade=5+min_grade=1"
    by_data = evaluate_ratings(ItemMean().fit(train), test, metrics="err")
    assert by_data.metrics["err"].rules.min_grade == 1


def test_new_users_and_likelihoods(split: podium.ratings.splits.RatingSplit) -> None:
    train, test = split
    some, others = train.take_users(np.arange(60)), np.arange(60, train.n_users)
    ranker = ItemMean().fit(some)
    given = evaluate_ratings(ranker, test.take_users(others), given=train.take_users(others))
    assert given.mean == evaluate_ratings(ranker, test.take_users(others)).mean  # means know nobody
    with pytest.raises(ValueError, match="not a likelihood"):
        log_likelihoods(ranker, test)
    # Two items without a tie and equal scores: either order is as likely as a tie of both, so 1/3 each.
    loss = podium.losses.PMOPLoss()
    pair = Ratings([1, 1], ["x", "y"], [1, 2])
    model = podium.FactorRanker(loss, 0, bias_regularization=1e9, random_state=0).fit(pair)
    np.testing.assert_allclose(np.exp(log_likelihoods(model, pair)), 1 / 3, rtol=1e-6)
