"""Means, intervals, tests and what is shown of them, on results made by hand."""

from __future__ import annotations

import re

import numpy as np
import pytest

from podium.experiments import Comparison
from podium.experiments.plan.configuration import Configuration
from podium.experiments.result.table import markdown
from podium.experiments.run.outcomes import Result, Trial

EVIL = "<script>alert('x')</script>|&"


def comparison(average="folds", values=None, **changes):
    """Two folds of unequal size; ``values[method][fold]`` are per-query values of both metrics."""
    values = values or {
        "good": [[0.9, 0.8, 1.0, 0.7], [0.6, 0.8]],
        "poor": [[0.1, 0.2, 0.3, 0.1], [0.2, 0.2]],
    }
    configuration = {
        "podium": "0",
        "data": {"name": "toy", "description": "by hand", "fingerprint": "f", "folds": ["Fold1", "Fold2"]},
        "average": average,
        "protocol": {},
        "methods": {name: {"grid": {"l2": [0.1, 1.0]}} for name in values},
        "metrics": ["ndcg@1", "ndcg@5", "map"],
        "primary": "map",
        "convention": "letor",
        "options": {"normalize": "minmax"},
    } | changes
    results = [
        Result(name, f"Fold{i}", error="ValueError: broken <b>", traceback="Traceback <i>")
        if folds[i - 1] is None
        else Result(
            name,
            f"Fold{i}",
            parameters={"l2": 0.1 if i == 1 else 1.0},
            validation=0.5,
            trials=[Trial(name, f"Fold{i}", {})] * 2,
            seconds=float(i),
            search_seconds=10.0,
            qids=[f"q{i}{k}" for k in range(len(folds[i - 1]))],
            per_query=dict.fromkeys(configuration["metrics"], folds[i - 1]),
        )
        for i in (2, 1)  # as they finish, not in order
        for name, folds in values.items()
    ]
    return Comparison(Configuration.from_dict(configuration), results)


def test_means_of_folds_and_of_queries():
    # by hand: folds' means of "good" are .85 and .7; all six values add up to 4.8
    by_folds, by_queries = comparison("folds"), comparison("queries")
    assert by_folds.rows[0].estimates["map"].mean == pytest.approx((0.85 + 0.7) / 2)
    assert by_queries.rows[0].estimates["map"].mean == pytest.approx(4.8 / 6)
    for c in (by_folds, by_queries):
        for row in c.rows:
            estimate = row.estimates["map"]
            assert estimate.low <= estimate.mean <= estimate.high


def test_best_first_failed_last():
    c = comparison(values={"failed": [[0.9], None], "poor": [[0.1], [0.2]], "good": [[0.8], [0.9]]})
    assert [row.method for row in c.rows] == ["good", "poor", "failed"]
    assert c.best == "good"
    assert c.failed == ["failed"]
    assert c.rows[-1].estimates == {}
    assert c.fold_mean("failed", "map", "Fold2") is None


def test_values_of_two_methods_belong_to_the_same_queries():
    c = comparison()
    frame = c.per_query
    qids = {name: part["qid"].to_list() for (name,), part in frame.group_by("method")}
    assert qids["good"] == qids["poor"] == ["q10", "q11", "q12", "q13", "q20", "q21"]
    assert c.values("poor", "map").tolist() == [0.1, 0.2, 0.3, 0.1, 0.2, 0.2]


def test_marks_only_where_the_difference_is_sure():
    rng = np.random.default_rng(0)
    base = rng.random(60) * 0.5
    values = {
        "best": [(base[:30] + 0.3).tolist(), (base[30:] + 0.3).tolist()],
        "near": [(base[:30] + 0.299 + 0.2 * rng.standard_normal(30)).tolist(), (base[30:] + 0.28).tolist()],
        "far": [base[:30].tolist(), base[30:].tolist()],
    }
    c = comparison(values=values)
    rows = {row.method: row for row in c.rows}
    best = c.rows[0]
    assert best.p_value is None
    assert best.mark == ""
    assert rows["far"].p_value < 0.01
    assert rows["far"].mark == "‡"
    other = next(row for row in c.rows if row.method != "far" and row is not best)
    assert other.p_value > 0.05
    assert other.mark == ""


def test_queries_without_a_value_are_left_out():
    c = comparison(values={"a": [[0.5, float("nan")], [0.7]], "b": [[0.1, float("nan")], [0.3]]})
    assert c.rows[0].estimates["map"].mean == pytest.approx(0.6)
    assert c.rows[1].p_value is not None


def test_times_and_choices():
    row = comparison().rows[0]
    assert row.seconds == 1.5
    assert row.search_seconds == 20.0
    assert row.chosen == "l2=0.1 (1), l2=1.0 (1)"


def test_frames_and_csv(tmp_path):
    c = comparison()
    table = c.table()
    assert table["method"].to_list() == ["good", "poor"]
    assert set(table["convention"]) == {"letor"}
    assert table["map"][0] == c.rows[0].estimates["map"].mean
    text = c.to_csv(tmp_path / "results.csv")
    assert (tmp_path / "results.csv").read_text() == text
    assert text.splitlines()[0].startswith("method,convention,ndcg@1,")


def test_every_table_names_its_convention():
    c = comparison()
    assert "convention letor" in str(c)
    assert "letor" in markdown(c)
    assert "letor" in c.to_html()
    assert c.to_dict()["configuration"]["convention"] == "letor"


def test_markdown_survives_hostile_names():
    text = markdown(comparison(values={EVIL: [[0.5], [0.5]], "other": [[0.4], [0.4]]}))
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert len({len(re.findall(r"(?<!\\)\|", row)) for row in rows}) == 1
    assert "<script>" not in text


def test_a_table_without_any_result():
    c = comparison(values={"broken": [None, None]})
    assert c.best is None
    assert "failed" in str(c)
    assert "failed" in markdown(c)


def test_markdown_has_no_links_of_strangers() -> None:
    from podium.experiments.result.table import _safe

    assert _safe("a|b") == r"a\|b"
    assert _safe("[x](javascript:1) ![p](q)") == r"\[x\](javascript:1) !\[p\](q)"
    assert _safe(r"\[x](y)") == r"\\\[x\](y)"  # a backslash of theirs does not undo ours
    assert _safe("https://evil.example www.evil.example me@evil.example") == (
        "https&#58;//evil.example www&#46;evil.example me&#64;evil.example"
    )
    assert _safe("<http://evil>") == "&lt;http&#58;//evil>"
    assert _safe("two\nlines `code`") == r"two lines \`code\`"
    assert _safe("ndcg@10 p < 0.05") == "ndcg@10 p < 0.05"
