"""What biases are drawn to and how much factors are penalized, by default."""

import numpy as np
import pytest
from scipy.sparse.linalg import svds

import podium
from podium.losses import ListMLELoss, PMOPLoss, RankNetLoss
from podium.ratings.factors.centers import DAMPINGS, item_lines, left_out_lines
from podium.ratings.factors.noise import noise_level


@pytest.fixture(scope="module")
def ratings() -> podium.Ratings:
    return podium.make_ratings(60, 40, 900, min_ratings=10)


def test_lines_of_a_rating_are_those_of_the_other_ratings(ratings: podium.Ratings) -> None:
    """By the definition: each rating left out in turn."""
    found, mean = left_out_lines(ratings), ratings.values.mean()
    for k in (0, 17, 899):
        of_item = ratings.item == ratings.item[k]
        of_item[k] = False
        others = ratings.values[of_item]
        for column, damping in enumerate(DAMPINGS):
            assert found[k, column] == pytest.approx((others.sum() + damping * mean) / (len(others) + damping))
        assert found[k, 2] == pytest.approx(np.log(1 + len(others)))
    *means, counts = item_lines(ratings)
    for line, damping in zip(means, DAMPINGS, strict=True):
        damped = ratings.item_means(damping)
        assert line.item_bias == pytest.approx(damped - damped.mean())
    assert counts.item_bias.sum() == pytest.approx(0, abs=1e-12)


def test_biases_under_a_strong_penalty_are_the_lines(ratings: podium.Ratings) -> None:
    ranker = podium.PMOPFactors(n_factors=0, bias_regularization=1e7).fit(ratings)
    lines = np.column_stack([line.item_bias for line in item_lines(ratings)])
    slopes, *_ = np.linalg.lstsq(lines, ranker.model_.item_bias, rcond=None)
    assert ranker.model_.item_bias == pytest.approx(lines @ slopes, abs=1e-5)
    assert slopes[:2].sum() > 0  # items that others like are liked
    assert len(ranker.prior_weights_) == 0
    assert podium.PMOPFactors(n_factors=0, bias_regularization=1e7, bias_center="zero").fit(
        ratings
    ).model_.item_bias == pytest.approx(0, abs=1e-3)


def test_noise_is_a_singular_value_with_signs_drawn_by_chance(ratings: podium.Ratings) -> None:
    """Other signs, and a dense matrix, give about the same; twice the loss gives twice as much."""
    slopes = 60 * PMOPLoss().bind(ratings.values, ratings.offsets).value_and_gradient(np.zeros(900)).d_scores
    rng = np.random.default_rng(5)
    drawn = [
        svds(ratings.to_csr(slopes * rng.choice([-1.0, 1.0], 900)), 1, return_singular_vectors=False) for _ in range(5)
    ]
    assert noise_level(PMOPLoss(), ratings) == pytest.approx(np.mean(drawn), rel=0.15)
    one = ratings.take_users([0])
    assert noise_level(PMOPLoss(), one) == pytest.approx(
        np.linalg.norm(PMOPLoss().bind(one.values, one.offsets).value_and_gradient(np.zeros(len(one))).d_scores)
    )


@pytest.mark.parametrize("loss", [PMOPLoss(), ListMLELoss(), RankNetLoss()], ids=str)
def test_factors_vanish_under_twice_the_default_penalty_on_noise(
    ratings: podium.Ratings, loss: podium.losses.Loss
) -> None:
    """Ratings without any structure: what is left of factors can only be noise."""
    values = np.random.default_rng(0).permutation(ratings.values)
    noise = podium.Ratings(ratings.users, ratings.items, values)
    ranker = podium.FactorRanker(loss, 2, 2.0 * noise_level(loss, noise), random_state=0).fit(noise)
    assert np.abs(ranker.model_.user_factors @ ranker.model_.item_factors.T).max() < 0.05


def test_the_penalty_used_is_stored(ratings: podium.Ratings, tmp_path: object) -> None:
    ranker = podium.PMOPFactors(n_factors=2, random_state=0).fit(ratings)
    assert ranker.regularization_ == pytest.approx(noise_level(PMOPLoss(), ratings))
    path = f"{tmp_path}/model.podium"
    ranker.save(path)
    loaded = podium.load(path)
    assert loaded.regularization_ == ranker.regularization_
    given = ratings.item_ids[:3], [5.0, 3.0, 1.0]
    assert loaded.fold_in(*given).factors == pytest.approx(ranker.fold_in(*given).factors)
