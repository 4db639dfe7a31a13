"""Lists that show at most so many documents of a group."""

from __future__ import annotations

import numpy as np
import pytest

import podium
from podium.metrics import metric

# One query: host a has the documents 0-3, host b 4 and 5, host c 6.
LABELS = np.array([2.0, 0, 1, 2, 1, 0, 2])
SCORES = np.array([0.1, 0.9, 0.8, 0.2, 0.7, 0.3, 0.4])
HOSTS = np.array(["a", "a", "a", "a", "b", "b", "c"])


def test_by_hand() -> None:
    e = podium.evaluate(
        LABELS, SCORES, sizes=[7], metrics=["ndcg", "dcg", "map", "r@5", "mrr", "p@5"], collapse=(HOSTS, 2)
    )
    # Shown are 1, 2 (host a), 4, 6, 5: grades 0 1 1 2 0. The best list shows 0, 3 of host a: grades 2 2 2 1 0.
    d = 1 / np.log2(np.arange(2, 7))
    dcg, ideal = d @ [0, 1, 1, 3, 0], d @ [3, 3, 3, 1, 0]
    assert e.mean["dcg"] == pytest.approx(dcg)
    assert e.mean["ndcg"] == pytest.approx(dcg / ideal)
    assert e.mean["map"] == pytest.approx((1 / 2 + 2 / 3 + 3 / 4) / 4)  # four relevant documents could be shown
    assert (e.mean["r@5"], e.mean["p@5"], e.mean["mrr"]) == pytest.approx((3 / 4, 3 / 5, 1 / 2))
    assert "at most 2 of a group" in str(e)


@pytest.mark.parametrize("convention", ["standard", "letor", "trec", "lightgbm", "catboost+stop=graded"])
def test_a_limit_that_binds_nothing_changes_nothing(convention) -> None:
    generator = np.random.default_rng(0)
    labels, scores = generator.integers(0, 3, 60).astype(float), generator.integers(0, 9, 60).astype(float)
    scores[::7] = -np.inf
    names = ["ndcg@3", "ndcg", "map", "p@2", "r@4", "mrr", "err", "tau", "accuracy", "meanndcg"]
    setting = {"sizes": [10, 0, 20, 30], "metrics": names, "convention": convention}
    plain = podium.evaluate(labels, scores, **setting)
    hosts = generator.integers(0, 5, 60)
    for groups, limit in ((np.arange(60), 1), (hosts, 30)):
        wide = podium.evaluate(labels, scores, **setting, collapse=(groups, limit))
        for name in names:
            np.testing.assert_array_equal(wide.per_query[name], plain.per_query[name])


@pytest.mark.parametrize("convention", ["letor", "standard", "yahoo"])
@pytest.mark.parametrize("limit", [1, 2])
def test_like_dropping_the_documents_beforehand(convention, limit) -> None:
    generator = np.random.default_rng(1)
    n = 40
    scores, labels, hosts = generator.permutation(n) * 1.0, np.ones(n), generator.integers(0, 6, n)
    labels[generator.random(n) < 0.5] = 0
    kept = [i for i in range(n) if (hosts[scores > scores[i]] == hosts[i]).sum() < limit]
    names = ["dcg@5", "p@5", "mrr", "err", "tau"]  # these do not look at what else there was to show
    ours = podium.evaluate(labels, scores, sizes=[n], metrics=names, convention=convention, collapse=(hosts, limit))
    theirs = podium.evaluate(labels[kept], scores[kept], sizes=[len(kept)], metrics=names, convention=convention)
    assert ours.mean == pytest.approx(theirs.mean)
    # The best list reaches 1, limited or not.
    best = podium.evaluate(labels, labels, sizes=[n], metrics=["ndcg", "map"], collapse=(hosts, limit))
    assert best.mean == pytest.approx({"ndcg": 1, "map": 1})


def test_ties_for_a_place() -> None:
    labels, scores, hosts = [1, 0, 2], [0.5, 0.5, 0.1], ["x", "x", "y"]
    value = {
        name: metric("mrr", name).per_query(scores, labels, [0, 3], ["d1", "d2", "d3"], collapse=(hosts, 1))[0]
        for name in ("standard", "letor", "trec", "catboost")
    }
    # Row order shows the first; document ids, descending, the second; and so does whoever takes the worse one.
    assert value == {"standard": 0.5, "letor": 1.0, "trec": 0.5, "catboost": 0.5}


def test_rows_in_any_order_and_ids_of_any_type() -> None:
    qid = np.array(["q", "r"] * 7)
    labels, scores = np.tile(LABELS, 2), np.tile(SCORES, 2)
    hosts = np.array([1 if host == "a" else str(host) for host in np.tile(HOSTS, 2)], dtype=object)
    setting = {"metrics": ["ndcg", "map"]}
    mixed = podium.evaluate(labels, scores, qid=qid, **setting, collapse=(hosts, 1))
    order = np.argsort(qid, kind="stable")
    grouped = podium.evaluate(labels[order], scores[order], sizes=[7, 7], **setting, collapse=(hosts[order], 1))
    for name in ("ndcg", "map"):
        np.testing.assert_array_equal(mixed.per_query[name], grouped.per_query[name])


def test_what_is_refused() -> None:
    for collapse, message in (
        (HOSTS, "must be a pair"),
        ((HOSTS, 0), "limit"),
        ((HOSTS[:3], 2), "group ids"),
        (([None, *HOSTS[1:]], 2), "row 0 is missing"),
    ):
        with pytest.raises(ValueError, match=message):
            podium.evaluate(LABELS, SCORES, sizes=[7], collapse=collapse)
    scores = SCORES.copy()
    scores[5] = np.nan
    with pytest.raises(ValueError, match="document 5 of that query is NaN"):
        podium.evaluate(LABELS, scores, sizes=[7], collapse=(HOSTS, 1))
    plain, limited = (podium.evaluate(LABELS, SCORES, sizes=[7], collapse=c) for c in (None, (HOSTS, 1)))
    with pytest.raises(ValueError, match="collapsed"):
        plain.compare(limited, "map")
