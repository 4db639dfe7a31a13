"""The report in a real browser: clicks, keys and links do what the page says, and hostile names stay text."""

from __future__ import annotations

import csv
import io
import json
from urllib.parse import quote

import numpy as np
import pytest

from podium.experiments.report.rankings import explained_method
from podium.experiments.run.explaining import ExplainedPart
from podium.experiments.run.store import FILE

from .browser import Browser, why_not

EVIL = "<img src=x onerror=\"document.title='owned'\">"
METHODS = ("plain", "listnet", "listmle", "pmop")
BOARD = "[...document.querySelectorAll('#board tbody tr')]"
ORDER = f"{BOARD}.map((row) => row.dataset.method)"
CHOSEN = "[...document.querySelectorAll('#pair-chart select')].map((select) => select.value)"
WIDTHS = "[document.documentElement.scrollWidth, document.documentElement.clientWidth]"


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    if reason := why_not():
        pytest.skip(reason)
    with Browser(tmp_path_factory.mktemp("profile")) as browser:
        yield browser.page()


@pytest.fixture
def open_report(page, tmp_path):
    """Opens the report of a comparison. However it is used, it must not complain, nor ask for any other file."""
    page.complaints.clear()  # of a test before that failed
    page.requests.clear()

    def show(comparison, link="", **look):
        comparison.to_html(tmp_path / "report.html")
        page.open(f"file://{tmp_path}/report.html#{link}", tmp_path / "saved", **look)
        return page

    yield show
    assert page.complaints == []
    assert page.requests == []


@pytest.fixture
def four(make_comparison):
    """Four methods on seven queries, and one that failed."""
    return make_comparison(methods=METHODS, broken=["broken"])


def link(**choices):
    return "&".join(f"{name}={quote(value)}" for name, value in choices.items())


def by(comparison, metric):
    """The methods in the order of a metric, best first."""
    rows = [row for row in comparison.rows if row.estimates]
    return [row.method for row in sorted(rows, key=lambda row: -row.estimates[metric].mean)]


def tab_to(page, selector, most=60):
    """Press Tab until the element has the focus, as a reader without a mouse would."""
    for _ in range(most):
        page.press("Tab")
        if page.evaluate(f"document.activeElement.matches({json.dumps(selector)})"):
            return
    raise AssertionError(f"{selector} is not among the first {most} stops of the Tab key")


def check_rankings(page, comparison, query, methods):
    """Both rankings of a query of the second fold, in the explorer, against the scores behind them."""
    assert page.texts("#explorer h3") == [f"Query q{1000 + query}"]
    for number, method in enumerate(methods, 1):
        row = next(row for row in comparison.rows if row.method == method)
        details = comparison.arrays(row.results[1])
        queries = details.part
        part = slice(queries.offsets[query], queries.offsets[query + 1])
        best_first = sorted(range(part.stop - part.start), key=lambda i: -details.scores[part][i])
        table = f"#rankings > :nth-child({number})"
        assert page.texts(f"{table} tbody th") == [str(queries.document_ids[part][i]) for i in best_first]
        assert [float(grade) for grade in page.texts(f"{table} .grade")] == [
            queries.labels[part][i] for i in best_first
        ]
        assert page.texts(f"{table} caption strong") == [method]


def test_a_link_shows_the_same_view(four, open_report):
    choices = {"sort": "ndcg@5", "find": "list", "a": "pmop", "b": "plain", "query": "q1001", "metric": "ndcg@1"}
    page = open_report(four, link(**choices))
    assert page.evaluate(ORDER) == [*by(four, "ndcg@5"), "broken"]
    assert page.evaluate("document.querySelector('#board [aria-sort]').dataset.key") == "ndcg@5"
    assert page.evaluate("document.getElementById('find').value") == "list"
    # the caller's own method is of the family "own"; the filter looks at names and families ("listwise")
    assert sorted(page.evaluate(f"{BOARD}.filter((row) => row.hidden).map((row) => row.dataset.method)")) == [
        "broken",
        "plain",
    ]
    assert page.texts("#found") == ["3 of 5 shown"]
    for name in ("curves-chart", "training-chart", "cost-chart", "ranks-chart", "pair-chart", "weights-chart"):
        assert page.evaluate(f"document.querySelectorAll('#{name} svg.chart').length") == 1, name
    assert page.evaluate(CHOSEN) == ["pmop", "plain", "ndcg@1"]
    assert len(page.texts("#pair-chart .point")) == 7  # one for each query
    check_rankings(page, four, 1, ("pmop", "plain"))
    shown = [len(page.texts(f"#rankings > :nth-child({k}) svg.spread title")) for k in (1, 2)]
    assert shown == [len(page.texts("#rankings > :nth-child(1) tbody tr")), 0]  # pmop has probabilities, plain has none
    value = four.values("pmop", "ndcg@1")[5]
    assert f"ndcg@1 {value:.4f}" in page.texts("#rankings caption")[0]


