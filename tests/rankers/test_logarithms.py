"""Features with heavy tails as logarithms (``normalize="robust"``): in a copy or as they are read, the same models."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from scipy import sparse, stats
from sklearn.base import clone

import podium
from podium.data.indexed import IndexedQueries, SharedMatrix
from podium.data.logarithms import LoggedQueries, logged_features
from podium.export.portable import portable
from podium.losses import ListNetLoss
from podium.numerics.forward import logarithms
from podium.scorers import MLP, Kernel, Linear, Potentials
from podium.scorers.standardization import HEAVY, UNIT, Standardization
from podium.serving import load as served
from podium.training import LBFGS, Stochastic

HEAVY_ONES = [0, 2, 5]


@pytest.fixture(scope="module")
def queries() -> podium.Queries:
    """Lists of several lengths; three features of six have heavy tails, one of them on both sides of 0."""
    made = podium.make_queries(n_queries=40, n_documents=15, n_features=6, random_state=3)
    sizes = [200, 1, 0, 70, *[10] * 30]
    sizes.append(made.n_documents - sum(sizes))
    z = (made.features - made.features.mean(axis=0)) / made.features.std(axis=0)
    raw = z.copy()
    raw[:, 0], raw[:, 2], raw[:, 5] = 1e-6 * np.exp(2 * z[:, 0]), np.sinh(3 * z[:, 2]), 1e5 * np.exp(2 * z[:, 5])
    raw[::7, 5] = 0.0
    return podium.Queries(raw.astype(np.float32), made.labels, sizes=sizes)


@pytest.fixture
def no_copies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("podium.data.logarithms.COPIED", 0)

    def matrix(self: LoggedQueries) -> np.ndarray:
        raise AssertionError("the matrix of logarithms was made")

    monkeypatch.setattr(LoggedQueries.features, "func", matrix)


def by_hand(features: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the standardized features, and which are logarithms, with NumPy and SciPy in float64."""
    x = features.astype(np.float64)
    units = np.zeros(x.shape[1])
    for j in range(x.shape[1]):
        sizes = np.abs(x[x[:, j] != 0, j])
        if stats.kurtosis(x[:, j], fisher=False) > HEAVY:
            unit = UNIT * stats.gmean(sizes)
            logs = np.sign(x[:, j]) * np.log1p(np.abs(x[:, j]) / unit)
            if stats.kurtosis(logs, fisher=False) < stats.kurtosis(x[:, j], fisher=False) / 2:
                x[:, j], units[j] = logs, unit
    return (x - x.mean(axis=0)) / x.std(axis=0), units


@pytest.mark.parametrize("form", [np.float32, np.float64, sparse.csr_matrix], ids=["float32", "float64", "csr"])
def test_statistics(queries, form) -> None:
    expected, units = by_hand(queries.features)
    assert np.flatnonzero(units).tolist() == HEAVY_ONES
    features = form(queries.features) if form is sparse.csr_matrix else queries.features.astype(form)
    found = Standardization.robust(queries.with_features(features))
    np.testing.assert_allclose(found.log_scale, units, rtol=1e-9)
    assert found.log_negative.tolist() == [0, 0, 1, 0, 0, 0]
    z = found.apply(queries.with_features(queries.features.astype(np.float64))).features
    np.testing.assert_allclose(z, expected, atol=2e-6)


def test_what_is_not_a_heavy_tail() -> None:
    """Rare values of a count have a high kurtosis, and so have logarithms of them; far from 0, these change little."""
    rng = np.random.default_rng(0)
    rare, shifted = (rng.random(2000) < 0.01).astype(float), 1000.0 + rng.standard_normal(2000)
    shifted[5] = 1100.0
    x = np.column_stack((rare, shifted, np.exp(2 * rng.standard_normal(2000)), np.full(2000, 7.0)))
    assert (stats.kurtosis(x[:, :3], fisher=False) > HEAVY).all()
    found = Standardization.robust(podium.Queries(x, sizes=[2000]))
    assert (found.log_scale > 0).tolist() == [False, False, True, False]
    without = Standardization.robust(podium.Queries(x[:, [0, 1, 3]], sizes=[2000]))
    plain = Standardization.of(podium.Queries(x[:, [0, 1, 3]], sizes=[2000]))
    assert without.log_scale is None
    np.testing.assert_array_equal(without.mean, plain.mean)
    np.testing.assert_array_equal(without.inverse_scale, plain.inverse_scale)


def test_one_outlier_around_zero_does_not_hide_a_feature() -> None:
    """Its deviation would be that of the outlier alone."""
    x = np.random.default_rng(0).standard_normal((2000, 1))
    x[3] = 1e6
    queries = podium.Queries(x, sizes=[2000])
    assert np.ptp(Standardization.robust(queries).apply(queries).features[4:]) > 1
    assert np.ptp(Standardization.of(queries).apply(queries).features[4:]) < 1e-3


