"""Empty, short and tied lists, documents that were not retrieved, and labels and scores that cannot be."""

from __future__ import annotations

import numpy as np
import pytest

from podium.metrics import evaluate, metric

INF = np.inf


def one(name: str, labels: list[float], scores: list[float], convention: str = "standard", **options) -> float:
    """The metric of a single list."""
    return float(metric(name, convention, **options).per_query(scores, labels, [0, len(labels)])[0])


def test_by_hand() -> None:
    # Ranked grades 0, 2, 1: DCG = 3/log2(3) + 1/2, ideal 3 + 1/log2(3).
    labels, scores = [2.0, 0.0, 1.0], [0.5, 0.9, 0.1]
    assert one("ndcg", labels, scores) == pytest.approx((3 / np.log2(3) + 0.5) / (3 + 1 / np.log2(3)))
    assert one("ndcg", labels, scores, "trec") == pytest.approx((2 / np.log2(3) + 0.5) / (2 + 1 / np.log2(3)))
    # LETOR's discount is 1 at the first two ranks.
    assert one("ndcg", labels, scores, "letor") == pytest.approx((3 + 1 / np.log2(3)) / 4)
    assert one("ndcg@2", labels, scores, "letor") == pytest.approx(3 / 4)
    assert one("meanndcg", labels, scores, "letor") == pytest.approx((0 + 3 / 4 + (3 + 1 / np.log2(3)) / 4) / 3)
    assert one("map", labels, scores) == pytest.approx((1 / 2 + 2 / 3) / 2)
    assert one("map", labels, scores, "mslr") == pytest.approx(1 / 2)  # grade 1 is not relevant there
    assert one("mrr", labels, scores) == 0.5
    assert one("p@2", labels, scores) == 0.5
    assert one("r@2", labels, scores) == 0.5
    # The user stops with probability 3/4 at grade 2 and 1/4 at grade 1.
    assert one("err", labels, scores) == pytest.approx(1 / 2 * 3 / 4 + 1 / 3 * 1 / 4 * 1 / 4)
    # Pairs (2, 0) and (1, 0) are in the wrong order, (2, 1) in the right one.
    assert one("accuracy", labels, scores) == pytest.approx(1 / 3)
    assert one("tau", labels, scores) == pytest.approx(-1 / 3)


def test_all_tied() -> None:
    """Every order is as likely: by hand for grades 2, 0."""
    labels, scores = [0.0, 2.0], [1.0, 1.0]
    assert one("ndcg", labels, scores) == pytest.approx((1 + 1 / np.log2(3)) / 2)
    assert one("map", labels, scores) == pytest.approx(3 / 4)
    assert one("mrr", labels, scores) == pytest.approx(3 / 4)
    assert one("p@1", labels, scores) == 0.5
    assert one("err", labels, scores) == pytest.approx(3 / 4 * 3 / 4)
    assert one("accuracy", labels, scores) == 0.5
    assert one("tau", labels, scores) == 0.0
    assert one("mrr", labels, scores, "letor") == 0.5
    assert one("mrr", labels[::-1], scores, "letor") == 1.0
    assert one("mrr", labels[::-1], scores, "catboost") == 0.5


NAMES = [
    "ndcg",
    "ndcg@3",
    "dcg",
    "meanndcg",
    "map",
    "ap@3",
    "p@3",
    "r@3",
    "mrr",
    "err",
    "f1@2",
    "rprec",
    "hit@1",
    "rbp",
]
NORMALIZED = ["ndcg", "ndcg@3", "meanndcg", "map", "ap@3", "r@3", "rprec"]


@pytest.mark.parametrize("labels", [[], [0.0], [0.0, 0.0, 0.0]])
def test_nothing_to_find(labels: list[float]) -> None:
    scores = [1.0] * len(labels)
    for name in NAMES:
        assert one(name, labels, scores) == 0.0
        assert one(name, labels, scores, no_relevant="one") == float(name in NORMALIZED)
        assert one(name, labels, scores, no_relevant="half") == 0.5 * (name in NORMALIZED)
        assert np.isnan(one(name, labels, scores, no_relevant="skip"))
        assert one(name, labels, scores, "lightgbm") == float(name in NORMALIZED)
    assert one("map", labels, scores, "catboost") == 0.0
    assert one("ndcg", labels, scores, "catboost") == 1.0
    for name in ("tau", "accuracy"):  # nothing to order, under any convention
        assert np.isnan(one(name, labels, scores))


def test_what_is_relevant_is_up_to_the_metric() -> None:
    """Grade 1 is worth something to MSLR's NDCG but not relevant to its MAP."""
    labels, scores = [0.0, 1.0], [1.0, 2.0]
    assert one("ndcg", labels, scores, "mslr", no_relevant="skip") == 1.0
    assert np.isnan(one("map", labels, scores, "mslr", no_relevant="skip"))