def test_a_click_on_a_heading_sorts_and_another_turns_it_round(four, open_report):
    page = open_report(four)
    heading = '#board th[data-key="ndcg@1"]'
    expected = by(four, "ndcg@1")
    assert page.evaluate(ORDER) == [*by(four, "map"), "broken"] != [*expected, "broken"]
    page.click(f"{heading} button")
    assert page.evaluate(ORDER) == [*expected, "broken"]
    page.click(f"{heading} button")
    assert page.evaluate(ORDER) == [*expected[::-1], "broken"]  # what has no figure stays last
    sorts = "[...document.querySelectorAll('#board th')].map((head) => head.getAttribute('aria-sort')).filter(Boolean)"
    assert page.evaluate(sorts) == ["ascending"]
    assert page.evaluate(f"document.querySelector('{heading}').getAttribute('aria-sort')") == "ascending"
    page.click('#board th[data-key="method"] button')
    assert page.evaluate(ORDER) == sorted([*METHODS, "broken"])


def test_typing_into_the_filter_hides_rows_and_counts_them(four, open_report):
    page = open_report(four)
    shown = f"{BOARD}.filter((row) => row.offsetHeight > 0).map((row) => row.dataset.method)"
    assert len(page.evaluate(shown)) == 5
    assert page.texts("#found") == [""]
    page.click("#find")
    page.type("ne")
    assert page.evaluate(shown) == ["listnet"]
    assert page.texts("#found") == ["1 of 5 shown"]
    page.evaluate("document.getElementById('find').select()")
    page.type("nobody")
    assert page.evaluate(shown) == []
    page.go(page.evaluate("location.href"))  # the address has kept it
    assert page.texts("#found") == ["0 of 5 shown"]


def test_a_family_is_shown_alone(four, open_report):
    page = open_report(four)
    page.click('#filters [data-family="listwise"]')
    assert page.texts("#found") == ["3 of 5 shown"]
    assert page.evaluate("document.querySelector('#filters [aria-pressed=true]').textContent") == "listwise"
    page.click('#filters [data-family="listwise"]')
    assert page.texts("#found") == [""]


def test_two_methods_are_chosen(four, open_report):
    page = open_report(four)
    for number, method in enumerate(("listnet", "pmop"), 1):  # others begin with the same letters
        page.evaluate(
            f"(window.chosen = document.querySelector('#pair-chart label:nth-child({number}) select')).focus()"
        )
        page.evaluate("chosen.addEventListener('blur', () => { window.left = true; }, { once: true })")
        page.type(method)
        assert page.evaluate(
            "document.activeElement === chosen && !window.left"
        )  # it stays while all else is drawn anew
        page.evaluate("chosen.blur(), window.left = false")
    one, other = (four.values(method, "map") for method in ("listnet", "pmop"))
    verdict = page.texts("#pair-verdict")[0]
    assert verdict.startswith(
        f"listnet is better on {(one > other).sum()}, pmop on {(one < other).sum()} of 7 queries; equal on 0."
    )
    assert page.texts("#largest thead th") == ["query", "listnet", "pmop", "difference"]
    assert page.texts("#rankings caption strong") == ["listnet", "pmop"]
    assert page.evaluate("location.hash") == "#a=listnet&b=pmop"


def test_a_click_on_a_point_opens_its_query(four, open_report):
    page = open_report(four, link(a="listnet", b="pmop"))
    page.click('#pair-chart .point[data-tip^="query q1002:"]')
    assert page.texts("#explorer h3") == ["Query q1002"]
    assert len(page.texts("#pair-chart .point.open")) == 1
    check_rankings(page, four, 2, ("listnet", "pmop"))


def test_a_query_is_opened_by_its_name(four, open_report):
    page = open_report(four, link(a="listnet", b="pmop", query="q2"))
    page.evaluate("document.querySelector('#explorer input').select()")
    page.type("q1000")
    page.press("Enter")
    check_rankings(page, four, 0, ("listnet", "pmop"))
    page.click("#explorer button:last-of-type")
    check_rankings(page, four, 1, ("listnet", "pmop"))
    page.evaluate("document.querySelector('#explorer input').select()")
    page.type("nobody")
    page.press("Enter")
    assert "There is no query “nobody” here." in page.texts("#explorer p")


