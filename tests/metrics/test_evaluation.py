from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import podium
from podium.data.io.trec import Qrels, Run
from podium.data.queries import Queries
from podium.metrics import convention, evaluate, metric

LABELS = np.array([0, 2, 1, 1, 0, 0, 3, 0])
SCORES = np.array([0.3, 0.1, 0.2, 0.9, 0.8, 0.1, 0.4, 0.6])
QID = np.array(["b", "b", "a", "b", "a", "c", "a", "c"])
NAMES = ["ndcg@1", "ndcg@5", "map", "err", "p@5", "mrr"]


def test_is_public() -> None:
    assert podium.evaluate is evaluate
    assert podium.metrics.metric is metric


def test_per_query_follows_first_appearance() -> None:
    found = evaluate(LABELS, SCORES, qid=QID, metrics=NAMES, convention="letor")
    assert found.qids.tolist() == ["b", "a", "c"]
    assert found.convention == "letor"
    assert list(found.mean) == list(found.per_query) == NAMES
    for name in NAMES:
        m = metric(name, "letor", max_grade=3)
        rows = [np.flatnonzero(np.equal(QID, q)) for q in "bac"]
        by_query = [m.per_query(SCORES[r], LABELS[r], [0, len(r)])[0] for r in rows]
        assert found.per_query[name].tolist() == by_query
        assert found.mean[name] == pytest.approx(np.mean(by_query))


def test_row_order_does_not_matter() -> None:
    wanted = evaluate(LABELS, SCORES, qid=QID)
    order = np.random.default_rng(0).permutation(len(LABELS))
    found = evaluate(LABELS[order], SCORES[order], qid=QID[order])
    for name, values in found.per_query.items():
        shuffled = dict(zip(found.qids, values, strict=True))
        assert [shuffled[q] for q in wanted.qids] == wanted.per_query[name].tolist()


@pytest.mark.parametrize(
    ("labels", "scores", "qid"),
    [
        (LABELS.tolist(), SCORES.tolist(), QID.tolist()),
        (LABELS.astype(np.int8), SCORES.astype(np.float64)[:, None], [{"b": 7, "a": 3, "c": 5}[q] for q in QID]),
        (LABELS.astype(object), tuple(SCORES), [(q, 1) for q in QID]),
        (LABELS.astype(np.float32), SCORES * 1.0, QID.astype(object)),
    ],
)
def test_takes_what_it_is_given(labels, scores, qid) -> None:
    assert evaluate(labels, scores, qid=qid).mean == evaluate(LABELS, SCORES, qid=QID).mean


def test_frames() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"label": LABELS, "score": SCORES, "qid": QID})
    assert evaluate(frame.label, frame.score, qid=frame.qid).mean == evaluate(LABELS, SCORES, qid=QID).mean


def test_sizes_and_a_single_query() -> None:
    found = evaluate(LABELS, SCORES, sizes=[5, 0, 3], metrics="map")
    assert found.qids.tolist() == [0, 1, 2]
    assert found.per_query["map"][1] == 0.0
    assert len(evaluate(LABELS, SCORES, sizes=[8]).qids) == 1


def test_queries_take_scores_in_the_order_they_were_made_in() -> None:
    queries = Queries(np.zeros((8, 2)), LABELS, qid=QID, document_ids=list("hgfedcba"))
    found = evaluate(queries, SCORES, metrics=NAMES)
    wanted = evaluate(LABELS, SCORES, qid=QID, metrics=NAMES)
    assert found.mean == wanted.mean
    assert found.qids.tolist() == wanted.qids.tolist()
    # Their document ids break ties: reversed row order here, within query b (rows 0, 1, 3: grades 0, 2, 1).
    tied = evaluate(queries, np.ones(8), metrics="dcg@1", convention="trec")
    assert tied.per_query["dcg@1"].tolist() == [0.0, 1.0, 0.0]
    given = evaluate(queries, np.ones(8), metrics="dcg@1", convention="trec", document_ids=list("abcdefgh"))
    assert given.per_query["dcg@1"].tolist() == [1.0, 3.0, 0.0]


def test_names_are_those_asked_by() -> None:
    found = evaluate(LABELS, SCORES, qid=QID, metrics=["NDCG@5", "recall@2", metric("map", "trec"), "mrr (letor)"])
    assert list(found.mean) == ["NDCG@5", "recall@2", "map", "mrr (letor)"]
    assert found.convention == "standard, trec, letor"
    assert found.interval("r@2") == found.interval("recall@2")
    twice = evaluate(LABELS, SCORES, qid=QID, metrics=[metric("map", "trec"), metric("map", "mslr")])
    assert list(twice.mean) == ["map (trec)", "map (mslr)"]
    with pytest.raises(KeyError, match="p@3 was not computed; there are map"):
        twice.interval("p@3")


