"""Users who read from the top, and trust in places: against enumeration and the truth of simulations."""

import numpy as np
import pytest

import podium
from podium import Clicks
from podium.clicks import DBN, Cascade, DependentClicks, TrustBias, load_bias, simulate
from podium.clicks.reading import Sessions, expected_looks


@pytest.fixture(scope="module")
def queries():
    return podium.make_queries(n_queries=60, n_documents=8, n_features=4, random_state=2)


@pytest.fixture(scope="module")
def ranking(queries):
    return queries.labels + np.random.default_rng(2).normal(size=queries.n_documents)


@pytest.mark.parametrize("clicked", [[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0], [0, 0, 1], [1, 0, 1]])
@pytest.mark.parametrize("persistence", [1.0, 0.7])
def test_looks_by_enumeration(clicked, persistence):
    gamma, after = np.array([0.3, 0.5, 0.8]), np.array([0.6, 0.2, 0.4])
    sessions = Sessions(np.array([[0, 1, 2]]), np.array([clicked], bool), np.zeros(1, int))
    found = expected_looks(sessions, gamma, after[np.newaxis], persistence)
    # A user looks at the first t places; sum the probabilities of what was observed over t.
    weight = np.zeros(4)
    for t in range(1, 4):
        p = 1.0
        for j in range(t):
            p *= gamma[j] if clicked[j] else 1 - gamma[j]
            on = after[j] if clicked[j] else persistence
            p *= on if j < t - 1 else (1 - on if t < 3 else 1.0)
        weight[t] = p if not any(clicked[t:]) else 0.0
    share = weight / weight.sum()
    np.testing.assert_allclose(found.looked[0], [share[1:].sum(), share[2:].sum(), share[3]])
    np.testing.assert_allclose(found.went_on[0], [share[2:].sum(), share[3], 0.0])


def test_a_cascade_is_counting(queries, ranking):
    c = simulate(queries, ranking, model="cascade", top=4, sessions=20_000)
    b = Cascade(bootstrap=30).fit(c)
    np.testing.assert_allclose(b.propensities_, c.truth.propensities)
    assert np.corrcoef(b.attractiveness_, c.truth.attractiveness)[0, 1] > 0.9
    assert (b.intervals_[:, 0] <= b.propensities_ + 1e-12).all()
    assert (b.intervals_[1:, 1] > b.propensities_[1:]).all()
    np.testing.assert_allclose(b.attractiveness(c), b.attractiveness_)


def test_dependent_clicks_find_how_many_go_on(queries):
    # ζ = 1 and a satisfaction of ½ for every document is a dependent click model with λ = ½.
    rng = np.random.default_rng(0)
    n, k = 40_000, 4
    rows = rng.permuted(np.tile(np.arange(8), (n, 1)), axis=1)[:, :k]
    gamma = np.linspace(0.1, 0.8, 8)
    clicked, looking = np.zeros((n, k), int), np.ones(n, bool)
    for j in range(k):
        clicked[:, j] = looking & (rng.random(n) < gamma[rows[:, j]])
        looking &= ~((clicked[:, j] == 1) & (rng.random(n) < 0.5))
    c = Clicks(
        None,
        clicked.ravel(),
        qid=np.zeros(n * k, int),
        position=np.tile(np.arange(1, k + 1), n),
        document=rows.ravel(),
        session=np.repeat(np.arange(n), k),
    )
    b = DependentClicks(bootstrap=0).fit(c)
    np.testing.assert_allclose(b.continuation_, 0.5, atol=0.03)
    np.testing.assert_allclose(b.attractiveness_[np.argsort(c.queries.document_ids)], gamma, atol=0.02)


@pytest.mark.slow
def test_dbn_finds_persistence_and_satisfaction(queries, ranking):
    c = simulate(queries, ranking, model="dbn", persistence=0.7, top=5, sessions=50_000)
    b = DBN(bootstrap=0).fit(c)
    assert b.persistence_ == pytest.approx(0.7, abs=0.03)
    np.testing.assert_allclose(b.propensities_, c.truth.propensities, atol=0.01)
    often = np.bincount(c.row, c.clicks) > 200
    error = b.satisfaction_[often] - c.truth.satisfaction[often]
    assert np.sqrt((error**2).mean()) < 0.06


def test_reading_models_need_sessions_and_refuse_weights(queries, ranking):
    c = simulate(queries, ranking, model="cascade", top=3, sessions=5_000)
    with pytest.raises(ValueError, match="this log has none: give session="):
        Cascade().fit(c.aggregated())
    with pytest.raises(ValueError, match="no probability of being seen that depends on the place alone"):
        Cascade(bootstrap=0).fit(c).weights(c)
    with pytest.raises(ValueError, match="not fitted"):
        DBN().attractiveness(c)


def test_places_that_nobody_reaches_are_warned_of(queries, ranking):
    c = simulate(queries, ranking, model="cascade", noise=0.9, top=6, sessions=3_000)
    with pytest.warns(UserWarning, match="users hardly reach places 3, 4, 5, 6"):
        Cascade(bootstrap=0).fit(c)


@pytest.mark.parametrize("model", [Cascade, DependentClicks, DBN])
def test_saved_and_loaded(model, queries, ranking, tmp_path):
    c = simulate(queries, ranking, model="dbn", top=3, sessions=5_000)
    b = model(bootstrap=0, tol=1e-9, max_iter=3000).fit(c)
    b.save(tmp_path / "bias.json")
    again = load_bias(tmp_path / "bias.json")
    assert again == b
    assert again.alpha_ is None
    np.testing.assert_allclose(again.attractiveness(c), b.attractiveness_, atol=0.03)


@pytest.mark.slow
@pytest.mark.parametrize("trust", [None, ([1.0] * 6, [0.4, 0.2, 0.12, 0.08, 0.04, 0.0])])
def test_trust_is_told_from_attention(queries, ranking, trust):
    c = simulate(queries, ranking, trust=trust, shuffle=1.0, top=6, sessions=500_000, aggregate=True)
    b = TrustBias(bootstrap=5).fit(c)
    np.testing.assert_allclose(b.alpha_, c.truth.alpha * (1 - c.truth.beta[0]) / c.truth.alpha[0], atol=0.03)
    np.testing.assert_allclose(b.beta_, c.truth.beta, atol=0.03)
    assert b.propensities_[0] == pytest.approx(1.0)
    error = b.attractiveness_ - c.truth.attractiveness
    assert np.sqrt((error**2).mean()) < 0.12


def test_trust_is_scaled_to_one_zero():
    # γ' = (γ + τ) s: the same probabilities, another scale.
    from podium.clicks.trust_bias import _scaled

    relevant, other = np.array([0.9, 0.5, 0.4]), np.array([0.4, 0.1, 0.05])
    alpha, beta = _scaled(relevant, other)
    assert alpha[0] + beta[0] == pytest.approx(1.0)
    assert beta.min() == pytest.approx(0.0, abs=1e-15)
    gamma = np.array([0.2, 0.9])
    scale = (relevant - other)[0] / alpha[0]
    turned = scale * (gamma + (other / (relevant - other)).min())
    before = gamma[:, None] * (relevant - other) + other
    np.testing.assert_allclose(turned[:, None] * alpha + beta, before)