def test_the_keyboard_is_enough(four, open_report):
    page = open_report(four, link(a="listnet", b="pmop"))
    tab_to(page, '#board th[data-key="ndcg@1"] button')
    page.press("Enter")
    assert page.evaluate(ORDER) == [*by(four, "ndcg@1"), "broken"]
    page.press(" ")
    assert page.evaluate(ORDER) == [*by(four, "ndcg@1")[::-1], "broken"]
    tab_to(page, "#duels-table td")  # one stop for the whole table: arrows lead through it
    page.press("ArrowDown")
    page.press("ArrowRight")
    page.press("Enter")
    second, third = by(four, "map")[1:3]
    assert page.texts("#largest thead th")[1:3] == [second, third]
    assert page.evaluate(CHOSEN) == [second, third, "map"]
    assert page.evaluate("document.activeElement.closest('label').textContent.slice(0, 1)") == "A"
    tab_to(page, "#pair-chart .point.open")
    assert page.evaluate("document.querySelectorAll('#pair-chart .point[tabindex=\"0\"]').length") == 1
    page.press("ArrowRight")
    told = page.evaluate("document.activeElement.getAttribute('aria-label')")
    page.press("Enter")
    query = told.removeprefix("query ").split(":")[0]
    assert page.texts("#explorer h3") == [f"Query {query}"]
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == told  # where the reader was


def test_going_back_brings_the_view_back(four, open_report):
    page = open_report(four)
    for address in ("sort=ndcg@1&query=q1001", "sort=ndcg@5", "setup"):
        page.evaluate(f"location.hash = '{address}'")
    board = f"JSON.stringify({ORDER})"
    for metric in ("ndcg@5", "ndcg@1", "map"):
        page.evaluate("history.back()")
        expected = json.dumps([*by(four, metric), "broken"], separators=(",", ":"))
        page.wait_for(f"{board} === '{expected}'")
    assert page.evaluate("location.hash") == ""


def test_a_link_that_asks_for_nonsense_shows_the_usual_view(four, open_report):
    nonsense = {"sort": "x", "order": "x", "family": "x", "metric": "constructor", "a": "x", "b": "x"}
    page = open_report(four, link(**nonsense, fold="length", weights="broken", query="~99", methods="x;pmop"))
    assert page.evaluate(ORDER) == [*by(four, "map"), "broken"]
    assert page.texts("#found") == [""]
    assert len(page.texts("#pair-chart .point")) == 7
    assert page.texts("#explorer h3") == ["Open a query"]
    assert "pmop" in page.texts("#curves-chart .legend [aria-pressed=true]")


def test_figures_are_saved_as_they_are(four, open_report, tmp_path):
    page = open_report(four)
    saved = {}
    for kind in ("table", "values"):
        page.click(f"[data-download={kind}]")
        page.wait_until(lambda kind=kind: (tmp_path / "saved" / f"toy-{kind}.csv").exists(), f"{kind} is saved")
        saved[kind] = list(csv.DictReader(io.StringIO((tmp_path / "saved" / f"toy-{kind}.csv").read_text())))
    assert [row["method"] for row in saved["table"]] == by(four, "map")
    for row, found in zip(four.rows, saved["table"], strict=False):
        assert float(found["map high"]) == pytest.approx(row.estimates["map"].high, abs=6e-5)
    assert {row["convention"] for row in saved["table"]} == {"letor"}
    frame = {(row["method"], row["qid"]): row for row in four.per_query.to_dicts()}
    assert len(saved["values"]) == len(frame) == 28
    for row in saved["values"]:
        expected = frame[row["method"], row["query"]]
        assert row["fold"] == expected["fold"]
        assert float(row["ndcg@5"]) == pytest.approx(expected["ndcg@5"], abs=6e-7)


def test_links_lead_to_the_files_beside_the_page(four, open_report, tmp_path):
    four.save(tmp_path)
    page = open_report(four)
    names = page.texts(".files a")
    assert names == ["results.csv", "per_query.csv", "trials.csv", "table.md", "table.tex", FILE]
    addresses = page.evaluate("[...document.querySelectorAll('.files a')].map((link) => link.href)")
    assert addresses == [(tmp_path / name).as_uri() for name in names]
    assert all((tmp_path / name).stat().st_size > 0 for name in names)
    page.click(".files a")
    page.wait_until(lambda: (tmp_path / "saved" / "results.csv").exists(), "the table is saved")
    first = next(csv.DictReader(io.StringIO((tmp_path / "saved" / "results.csv").read_text())))
    assert first["method"] == four.best
    assert page.requests.pop().endswith("/results.csv")  # the one file that was asked for


