"""PMOP with the arithmetic potential: sums over subsets and over all ordered partitions, by enumeration."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np
import pytest

from podium.losses import ListMLELoss, PMOPLoss

FUBINI = {1: 1, 2: 3, 3: 13, 4: 75, 5: 541}


def ordered_partitions(items: tuple[int, ...]) -> Iterator[list[tuple[int, ...]]]:
    if not items:
        yield []
    for size in range(1, len(items) + 1):
        for best in combinations(items, size):
            rest = tuple(i for i in items if i not in best)
            for others in ordered_partitions(rest):
                yield [best, *others]


def log_probability(scores: np.ndarray, partition: list[tuple[int, ...]]) -> float:
    """Π_k Φ(X_k) / Σ_S Φ(S), every subset written out."""
    total = 0.0
    for k, chosen in enumerate(partition):
        remaining = [i for part in partition[k:] for i in part]
        subsets = [s for size in range(1, len(remaining) + 1) for s in combinations(remaining, size)]
        potentials = [np.exp(scores[list(s)]).mean() for s in subsets]
        total += np.log(np.exp(scores[list(chosen)]).mean() / sum(potentials))
    return total


def grades(partition: list[tuple[int, ...]]) -> np.ndarray:
    labels = np.empty(sum(map(len, partition)))
    for k, part in enumerate(partition):
        labels[list(part)] = -k
    return labels


def test_four_documents_by_hand() -> None:
    # Worths 1, 2, 3, 4; grades put {1, 4} before {2, 3}. First stage: mean 2.5 of the pair over the sum of the means of
    # all 15 subsets, which is (2^4 − 1)/4 · 10 = 37.5. Second: 2.5 over (2^2 − 1)/2 · 5 = 7.5.
    result = PMOPLoss().value_and_gradient(np.log([1.0, 2.0, 3.0, 4.0]), [1, 0, 0, 1], [0, 4])
    assert result.value == pytest.approx(-np.log(2.5 / 37.5 * 2.5 / 7.5))
    first, second = 1 / 10 - 1 / 5, 1 / 10 + 1 / 5 - 1 / 5
    np.testing.assert_allclose(result.d_scores, [1 * first, 2 * second, 3 * second, 4 * first])


@pytest.mark.parametrize("n", FUBINI)
def test_probabilities_of_all_ordered_partitions_add_up_to_one(n: int) -> None:
    scores = 2 * np.random.default_rng(n).normal(size=n)
    partitions = list(ordered_partitions(tuple(range(n))))
    assert len(partitions) == FUBINI[n]
    labels = np.concatenate([grades(p) for p in partitions])
    total = 0.0
    for q, partition in enumerate(partitions):
        value = PMOPLoss().value_and_gradient(scores, labels[n * q : n * (q + 1)], [0, n]).value
        assert value == pytest.approx(-log_probability(scores, partition))
        total += np.exp(-value)
    assert total == pytest.approx(1)


def test_without_ties_it_is_listmle_but_for_constants() -> None:
    rng = np.random.default_rng(0)
    scores, labels = rng.normal(size=9), rng.permutation(9)
    ours = PMOPLoss().value_and_gradient(scores, labels, [0, 9])
    theirs = ListMLELoss().value_and_gradient(scores, labels, [0, 9])
    np.testing.assert_allclose(ours.d_scores, theirs.d_scores, atol=1e-14)
    constants = sum(np.log((2.0**n - 1) / n) for n in range(1, 10))
    assert ours.value - theirs.value == pytest.approx(constants)


def test_all_tied_is_one_stage_that_asks_nothing_of_the_scores() -> None:
    result = PMOPLoss().value_and_gradient([1.0, -1.0, 0.3], [2, 2, 2], [0, 3])
    assert result.value == pytest.approx(np.log(7))  # any of the 2³ − 1 subsets, at the mean of their potentials
    assert not result.d_scores.any()


def test_two_to_the_number_of_documents_does_not_overflow() -> None:
    n = 3000
    scores = np.zeros(n)
    labels = np.repeat([1, 0], n // 2)
    # Equal scores: p = 1 / (2^N − 1) for each of the two stages.
    expected = (3000 + 1500) * np.log(2)
    result = PMOPLoss().value_and_gradient(scores, labels, [0, n])
    assert result.value == pytest.approx(expected, rel=1e-12)


def test_both_ways_to_compute_it_agree() -> None:
    # A document 59 and 61 above the rest: the plain way and the one in logarithms, on a straight line of slope 1 or 0.
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 3, 12)
    for outlier in (int(labels.argmin()), int(labels.argmax())):
        values = []
        for gap in (59.0, 60.0, 61.0):
            scores = np.random.default_rng(2).normal(size=12)
            scores[outlier] = scores.min() + gap
            values.append(PMOPLoss().value_and_gradient(scores, labels, [0, 12], curvature=True))
        assert values[2].value - values[1].value == pytest.approx(values[1].value - values[0].value, rel=1e-9, abs=1e-9)
        np.testing.assert_allclose(values[2].d_scores, values[0].d_scores, atol=1e-9)
        np.testing.assert_allclose(values[2].d2_scores, values[0].d2_scores, atol=1e-9)


def test_curvature_is_that_of_the_convex_part() -> None:
    # d2 leaves out −log Σ_{X_k} e^s, whose curvature is −p(1 − p) within the grade.
    rng = np.random.default_rng(3)
    scores, labels = rng.normal(size=8), rng.integers(0, 3, 8)
    bound = PMOPLoss().bind(labels, [0, 8])
    given = bound.value_and_gradient(scores, curvature=True).d2_scores
    assert given is not None
    for i in range(8):
        step = 1e-5 * (np.arange(8) == i)
        exact = (bound.value_and_gradient(scores + step).d_scores - bound.value_and_gradient(scores - step).d_scores)[i]
        tied = np.exp(scores[labels == labels[i]])
        p = np.exp(scores[i]) / tied.sum()
        assert given[i] == pytest.approx(exact / 2e-5 + p * (1 - p), abs=1e-8)


def test_unknown_settings_say_what_there_is() -> None:
    with pytest.raises(ValueError, match="potential must be one of 'arithmetic'"):
        PMOPLoss(potential="median").bind([1.0], [0, 1])
    with pytest.raises(ValueError, match="method must be one of 'exact'"):
        PMOPLoss(method="guess").bind([1.0], [0, 1])
