from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from podium import (
    Ratings,
    given_n,
    held_out_users,
    leave_last_out,
    leave_one_out,
    make_ratings,
    random_split,
    read_ratings,
    time_split,
)
from podium.ratings.splits import hold_out


@pytest.fixture(scope="module")
def ratings() -> Ratings:
    return make_ratings(60, 40, 1300, random_state=3, min_ratings=12)


def pairs(ratings: Ratings) -> set[tuple[int, int]]:
    return set(zip(ratings.user_ids[ratings.user].tolist(), ratings.item_ids[ratings.item].tolist(), strict=True))


def test_given_n_takes_n_of_each_user_and_drops_the_short(ratings: Ratings) -> None:
    split = given_n(ratings, 5, random_state=1, min_test=10)
    train, test = split
    assert (train.sizes == 5).all()
    assert split.n_dropped_users == (ratings.sizes < 15).sum() > 0
    assert train.n_users == ratings.n_users - split.n_dropped_users
    assert train.user_ids.tolist() == test.user_ids.tolist()
    assert train.item_ids.tolist() == ratings.item_ids.tolist() == test.item_ids.tolist()
    assert not pairs(train) & pairs(test)
    kept = ratings.take_users(ratings.sizes >= 15)
    assert pairs(train) | pairs(test) == pairs(kept)
    again = given_n(ratings, 5, random_state=1)
    assert (again.train.item == train.item).all()
    assert (given_n(ratings, 5, random_state=2).train.item != train.item).any()
    with pytest.raises(ValueError, match=r"given-50 needs 50 \+ 10 ratings per user; none of the 60 users has more"):
        given_n(ratings, 50)


def test_draws_are_uniform() -> None:
    """Each of 4 ratings is among the 2 drawn half of the time: 2000 users, four standard deviations."""
    users = np.repeat(np.arange(2000), 4)
    r = Ratings(users, np.tile(np.arange(4), 2000), np.ones(8000))
    counts = np.bincount(given_n(r, 2, min_test=2).train.item)
    np.testing.assert_allclose(counts, 1000, atol=4 * np.sqrt(500))


def test_held_out_users_are_not_trained_on(ratings: Ratings) -> None:
    train, given, test = held_out_users(ratings, 4, test_size=0.25)
    assert not set(train.user_ids) & set(test.user_ids)
    assert given.user_ids.tolist() == test.user_ids.tolist()
    assert (given.sizes == 4).all()
    assert (test.sizes >= 10).all()
    assert len(train) + len(given) + len(test) == len(ratings)
    with pytest.raises(ValueError, match="0 users to hold out"):
        held_out_users(ratings, 40)


def test_leave_one_out_by_time_and_at_random() -> None:
    r = Ratings([1, 1, 2, 1, 3, 3], [5, 6, 5, 7, 5, 6], [1, 2, 3, 4, 5, 1], times=[3, 9, 1, 2, 4, 4])
    split = leave_one_out(r)
    assert split.n_dropped_users == 1  # user 2 has one rating
    assert (1, 6) in pairs(split.test)
    drawn = {pair for seed in range(20) for pair in pairs(leave_one_out(r, seed).test) if pair[0] == 3}
    assert drawn == {(3, 5), (3, 6)}  # of equally late ones, either
    assert (leave_one_out(r, by="random").test.sizes == 1).all()
    with pytest.raises(ValueError, match="no times"):
        leave_one_out(Ratings([1, 1], [1, 2], [1, 2]), by="time")


def test_leave_last_out_takes_the_last_by_time_and_draws_among_equally_late_ones() -> None:
    users = np.repeat(np.arange(400), 5)
    items = np.tile(np.arange(5), 400)
    times = np.tile([7, 3, 7, 1, 7], 400)  # items 0, 2 and 4 share the last time
    split = leave_last_out(Ratings(users, items, np.ones(2000), times), 2, random_state=5)
    assert (split.test.sizes == 2).all()
    assert set(split.train.item.tolist()) >= {1, 3}
    assert set(split.test.item.tolist()) == {0, 2, 4}
    # Two of the three, each with probability 2/3 whatever its row: four standard deviations of 400 draws.
    counts = np.bincount(split.test.item, minlength=5)[[0, 2, 4]]
    np.testing.assert_allclose(counts, 800 / 3, atol=4 * np.sqrt(400 * 2 / 9))
    again = leave_last_out(Ratings(users, items, np.ones(2000), times), 2, random_state=5)
    assert (again.test.item == split.test.item).all()


