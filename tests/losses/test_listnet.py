"""ListNet: hand arithmetic, enumeration of all prefixes, and the order in which targets behave."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from podium.losses import ListMLELoss, ListNetLoss, listnet_prefixes
from podium.losses.listnet_prefixes import _expected_log_sums, prepare_prefixes


def softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max())
    return e / e.sum()


def prefix_probability(x: np.ndarray, prefix: tuple[int, ...]) -> float:
    """P(first place, second place, …) = Π exp(x) / Σ over those left."""
    left = list(range(len(x)))
    p = 1.0
    for document in prefix:
        p *= softmax(x[left])[left.index(document)]
        left.remove(document)
    return p


def cross_entropy(scores: np.ndarray, logits: np.ndarray, k: int) -> float:
    """−Σ P_y log P_s over all ordered k-prefixes, the definition itself."""
    prefixes = list(permutations(range(len(scores)), min(k, len(scores))))
    return -sum(prefix_probability(logits, p) * np.log(prefix_probability(scores, p)) for p in prefixes)


def test_four_documents_by_hand() -> None:
    # softmax(y) of 1, 0, 2, 0 is e, 1, e², 1 over e + e² + 2 = 12.1073; softmax(s) of log 1, 2, 3, 4 is .1, .2, .3, .4.
    result = ListNetLoss().value_and_gradient(np.log([1.0, 2.0, 3.0, 4.0]), [1, 0, 2, 0], [0, 4])
    target = np.array([np.e, 1, np.e**2, 1]) / (np.e + np.e**2 + 2)
    assert result.value == pytest.approx(-target @ np.log([0.1, 0.2, 0.3, 0.4]))
    np.testing.assert_allclose(result.d_scores, [0.1, 0.2, 0.3, 0.4] - target)


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_all_prefixes(k: int, n: int) -> None:
    rng = np.random.default_rng(n)
    for transform, temperature in (("identity", 1.0), ("identity", 0.5), ("exp2", 2.0)):
        scores, labels = 2 * rng.normal(size=n), rng.integers(0, 3, n).astype(float)
        logits = (labels if transform == "identity" else 2**labels - 1) / temperature
        result = ListNetLoss(k, transform, temperature).value_and_gradient(scores, labels, [0, n])
        assert result.value == pytest.approx(cross_entropy(scores, logits, k), abs=1e-12)


def test_all_places_of_a_list_weigh_the_likelihoods_of_all_its_orders() -> None:
    # Three places of three documents: the cross entropy is the expected ListMLE loss, orders drawn by the labels.
    scores, labels = np.array([0.3, -1.0, 0.8]), np.array([1.0, 0.0, 2.0])
    expected = 0.0
    for order in permutations(range(3)):
        rank = np.empty(3)
        rank[list(order)] = [3, 2, 1]
        expected += prefix_probability(labels, order) * ListMLELoss().value_and_gradient(scores, rank, [0, 3]).value
    assert ListNetLoss(k=3).value_and_gradient(scores, labels, [0, 3]).value == pytest.approx(expected)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_smallest_where_scores_equal_the_target(k: int) -> None:
    labels = np.array([0.5, 2.0, 0.0, 1.0, 1.0])
    best = ListNetLoss(k).value_and_gradient(labels + 7, labels, [0, 5])
    np.testing.assert_allclose(best.d_scores, 0, atol=1e-14)
    entropy = cross_entropy(labels, labels, k)
    assert best.value == pytest.approx(entropy)


@pytest.mark.parametrize(("n", "k"), [(5, 4), (6, 5), (6, 6), (3, 7)])
@pytest.mark.parametrize("scale", [1.0, 30.0])
def test_any_number_of_places_against_enumeration(n: int, k: int, scale: float) -> None:
    rng = np.random.default_rng(n + k)
    scores, labels = scale * rng.standard_normal(n), rng.integers(0, 3, n).astype(float)
    loss = ListNetLoss(k)
    found = loss.value_and_gradient(scores, labels, [0, n])
    assert found.value == pytest.approx(cross_entropy(scores, labels, k))
    direction = rng.standard_normal(n)
    up, down = (loss.value_and_gradient(scores + e * direction, labels, [0, n]).value for e in (1e-6, -1e-6))
    assert found.d_scores @ direction == pytest.approx((up - down) / 2e-6, rel=1e-5, abs=1e-7)


def test_few_places_are_those_of_the_faster_formulas() -> None:
    rng = np.random.default_rng(3)
    scores, labels = rng.standard_normal(9), rng.integers(0, 3, 9).astype(float)
    for k in (2, 3):
        target, prefixes = prepare_prefixes(labels, np.array([0, 9]), k, 1, np.zeros(1, np.uint64))
        value = _expected_log_sums(scores, 0, prefixes, np.zeros(9)) - target @ scores
        assert value == pytest.approx(ListNetLoss(k).value_and_gradient(scores, labels, [0, 9]).value)


def test_prefixes_that_are_drawn_come_near_the_sum_over_sets(monkeypatch) -> None:
    rng = np.random.default_rng(4)
    scores, labels = rng.standard_normal(7), rng.integers(0, 3, 7).astype(float)
    exact = ListNetLoss(4).value_and_gradient(scores, labels, [0, 7])
    monkeypatch.setattr(listnet_prefixes, "MOST_SETS", 0)
    drawn = ListNetLoss(4, n_samples=20_000).value_and_gradient(scores, labels, [0, 7])
    assert drawn.value != exact.value
    assert drawn.value == pytest.approx(exact.value, abs=0.03)
    np.testing.assert_allclose(drawn.d_scores, exact.d_scores, atol=0.02)
    best = ListNetLoss(4, n_samples=10).value_and_gradient(labels - 3, labels, [0, 7])
    np.testing.assert_allclose(best.d_scores, 0, atol=1e-12)  # its minimum is that of the sum over all


def test_long_lists_are_drawn_by_seed() -> None:
    rng = np.random.default_rng(5)
    scores, labels = rng.standard_normal(100), rng.integers(0, 3, 100).astype(float)
    one, again, other = (
        ListNetLoss(10, n_samples=20, random_state=seed).value_and_gradient(scores, labels, [0, 100]).value
        for seed in (0, 0, 1)
    )
    assert one == again != other
    assert one == pytest.approx(other, rel=0.05)


def test_equal_labels_ask_for_equal_scores() -> None:
    result = ListNetLoss().value_and_gradient([1.0, 0.0], [2, 2], [0, 2])
    p = 1 / (1 + np.exp(-1))
    np.testing.assert_allclose(result.d_scores, [p - 0.5, 0.5 - p])


@pytest.mark.parametrize("k", [1, 2, 3])
def test_labels_as_far_apart_as_scores_may_be(k: int) -> None:
    # The target is (first, second, …) for certain, so the loss is the likelihood of that order's first k places.
    labels, scores = np.array([0.0, 2000.0, 1000.0, -1000.0]), np.array([0.1, 0.2, -0.3, 0.4])
    expected = -np.log(prefix_probability(scores, (1, 2, 0)[:k]))
    assert ListNetLoss(k).value_and_gradient(scores, labels, [0, 4]).value == pytest.approx(expected)


@pytest.mark.parametrize("k", [2, 3])
def test_scores_far_apart(k: int) -> None:
    # With gaps of 1000, log P is the sum of the gaps to the best of those left.
    labels, scores = np.array([0.0, 2000.0, 1000.0]), np.array([2000.0, 0.0, 1000.0])
    expected = {2: 2000.0 + 1000.0, 3: 3000.0}[k]
    assert ListNetLoss(k).value_and_gradient(scores, labels, [0, 3]).value == pytest.approx(expected)


def test_curvature_is_exact_for_one_place_and_an_upper_bound_beyond() -> None:
    rng = np.random.default_rng(0)
    scores, labels = rng.normal(size=6), rng.integers(0, 3, 6)
    for k in (1, 2, 3):
        bound = ListNetLoss(k).bind(labels, [0, 6])
        given = bound.value_and_gradient(scores, curvature=True).d2_scores
        step = np.eye(6) * 1e-5
        exact = np.array(
            [
                (bound.value_and_gradient(scores + e).d_scores - bound.value_and_gradient(scores - e).d_scores)[i]
                / 2e-5
                for i, e in enumerate(step)
            ]
        )
        assert given is not None
        if k == 1:
            np.testing.assert_allclose(given, exact, rtol=1e-8)
        assert (given >= exact - 1e-9).all()
        assert (given <= 1.5 * exact).all()


def test_a_very_long_list_keeps_its_digits_in_float32() -> None:
    rng = np.random.default_rng(1)
    scores, labels = rng.normal(size=200_000).astype(np.float32), rng.integers(0, 5, 200_000)
    single = ListNetLoss().value_and_gradient(scores, labels, [0, len(scores)])
    double = ListNetLoss().value_and_gradient(scores.astype(np.float64), labels, [0, len(scores)])
    assert single.value == pytest.approx(double.value, rel=1e-7)
    np.testing.assert_allclose(single.d_scores, double.d_scores, rtol=1e-5, atol=1e-6 * np.abs(double.d_scores).max())


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"k": 0}, "k must be"),
        ({"k": 4, "n_samples": 0}, "n_samples must be"),
        ({"temperature": 0.0}, "temperature must be"),
        ({"transform": "log"}, "'identity', 'exp2'; got 'log'"),
    ],
)
def test_wrong_settings_are_refused(parameters: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ListNetLoss(**parameters).bind([1.0, 0.0], [0, 2])  # type: ignore[arg-type]


def test_labels_too_large_for_the_transform_are_refused() -> None:
    with pytest.raises(ValueError, match="label 5000"):
        ListNetLoss(transform="exp2").bind([5000.0, 0.0], [0, 2])


def test_arrays_that_are_given_again_are_read_again() -> None:
    labels, offsets = [1, 0, 2, 0, 1], [0, 2, 5]
    bound = ListNetLoss().bind(labels, offsets)
    scores, gradient = np.array([0.3, -0.2, 1.0, 0.5, 0.0]), np.empty(5)
    bound.value_and_gradient(scores, gradient=gradient)
    for new in (scores, -scores):  # the same array with other values, then another one
        new[:] = new[::-1].copy()
        result, fresh = bound.value_and_gradient(new, gradient=gradient), ListNetLoss().bind(labels, offsets)
        expected = fresh.value_and_gradient(new.copy())
        assert result.value == expected.value
        np.testing.assert_array_equal(gradient, expected.d_scores)


PHI = {"exp": np.exp, "softplus": lambda x: np.log1p(np.exp(x)), "sigmoid": lambda x: 1 / (1 + np.exp(-x))}
BETWEEN = {  # of the labels' distribution and the scores', as the textbooks define them
    "cross-entropy": lambda t, p: -(t * np.log(p)).sum(),
    "reverse-kl": lambda t, p: (p * np.log(p / t)).sum(),
    "squared": lambda t, p: ((t - p) ** 2).sum(),
    "hellinger": lambda t, p: ((np.sqrt(t) - np.sqrt(p)) ** 2).sum() / 2,
    "jensen-shannon": lambda t, p: (t * np.log(2 * t / (t + p)) + p * np.log(2 * p / (t + p))).sum() / 2,
}


@pytest.mark.parametrize("phi", PHI)
@pytest.mark.parametrize("divergence", BETWEEN)
def test_other_functions_and_divergences_by_their_definitions(phi: str, divergence: str) -> None:
    rng = np.random.default_rng(0)
    labels, scores = rng.integers(0, 3, 7).astype(float), rng.normal(size=7)

    def value(scores: np.ndarray) -> float:
        t, p = (PHI[phi](x) / PHI[phi](x).sum() for x in (labels, scores))
        return float(BETWEEN[divergence](t, p))

    loss = ListNetLoss(phi=phi, divergence=divergence)
    v = loss.value_and_gradient(scores, labels, [0, 7])
    assert v.value == pytest.approx(value(scores), rel=1e-10)
    slopes = [(value(scores + step) - value(scores - step)) / 2e-6 for step in 1e-6 * np.eye(7)]
    np.testing.assert_allclose(v.d_scores, slopes, rtol=1e-5, atol=1e-8)
    far = loss.value_and_gradient(1e3 * scores, labels, [0, 7])
    assert np.isfinite(far.value)
    assert np.isfinite(far.d_scores).all()
    at_labels = loss.value_and_gradient(labels, labels, [0, 7])  # every divergence has its minimum there
    np.testing.assert_allclose(at_labels.d_scores, 0, atol=1e-12)


def test_other_divergences_are_of_the_first_place() -> None:
    with pytest.raises(ValueError, match="are for k=1; got k=2"):
        ListNetLoss(k=2, divergence="squared").value_and_gradient([0.0, 1.0], [0, 1], [0, 2])
    assert ListNetLoss(phi="sigmoid").rankings is None
    assert ListNetLoss().convex
    assert not ListNetLoss(divergence="squared").convex