def test_one_document() -> None:
    for name in ("ndcg", "ndcg@5", "map", "ap@5", "r@5", "mrr", "meanndcg"):
        assert one(name, [2.0], [-7.0]) == 1.0
    assert one("p@5", [2.0], [-7.0]) == 0.2
    assert one("p@5", [2.0], [-7.0], "xgboost") == 1.0
    assert one("p@5", [2.0], [-7.0], "letor") == 0.0
    assert one("p@5", [2.0], [-7.0], "letor4") == 0.2
    assert one("ndcg@5", [2.0], [-7.0], "letor4") == 0.0
    assert one("ndcg", [2.0], [-7.0], "letor4") == 1.0
    assert one("err", [2.0], [-7.0]) == 0.75


@pytest.mark.parametrize("convention", ["trec", "standard", "letor", "lightgbm"])
def test_documents_not_retrieved_can_be_found_but_are_not(convention: str) -> None:
    labels, scores = [1.0, 1.0, 0.0, 1.0], [-INF, 3.0, 2.0, -INF]
    assert one("map", labels, scores, convention) == pytest.approx(1 / 3)
    assert one("r@4", labels, scores, convention) == pytest.approx(1 / 3)
    assert one("mrr", [1.0, 0.0], [-INF, 1.0], convention) == 0.0
    discounts = [1, 1, 1 / np.log2(3)] if convention == "letor" else [1, 1 / np.log2(3), 1 / 2]
    assert one("ndcg", labels, scores, convention) == pytest.approx(1 / sum(discounts))
    assert one("map", [1.0], [-INF], convention) == 0.0
    # They are tied behind all others, wherever they are compared.
    assert one("accuracy", labels, scores, convention) == pytest.approx((1 + 0 + 0) / 3)


def test_infinite_scores_tie() -> None:
    assert one("mrr", [0.0, 1.0], [INF, INF]) == pytest.approx(3 / 4)
    assert one("mrr", [0.0, 1.0], [INF, INF], "letor") == 0.5
    assert one("mrr", [0.0, 1.0], [5.0, INF], "letor") == 1.0


def test_a_very_low_score_is_not_minus_infinity_in_single_precision() -> None:
    assert one("map", [1.0, 0.0], [-1e300, 1e300], "trec") == 0.5


def test_ties_are_those_of_the_precision_given() -> None:
    close = np.array([1.0, 1.0 + 1e-9])
    labels, offsets = [1.0, 0.0], [0, 2]
    assert metric("mrr").per_query(close, labels, offsets)[0] == 0.5
    assert metric("mrr").per_query(close.astype(np.float32), labels, offsets)[0] == pytest.approx(3 / 4)
    assert metric("mrr", "trec").per_query(close, labels, offsets)[0] == 1.0  # single precision: row order, no ids
    assert metric("mrr", "lightgbm").per_query(np.array([0.0, -0.0]), [1.0, 0.0], offsets)[0] == 1.0


def test_document_ids_break_ties_descending_as_text() -> None:
    labels, scores, offsets = [1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0, 3]
    for ids, value in ((["b", "a", "c"], 1.0), (["a", "b", "c"], 0.5), ([10, 9, 1], 0.5), (["9", "10", "1"], 1.0)):
        assert metric("mrr", "trec").per_query(scores, labels, offsets, ids)[0] == value
    assert metric("mrr", "trec").per_query(scores, labels, offsets)[0] == 1.0  # without ids: row order
    assert metric("mrr", "letor").per_query(scores, labels, offsets, ["a", "b", "c"])[0] == 1.0


def test_fractional_grades() -> None:
    gains = 2 ** np.array([0.5, 1.5]) - 1
    wanted = (gains[0] + gains[1] / np.log2(3)) / (gains[1] + gains[0] / np.log2(3))
    assert one("ndcg", [0.5, 1.5], [2.0, 1.0]) == pytest.approx(wanted)
    assert one("p@1", [0.5, 1.5], [2.0, 1.0]) == 0.0
    assert one("err", [0.5, 1.5], [2.0, 1.0], max_grade=2) == pytest.approx(
        gains[0] / 4 + (1 - gains[0] / 4) * gains[1] / 8
    )


def test_highest_grade_of_err() -> None:
    labels, scores, sizes = [1, 0, 2], [2.0, 1.0, 1.0], [2, 1]
    found = evaluate(labels, scores, sizes=sizes, metrics="err")
    assert found.per_query["err"].tolist() == [1 / 4, 3 / 4]  # 2 is the highest of all queries, not of each
    assert "2, the highest grade in these data" in str(found)
    found = evaluate(labels, scores, sizes=sizes, metrics="err", max_grade=4)
    assert found.per_query["err"].tolist() == [1 / 16, 3 / 16]
    assert evaluate(labels, scores, sizes=sizes, metrics="err", convention="yahoo").mean["err"] == 1 / 8
    with pytest.raises(ValueError, match=r"query 1 has the grade 2, above max_grade = 1 of err"):
        evaluate(labels, scores, sizes=sizes, metrics="err", max_grade=1)