def test_robust_is_standard_where_no_tail_is_heavy() -> None:
    made = podium.make_queries(n_queries=40, n_documents=10, n_features=6, random_state=3)
    for scorer in (Linear(), MLP(hidden=2)):
        robust, standard = (
            podium.Ranker(ListNetLoss(), scorer, normalize=how, random_state=0).fit(made)
            for how in ("robust", "standard")
        )
        assert robust.standardization_ is None
        np.testing.assert_array_equal(robust.model_.theta, standard.model_.theta)
        np.testing.assert_array_equal(robust.predict(made), standard.predict(made))


def test_logarithms_do_not_depend_on_the_unit() -> None:
    x = np.exp(2 * np.random.default_rng(0).standard_normal((500, 1)))
    x[::7] = 0.0
    found = [Standardization.robust(podium.Queries(x * unit, sizes=[500])) for unit in (1e-6, 1.0, 1e6)]
    for other, unit in zip(found, (1e-6, 1.0, 1e6), strict=True):
        assert other.log_scale[0] > 0
        queries = podium.Queries(x * unit, np.zeros(500), sizes=[500])
        z = other.apply(queries).features
        assert (abs(z.mean()), z.std()) == pytest.approx((0, 1), abs=1e-9)
        np.testing.assert_allclose(z, found[0].apply(podium.Queries(x * 1e-6, sizes=[500])).features, atol=1e-9)


def test_numbers_of_all_sizes() -> None:
    """Against NumPy's ``log1p``; nothing overflows, and 0 stays 0, whatever its sign."""
    x = np.array([[0.0, -0.0, 5e-324, 1e-300, -1e-20, 0.1, -1.0, 1e300, -1.7e308]]).T
    for unit in (1e-30, 0.1, 1e30):
        scale = np.array([unit])
        ours = logged_features(x, scale)[:, 0]
        with np.errstate(over="ignore"):
            expected = np.sign(x[:, 0]) * np.log1p(np.minimum(np.abs(x[:, 0]) / unit, 1e300))
        np.testing.assert_allclose(ours, expected, rtol=4e-16, atol=5e-324)
        np.testing.assert_allclose(logarithms(x, scale)[:, 0], expected, rtol=4e-16, atol=5e-324)


RANKERS = {
    "linear": podium.Ranker(ListNetLoss(), Linear()),
    "stochastic": podium.Ranker(ListNetLoss(), Linear(), Stochastic(epochs=3, batch_size=4), random_state=0),
    "network": podium.Ranker(ListNetLoss(), MLP(hidden=2), LBFGS(max_iter=5), random_state=0),
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    ("name", "csr"), [("linear", False), ("linear", True), ("stochastic", False), ("network", False), ("network", True)]
)
def test_models_are_those_of_the_matrix_of_logarithms(queries, name, csr, no_copies) -> None:
    if csr:
        queries = queries.with_features(sparse.csr_matrix(queries.features))
    ranker = clone(RANKERS[name]).set_params(normalize="robust").fit(queries, eval_set=queries)
    assert np.flatnonzero(ranker.standardization_.log_scale).tolist() == HEAVY_ONES
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("podium.data.logarithms.COPIED", 2**30)
        logs = ranker.standardization_.apply(queries)
        copied = clone(ranker).fit(queries, eval_set=queries).predict(queries)
    again = clone(ranker).set_params(normalize="standard").fit(logs, eval_set=logs)
    assert ranker.convergence_ == again.convergence_
    np.testing.assert_array_equal(ranker.model_.theta, again.model_.theta)
    np.testing.assert_array_equal(ranker.predict(queries), copied)
    np.testing.assert_array_equal(ranker.predict(queries), again.predict(logs))
    if name != "network":
        np.testing.assert_array_equal(ranker.coef_, again.coef_)


def test_rows_of_a_shared_matrix(queries, no_copies, monkeypatch) -> None:
    """Folds of large data: no matrix of them is made, and models are those of a copy."""
    chosen = np.random.default_rng(0).permutation(len(queries))
    matrix = SharedMatrix(queries.features)
    part = IndexedQueries.made(queries, matrix, np.arange(queries.n_documents)).take(chosen)
    expected = podium.ListNet().fit(queries.take(chosen))

    def refuse(self: IndexedQueries) -> None:
        raise AssertionError("a matrix of these queries alone was made")

    monkeypatch.setattr(IndexedQueries, "features", property(refuse))
    ranker = podium.ListNet().fit(part)
    np.testing.assert_array_equal(ranker.standardization_.log_scale, expected.standardization_.log_scale)
    np.testing.assert_array_equal(ranker.coef_, expected.coef_)
    np.testing.assert_array_equal(ranker.predict(part), expected.predict(queries.take(chosen)))


