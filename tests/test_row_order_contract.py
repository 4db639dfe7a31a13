"""Row order is never information.

Permuting the rows within lists, or the lists, permutes the result and changes nothing else; nor does calling queries by
other names. This file holds every loss, every metric under every convention and every method of the table to it, to
rounding where nothing is drawn. ``test_row_order_extras.py`` compares what is drawn with what another seed makes.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import podium
from podium.losses import BoltzRankLoss, LambdaRankLoss, ListMLELoss, Loss
from podium.metrics import CONVENTIONS, FAMILIES
from podium.rankers.methods import METHODS, accepted

from .test_loss_contract import ALL, Lists

FEW: dict[str, Any] = {"n_trees": 4, "epochs": 2, "restarts": 1, "n_rounds": 4, "n_landmarks": 30, "random_state": 0}
SLOW_TO_COMPILE = {"boltzrank-pairs"}


def shuffled(offsets: np.ndarray, seed: int = 0) -> np.ndarray:
    """Return rows permuted within lists."""
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.permutation(np.arange(a, b)) for a, b in pairwise(offsets)])


def lists_in_order(offsets: np.ndarray, order: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of the lists in another order, and their offsets."""
    rows = np.concatenate([np.arange(offsets[q], offsets[q + 1]) for q in order])
    return rows, np.concatenate(([0], np.cumsum(np.diff(offsets)[order])))


# ---- losses