def test_own_convention() -> None:
    own = replace(convention("letor"), name="ours", relevant_from=3.0)
    found = evaluate(LABELS, SCORES, qid=QID, metrics="map", convention=own)
    assert found.convention == "ours"
    assert found.per_query["map"].tolist() == [0.0, 0.5, 0.0]


def test_left_out_queries_are_counted() -> None:
    found = evaluate(LABELS, SCORES, qid=QID, metrics=["map", "tau"], no_relevant="skip")
    assert np.isnan(found.per_query["map"][2])
    assert found.mean["map"] == np.mean(found.per_query["map"][:2])
    assert found.left_out == {"map": 1, "tau": 1}
    text = str(found)
    assert text.splitlines()[0] == "standard+no_relevant=skip convention, 3 queries"
    assert "(1 without a value left out)" in text.splitlines()[1]
    nothing = evaluate([0, 0], [1.0, 2.0], sizes=[2], metrics="map", no_relevant="skip")
    assert np.isnan(nothing.mean["map"])
    assert all(np.isnan(nothing.interval("map")))


def test_table_names_the_convention() -> None:
    found = evaluate(LABELS, SCORES, qid=QID, metrics=["ndcg@5", "map"], convention="letor")
    low, high = found.interval("map")
    assert found.table().splitlines()[0] == "letor convention, 3 queries, mean and 95 % bootstrap interval"
    assert found.table().splitlines()[2] == f"map     {found.mean['map']:.4f}  [{low:.4f}, {high:.4f}]"
    assert low <= found.mean["map"] <= high


def test_comparison_pairs_queries_by_id() -> None:
    generator = np.random.default_rng(0)
    qid = np.repeat(np.arange(40), 10)
    labels = generator.integers(0, 3, 400)
    good, bad = labels + generator.normal(size=400), labels + 3 * generator.normal(size=400)
    a = evaluate(labels, good, qid=qid, metrics=["ndcg@5", "map"])
    b = evaluate(labels[::-1], bad[::-1], qid=qid[::-1], metrics=["ndcg@5", "map"])
    difference = a.compare(b, "ndcg@5")
    assert difference.mean == pytest.approx(a.mean["ndcg@5"] - b.mean["ndcg@5"])
    assert difference.interval[0] < difference.mean < difference.interval[1]
    assert difference.p_value < 0.01
    assert difference.n_queries == 40
    assert a.compare(b, metric("ndcg@5"), test="t").p_value < 0.01
    assert str(difference).startswith("ndcg@5 (standard): +0.")
    assert str(difference).endswith("(randomization test, 40 queries)")
    assert a.compare(a, "map").p_value == 1.0


def test_comparison_refuses_what_cannot_be_compared() -> None:
    a = evaluate(LABELS, SCORES, qid=QID, metrics="map")
    with pytest.raises(ValueError, match=r"map \(standard\) cannot be compared with map \(mslr\)"):
        a.compare(evaluate(LABELS, SCORES, qid=QID, metrics="map", convention="mslr"), "map")
    with pytest.raises(ValueError, match="not of the same queries, for instance 'c'"):
        a.compare(evaluate(LABELS, SCORES, qid=np.char.replace(QID, "c", "d"), metrics="map"), "map")
    with pytest.raises(ValueError, match="test must be one of"):
        a.compare(a, "map", test="u")


def test_errors() -> None:
    with pytest.raises(ValueError, match=r"either qid .* or sizes .*sizes=\[8\]"):
        evaluate(LABELS, SCORES)
    with pytest.raises(ValueError, match="7 scores for 8 documents"):
        evaluate(LABELS, SCORES[1:], qid=QID)
    with pytest.raises(ValueError, match=r"scores must be one number per document; got shape \(8, 2\)"):
        evaluate(LABELS, np.zeros((8, 2)), qid=QID)
    with pytest.raises(ValueError, match="labels must be numbers"):
        evaluate(list("abcdefgh"), SCORES, qid=QID)
    with pytest.raises(ValueError, match="no queries"):
        evaluate([], [], qid=[])
    with pytest.raises(ValueError, match="at least one metric"):
        evaluate(LABELS, SCORES, qid=QID, metrics=[])
    with pytest.raises(ValueError, match="document_ids must have one entry"):
        evaluate(LABELS, SCORES, qid=QID, document_ids=["a"])
    queries = Queries(np.zeros((8, 1)), LABELS, qid=QID)
    with pytest.raises(ValueError, match="neither qid nor sizes"):
        evaluate(queries, SCORES, qid=QID)


def test_importing_metrics_is_light() -> None:
    import subprocess
    import sys

    code = "import sys, podium.metrics; sys.exit(any(m in sys.modules for m in ('sklearn', 'polars', 'torch')))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_judgments_and_a_run_go_without_other_arrays() -> None:
    queries, documents, values = np.array(["q", "q"]), np.array(["a", "b"]), np.array([1.0, 0.0])
    with pytest.raises(ValueError, match="give none of the other arrays"):
        evaluate(Qrels(queries, documents, values), Run(queries, documents, values), qid=np.array([1, 1]))
