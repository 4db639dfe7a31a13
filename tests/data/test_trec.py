"""TREC files. The oracle for joining judgments and runs is trec_eval itself, through pytrec_eval."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from podium.data.io.trec import judged_run, read_qrels, read_run, write_run
from podium.data.queries import Queries

QRELS = "q1 0 d1 2\nq1 0 d2 0\nq1 0 d3 1\nq2 0 d1 1\nq3 0 d9 1\n"
RUN = "q2 Q0 d7 1 0.5 mine\nq1 Q0 d2 1 3 mine\nq1 Q0 d8 2 2.5 mine\nq1 Q0 d1 3 -1e-3 mine\nq4 Q0 d1 1 1 mine\n"


@pytest.mark.parametrize("name", ["x.txt", "x.gz"])
@pytest.mark.parametrize(
    "change", [(" ", " "), (" ", "\t"), (" ", "   "), ("\n", "\r\n"), ("\n", "\n\n \n"), ("\n", " \n")]
)
def test_reading(file, name: str, change: tuple[str, str]) -> None:
    qrels = read_qrels(file(QRELS.replace(*change), name))
    assert qrels.qids.tolist() == ["q1", "q1", "q1", "q2", "q3"]
    assert qrels.document_ids.tolist() == ["d1", "d2", "d3", "d1", "d9"]
    assert qrels.grades.tolist() == [2, 0, 1, 1, 1]
    run = read_run(file(RUN.replace(*change), name))
    assert run.qids.tolist() == ["q2", "q1", "q1", "q1", "q4"]
    assert run.document_ids.tolist() == ["d7", "d2", "d8", "d1", "d1"]
    assert run.scores.tolist() == [0.5, 3, 2.5, -1e-3, 1]
    assert run.tag == "mine"


def test_last_line_without_line_end_and_long_numbers(file) -> None:
    run = read_run(file("1 Q0 d 1 0.1234567890123456789012345678901234567890 tag", "run"))
    assert run.scores.tolist() == [0.1234567890123456789012345678901234567890]
    assert (run.qids.tolist(), run.tag) == (["1"], "tag")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file is empty"),
        ("q 0 d\n", "x:1: expected 4 columns (query iteration document grade), found 3"),
        ("q 0 d 1\n\nq 0 d 1 1\n", "x:3: expected 4 columns (query iteration document grade), found 5"),
        ("q 0 d 1\nq 0 e x\n", "x:2: the grade 'x' is not a finite number"),
        ("q 0 d 1\nq 0 e 1x\n", "x:2: the grade '1x' is not a finite number"),
        ("q 0 d 1\nq 0 e nan\n", "x:2: the grade 'nan' is not a finite number"),
        ("q 0 d 1\nr 0 d 1\nq 0 d 2\n", "x:3: document 'd' occurs a second time for query 'q'"),
    ],
)
@pytest.mark.parametrize("name", ["x", "x.gz"])
def test_errors_in_qrels(file, text: str, message: str, name: str) -> None:
    with pytest.raises(ValueError) as error:  # noqa: PT011  (the message is compared as a whole)
        read_qrels(file(text, name))
    assert str(error.value).endswith(message.replace("x:", f"{name}:", 1))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("q Q0 d 1 0.5\n", "x:1: expected 6 columns (query Q0 document rank score tag), found 5"),
        ("q Q0 d 1 0.5 t\nq Q0 e 1 1e999 t\n", "x:2: the score '1e999' is not a finite number"),
        ("q Q0 d 1 0.5 t\nq Q0 d 1 0.6 t\n", "x:2: document 'd' occurs a second time for query 'q'"),
    ],
)
def test_errors_in_runs(file, text: str, message: str) -> None:
    with pytest.raises(ValueError) as error:  # noqa: PT011
        read_run(file(text, "x"))
    assert str(error.value).endswith(message)


def test_joining(file) -> None:
    joined = judged_run(read_qrels(file(QRELS, "qrels")), read_run(file(RUN, "run")))
    assert joined.qids.tolist() == ["q1", "q2"]
    assert joined.offsets.tolist() == [0, 4, 6]
    assert joined.document_ids.tolist() == ["d2", "d8", "d1", "d3", "d7", "d1"]
    assert joined.labels.tolist() == [0, 0, 2, 1, 0, 1]
    assert joined.scores.tolist() == [3, 2.5, -1e-3, -np.inf, 0.5, -np.inf]
    assert (joined.scores > -np.inf).tolist() == [True, True, True, False, True, False]
    assert joined.judged.tolist() == [True, False, True, True, False, True]
    assert joined.queries_not_in_run == ("q3",)
    assert joined.queries_not_judged == ("q4",)


def test_documents_with_negative_grades_are_not_judged(file) -> None:
    joined = judged_run(read_qrels(file("q 0 a -1\nq 0 b 0\n", "qrels")), read_run(file("q Q0 a 1 1 t\n", "run")))
    assert joined.labels.tolist() == [-1, 0]
    assert joined.judged.tolist() == [False, True]


def test_joining_with_queries_that_the_run_lacks(file) -> None:
    joined = judged_run(read_qrels(file(QRELS, "qrels")), read_run(file(RUN, "run")), complete=True)
    assert joined.qids.tolist() == ["q1", "q2", "q3"]
    assert joined.offsets.tolist() == [0, 4, 6, 7]
    assert joined.scores[-1] == -np.inf
    assert joined.queries_not_in_run == ("q3",)


def test_joining_a_run_of_other_queries(file) -> None:
    joined = judged_run(read_qrels(file(QRELS, "qrels")), read_run(file("z Q0 d 1 1 t\n", "run")))
    assert joined.offsets.tolist() == [0]
    assert joined.queries_not_in_run == ("q1", "q2", "q3")


def evaluate_in_plain_python(joined) -> dict[str, dict[str, float]]:
    """MAP, recall@5 and NDCG by trec_eval's definitions, from the joined arrays alone."""
    results = {}
    for q, qid in enumerate(joined.qids):
        part = slice(joined.offsets[q], joined.offsets[q + 1])
        labels, scores = joined.labels[part], joined.scores[part].astype(np.float32)  # trec_eval keeps float32
        documents = joined.document_ids[part]
        order = sorted(range(len(labels)), key=lambda i: (scores[i], documents[i]), reverse=True)
        gains = np.maximum(labels[[i for i in order if np.isfinite(scores[i])]], 0)
        relevant = gains >= 1
        total = (labels >= 1).sum()
        precision = np.cumsum(relevant) / np.arange(1, len(gains) + 1)
        ideal = np.sort(np.maximum(labels, 0))[::-1]
        ideal_dcg = (ideal / np.log2(np.arange(2, len(ideal) + 2))).sum()
        dcg = (gains / np.log2(np.arange(2, len(gains) + 2))).sum()
        results[str(qid)] = {
            "map": float(precision[relevant].sum() / total) if total else 0.0,
            "recall_5": float(relevant[:5].sum() / total) if total else 0.0,
            "ndcg": float(dcg / ideal_dcg) if ideal_dcg else 0.0,
        }
    return results