def test_bad_values_are_named() -> None:
    def run(labels: list[float], scores: list[float], metrics: str = "ndcg", **options) -> None:
        evaluate(labels, scores, qid=["a", "b", "b"], metrics=metrics, **options)

    with pytest.raises(ValueError, match="query 'b': the score of document 1 of that query is NaN"):
        run([0, 1, 0], [1.0, 2.0, np.nan])
    with pytest.raises(ValueError, match="query 'b': the score of document 1 of that query is NaN"):
        run([0, 1, 0], [1.0, 2.0, np.nan], "tau")
    with pytest.raises(ValueError, match="query 'a': the label of document 0 of that query is inf"):
        run([INF, 1, 0], [1.0, 2.0, 3.0], "map")
    with pytest.raises(ValueError, match="query 'b': the label of document 0 of that query is nan"):
        run([0, np.nan, 0], [1.0, 2.0, 3.0], "accuracy")
    for name in ("ndcg@1", "dcg", "err", "meanndcg"):
        with pytest.raises(ValueError, match=r"query 'b' has the grade -1, but .* shift the grades"):
            run([0, 1, -1], [1.0, 2.0, 3.0], name)
    with pytest.raises(ValueError, match=r"query 'b' has the grade 2000: 2\^grade is out of range"):
        run([0, 2000, 0], [1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="query 'b' has the label 2; err takes labels as probabilities under catboost"):
        run([0, 2, 0], [1.0, 2.0, 3.0], "err", convention="catboost")


def test_negative_grades_where_they_mean_something() -> None:
    labels, scores = [-1.0, 1.0, -2.0], [3.0, 2.0, 1.0]
    assert one("map", labels, scores) == 0.5
    assert one("tau", labels, scores) == pytest.approx(1 / 3)
    assert one("ndcg", labels, scores, "trec") == pytest.approx(1 / np.log2(3))
    assert one("ndcg", labels, scores, "standard+negative=zero") == pytest.approx(1 / np.log2(3))
    assert one("ndcg", [2000.0, 0.0], scores[:2], "sklearn") == 1.0


def test_arrays_that_do_not_fit() -> None:
    m = metric("map")
    with pytest.raises(ValueError, match=r"labels must have one entry for each of the 3 documents; got shape \(2,\)"):
        m.per_query([1.0, 2.0, 3.0], [0, 1], [0, 3])
    with pytest.raises(ValueError, match="offsets must start at 0 and never decrease"):
        m.per_query([1.0, 2.0], [0, 1], [1, 2])
    assert m.per_query([], [], [0]).shape == (0,)


def test_inputs_are_left_alone_and_any_kind_of_array_will_do() -> None:
    labels, scores = np.arange(12) % 3, np.linspace(0, 1, 24, dtype=np.float32)[::2]
    scores.flags.writeable = False
    before = labels.copy()
    offsets = np.array([0, 5, 12], np.int32)
    for name in (*NAMES, "tau"):
        wanted = metric(name).per_query(scores.astype(np.float64), labels.astype(float), offsets)
        np.testing.assert_array_equal(metric(name).per_query(scores, labels, offsets), wanted)
    np.testing.assert_array_equal(labels, before)


def test_threads_do_not_change_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    from podium.numerics import pool

    generator = np.random.default_rng(0)
    sizes = generator.integers(0, 60, 300)
    labels, scores = generator.integers(0, 5, sizes.sum()), generator.integers(0, 20, sizes.sum()) / 3
    names = [*NAMES, "tau", "accuracy", "ndcg@10 (trec)", "map (catboost)"]
    ids = generator.permutation(len(labels)).astype(str)
    alone = evaluate(labels, scores, sizes=sizes, metrics=names, document_ids=ids)
    monkeypatch.setattr(pool, "LITTLE_WORK", 0)
    monkeypatch.setattr(pool, "_available", lambda: 4)
    shared = evaluate(labels, scores, sizes=sizes, metrics=names, document_ids=ids)
    for name in alone.per_query:
        np.testing.assert_array_equal(alone.per_query[name], shared.per_query[name])


def test_scores_come_before_labels() -> None:
    """A swap of the two would be silent: both orders have a value, and on these lists a different one."""
    scores, labels, offsets = [0.1, 0.7, 0.4], [0.0, 0.0, 3.0], [0, 3]
    for name, right, swapped in (("mrr", 1 / 2, 1.0), ("dcg@1", 0.0, 2**0.4 - 1)):
        m = metric(name, "standard+relevant_from=0.3")
        assert m.per_query(scores, labels, offsets)[0] == pytest.approx(right), name
        assert m.per_query(labels, scores, offsets)[0] == pytest.approx(swapped), name
        assert evaluate(labels, scores, sizes=[3], metrics=m).mean[m.name] == pytest.approx(right), name
    with pytest.raises(ValueError, match="score of document 1 of that query is NaN"):
        metric("mrr").per_query([0.0, np.nan], [0.0, 1.0], [0, 2])
