"""Metrics of the user's own, defined by a function of one ranked list."""

from __future__ import annotations

import multiprocessing
import pickle
import subprocess
import sys

import numba
import numpy as np
import pytest

import podium
from podium.metrics import define, evaluate, import_metrics, metric

LABELS = [0.0, 2.0, 1.0, 0.0, 1.0, 0.0]
SCORES = [0.3, 0.9, 0.1, 0.7, 0.2, 0.1]
OFFSETS = [0, 3, 6]


def first_is_right(labels: np.ndarray) -> bool:
    return labels[0] == max(labels)


@numba.njit
def first_grade(labels: np.ndarray) -> float:
    return labels[0]


def precision(labels: np.ndarray, k: int) -> float:
    return labels[:k].sum() / k


def recall(labels: np.ndarray, best: np.ndarray, k: int) -> float:
    return labels[:k].sum() / best.sum()


def lists(n_queries: int = 60, seed: int = 0):
    """Lists with some ties, documents that were not retrieved, and some without a relevant document."""
    generator = np.random.default_rng(seed)
    sizes = generator.integers(0, 7, n_queries)
    labels = generator.integers(0, 3, sizes.sum()) * np.repeat(generator.random(n_queries) < 0.8, sizes)
    scores = generator.integers(0, 5, sizes.sum()).astype(float)
    scores[generator.random(len(scores)) < 0.1] = -np.inf
    return scores, labels.astype(float), np.concatenate(([0], np.cumsum(sizes)))


def test_by_object_and_by_name() -> None:
    right = define("first_is_right", first_is_right, summary="is the first document one of the best?")
    assert str(right) == "first_is_right (standard)"
    assert metric("First_Is_Right") == right
    assert metric(str(right)) == right
    e = evaluate(LABELS, SCORES, sizes=[3, 3], metrics=[right, "first_is_right (letor)", "ndcg@1"])
    assert e.per_query["first_is_right (standard)"].tolist() == [1.0, 0.0]
    assert e.mean["first_is_right (letor)"] == 0.5
    compiled = define("first_grade", first_grade)
    assert compiled.per_query(SCORES, LABELS, OFFSETS).tolist() == [2.0, 0.0]


@pytest.mark.parametrize("rules", ["standard", "letor", "trec", "catboost", "standard+no_relevant=skip", "lightgbm"])
def test_precision_and_recall_written_by_a_user_are_ours(rules: str) -> None:
    """Ties, documents not retrieved and queries without a relevant document are treated as for built-in metrics."""
    define("own-p", precision, binary=True, cutoff=True)
    define("own-r", recall, binary=True, cutoff=True, best=True, normalized=True)
    scores, labels, offsets = lists()
    rules += "+short_precision=pad"
    for own, ours in (("own-p@2", "p@2"), ("own-r@2", "r@2"), ("own-r@9", "r@9")):
        wanted = metric(ours, rules).per_query(scores, labels, offsets)
        np.testing.assert_allclose(metric(own, rules).per_query(scores, labels, offsets), wanted, rtol=1e-12)


def test_many_ties_are_sampled_and_always_alike() -> None:
    first = define("first_grade", first_grade)
    labels = np.arange(40.0) % 4
    value = first.per_query(np.zeros(40), labels, [0, 40])[0]
    assert value == pytest.approx(1.5, abs=0.4)
    assert value != int(value)  # not that of a single order
    twice = first.per_query(np.zeros(80), np.tile(labels, 2), [0, 40, 80])
    assert twice.tolist() == [value, value]
    assert define("first_grade", first_grade, convention="letor").per_query(np.zeros(40), labels, [0, 40])[0] == 0.0


def test_documents_not_judged_are_removed_if_asked_to() -> None:
    count = define("count", len, judged_only=True)
    with pytest.raises(ValueError, match="count needs to know which documents were judged"):
        evaluate(LABELS, SCORES, sizes=[3, 3], metrics=count)
    judged = np.array([True, False, True, True, True, True])
    assert evaluate(LABELS, SCORES, sizes=[3, 3], metrics=count, judged=judged).per_query["count"].tolist() == [2, 3]
    with pytest.raises(ValueError, match="judged must be True or False for each document"):
        evaluate(LABELS, SCORES, sizes=[3, 3], metrics=count, judged=[1, 0, 1, 1, 1, 1])