def test_many_users_of_movielens_share_the_time_of_their_last_rating(shared_data: Path) -> None:
    file = next((shared_data / "movielens-100k").glob("u.data*"), None)
    if file is None:
        pytest.skip("MovieLens 100K is not among the data")
    ratings = read_ratings(file)
    last = [ratings.times[a:b] for a, b in zip(ratings.offsets[:-1], ratings.offsets[1:], strict=True)]
    shared = np.array([(times == times.max()).sum() > 1 for times in last])
    assert (shared.sum(), len(shared)) == (415, 943)
    first, second = (leave_last_out(ratings, 1, seed).test for seed in (0, 1))
    differs = first.item != second.item
    assert differs.sum() > 100
    assert not differs[~shared].any()


def test_leave_last_out_counts_short_users_and_needs_times() -> None:
    r = Ratings(["a", "a", "a", "b", "b"], [1, 2, 3, 1, 2], np.ones(5), times=["03", "01", "02", "05", "04"])
    split = leave_last_out(r, 2)
    assert pairs(split.test) == {("a", 1), ("a", 3)}
    assert split.n_dropped_users == 1
    with pytest.raises(ValueError, match="need 6 ratings per user; none of the 2 users has more than 3"):
        leave_last_out(r, 3, min_train=3)
    with pytest.raises(ValueError, match="no times"):
        leave_last_out(Ratings([1, 1], [1, 2], [1, 2]))


def test_random_split_takes_a_share_of_every_user(ratings: Ratings) -> None:
    split = random_split(ratings, 0.25, random_state=1)
    np.testing.assert_allclose(split.test.sizes, 0.25 * ratings.sizes, atol=0.5)
    assert pairs(split.train) | pairs(split.test) == pairs(ratings)
    assert not pairs(split.train) & pairs(split.test)
    lonely = random_split(Ratings([1, 2, 2], [1, 1, 2], [1, 2, 3]))
    assert lonely.n_dropped_users == 1
    assert lonely.test.sizes.tolist() == [1]


def test_time_split_tests_the_later_ratings_of_known_users() -> None:
    r = Ratings([1, 2, 1, 3, 2], [1, 1, 2, 2, 3], [1, 2, 3, 4, 5], times=[10, 20, 30, 40, 50])
    split = time_split(r, at=30)
    assert pairs(split.train) == {(1, 1), (2, 1)}
    assert pairs(split.test) == {(1, 2), (2, 3)}
    assert split.n_dropped_users == 1
    assert len(time_split(r, test_size=0.4).test) == 1  # 40 and 50; user 3 is unknown
    with pytest.raises(ValueError, match="no user has ratings both before and from 99 on"):
        time_split(r, at=99)


def test_replicates_are_seeded_and_differ(ratings: Ratings) -> None:
    first, second, again = (given_n(ratings, 5, random_state=(7, i)) for i in (0, 1, 0))
    assert (first.train.item != second.train.item).any()
    assert (first.train.item == again.train.item).all()


def test_hold_out_leaves_every_user_something() -> None:
    r = Ratings(np.repeat([1, 2, 3], [1, 2, 10]), np.r_[0, 0:2, 0:10], np.ones(13))
    rest, aside = hold_out(r, 0.2)
    assert aside.sizes.tolist() == [0, 1, 2]
    assert rest.sizes.tolist() == [1, 1, 8]


def test_synthetic_ratings_are_shaped_as_asked() -> None:
    r = make_ratings(50, 30, 1000, n_grades=4, random_state=0, min_ratings=10)
    assert (len(r), r.n_users, r.n_items, r.n_duplicates) == (1000, 50, 30, 0)
    assert np.unique(r.values).tolist() == [1, 2, 3, 4]
    assert r.sizes.min() >= 10
    assert len(np.unique(r.sizes)) > 5
    assert (make_ratings(50, 30, 1000, n_grades=4, min_ratings=10).values == r.values).all()
    with pytest.raises(ValueError, match="cannot give 10 ratings"):
        make_ratings(50, 30, 10)
