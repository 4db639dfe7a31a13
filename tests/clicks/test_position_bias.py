"""Propensities of places: against arithmetic, the likelihood, and the truth of simulations."""

import json
import logging

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import gammaln

import podium
from podium import Clicks, Queries
from podium.clicks import PositionBias, load_bias, simulate
from podium.clicks.attraction import Attraction, compared_within
from podium.clicks.cells import Cells
from podium.clicks.em import climb
from podium.clicks.swaps import swap_propensities


def log(impressions, clicks, features=None):
    """Return a log of one document per query, from matrices (documents, places) of counts; zeros are left out."""
    impressions, clicks = np.asarray(impressions), np.asarray(clicks)
    row, place = np.nonzero(impressions)
    return Clicks(
        None if features is None else np.asarray(features, float)[row],
        clicks[row, place],
        qid=row // 2,
        position=place + 1,
        document=row,
        impressions=impressions[row, place],
    )


@pytest.fixture(scope="module")
def queries():
    return podium.make_queries(n_queries=200, n_documents=20, random_state=7)


@pytest.fixture(scope="module")
def ranking(queries):
    return queries.labels + np.random.default_rng(7).normal(size=queries.n_documents)


@pytest.fixture(scope="module")
def simulated(queries, ranking):
    return simulate(queries, ranking, sessions=50_000, aggregate=True, random_state=7)