def test_parts_of_a_csr_entry_add_up_before_the_logarithm(queries) -> None:
    whole = sparse.csr_matrix(queries.features)
    parts = sparse.csr_matrix(
        (np.repeat(whole.data / 2, 2), np.repeat(whole.indices, 2), 2 * whole.indptr), whole.shape
    )
    assert not parts.has_canonical_format
    ours = podium.ListNet(normalize="robust").fit(queries.with_features(parts))
    expected = podium.ListNet(normalize="robust").fit(queries.with_features(whole))
    np.testing.assert_array_equal(ours.coef_, expected.coef_)


def test_there_is_no_second_matrix(monkeypatch) -> None:
    monkeypatch.setattr("podium.data.logarithms.COPIED", 2**20)
    features = np.random.default_rng(0).random((40_000, 136), np.float32)  # 22 MB
    features[:, ::2] = np.exp(2 * stats.norm.ppf(np.maximum(features[:, ::2], 1e-6)))
    queries = podium.Queries(features, np.round(2 * features[:, 1]), sizes=[40] * 1000)
    ranker = podium.ListNet(normalize="robust")
    ranker.fit(queries.take(np.arange(200)))  # compiles
    tracemalloc.start()
    try:
        ranker.fit(queries).predict(queries)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (ranker.standardization_.log_scale > 0).sum() == 68
    assert most < 0.3 * features.nbytes


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("scorer", [Linear(), MLP(hidden=2), Potentials(2, 2), Kernel(n_landmarks=20)], ids=repr)
def test_models_are_saved_served_and_explained(queries, scorer, tmp_path) -> None:
    ranker = podium.Ranker(ListNetLoss(), scorer, LBFGS(max_iter=10), normalize="robust", random_state=0).fit(queries)
    scores, path = ranker.predict(queries), tmp_path / "m.podium"
    ranker.save(path)
    loaded = podium.load(path)
    np.testing.assert_array_equal(loaded.predict(queries), scores)
    np.testing.assert_array_equal(loaded.standardization_.log_negative, ranker.standardization_.log_negative)
    first = queries.take([0])
    np.testing.assert_allclose(served(path).score(first.features), scores[:200], rtol=1e-4, atol=1e-5)
    why = ranker.explain(queries, documents=(0, 1))
    assert sum(c.contribution for c in why.contributions) == pytest.approx(why.difference)
    assert why.contributions[0].values[0] in first.features[0].tolist()  # as given
    assert "3 of the features as logarithms" in str(why)


def test_training_goes_on_with_the_logarithms_it_has(queries, tmp_path) -> None:
    ranker = podium.ListNet(normalize="robust").fit(queries)
    ranker.save(tmp_path / "m.podium")
    other = queries.with_features(queries.features * np.float32(1.5))
    for normalize in ("robust", "standard", None):
        again = podium.ListNet(normalize=normalize).fit(queries, init=tmp_path / "m.podium")  # at the optimum already
        if normalize is not None:
            np.testing.assert_allclose(again.predict(queries), ranker.predict(queries), atol=1e-3)
        moved = podium.ListNet(normalize=normalize).fit(other, init=ranker)
        np.testing.assert_array_equal(moved.standardization_.log_scale, ranker.standardization_.log_scale)
    plain = podium.ListNet(normalize="standard").fit(queries)
    assert podium.ListNet(normalize="robust").fit(queries, init=plain).standardization_ is None
    network = podium.Ranker(ListNetLoss(), MLP(hidden=2), Stochastic(epochs=2), normalize="robust", random_state=0)
    network.fit(queries)
    started = clone(network).set_params(trainer=Stochastic(epochs=1, learning_rate=1e-12)).fit(other, init=network)
    np.testing.assert_allclose(started.predict(queries), network.predict(queries), rtol=1e-4, atol=1e-6)


def test_adarank_weighs_logarithms_and_says_so(queries) -> None:
    ranker = podium.AdaRank(normalize="robust", n_rounds=20).fit(queries)
    logs = ranker.standardization_.apply(queries)
    again = podium.AdaRank(normalize="standard", n_rounds=20).fit(logs)
    np.testing.assert_array_equal(ranker.predict(queries), again.predict(logs))
    named = {rule.name for rule in ranker.rules()}
    assert named & {"log(feature 1)", "log(feature 3)", "log(feature 6)"}
    assert not named & {"feature 1", "feature 3", "feature 6"}


@pytest.mark.parametrize("preset", [podium.RankBoost, podium.FRank], ids=repr)
def test_rules_and_trees_take_features_as_they_are(queries, preset) -> None:
    rankers = [preset(n_rounds=5, normalize=how).fit(queries) for how in ("robust", None)]
    np.testing.assert_array_equal(rankers[0].predict(queries), rankers[1].predict(queries))
    assert rankers[0].standardization_ is None


def test_distilling_into_and_from_logarithms(queries) -> None:
    teacher = podium.ListNet(normalize="robust").fit(queries)
    student = podium.distill(teacher, queries, student=podium.Regression(normalize="robust"), random_state=0)
    assert student.score(queries) > 0.9 * teacher.score(queries)
    assert portable(student).logarithms is not None
