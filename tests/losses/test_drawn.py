"""Labels drawn with given probabilities: the expectation by enumeration, and what a single draw has to be."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.stats import poisson

from podium.data.queries import Queries
from podium.losses import DrawnLabels, FunctionLoss, LambdaRankLoss, ListNetLoss, Loss, PMOPLoss, RegressionLoss
from podium.losses.base import Derivatives, LabeledLists, OneList
from podium.scorers import Linear
from podium.training.base import Convergence, Fit, Problem, Trainer
from podium.training.restarts import Restarts

CHANCES = np.array([0.9, 0.3, 0.05, 0.5])
OFFSETS = np.array([0, 4])
SCORES = np.array([0.3, -0.5, 1.2, 0.1])


def expected(loss: Loss, chances: np.ndarray, scores: np.ndarray) -> tuple[float, np.ndarray]:
    """Value and gradient over all 2^n labels, each weighted by its probability."""
    value, gradient = 0.0, np.zeros(len(scores))
    for labels in product([0.0, 1.0], repeat=len(scores)):
        probability = np.prod(np.where(labels, chances, 1 - chances))
        one = loss.value_and_gradient(scores, labels, [0, len(scores)])
        value += probability * one.value
        gradient += probability * one.d_scores
    return value, gradient


@pytest.mark.parametrize("loss", [ListNetLoss(), PMOPLoss(), LambdaRankLoss()], ids=repr)
def test_mean_over_many_draws_is_the_expectation(loss: Loss) -> None:
    n = 20_000
    drawn = DrawnLabels(loss, n_draws=n).value_and_gradient(SCORES, CHANCES, OFFSETS)
    value, gradient = expected(loss, CHANCES, SCORES)
    # PMOP's value of one draw has a standard deviation of about 1: four standard errors.
    assert drawn.value == pytest.approx(value, abs=4 / np.sqrt(n))
    np.testing.assert_allclose(drawn.d_scores, gradient, atol=4 * np.abs(gradient).max() / np.sqrt(n))
    naive = loss.value_and_gradient(SCORES, CHANCES, OFFSETS)  # what probabilities as grades would do
    assert np.abs(naive.d_scores - gradient).max() > 10 * np.abs(drawn.d_scores - gradient).max()


@pytest.mark.parametrize("n_draws", [1, 16])
def test_certain_labels_are_the_labels(n_draws: int) -> None:
    labels, offsets = np.array([1.0, 0.0, 0.0, 1.0, 1.0, 0.0]), [0, 4, 6]
    scores = np.linspace(-1, 1, 6)
    plain = ListNetLoss().value_and_gradient(scores, labels, offsets, curvature=True)
    drawn = DrawnLabels(ListNetLoss(), n_draws).value_and_gradient(scores, labels, offsets, curvature=True)
    assert drawn.value == pytest.approx(plain.value, rel=1e-14)
    np.testing.assert_allclose(drawn.d_scores, plain.d_scores, rtol=1e-12)
    np.testing.assert_allclose(drawn.d2_scores, plain.d2_scores, rtol=1e-12)


def test_gradient_is_the_derivative_of_the_value() -> None:
    bound = DrawnLabels(ListNetLoss()).bind(CHANCES, OFFSETS)
    gradient = bound.value_and_gradient(SCORES).d_scores
    for i in range(4):
        step = np.zeros(4)
        step[i] = 1e-6
        up, down = (bound.value_and_gradient(SCORES + sign * step).value for sign in (1, -1))
        assert gradient[i] == pytest.approx((up - down) / 2e-6, rel=1e-5, abs=1e-9)


def drawn_labels(loss: DrawnLabels, chances: Any, offsets: Any, epoch: int, n: int) -> np.ndarray:
    data = LabeledLists(np.asarray(chances, float), np.asarray(offsets), np.arange(len(offsets) - 1))
    return loss._drawn(data, epoch, n)[0].labels.reshape(n, -1)


def test_each_document_is_relevant_in_its_share_of_the_draws_and_draws_are_independent() -> None:
    loss = DrawnLabels(ListNetLoss())
    labels = np.stack([drawn_labels(loss, CHANCES, OFFSETS, epoch, 16) for epoch in range(2000)])
    assert set(np.unique(labels)) == {0.0, 1.0}
    counts = labels.sum(axis=1)
    assert ((counts == np.floor(16 * CHANCES)) | (counts == np.ceil(16 * CHANCES))).all()
    single = labels[:, 3]  # one draw of each epoch: independent Bernoulli variables
    error = 4 * np.sqrt(0.25 / len(single))
    np.testing.assert_allclose(single.mean(axis=0), CHANCES, atol=error)
    both = single.T @ single / len(single)
    np.testing.assert_allclose(both - np.diag(np.diag(both)), np.outer(CHANCES, CHANCES) * (1 - np.eye(4)), atol=error)


def test_numbers_of_clicks_have_a_poisson_distribution() -> None:
    loss = DrawnLabels(ListNetLoss(), looks=8, highest=2.0)
    chances = np.array([0.9, 0.3, 0.05, 0.0, 1.0])
    labels = np.stack([drawn_labels(loss, chances, [0, 5], epoch, 16) for epoch in range(2000)])
    clicks = labels * 8 / 2.0
    np.testing.assert_allclose(clicks, np.rint(clicks), atol=1e-12)
    # Each of the 16 draws is from another sixteenth of the distribution, so their mean hardly varies.
    np.testing.assert_allclose(labels.mean(axis=(0, 1)), 2.0 * chances, rtol=0.005)
    assert labels.mean(axis=1).std(axis=0).max() < 0.5 * (labels[:, 0].std(axis=0) / 4).max()
    single = np.rint(clicks[:, 7]).astype(int)
    for i, chance in enumerate(chances):
        expected = poisson.pmf(np.arange(8), 8 * chance)
        shares = np.bincount(single[:, i], minlength=8)[:8] / len(single)
        np.testing.assert_allclose(shares, expected, atol=4 * 0.5 / np.sqrt(len(single)))
    together = np.corrcoef(single[:, [0, 1, 2, 4]].T)
    assert np.abs(together - np.eye(4)).max() < 4 / np.sqrt(len(single))


def test_with_one_document_ahead_many_looks_are_the_likelihood_of_its_order() -> None:
    # Documents that are never clicked, and one that nearly always is: the partition is certain.
    scores, chances = np.array([0.5, -0.2, 0.1]), np.array([1.0, 0.0, 0.0])
    drawn = DrawnLabels(PMOPLoss(), looks=200).value_and_gradient(scores, chances, [0, 3])
    plain = PMOPLoss().value_and_gradient(scores, [1, 0, 0], [0, 3])
    np.testing.assert_allclose(drawn.d_scores, plain.d_scores, rtol=1e-12)
    with pytest.raises(ValueError, match="looks must be"):
        DrawnLabels(PMOPLoss(), looks=0).bind([1.0], [0, 1])


def test_draws_go_by_the_number_of_the_query_and_are_fresh_in_each_epoch() -> None:
    rng = np.random.default_rng(0)
    chances, scores, offsets = rng.random(30), rng.normal(size=30), np.array([0, 10, 20, 30])
    loss = DrawnLabels(ListNetLoss())
    whole, part = loss.bind(chances, offsets), loss.bind(chances[10:20], [0, 10], query_numbers=[1])
    seen = []
    for epoch in (0, 1):
        for bound in (whole, part):
            bound.start_epoch(epoch)
        gradient = 3 * whole.value_and_gradient(scores).d_scores[10:20]
        np.testing.assert_allclose(part.value_and_gradient(scores[10:20]).d_scores, gradient, rtol=1e-12)
        seen.append(gradient)
    assert np.abs(seen[0] - seen[1]).max() > 1e-3


def test_judged_queries_keep_their_grades() -> None:
    labels, offsets = np.array([3.0, 1.0, 0.0, 1.0, 0.0]), np.array([0, 3, 5])
    scores = np.linspace(1, -1, 5)
    drawn = DrawnLabels(ListNetLoss(), highest=3.0, n_judged=1).value_and_gradient(scores, labels, offsets)
    plain = ListNetLoss().value_and_gradient(scores, [3.0, 1.0, 0.0, 3.0, 0.0], offsets)
    assert drawn.value == pytest.approx(plain.value, rel=1e-12)
    np.testing.assert_allclose(drawn.d_scores, plain.d_scores, rtol=1e-12)
    with pytest.raises(ValueError, match=r"document 0 of query number 0 is 3 .1 such labels"):
        DrawnLabels(ListNetLoss()).bind(labels, offsets)


class _Scaled(Loss):
    """p Σ y s, a loss with a parameter of its own, in plain Python."""

    shift_invariant = False

    def initial_parameters(self) -> np.ndarray:
        return np.array([2.0])

    def prepare(self, data: LabeledLists) -> tuple[Any, ...]:
        return (data.labels,)

    def choose_kernel(self) -> Any:
        return _scaled


def _scaled(given: OneList, prepared: Any, out: Derivatives) -> float:
    labels = prepared[0][given.start : given.start + len(given.scores)]
    out.gradient[:] = given.parameters[0] * labels
    out.d_parameters[0] = labels @ given.scores
    return float(given.parameters[0] * out.d_parameters[0])


def test_parameters_of_the_loss_and_kernels_in_python() -> None:
    chances = np.array([0.25, 0.75, 0.5, 1.0])  # 16 draws have these shares exactly
    result = DrawnLabels(_Scaled()).value_and_gradient(SCORES, chances, OFFSETS)
    assert result.value == pytest.approx(2 * chances @ SCORES)
    np.testing.assert_allclose(result.d_parameters, [chances @ SCORES])
    np.testing.assert_allclose(result.d_scores, 2 * chances)
    squares = FunctionLoss(lambda s, y: (0.5 * ((s - y) ** 2).sum(), s - y))
    same = DrawnLabels(squares).value_and_gradient(SCORES, chances, OFFSETS)
    np.testing.assert_allclose(same.d_scores, SCORES - chances)


def test_facts_seeds_and_wrapping_are_passed_on() -> None:
    drawn = DrawnLabels(LambdaRankLoss(), n_draws=8)
    assert not drawn.has_gradient
    assert drawn.visits_pairs
    assert drawn.seeded(7) == DrawnLabels(LambdaRankLoss(random_state=7), n_draws=8, random_state=7)
    assert drawn.around(ListNetLoss()) == DrawnLabels(ListNetLoss(), n_draws=8)
    assert ListNetLoss().around(PMOPLoss()) == PMOPLoss()


class _Seen(Trainer):
    def fit(self, problem: Problem) -> Fit:
        return Fit(problem.loss, np.empty(0), Convergence(True, "seen", 1, losses=(0.0,)))  # type: ignore[arg-type]


def test_restarts_draw_labels_for_each_of_their_losses() -> None:
    problem = Problem(DrawnLabels(ListNetLoss()), Linear(), Queries(np.ones((2, 1)), [0.5, 0.1], sizes=[2]))
    candidates = [(RegressionLoss(), Linear())]
    assert Restarts(_Seen(), 1, candidates).fit(problem).model == DrawnLabels(RegressionLoss())