@pytest.mark.slow
@pytest.mark.parametrize("exponent", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_propensities_of_a_million_sessions(queries, ranking, exponent, noise):
    c = simulate(queries, ranking, exponent=exponent, noise=noise, sessions=1_000_000, aggregate=True)
    truth = np.arange(1.0, 11) ** -exponent
    for method in ("swaps", "em"):
        found = PositionBias(method=method, bootstrap=0).fit(c).propensities_
        assert np.abs(found - truth).max() < 0.05
        assert np.abs(found / truth - 1).max() < 0.2


def test_one_document_at_two_places_is_a_ratio_of_rates():
    theta, errors = swap_propensities(Cells.of(log([[1000, 500]], [[400, 50]])))
    assert theta[0] == 1.0
    assert theta[1] == pytest.approx((50 / 500) / (400 / 1000), rel=1e-3)  # but for the ridge of a hundredth of a click
    # The variance of the logarithm of a ratio of two Poisson counts is 1/400 + 1/50.
    assert errors[1] == pytest.approx(np.sqrt(1 / 400 + 1 / 50), rel=1e-3)


def test_documents_at_one_place_say_nothing_of_propensities():
    moved = log([[1000, 500], [300, 0], [0, 700]], [[400, 50], [290, 0], [0, 1]])
    alone = log([[1000, 500]], [[400, 50]])
    np.testing.assert_allclose(swap_propensities(Cells.of(moved))[0], swap_propensities(Cells.of(alone))[0])


def test_swaps_maximize_the_conditional_likelihood():
    rng = np.random.default_rng(0)
    shown = rng.integers(0, 300, (30, 3))
    clicked = rng.binomial(shown, [0.5, 0.3, 0.1] * rng.uniform(0.2, 1, (30, 1)))
    theta, _ = swap_propensities(Cells.of(log(shown, clicked)))

    def loss(logs):  # straight from the definition
        p = shown * np.exp(np.append(0.0, logs))
        return -np.sum(clicked * np.log(np.where(clicked, p / p.sum(axis=1, keepdims=True), 1.0)))

    best = np.log(theta[1:])
    for step in ([0.01, 0], [0, 0.01], [-0.01, 0], [0, -0.01]):
        assert loss(best + step) > loss(best)


def test_em_ends_where_the_posterior_is_flat(simulated):
    cells, rng = Cells.of(simulated), np.random.default_rng(1)
    n, k = cells.n_documents, cells.n_places
    means, strength = rng.uniform(0.2, 0.4, n), 3.0
    theta, _, gamma = climb(cells, np.linspace(1, 0.3, k), np.zeros(k), np.full(n, 0.3), strength, means)

    def loss(theta, gamma):
        p = theta[cells.place] * gamma[cells.row]
        likelihood = cells.clicks @ np.log(p) + (cells.impressions - cells.clicks) @ np.log(1 - p + 1e-300)
        return -likelihood - strength * (means @ np.log(gamma) + (1 - means) @ np.log(1 - gamma))

    best = loss(theta, gamma)
    for place in range(1, k):
        for factor in (0.98, 1.02):
            assert loss(np.where(np.arange(k) == place, theta * factor, theta), gamma) > best
    for document in rng.choice(np.flatnonzero(gamma < 0.9), 20):
        for factor in (0.97, 1.03):
            assert loss(theta, np.where(np.arange(n) == document, gamma * factor, gamma)) > best


@pytest.mark.slow
def test_intervals_cover_the_truth_and_shrink(queries, ranking, simulated):
    truth = simulated.truth.propensities
    for method in ("swaps", "em"):
        b = PositionBias(method=method, bootstrap=30).fit(simulated)
        assert (b.intervals_[:, 0] <= b.propensities_ + 1e-9).all()
        assert (b.intervals_[:, 1] >= b.propensities_ - 1e-9).all()
        assert (b.intervals_[0] == 1).all()
    few = simulate(queries, ranking, sessions=5_000, aggregate=True, random_state=7)
    swaps = PositionBias(bootstrap=30).fit(simulated).intervals_
    assert ((swaps[:, 0] <= truth) & (truth <= swaps[:, 1])).mean() >= 0.7  # ten places at 95 %
    assert (np.diff(PositionBias(bootstrap=30).fit(few).intervals_[1:]) > 2 * np.diff(swaps[1:])).all()
    again = PositionBias(bootstrap=30).fit(simulated).intervals_
    np.testing.assert_array_equal(again, swaps)


def test_row_order_is_no_information(simulated):
    order = np.random.default_rng(0).permutation(len(simulated))
    turned = Clicks(
        simulated.queries.features[simulated.row][order],
        simulated.clicks[order],
        qid=simulated.query[order],
        position=simulated.position[order],
        document=simulated.row[order],
        impressions=simulated.impressions[order],
    )
    for method in ("swaps", "em"):
        ours, theirs = (PositionBias(method=method, bootstrap=0).fit(c).propensities_ for c in (simulated, turned))
        np.testing.assert_allclose(ours, theirs, rtol=1e-4)


def test_a_log_in_which_nothing_moves_is_warned_of(queries):
    still = simulate(queries, queries.labels, shuffle=0, sessions=20_000, aggregate=True)
    with pytest.warns(UserWarning, match=r"places 2, 3, .* 10: .*\(0 % of the impressions"):
        PositionBias(bootstrap=0).fit(still)


def test_places_without_a_link_to_the_others_are_warned_of():
    c = log([[5000, 4000, 0, 0], [0, 0, 4000, 3000]] * 3, [[900, 400, 0, 0], [0, 0, 300, 90]] * 3)
    with pytest.warns(UserWarning, match=r"places 3, 4:"):
        b = PositionBias(bootstrap=0).fit(c)
    assert b.propensities_[1] == pytest.approx(5 / 9, rel=0.01)


def test_a_log_without_clicks_is_refused():
    with pytest.raises(ValueError, match="no clicks"):
        PositionBias().fit(log([[10, 10]], [[0, 0]]))
    with pytest.raises(ValueError, match="method must be one of"):
        PositionBias(method="guess").fit(log([[10, 10]], [[1, 1]]))


def test_shrunk_attractiveness_by_hand():
    prior = Attraction(0.0, np.empty(0), np.empty(0), np.empty(0), strength=4.0)
    means = prior.means(np.empty((3, 0)))
    assert means.tolist() == [0.5, 0.5, 0.5]
    # (C + 4 · ½) / (E + 4), and at most 1.
    shrunk = prior.shrunk(np.array([3.0, 0.0, 90.0]), np.array([6.0, 0.0, 10.0]), means)
    np.testing.assert_allclose(shrunk, [5 / 10, 0.5, 1.0])


def test_the_strength_maximizes_the_marginal_likelihood():
    rng = np.random.default_rng(0)
    looks = rng.uniform(5, 200, 3000)
    gamma = rng.gamma(0.2 * 10, 1 / 10, 3000)  # mean .2, shape a m with a = 10
    clicks = rng.poisson(looks * gamma).astype(float)
    prior = Attraction.fit(np.empty((3000, 0)), clicks, looks)
    assert prior.strength == pytest.approx(10, rel=0.15)
    m = clicks.sum() / looks.sum()

    def loss(a):
        s = a * m
        return -np.sum(gammaln(clicks + s) - gammaln(s) + s * np.log(a) - (clicks + s) * np.log(looks + a))

    assert prior.strength == pytest.approx(minimize_scalar(loss, bounds=(1, 100), method="bounded").x, rel=0.01)


def test_means_follow_the_features():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(4000, 3)) * [1, 100, 0.01] + [0, 5, 1]
    gamma = 1 / (1 + np.exp(1 - x[:, 0]))
    looks = np.full(4000, 30.0)
    features = np.column_stack([x, np.full(4000, 7.0)])
    prior = Attraction.fit(features, rng.binomial(30, gamma).astype(float), looks)
    np.testing.assert_allclose(prior.means(features), gamma, atol=0.05)
    missing = features.copy()
    missing[::7, 0] = np.nan
    assert np.isfinite(prior.means(missing)).all()


