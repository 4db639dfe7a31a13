"""The report in a real browser: it renders, sorts, filters and opens a query, and hostile names stay text.

Links of the page say what it shows (``#sort=…&find=…&query=…``), so a browser that prints a page's elements is all
that is needed to try it.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from html import unescape
from urllib.parse import quote

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
BROWSER = os.environ.get("PODIUM_BROWSER") or next(filter(None, map(shutil.which, NAMES)), None)
pytestmark = pytest.mark.skipif(BROWSER is None, reason="there is no Chromium or Chrome; PODIUM_BROWSER names one")

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--enable-logging=stderr",
    "--virtual-time-budget=2000",
)

EVIL = "<img src=x onerror=\"document.title='owned'\">"


class Shown:
    """A page's elements after its script has run."""

    def __init__(self, path, link, profile):
        command = [BROWSER, *FLAGS, f"--user-data-dir={profile}", "--dump-dom", f"file://{path}#{link}"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
        self.dom = done.stdout
        self.complaints = [line for line in done.stderr.splitlines() if "CONSOLE" in line]

    def part(self, name):
        """The element of this id, roughly: up to the next one that has an id and is a section."""
        start = self.dom.index(f'id="{name}"')
        end = self.dom.find("<section", start)
        return self.dom[start : end if end >= 0 else len(self.dom)]

    def texts(self, pattern, name):
        return [unescape(re.sub(r"<[^>]+>", "", found)) for found in re.findall(pattern, self.part(name), re.DOTALL)]


@pytest.fixture
def open_report(tmp_path):
    def show(comparison, link="", **choices):
        path = tmp_path / "report.html"
        comparison.to_html(path)
        link = link or "&".join(f"{name}={quote(value)}" for name, value in choices.items())
        shown = Shown(path, link, tmp_path / "profile")
        assert shown.complaints == []
        return shown

    return show


def test_it_renders_sorts_filters_and_opens_a_query(make_comparison, open_report):
    c = make_comparison(methods=("plain", "listnet", "listmle", "pmop"), broken=["broken"])
    shown = open_report(c, sort="ndcg@5", find="list", a="pmop", b="plain", query="q1001", metric="ndcg@1")
    rows = re.findall(r"<tr[^>]*data-method=[^>]*>", shown.part("board"))
    order = [re.search(r'data-method="([^"]+)"', row)[1] for row in rows]
    by_metric = sorted((r for r in c.rows if r.estimates), key=lambda row: -row.estimates["ndcg@5"].mean)
    assert order == [*(row.method for row in by_metric), "broken"]
    assert re.search(r'data-key="ndcg@5" aria-sort="descending"', shown.part("board"))
    # the caller's own method is of the family "own"; the filter looks at names and families ("listwise")
    assert {name for row, name in zip(rows, order, strict=True) if "hidden" in row} == {"plain", "broken"}
    assert shown.texts(r'id="found"[^>]*>(.*?)</span>', "leaderboard") == ["3 of 5 shown"]

    for name in ("curves-chart", "training-chart", "cost-chart", "ranks-chart", "pair-chart", "weights-chart"):
        assert "<svg" in shown.part(name), name
    assert len(re.findall(r'<circle class="point', shown.part("pair-chart"))) == 7  # one for each query

    # the rankings of query q1001, which is the second of the second fold
    assert shown.texts(r"<h3>(.*?)</h3>", "explorer")[0] == "Query q1001"
    details = {row.method: c.drawer.details(row.records[1].details) for row in c.rows if row.estimates}
    queries = c.drawer.queries(details["pmop"].queries)
    tables = shown.part("rankings").split("<table")[1:]
    for method, table in zip(("pmop", "plain"), tables, strict=False):
        scores = details[method].scores[6:12]
        best_first = sorted(range(6), key=lambda i: -scores[i])
        documents = re.findall(r'<th scope="row">(.*?)</th>', table)
        assert documents == [str(queries.document_ids[6 + i]) for i in best_first]
        grades = re.findall(r'<span class="grade[^>]*>(.*?)</span>', table)
        assert [float(grade) for grade in grades] == [queries.labels[6 + i] for i in best_first]
        value = c.values(method, "ndcg@1")[5]
        assert f"ndcg@1 {value:.4f}" in unescape(re.sub(r"<[^>]+>", "", table))


def test_hostile_names_stay_text(make_comparison, open_report):
    c = make_comparison(methods=(EVIL, "other"), feature_names=[EVIL, "b", "c"], unit=EVIL)
    shown = open_report(c, query="q0", a=EVIL)
    assert "<title>toy: 2 methods" in shown.dom
    assert "<img" not in shown.dom
    assert shown.dom.count("&lt;img") > 10


def test_without_details_and_with_nothing_chosen(make_comparison, open_report):
    shown = open_report(make_comparison(details=False), "leaderboard")
    assert "<svg" in shown.part("pair-chart")
    assert 'id="rankings"' not in shown.dom
