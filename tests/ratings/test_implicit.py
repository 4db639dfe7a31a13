"""ImplicitFactors: slopes by hand, by other losses and by finite differences; draws, threads, new users, files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import approx_fprime

import podium
from podium.losses import PMOPLoss
from podium.numerics import pool
from podium.numerics.random import streams
from podium.ratings.factors.noise import noise_over_taste
from podium.ratings.implicit.batches import Gradients, Seen
from podium.ratings.implicit.slopes import GROUPS, LOSSES, PMOP, SOFTMAX, WARP, draw_unseen, rank_weight
from podium.ratings.splits import hold_out

KINDS = {**dict(zip(LOSSES, range(4), strict=True)), "groups": GROUPS}


@pytest.fixture(scope="module")
def counts() -> podium.Ratings:
    """Counts 1 to 3 of 12 items by 8 users; the last user has seen nothing, the one before everything."""
    rng = np.random.default_rng(0)
    rows = [(u, i) for u in range(6) for i in rng.choice(12, 2 + u, replace=False)] + [(6, i) for i in range(12)]
    user, item = np.array(rows).T
    ids = {"user_ids": np.arange(8), "item_ids": np.arange(12)}
    return podium.Ratings.from_numbers(user, item, rng.integers(1, 4, len(rows)), **ids)


@pytest.fixture(scope="module")
def circles() -> podium.Ratings:
    """60 users, each of whom has seen 10 of the 20 items of one of three circles."""
    rng = np.random.default_rng(0)
    rows = [(u, 20 * (u % 3) + i) for u in range(60) for i in rng.choice(20, 10, replace=False)]
    return podium.Ratings(*np.array(rows).T, np.ones(len(rows)))


def _rows(ratings: podium.Ratings, width: int = 3) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    users, items = rng.normal(size=(ratings.n_users, width)), rng.normal(size=(ratings.n_items, width))
    users[:, -1] = 1.0
    return users, items


def test_slopes_on_all_items_are_those_of_the_loss_of_ordered_partitions(counts: podium.Ratings) -> None:
    users, items = _rows(counts)
    labels = np.zeros((8, 12))
    labels[counts.user, counts.item] = counts.values
    for by_value in (False, True):
        gradients = Gradients(Seen.of(counts, by_value=by_value), PMOP, None, 0)
        _, d_users, d_items = gradients(np.arange(8), users, items)
        grades = labels if by_value else (labels > 0).astype(float)
        grades[6] *= not by_value  # a user who has seen everything compares nothing with the unseen
        grades[6:] = 0.0
        expected = (
            8 * PMOPLoss().value_and_gradient((users @ items.T).ravel(), grades.ravel(), np.arange(9) * 12).d_scores
        )
        slopes = expected.reshape(8, 12)
        assert d_users == pytest.approx(slopes @ items)
        assert d_items == pytest.approx(slopes.T @ users)


@pytest.mark.parametrize("n_drawn", [None, 4])
@pytest.mark.parametrize("loss", list(KINDS))
def test_gradients_by_finite_differences(counts: podium.Ratings, loss: str, n_drawn: int | None) -> None:
    seen = Seen.of(counts, by_value=loss == "pmop")
    gradients = Gradients(seen, KINDS[loss], n_drawn, 7, 2 if loss == "groups" else None)
    users, items = _rows(counts)
    batch = np.array([5, 0, 7, 3, 6])

    def value(theta: np.ndarray) -> float:
        gradients.start_epoch(1)  # the same draws each time
        return float(gradients(batch, theta[:15].reshape(5, 3), theta[15:].reshape(12, 3))[0].sum())

    theta = np.concatenate((users[batch].ravel(), items.ravel()))
    gradients.start_epoch(1)
    values, d_users, d_items = gradients(batch, users[batch], items)
    assert values.sum() > 1.0
    assert values[[2, 4]].tolist() == [0.0, 0.0]  # nothing seen, everything seen
    expected = approx_fprime(theta, value, 1e-7)
    assert np.concatenate((d_users.ravel(), d_items.ravel())) == pytest.approx(expected, abs=1e-4)


def test_softmax_by_hand() -> None:
    # Scores log 1, log 2, log 3, log 4, of which the first and the last are seen: −log(1/10) − log(4/10).
    seen = Seen(np.array([0, 2]), np.array([0, 3]), np.zeros(2, np.int64), 4)
    users, items = np.array([[1.0]]), np.log([[1.0], [2.0], [3.0], [4.0]])
    values, _, d_items = Gradients(seen, SOFTMAX, None, 0)(np.array([0]), users, items)
    assert values == pytest.approx([np.log(10) + np.log(2.5)])
    assert d_items.ravel() == pytest.approx([0.2 - 1, 0.4, 0.6, 0.8 - 1])


def test_groups_by_hand() -> None:
    # Groups {1} and {4} of items with e^s = 1, 2, 3, 4 against the unseen 2 + 3: log 6/1 + log 9/4.
    seen = Seen(np.array([0, 2]), np.array([0, 3]), np.array([0, 1]), 4)
    users, items = np.array([[1.0]]), np.log([[1.0], [2.0], [3.0], [4.0]])
    values, _, d_items = Gradients(seen, GROUPS, None, 0)(np.array([0]), users, items)
    assert values == pytest.approx([np.log(6) + np.log(9 / 4)])
    share = 1 / 6 + 1 / 9
    assert d_items.ravel() == pytest.approx([1 / 6 - 1, 2 * share, 3 * share, 4 / 9 - 1])


def test_drawn_items_stand_for_all_unseen_ones(counts: podium.Ratings) -> None:
    # exp(log-sum-exp) of a sample, each counted |U|/m times, is right on average: e^value is linear in the draws.
    users, items = _rows(counts)
    batch = np.array([3])
    exact = np.exp(Gradients(Seen.of(counts), PMOP, None, 0)(batch, users[batch], items)[0][0])
    sampled = Gradients(Seen.of(counts), PMOP, 2, 0)
    drawn = []
    for epoch in range(2000):
        sampled.start_epoch(epoch)
        drawn.append(np.exp(sampled(batch, users[batch], items)[0][0]))
    assert np.mean(drawn) == pytest.approx(exact, abs=4 * np.std(drawn) / 2000**0.5)


def test_unseen_items_are_drawn_uniformly() -> None:
    stream, seen = streams(0, 0, 1), np.array([0, 3, 4, 9])
    drawn = np.bincount([draw_unseen(stream, seen, 10) for _ in range(6000)], minlength=10)
    assert drawn[seen].tolist() == [0, 0, 0, 0]
    assert (np.abs(drawn[[1, 2, 5, 6, 7, 8]] - 1000) < 5 * 1000**0.5).all()


def test_warp_on_five_items_by_hand() -> None:
    """Item 0 is seen, with score 3; of the unseen scores 2.5, 0, 2.9 and −1, the first and the third exceed 3 − 1.

    The first draw that does so decides: after 1, 2 or 3 draws the rank is estimated as 4, 2 or 1, and the weights are
    1 + 1/2 + 1/3 + 1/4 = 25/12, 1 + 1/2 = 3/2 and 1. The loss is weight · (1 − 3 + score).
    """
    assert [rank_weight(4, n) for n in (1, 2, 3, 4)] == pytest.approx([25 / 12, 3 / 2, 1, 1])
    scores = np.array([3.0, 2.5, 0.0, 2.9, -1.0])
    seen = Seen(np.array([0, 1]), np.array([0]), np.zeros(1, np.int64), 5)
    gradients = Gradients(seen, WARP, None, 0)
    met = set()
    for epoch in range(40):
        gradients.start_epoch(epoch)
        values, _, d_items = gradients(np.array([0]), np.array([[1.0]]), scores[:, None])
        stream, n = streams(0, epoch, 1), 1
        while (item := draw_unseen(stream, np.array([0]), 5)) not in (1, 3) and n < 4:
            n += 1
        met.add(n)
        weight = {1: 25 / 12, 2: 3 / 2, 3: 1, 4: 1}[n] if item in (1, 3) else 0.0
        expected = np.zeros(5)
        expected[0], expected[item] = -weight, weight
        assert values == pytest.approx([weight * (1 - 3 + scores[item])])
        assert d_items.ravel() == pytest.approx(expected)
    assert met >= {1, 2, 3}


@pytest.mark.parametrize("loss", LOSSES)
def test_what_others_of_the_circle_have_seen_comes_first(circles: podium.Ratings, loss: str) -> None:
    ranker = podium.ImplicitFactors(loss, n_factors=4, regularization=0.1, epochs=15, random_state=0).fit(circles)
    first = np.array([ranker.recommend(u, n=5).items for u in range(60)])
    assert (first // 20 == np.arange(60)[:, None] % 3).mean() > 0.95
    losses = ranker.convergence_.losses
    assert losses[-1] < losses[0] or loss == "warp"  # whose draws look for what is still wrong
    newcomer = ranker.fold_in([20, 21, 23, 27], [1, 1, 1, 1])
    assert (ranker.recommend(newcomer, n=5).items // 20 == 1).all()
    assert not set(ranker.recommend(newcomer, n=16).items) & {20, 21, 23, 27}


def test_threads_change_no_bit(circles: podium.Ratings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "LITTLE_WORK", 0)
    monkeypatch.setattr(pool, "_available", lambda: 3)
    for loss, n_drawn in (("softmax", None), ("pmop", 5), ("warp", 9)):
        ranker = podium.ImplicitFactors(loss, n_factors=3, n_drawn=n_drawn, epochs=2, batch_size=16, random_state=4)
        found = []
        for n in (1, 3):
            with pool.threads(n):
                found.append(ranker.fit(circles).model_.item_factors.copy())
        assert (found[0] == found[1]).all()


def test_only_what_is_liked_counts_and_all_that_was_rated_is_left_out() -> None:
    ratings = podium.make_ratings(30, 20, 300, min_ratings=5)
    settings = {"n_factors": 2, "epochs": 3, "random_state": 0}
    ranker = podium.ImplicitFactors(relevant_from=4, **settings).fit(ratings)
    liked = podium.ImplicitFactors(**settings).fit(ratings.at_least(4))
    assert (ranker.model_.item_factors == liked.model_.item_factors).all()
    assert len(ratings.at_least(4)) == (ratings.values >= 4).sum()
    assert ratings.at_least(4).n_items == 20
    everything = ranker.recommend(3, n=20).items
    assert set(everything) == set(range(20)) - set(ratings.items[ratings.users == 3])
    with pytest.raises(ValueError, match="no rating is at least relevant_from=6"):
        podium.ImplicitFactors(relevant_from=6).fit(ratings)
    none = np.flatnonzero(ratings.at_least(5).sizes == 0)
    assert len(none)
    five = podium.ImplicitFactors(relevant_from=5, **settings).fit(ratings).model_.user_factors
    assert five[none] == pytest.approx(np.delete(five, none, axis=0).mean(axis=0)[None].repeat(len(none), 0))


def test_counts_as_groups(counts: podium.Ratings) -> None:
    user, item = np.repeat(np.arange(30), 4), np.tile([0, 1, 2, 3], 30)
    often = podium.Ratings(user, item, np.tile([5.0, 2.0, 2.0, 1.0], 30))
    often = podium.Ratings.from_numbers(often.user, often.item, often.values, user_ids=range(30), item_ids=range(6))
    ranker = podium.ImplicitFactors("pmop", counts="groups", n_factors=1, regularization=0.1, random_state=0).fit(often)
    score = ranker.predict(0, range(6))
    assert score[0] > score[1] > score[3] > max(score[4:])
    assert score[1] == pytest.approx(score[2], abs=0.3)
    assert Seen.of(often, by_value=True).stages[:4].tolist() == [0, 1, 1, 2]
    with pytest.raises(ValueError, match='counts="groups" needs loss="pmop"'):
        podium.ImplicitFactors(counts="groups").fit(counts)


def test_saved_and_loaded(circles: podium.Ratings, tmp_path: Path) -> None:
    ranker = podium.ImplicitFactors("bpr", n_factors=2, epochs=2, random_state=0).fit(circles)
    ranker.save(tmp_path / "m.podium")
    loaded = podium.load(tmp_path / "m.podium")
    assert loaded.get_params() == ranker.get_params()
    assert loaded.fold_in([1, 2], [1, 1]).factors.tolist() == ranker.fold_in([1, 2], [1, 1]).factors.tolist()
    assert loaded.predict(3, range(60)).tolist() == ranker.predict(3, range(60)).tolist()


def test_the_epoch_that_validation_liked_best_is_kept(circles: podium.Ratings) -> None:
    train, aside = hold_out(circles, 0.2, 0)
    ranker = podium.ImplicitFactors(n_factors=3, regularization=0.1, epochs=8, patience=2, random_state=0)
    history = ranker.fit(train, eval_set=aside, eval_metric="recall@10").convergence_
    assert history.best_iter == 1 + int(np.argmax(history.validation))
    assert history.metric is not None
    assert history.metric == "r@10 (standard)"
    # Recall over the whole catalogue: the share of the held-out items among ten that the user has not seen.
    best = podium.ImplicitFactors(n_factors=3, regularization=0.1, epochs=history.best_iter, random_state=0).fit(train)
    assert best.model_.item_bias.tolist() == ranker.model_.item_bias.tolist()
    found = [np.isin(aside.items[aside.users == u], best.recommend(u, n=10).items).mean() for u in circles.user_ids]
    assert max(history.validation) == pytest.approx(np.mean(found))


def test_the_default_penalty_grows_where_there_is_no_taste() -> None:
    """Oracle: singular values of the dense matrices."""
    rng = np.random.default_rng(0)
    drawn = np.argsort(-rng.gumbel(size=(60, 40)), axis=1)[:, :8]  # everybody draws from the same items
    noise = podium.Ratings(np.repeat(np.arange(60), 8), drawn.ravel(), np.ones(480))
    halves = (drawn % 20) + 20 * (np.arange(60) % 2)[:, None]  # one half of the users, one half of the items
    taste = podium.Ratings(np.repeat(np.arange(60), 8), halves.ravel(), np.ones(480))
    for seen in (noise, taste):
        dense = seen.to_csr(np.ones(len(seen))).toarray()
        expected = np.outer(dense.sum(axis=1), dense.sum(axis=0) / dense.sum())
        signs = seen.to_csr(np.random.default_rng(0).choice([-1.0, 1.0], len(seen))).toarray()
        levels = [np.linalg.norm(matrix, 2) for matrix in ((dense - expected) * signs, dense - expected)]
        assert noise_over_taste(seen) == pytest.approx(levels[0] ** 2 / max(levels), rel=0.02)
    assert noise_over_taste(noise) > 1.5 * noise_over_taste(taste)
    ranker = podium.ImplicitFactors(n_factors=2, epochs=1, random_state=0).fit(noise)
    assert ranker.regularization_ == max(7.0, noise_over_taste(noise))
    one = podium.Ratings([1, 2], [1, 1], [1.0, 1.0])
    assert np.isfinite(noise_over_taste(one))