def test_every_candidate_is_listed_when_asked_for(four, open_report):
    page = open_report(four)
    assert page.texts("#trials-table tbody tr") == []
    page.click("#trials summary")
    page.wait_for("document.querySelectorAll('#trials-table tbody tr').length === 16")  # methods, folds, two each
    assert page.texts("#trials-table tr.lead td:nth-child(3)") == ["l2=1.0"] * 8


def test_the_page_is_never_wider_than_the_window(make_comparison, open_report):
    long = "a_very_long_name_of_a_method_" * 4
    names = [long, f"{long}2", "中文" * 30, "plain", *(f"method {i}" for i in range(16))]
    c = make_comparison(methods=names, feature_names=["length_of_the_title_" * 5, "age", "links"])
    page = open_report(c, link(methods=";".join(names[:4])))
    drawn = "document.querySelector('#curves-chart .chart')"
    outside = """[...document.querySelectorAll('.chart text')].map((text) => text.getBoundingClientRect())
        .filter((box) => box.left < -1 || box.right > innerWidth + 1).length"""
    for width in (1200, 768, 390):
        page.look(width=width)
        page.wait_for(f"Math.abs({drawn}.getAttribute('width') - {drawn}.getBoundingClientRect().width) < 2")
        scroll, client = page.evaluate(WIDTHS)
        assert scroll <= client <= width
        assert page.evaluate(outside) == 0, width  # no name runs out of its chart


# Visible texts whose color has too little contrast with what is behind them (WCAG 2, 1.4.3).
FAINT = """(() => {
  const parts = (color) => {
    const numbers = color.match(/[\\d.e-]+/g).map(Number);
    const rgb = color.startsWith("color(srgb") ? numbers.slice(0, 3) : numbers.slice(0, 3).map((part) => part / 255);
    return [...rgb, numbers[3] ?? 1];
  };
  const linear = (part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
  const light = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  const behind = (element) => {
    const color = parts(getComputedStyle(element).backgroundColor);
    return color[3] === 1 || !element.parentElement ? color : behind(element.parentElement);
  };
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const found = [];
  let seen = 0;
  while (texts.nextNode()) {
    const element = texts.currentNode.parentElement;
    const text = texts.currentNode.textContent.trim();
    if (!text || !element.checkVisibility() || element.matches("script, style, option")) continue;
    const style = getComputedStyle(element);
    const color = parts(element instanceof SVGElement ? style.fill : style.color);
    const [dim, bright] = [light(color), light(behind(element))].sort((one, other) => one - other);
    const contrast = (bright + 0.05) / (dim + 0.05);
    if (contrast < 4.5) found.push(`${contrast.toFixed(2)} ${element.outerHTML.slice(0, 80)}`);
    seen += 1;
  }
  return { found, seen };
})()"""


def test_all_text_can_be_read(make_comparison, small_comparison, open_report):
    names = [f"method {i}" for i in range(10)]  # more than there are colors, and some that are not highlighted
    c = make_comparison(methods=names, broken=["broken"])
    page = open_report(c, link(query="q1001", methods=";".join(names[:8])))
    backgrounds = []
    for look in ({}, {"dark": True}, {"dark": True, "medium": "print"}):
        page.look(**look)
        measured = page.evaluate(FAINT)
        assert measured["found"] == [], look
        assert measured["seen"] > 300
        backgrounds.append(page.evaluate("getComputedStyle(document.body).backgroundColor"))
    assert open_report(small_comparison, "methods=").evaluate(FAINT)["found"] == []  # names of lines in gray
    assert backgrounds == ["rgb(252, 252, 251)", "rgb(19, 21, 25)", "rgb(255, 255, 255)"]  # paper is never dark


def test_on_paper_there_are_tables_and_no_controls(make_comparison, open_report):
    c = make_comparison(methods=[f"method {i}" for i in range(30)])
    page = open_report(c, width=703, medium="print")  # A4 less the margins
    visible = "(name) => [...document.querySelectorAll(name)].filter((element) => element.checkVisibility()).length"
    for name in ("nav", ".controls", "select", "input", "#downloads", ".skip"):
        assert page.evaluate(f"({visible})('{name}')") == 0, name
    assert page.evaluate(f"({visible})('table')") == page.evaluate("document.querySelectorAll('table').length") >= 7
    assert page.evaluate(f"({visible})('.chart')") == 6
    scroll, client = page.evaluate(WIDTHS)
    assert scroll <= client  # what is wider than the page would be cut off, or all of it shrunk