def test_nan_is_no_value_and_the_function_may_write_to_its_arguments() -> None:
    def of_two(labels: np.ndarray) -> float:
        labels[:] = 7.0
        return np.nan if len(labels) < 3 else 1.0

    labels = np.array([1.0, 1.0, 1.0, 1.0])
    e = evaluate(labels, [3.0, 2.0, 1.0, 0.0], sizes=[3, 1], metrics=define("of_two", of_two))
    assert (e.mean["of_two"], e.left_out["of_two"]) == (1.0, 1)
    assert labels.tolist() == [1.0] * 4


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda labels: 1 / 0, r"the metric bad fails on query 'b': ZeroDivisionError: division by zero"),
        (lambda labels: None, r"must return a number; for query 'b' it returned None"),
        (lambda labels: labels, r"must return a number; for query 'b' it returned array"),
        (lambda labels: "1", r"must return a number; for query 'b' it returned '1'"),
        (lambda labels: np.inf, r"the metric bad is inf for query 'b'; return a number, or NaN for no value"),
        (lambda labels, k: 1.0, r"fails on query 'b': TypeError"),
    ],
)
def test_what_goes_wrong_names_the_query(function, message: str) -> None:
    bad = define("bad", lambda labels: function(labels) if len(labels) == 2 else 1.0)
    with pytest.raises(ValueError, match=message) as failure:
        evaluate([1.0, 1.0, 0.0], [1.0, 2.0, 3.0], qid=["a", "b", "b"], metrics=bad)
    if "fails" in message:
        assert failure.value.__cause__ is not None  # the user's own traceback


def test_names() -> None:
    for name in ("ndcg", "AP", "precision"):
        with pytest.raises(ValueError, match="is the name of a built-in metric"):
            define(name, first_is_right)
    for name in ("", "two words", "x@5", "1st", "a.b", "m:f"):
        with pytest.raises(ValueError, match="letters, digits"):
            define(name, first_is_right)
    with pytest.raises(TypeError, match="needs a function"):
        define("nothing", None)  # type: ignore[arg-type]
    old = define("twice", lambda labels: 1.0)
    new = define("twice", lambda labels: 2.0)
    assert metric("twice") == new != old
    assert [m.per_query([1.0], [1.0], [0, 1])[0] for m in (old, new)] == [1.0, 2.0]
    with pytest.raises(ValueError, match="looks at the whole list"):
        metric("twice@5")


def work(m, queue) -> None:
    queue.put((m.per_query(SCORES, LABELS, OFFSETS).tolist(), metric(str(m)) == m))


@pytest.mark.parametrize("function", [first_is_right, first_grade], ids=["python", "numba"])
def test_sent_to_another_process(function) -> None:
    m = define("sent", function)
    assert pickle.loads(pickle.dumps(m)) == m
    spawn = multiprocessing.get_context("spawn")
    queue = spawn.Queue()
    process = spawn.Process(target=work, args=(m, queue))
    process.start()
    values, known_by_name = queue.get(timeout=120)
    process.join()
    assert values == m.per_query(SCORES, LABELS, OFFSETS).tolist()
    assert known_by_name


def test_what_cannot_be_sent_says_so() -> None:
    with pytest.raises((pickle.PicklingError, AttributeError), match="lambda"):
        pickle.dumps(define("not_sent", lambda labels: 1.0))


def test_early_stopping_and_losses() -> None:
    generator = np.random.default_rng(0)
    X = generator.normal(size=(200, 3))
    y, qid = (X[:, 0] > 0.5).astype(float), np.repeat(np.arange(20), 10)
    right = define("first_is_right", first_is_right, bounded=True)
    ranker = podium.LambdaMART(n_trees=5).fit(X, y, qid=qid, eval_set=(X, y), eval_qid=qid, eval_metric=right)
    assert evaluate(y, ranker.predict(X), qid=qid, metrics=right).mean["first_is_right"] > 0.8
    loss = podium.losses.BoltzRankLoss(metric=right, n_samples=5)
    assert np.isfinite(loss.value_and_gradient(X[:, 0], y, np.arange(0, 201, 10)).value)


def test_names_typed_by_the_user(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = "from podium.metrics import define\n\ndef top(labels, k=1): return labels[:k].mean()\n"
    (tmp_path / "mine_typed.py").write_text(code + "tops = define('tops', top, cutoff=True)\nnumber = 1\n")
    monkeypatch.chdir(tmp_path)
    assert import_metrics(["ndcg@10", "mine_typed:tops@2", " mine_typed:top", "map (letor)"]) == [
        *("ndcg@10", "tops@2", "top", "map (letor)"),
    ]
    assert metric("tops@2").per_query(SCORES, LABELS, OFFSETS).tolist() == [1.0, 0.5]
    assert metric("top").per_query(SCORES, LABELS, OFFSETS).tolist() == [2.0, 0.0]
    for name, message in (("mine_typed:number", "neither a metric nor a function"), ("no_such:f", "no module")):
        with pytest.raises(ValueError, match=message):
            import_metrics([name])
    outcome = subprocess.run(
        [sys.executable, "-c", "import podium.metrics; podium.metrics.metric('mine_typed:top')"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert "only on the command line" in outcome.stderr  # names in files never import anything