def assert_same(result: Any, expected: Any, rows: np.ndarray) -> None:
    assert result.value == pytest.approx(expected.value, rel=1e-12)
    size = np.abs(expected.d_scores).max()
    np.testing.assert_allclose(result.d_scores, expected.d_scores[rows], rtol=0, atol=1e-12 * size)
    np.testing.assert_allclose(result.d_parameters, expected.d_parameters, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("loss", ALL, ids=repr)
def test_losses_do_not_know_the_order_of_rows(loss: Loss) -> None:
    lists = Lists(seed=21)
    if isinstance(loss, ListMLELoss | BoltzRankLoss):  # what these draw is keyed by rows
        lists.labels = np.random.default_rng(4).permutation(len(lists.labels)).astype(float)
    elif loss.is_random:
        pytest.skip("what it draws goes by rows")
    if isinstance(loss, BoltzRankLoss):
        loss = BoltzRankLoss(loss.metric, weight=loss.weight, n_samples=loss.n_samples, g=loss.g)
    elif not isinstance(loss, LambdaRankLoss):  # it draws the order of equal scores
        lists.scores = lists.scores.round(1)
    rows = shuffled(lists.offsets)
    result = loss.value_and_gradient(lists.scores[rows], lists.labels[rows], lists.offsets)
    assert_same(result, lists.value_and_gradient(loss), rows)


@pytest.mark.parametrize("loss", ALL, ids=repr)
def test_losses_do_not_know_the_order_of_lists(loss: Loss) -> None:
    lists = Lists(seed=22)
    order = np.random.default_rng(1).permutation(len(lists.sizes))
    rows, offsets = lists_in_order(lists.offsets, order)
    # Draws go by the number of the query, which it keeps.
    bound = loss.bind(lists.labels[rows], offsets, query_numbers=order)
    assert_same(bound.value_and_gradient(lists.scores[rows]), lists.value_and_gradient(loss), rows)


# ---- metrics


def judged(tied: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return offsets, labels and scores of lists of all sizes; ties are broken if not ``tied``."""
    rng = np.random.default_rng(3)
    offsets = np.concatenate(([0], np.cumsum([12, 1, 7, 30, 2, 9])))
    scores = rng.integers(0, 6, offsets[-1]).astype(float)
    return offsets, rng.integers(0, 4, offsets[-1]).astype(float), scores if tied else rng.normal(size=offsets[-1])


def evaluated(convention: str, offsets: np.ndarray, labels: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Return (metrics, queries) the values of every family."""
    names = [family.named(None if family.cutoff == "none" else 5) for family in FAMILIES.values()]
    if CONVENTIONS[convention].stop == "label":  # takes labels as probabilities
        names = [name for name in names if not name.startswith("err")]
    ids = np.array([f"document {i:03d}" for i in np.argsort(np.random.default_rng(9).permutation(len(labels)))])
    queries = podium.Queries(np.zeros((len(labels), 1)), labels, sizes=np.diff(offsets), document_ids=ids)
    found = podium.evaluate(queries, scores, metrics=names, convention=convention, judged=labels >= 0)
    return np.array([found.per_query[name] for name in names])


every_convention = pytest.mark.parametrize("convention", list(CONVENTIONS))


@every_convention
def test_metrics_do_not_know_the_order_of_rows_unless_their_convention_says_so(convention: str) -> None:
    tied = CONVENTIONS[convention].ties not in ("row", "document_id")
    offsets, labels, scores = judged(tied)
    here = evaluated(convention, offsets, labels, scores)
    rows = shuffled(offsets)
    np.testing.assert_allclose(evaluated(convention, offsets, labels[rows], scores[rows]), here, rtol=1e-12)
    order = np.array([3, 0, 5, 1, 4, 2])
    rows, moved = lists_in_order(offsets, order)
    np.testing.assert_allclose(evaluated(convention, moved, labels[rows], scores[rows]), here[:, order], rtol=1e-12)


@every_convention
@pytest.mark.parametrize("change", [lambda s: s + 3.0, lambda s: 8.0 * s, lambda s: np.exp(s / 4)], ids="+*e")
def test_metrics_know_only_the_ranking(convention: str, change: Any) -> None:
    offsets, labels, scores = judged(tied=True)
    here, there = (evaluated(convention, offsets, labels, s) for s in (scores, change(scores)))
    np.testing.assert_array_equal(there, here)


@every_convention
def test_a_query_twice_has_its_value_twice(convention: str) -> None:
    offsets, labels, scores = judged(tied=False)
    here = evaluated(convention, offsets, labels, scores)
    rows, twice = lists_in_order(offsets, np.array([0, 1, 2, 3, 3, 4, 5]))
    there = evaluated(convention, twice, labels[rows], scores[rows])
    np.testing.assert_allclose(there, here[:, [0, 1, 2, 3, 3, 4, 5]], rtol=1e-12)


# ---- rankers


@pytest.fixture(scope="module")
def lists() -> podium.Queries:
    """Rows sorted by grade, values that tie, and a feature twice: whatever breaks ties by place shows."""
    queries = podium.make_queries(n_queries=16, n_documents=8, n_features=4, random_state=3)
    order = np.lexsort((-queries.labels, queries.query_of_document))
    features = np.round(2.0 * queries.features[order].astype(np.float64))
    features[:, 3] = features[:, 2]
    return podium.Queries(features, queries.labels[order], sizes=queries.sizes)


def fitted_scores(name: str, lists: podium.Queries, rows: np.ndarray, qid: np.ndarray) -> np.ndarray:
    """Return the scores of all rows in their own order, of a ranker that was fitted on them in another."""
    make = METHODS[name].build
    ranker = make(**accepted(make, FEW)).fit(lists.features[rows], lists.labels[rows], qid=qid[rows])
    return ranker.predict(lists.features, qid=lists.query_of_document)


@pytest.mark.parametrize("name", [name for name in METHODS if not METHODS[name].stochastic])
def test_methods_that_draw_nothing_do_not_know_the_order_of_rows(name: str, lists: podium.Queries) -> None:
    qid, rows = lists.query_of_document, np.arange(lists.n_documents)
    here = fitted_scores(name, lists, rows, qid)
    by_list, _ = lists_in_order(lists.offsets, np.random.default_rng(1).permutation(len(lists)))
    for moved in (shuffled(lists.offsets), by_list, np.random.default_rng(2).permutation(len(rows))):
        there = fitted_scores(name, lists, moved, qid)
        np.testing.assert_allclose(there, here, rtol=1e-6, atol=1e-6 * np.abs(here).max())


@pytest.mark.parametrize("name", [n for n in METHODS if n not in SLOW_TO_COMPILE and not METHODS[n].package])
def test_names_of_queries_do_not_change_a_bit(name: str, lists: podium.Queries) -> None:
    numbers, rows = lists.query_of_document, np.arange(lists.n_documents)
    here = fitted_scores(name, lists, rows, numbers)
    for qid in (np.array([f"query {99 - number}" for number in numbers]), 1000 - numbers):
        np.testing.assert_array_equal(fitted_scores(name, lists, rows, qid), here)


def test_equal_scores_rank_in_the_order_of_rows_and_only_there() -> None:
    """As ``rank`` documents: ranks must be distinct, and nothing but the rows tells equal scores apart."""
    X = np.array([[0.0], [1.0], [0.0], [1.0]])
    ranker = podium.Regression().fit(X, [0, 1, 0, 1], qid=[1, 1, 1, 1])
    assert ranker.rank(X, qid=[1, 1, 1, 1]).tolist() == [3, 1, 4, 2]
    assert ranker.rank(X[::-1], qid=[1, 1, 1, 1]).tolist() == [1, 3, 2, 4]