def test_the_page_cannot_ask_for_anything(small_comparison, open_report):
    """That the other tests saw no request means something: one would be refused, and noticed."""
    page = open_report(small_comparison)
    page.evaluate("fetch('http://127.0.0.1:9/').catch(() => 0)")
    page.evaluate("void document.body.append(Object.assign(new Image(), { src: 'picture.png' }))")
    page.evaluate("void setTimeout(() => missing(), 0)")
    page.wait_until(lambda: len(page.complaints) >= 3, "the browser complains")
    told = " ".join(page.complaints)
    for part in ("connect-src", "picture.png", "missing is not defined"):
        assert part in told
    page.complaints.clear()
    page.requests.clear()


def test_hostile_names_stay_text(make_comparison, open_report):
    c = make_comparison(methods=(EVIL, "50 %3B; other", "a;b"), feature_names=[EVIL, "b", "c"], unit=EVIL)
    page = open_report(c, link(query="q0", a=EVIL))
    assert page.evaluate("document.title").startswith("toy: 3 methods")
    assert page.evaluate("document.querySelectorAll('img').length") == 0
    assert page.evaluate("document.body.innerText").count("<img src=x") > 10
    page.click("#curves-chart .legend button")  # names in a link: all but the first are highlighted
    page.go(page.evaluate("location.href"))
    assert page.texts("#curves-chart .legend [aria-pressed=true]") == by(c, "map")[1:]


def test_without_details_and_with_nothing_chosen(make_comparison, open_report):
    page = open_report(make_comparison(stored=False), "leaderboard")
    assert len(page.texts("#pair-chart .point")) == 7
    assert page.texts("#explorer") == []


def test_nothing_but_failures_and_one_method_alone(make_comparison, open_report):
    page = open_report(make_comparison(methods=[], broken=["broken"]))
    assert page.texts(".verdict") == ["No method finished."]
    page = open_report(make_comparison(methods=["random"]))
    assert page.texts("#curves-chart .legend [aria-pressed=true]") == ["random"]
    assert len(page.texts("#pair-chart .point.ties")) == 7


def test_why_one_document_and_one_above_another(open_report, four):
    """Documents are chosen in the rankings; contributions are those stored, and their differences."""
    name = explained_method(four)
    result = next(result for result in four.results if result.method == name and result.fold == "Fold1")
    scores = four.arrays(result).scores[:6]
    order = np.argsort(-scores, kind="stable")
    parts = np.column_stack([scores - 0.25, np.full(6, 0.5)])[order]
    padded = np.zeros((1, 20, 12), np.float32)
    padded[0, :6, :2] = parts
    documents, features = np.full((1, 20), -1), np.full((1, 12), -1)
    documents[0, :6], features[0, :2] = order, (2, 0)
    others = np.zeros((1, 20), np.float32)
    others[0, :6] = -0.125
    part = ExplainedPart(
        "by hand; against the mean of the {unit}", np.array([0]), documents, features, padded * 2, padded, others
    )
    four.store.add_explanation(result.trial, part)
    page = open_report(four, link(a=name, query="q0"))
    names = page.texts("#rankings > :first-child tbody th")
    assert page.texts("#why caption") == [f"{names[0]} (#1) above {names[1]} (#2)"]
    assert page.texts("#why thead th")[1:3] == names[:2]
    difference = float(f"{parts[0, 0]:.4g}") - float(f"{parts[1, 0]:.4g}")
    cells = page.texts("#why tbody tr:first-child > *")
    assert cells[0] == "links"  # the third feature
    assert float(cells[3].replace("+", "")) == pytest.approx(difference, rel=1e-3)
    assert "By hand; against the mean of the query." in " ".join(page.texts("#explorer p"))
    page.click("#rankings > :first-child tbody tr:nth-child(2) button")  # no longer chosen
    assert page.texts("#why caption") == [f"{names[0]} (#1)"]
    assert page.texts("#why tbody tr:last-child th") == ["score above the reference"]
    page.click("#rankings > :first-child tbody tr:nth-child(5) button")
    assert page.texts("#why caption") == [f"{names[0]} (#1) above {names[4]} (#5)"]
    address = page.evaluate("location.href")
    page.go(address)  # a link shows the same
    assert page.texts("#why caption") == [f"{names[0]} (#1) above {names[4]} (#5)"]
    page.click("#explorer .controls button:last-of-type")  # the next query is not explained
    assert page.texts("#why") == []
    assert "This one is not" in " ".join(page.texts("#explorer p"))