def test_joined_as_trec_eval_does(file) -> None:
    import pytrec_eval

    rng = np.random.default_rng(0)
    documents = [f"d{i:02}" for i in range(30)]
    qrels = {
        f"q{q}": {d: int(rng.integers(-1, 4)) for d in rng.choice(documents, rng.integers(1, 20), replace=False)}
        for q in range(40)
    }
    run = {
        f"q{q}": {
            d: float(np.round(rng.normal(), 1)) for d in rng.choice(documents, rng.integers(1, 20), replace=False)
        }
        for q in range(10, 50)
    }
    joined = judged_run(
        read_qrels(file("".join(f"{q} 0 {d} {y}\n" for q in qrels for d, y in qrels[q].items()), "qrels")),
        read_run(file("".join(f"{q} Q0 {d} 1 {s!r} t\n" for q in run for d, s in run[q].items()), "run")),
    )
    expected = pytrec_eval.RelevanceEvaluator(qrels, {"map", "recall.5", "ndcg"}).evaluate(run)
    found = evaluate_in_plain_python(joined)
    assert found.keys() == expected.keys()
    for qid in found:
        assert found[qid] == pytest.approx(expected[qid])


def test_golden_values_of_trec_eval(file) -> None:
    """Rankings with the values that trec_eval printed for them."""
    golden = json.loads((Path(__file__).parents[1] / "golden" / "trec.json").read_text())
    qrels = "".join(f"{q} 0 {d} {y}\n" for q, judged in golden["qrels"].items() for d, y in judged.items())
    run = "".join(f"{q} Q0 {d} 0 {s!r} t\n" for q, found in golden["run"].items() for d, s in found.items())
    joined = judged_run(read_qrels(file(qrels, "qrels")), read_run(file(run, "run")))
    assert set(joined.qids) == set(golden["qrels"]) & set(golden["run"])
    assert (joined.scores > -np.inf).sum() == sum(len(golden["run"][q]) for q in joined.qids)
    for qid, found in evaluate_in_plain_python(joined).items():
        assert found == pytest.approx({name: golden["expected"][qid][name] for name in found})


