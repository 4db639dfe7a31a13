"""Means, intervals, tests and what is shown of them, on records made by hand."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import numpy as np
import pytest

from podium.experiments import Comparison
from podium.experiments.report.charts import _spread, _ticks, curves
from podium.experiments.runs import Record
from podium.experiments.table import markdown

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
        "methods": {name: {"grid": {"l2": [0.1, 1.0]}, "fixed": {}} for name in values},
        "metrics": ["ndcg@1", "ndcg@5", "map"],
        "primary": "map",
        "convention": "letor",
        "normalize": "minmax",
        "seed": 0,
    } | changes
    records = [
        Record(name, f"Fold{i}", error="ValueError: broken <b>", traceback="Traceback <i>")
        if folds[i - 1] is None
        else Record(
            name,
            f"Fold{i}",
            parameters={"l2": 0.1 if i == 1 else 1.0},
            validation=0.5,
            candidates=[{}, {}],
            seconds=float(i),
            search_seconds=10.0,
            qids=[f"q{i}{k}" for k in range(len(folds[i - 1]))],
            per_query=dict.fromkeys(configuration["metrics"], folds[i - 1]),
        )
        for i in (2, 1)  # as they finish, not in order
        for name, folds in values.items()
    ]
    return Comparison(configuration, records)


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
    text = markdown(comparison(values={EVIL: [[0.5], [0.5]]}))
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert len({len(re.findall(r"(?<!\\)\|", row)) for row in rows}) == 1
    assert "<script>" not in text


class _Page(HTMLParser):
    """Collects what a browser would do with a page."""

    void = frozenset({"meta"})

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.scripts, self.addresses = [], [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.addresses += [value for name, value in attrs if name in ("src", "href", "action", "data")]
        if tag not in self.void:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] == "script":
            self.scripts.append(data)


def test_the_report_is_one_well_formed_page_that_fetches_nothing():
    text = comparison().to_html()
    page = _Page(text)
    assert page.open == []
    assert page.addresses == []
    assert "url(" not in text
    assert "@import" not in text
    assert page.tags.count("svg") >= 3  # an interval for each method, and NDCG@k against k
    assert page.tags.count("caption") == page.tags.count("table")


def test_the_report_escapes_everything():
    values = {EVIL: [[0.5, 0.6], [0.5]], "broken": [None, [0.4]]}
    c = comparison(
        values=values, data={"name": EVIL, "description": EVIL, "fingerprint": EVIL, "folds": ["Fold1", "Fold2"]}
    )
    text = c.to_html()
    page = _Page(text)
    assert len(page.scripts) == 1  # only our own
    assert "alert" not in page.scripts[0]
    assert "Traceback &lt;i&gt;" in text


def test_the_report_without_any_result():
    c = comparison(values={"broken": [None, None]})
    assert c.best is None
    assert "failed in 2 of 2 folds" in c.to_html()
    assert "failed" in str(c)


def test_ticks_cover_the_range_with_round_numbers():
    for low, high in [(0.21, 0.56), (0.0, 1.0), (0.5, 0.5), (0.4999, 0.5003)]:
        ticks = _ticks(low, high)
        assert ticks[0] <= low
        assert ticks[-1] >= high
        assert 2 <= len(ticks) <= 9


def test_labels_are_spread_apart_within_the_chart():
    placed = _spread({str(i): 100.0 for i in range(5)}, gap=15, top=0, bottom=110)
    heights = sorted(placed.values())
    assert np.diff(heights).min() >= 15
    assert heights[-1] <= 110


def test_curves_name_every_series():
    svg = curves({"a": [0.1, 0.2], "b": [0.2, 0.1]}, [1, 10], x_name="k", y_name="ndcg")
    assert svg.count("<polyline") == 2
    assert ">a</text>" in svg
    assert ">b</text>" in svg