def test_features_are_compared_within_queries_by_hand():
    features = [[1.0, np.nan], [3.0, 5.0], [10.0, np.inf]]
    compared = compared_within(Queries(features, sizes=[2, 0, 1]))
    np.testing.assert_array_equal(compared, [[-1, np.nan, 2, 5], [1, 0, 2, 5], [0, np.nan, 10, np.nan]])
    wide = Queries(np.arange(602.0).reshape(2, 301) ** 2, sizes=[2])
    assert compared_within(wide).shape == (2, 301)
    none = Queries(np.empty((3, 0)), sizes=[3])
    assert compared_within(none) is none.features


def test_what_sets_queries_apart_does_not_hide_what_sets_their_documents_apart():
    rng = np.random.default_rng(0)
    query = np.repeat(np.arange(200), 20)
    apart = rng.normal(size=(4000, 1))
    gamma = 1 / (1 + np.exp(1 - apart[:, 0]))
    looks = np.full(4000, 30.0)
    clicks = rng.binomial(30, gamma).astype(float)
    queries = Queries(apart + 5 * rng.normal(size=(200, 1))[query], sizes=[20] * 200)
    errors = [
        np.sqrt(((Attraction.fit(x, clicks, looks).means(x) - gamma) ** 2).mean())
        for x in (queries.features, compared_within(queries))
    ]
    # The documents' own part, less its mean over twenty of them, is nearly the truth.
    assert errors[1] < 0.06 < 0.15 < errors[0]


def test_attractiveness_is_near_the_truth(simulated):
    b = PositionBias(bootstrap=0).fit(simulated)
    error = b.attractiveness_ - simulated.truth.attractiveness
    naive = simulated.clicks / simulated.impressions
    assert np.sqrt((error**2).mean()) < 0.15
    assert np.sqrt((error**2).mean()) < 0.5 * np.sqrt(
        ((naive - simulated.truth.attractiveness[simulated.row]) ** 2).mean()
    )
    np.testing.assert_array_equal(b.attractiveness(simulated), b.attractiveness_)
    assert b.attractiveness(simulated.take([3, 5])).shape == (simulated.queries.sizes[[3, 5]].sum(),)


def test_weights_by_hand(caplog):
    b = PositionBias.known([2.0, 1.0, 0.02])
    assert b.propensities_.tolist() == [1.0, 0.5, 0.01]
    c = log([[10, 10, 0], [0, 4, 5]], [[5, 3, 0], [0, 1, 2]])
    with caplog.at_level(logging.WARNING, "podium"):
        assert b.weights(c).tolist() == [5 + 3 * 2, 2 + 2 * 100]
    assert not caplog.records  # 1/α = 100 is not above the largest
    with caplog.at_level(logging.WARNING, "podium"):
        assert b.weights(c, largest=10).tolist() == [11, 2 + 2 * 10]
    assert "18 % of the clicks" in caplog.text  # two of eleven


def test_weights_are_unbiased(simulated):
    b = PositionBias.known(simulated.truth.propensities)
    cells = Cells.of(simulated)
    shown = cells.by_document(cells.impressions)
    assert b.weights(simulated).sum() == pytest.approx(shown @ simulated.truth.attractiveness, rel=0.02)


def test_more_places_than_the_bias_knows():
    with pytest.raises(ValueError, match="the log has 3 places, but the bias was fitted to a log with 2"):
        PositionBias.known([1, 0.5]).weights(log([[1, 1, 1]], [[1, 0, 0]]))


@pytest.mark.parametrize("bad", [[], [1, 0], [1, np.nan], [[1, 2]]])
def test_known_propensities_are_positive(bad):
    with pytest.raises(ValueError, match="positive numbers"):
        PositionBias.known(bad)


def test_saved_and_loaded(simulated, tmp_path):
    path = tmp_path / "bias.json"
    with pytest.raises(ValueError, match="not fitted"):
        PositionBias().save(path)
    b = PositionBias(method="em", bootstrap=5).fit(simulated)
    b.save(path)
    again = load_bias(path)
    assert again == b
    for name in ("propensities_", "intervals_", "alpha_", "beta_"):
        np.testing.assert_array_equal(getattr(again, name), getattr(b, name))
    np.testing.assert_array_equal(again.attractiveness(simulated), b.attractiveness_)


@pytest.mark.parametrize(
    "change",
    [
        lambda d: "no JSON",
        lambda d: [],
        lambda d: d | {"format": "other"},
        lambda d: d | {"class": "Ranker"},
        lambda d: d | {"class": "os.system"},
        lambda d: d | {"parameters": {"method": "other"}},
        lambda d: d | {"fitted": {}},
        lambda d: d | {"fitted": d["fitted"] | {"alpha_": ["x"]}},
        lambda d: d | {"fitted": d["fitted"] | {"alpha_": [1e999]}},
    ],
)
def test_other_files_are_refused(change, tmp_path):
    path = tmp_path / "bias.json"
    PositionBias.known([1, 0.5]).save(path)
    path.write_text(json.dumps(change(json.loads(path.read_text()))))
    with pytest.raises(ValueError, match=r"bias\.json: not a bias that Podium saved"):
        load_bias(path)
