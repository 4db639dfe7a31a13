"""What notebooks and terminals show of results: complete HTML that runs and fetches nothing, and one line of text."""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser

import numpy as np
import pytest

import podium
from podium.core.showing.html import curve, interval, output, table
from podium.training.base import Convergence

HOSTILE = "<script>alert(1)</script>&\"'"


class Page(HTMLParser):
    """Collects elements and text, and checks that what is opened is closed."""

    EMPTY = ("circle", "line", "rect", "polyline")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[str] = []
        self.texts: list[str] = []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.elements.append(tag)
        assert not any(name.startswith("on") or name in ("src", "href") for name, _ in attributes)
        self.open.append(tag)

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        assert tag in self.EMPTY
        self.elements.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.texts.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.texts).split())


def shown(thing: object) -> Page:
    """Return what a notebook shows, after checks that hold for everything."""
    text = thing._repr_html_()  # type: ignore[attr-defined]
    page = Page(text)
    assert not {"script", "link", "img", "iframe", "object"} & set(page.elements)
    assert "http" not in text
    assert "url(" not in text
    assert "prefers-color-scheme" not in text  # a notebook's theme is its own: text takes its color
    return page


@pytest.fixture(scope="module")
def queries() -> podium.Queries:
    rng = np.random.default_rng(0)
    return podium.Queries(rng.random((30, 3)), rng.integers(0, 3, 30), qid=np.repeat([HOSTILE, "b", "c"], 10))


def test_queries(queries):
    page = shown(queries)
    assert "3 queries, 30 documents, 3 features (float64)" in page.text
    assert HOSTILE in page.text
    counts = np.bincount(queries.labels.astype(int))
    assert all(f"{grade} {count} {count / 0.3:.1f} %" in page.text for grade, count in enumerate(counts))
    assert "svg" in page.elements
    assert "no labels" in shown(queries.without_labels()).text
    many = queries.with_labels(np.arange(30))
    assert "30 grades 0 29" in shown(many).text
    preferences = podium.Queries(np.eye(2), podium.Preferences([0], [1]), sizes=[2])
    assert "1 preferences" in shown(preferences).text


def test_no_queries():
    assert "0 queries" in shown(podium.Queries(np.empty((0, 2)), [], sizes=[])).text


def test_ratings():
    page = shown(podium.Ratings(["ann", "bob", "ann", "ann"], ["x", "x", "y", "y"], [5, 3, 4, 2]))
    assert "3 ratings, 2 users, 2 items" in page.text
    assert "1 ratings of the same item by the same user were merged." in page.text
    assert "ratings per user 1 1.5 2" in page.text


def test_evaluation(queries):
    scores = np.linspace(0, 1, 30)
    evaluation = podium.evaluate(queries, scores, metrics=["ndcg@5", "map"], convention="letor")
    page = shown(evaluation)
    low, high = evaluation.interval("ndcg@5")
    assert f"ndcg@5 (letor) {evaluation.mean['ndcg@5']:.4f} [{low:.4f}, {high:.4f}]" in page.text
    assert page.elements.count("svg") == 4
    assert repr(evaluation).startswith("Evaluation(3 queries: ndcg@5 (letor) 0.")
    assert "\n" not in repr(evaluation)


def test_evaluation_of_values_that_are_not_defined():
    evaluation = podium.evaluate([0, 0], [1.0, 2.0], sizes=[2], metrics=["map"], no_relevant="skip")
    assert "1 without a value left out" in shown(evaluation).text


def test_convergence():
    run = Convergence(
        True, HOSTILE, 3, losses=(3.0, 2.0, 1.5), validation=(0.1, 0.4, 0.3), metric="ndcg@10", best_iter=2
    )
    page = shown(run)
    assert HOSTILE in page.text
    assert "3 → 1.5" in page.text
    assert page.elements.count("polyline") == 2
    assert str(run) == "converged, 3 iterations, loss 1.5, ndcg@10 0.4000 on validation at iteration 2, which was kept"
    assert repr(run) == f"Convergence({run})"
    assert "not tested for convergence" in shown(Convergence(None, "", 0)).text


def test_a_long_history_stays_a_small_drawing():
    text = curve(np.geomspace(1e5, 1, 100_000).tolist(), "loss")
    assert len(text) < 6_000
    assert curve([1.0, np.nan, np.inf, 2.0], "two points").count(",") == 2  # one in each point
    assert curve([np.nan, 1.0], "one point") == ""


def test_explanation(queries):
    named = queries.with_features(queries.features, [HOSTILE, "b", "c"])
    ranker = podium.ListNet().fit(named)
    why = ranker.explain(named, documents=(0, 1))
    assert HOSTILE in shown(why).text
    assert repr(why) == f"Explanation({why.title})"
    assert "converged" in shown(ranker.convergence_).text


def test_text_is_escaped_everywhere():
    page = Page(output(HOSTILE, table([HOSTILE, ""], [[HOSTILE, HOSTILE]], numbers=(1,))))
    assert page.text.count(HOSTILE) == 4
    assert "script" not in page.elements


def test_intervals_that_are_not_known_are_not_drawn():
    assert interval(np.nan, 0.5, 0.6, (0, 1)) == ""
    assert "NaN" not in interval(0.5, 0.5, 0.5, (0.5, 0.5))


def test_plots_without_matplotlib_say_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=re.escape("pip install podium-rank[report]")):
        Convergence(True, "", 1, losses=(1.0,)).plot()