# ---- writing


def test_written_run(tmp_path: Path) -> None:
    q = Queries(np.zeros((4, 1)), qid=["x", "y", "x", "x"], document_ids=["a", "b", "c", "d"])
    write_run(tmp_path / "run", q, [1.0, 2.5, 1.0, 1e-7])  # grouped: a, c, d of x, then b of y
    assert (tmp_path / "run").read_text() == (
        "x Q0 c 1 2.5 podium\nx Q0 d 2 1.0 podium\nx Q0 a 3 1.0 podium\ny Q0 b 1 1e-7 podium\n"
    )


def test_zeros_of_either_sign_are_tied_in_a_run(tmp_path: Path) -> None:
    q = Queries(np.zeros((3, 1)), sizes=[3], document_ids=["a", "b", "c"])
    write_run(tmp_path / "run", q, [0.0, -0.0, 0.0])
    assert read_run(tmp_path / "run").document_ids.tolist() == ["c", "b", "a"]


def test_documents_without_ids_are_numbered_by_row(tmp_path: Path) -> None:
    q = Queries(np.zeros((3, 1)), qid=["x", "y", "x"])
    write_run(tmp_path / "run.gz", q, [1, 2, 3], tag="mine")
    run = read_run(tmp_path / "run.gz")
    assert run.document_ids.tolist() == ["3", "1", "2"]  # rows 1 and 3 are of query x
    assert run.scores.tolist() == [2, 1, 3]
    assert run.tag == "mine"


def test_run_round_trip_is_exact(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    q = Queries(np.zeros((1000, 1)), qid=rng.integers(0, 30, 1000), document_ids=[f"d{i}" for i in range(1000)])
    scores = rng.normal(size=1000) * 10.0 ** rng.integers(-9, 9, 1000)
    write_run(tmp_path / "run", q, scores)
    run = read_run(tmp_path / "run")
    back = dict(zip(run.document_ids.tolist(), run.scores.tolist(), strict=True))
    assert [back[d] for d in q.document_ids.tolist()] == scores.tolist()
    steps = np.diff(run.scores)[run.qids[1:] == run.qids[:-1]]
    assert (steps <= 0).all()


def test_what_cannot_be_written(tmp_path: Path) -> None:
    def refused(message: str, scores=(1.0, 2.0), tag: str = "t", **changes) -> None:
        given = {"qid": ["a", "a"], "document_ids": ["c", "d"], **changes}
        with pytest.raises(ValueError, match=message):
            write_run(tmp_path / "run", Queries([[1.0], [2.0]], **given), scores, tag)
        assert not list(tmp_path.iterdir())

    refused("2 documents need as many scores", scores=[1])
    refused("query .*'a'.*: a score is nan", scores=[1, np.nan])
    refused("query id 'a b' cannot be written", qid=["a b", "a"])
    refused("document id '' cannot be written", document_ids=["", "a"])
    refused("tag 'my run' cannot be written", tag="my run")
    refused("document 'c' occurs twice in query 'a'", document_ids=["c", "c"])
