"""What the report is made of: figures, rankings, one page that fetches nothing and escapes everything."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import spearmanr

from podium.experiments import Comparison
from podium.experiments.report import page
from podium.experiments.report.page_data import _history, embedded, page_data
from podium.experiments.report.rankings import DEPTH, _short
from podium.experiments.result.published import PublishedRow, PublishedTable, paired_tables
from podium.experiments.run.outcomes import ModelSummary

EVIL = "<script>alert('x')</script>|&\"'"


class Page(HTMLParser):
    """Collects what a browser would do with a page."""

    void = frozenset({"meta", "input"})

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.scripts, self.addresses, self.attributes = [], [], [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, *pair) for pair in attrs]
        self.addresses += [value for name, value in attrs if name in ("src", "href", "action", "data", "srcset")]
        if tag not in self.void:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] == "script":
            self.scripts.append(data)


def test_the_page_is_well_formed_and_fetches_nothing(small_comparison):
    text = page(small_comparison)
    found = Page(text)
    assert found.open == []
    assert all(re.fullmatch(r"#\w+|[\w.]+\.(csv|md|tex|sqlite)", address) for address in found.addresses)
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", text)  # a namespace is a name, not an address
    assert "url(" not in text
    assert "@import" not in text


def test_no_script_runs_but_our_own(small_comparison):
    text = page(small_comparison)
    script = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    assert len(script) == 1
    digest = base64.b64encode(hashlib.sha256(script[0].encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in text
    assert "default-src 'none'" in text
    assert not [name for _, name, _ in Page(text).attributes if name.startswith("on")]
    assert "innerHTML" not in script[0]


def test_tables_are_accessible(small_comparison):
    text = page(small_comparison)
    found = Page(text)
    assert found.tags.count("caption") == found.tags.count("table") >= 3
    assert found.tags.count("th") == len([1 for tag, name, _ in found.attributes if (tag, name) == ("th", "scope")])
    assert ("th", "aria-sort", "descending") in found.attributes
    ids = [value for _, name, value in found.attributes if name == "id"]
    assert len(ids) == len(set(ids))


def test_everything_is_escaped(make_comparison):
    c = make_comparison(
        methods=[EVIL, "other"],
        data={"name": EVIL, "description": EVIL, "fingerprint": EVIL, "folds": ["Fold1", "Fold2"]},
        feature_names=[EVIL, "b", "c"],
        broken=["broken"],
    )
    text = page(c)
    found = Page(text)
    assert len(found.scripts) == 2  # the figures and our own
    assert "alert" not in found.scripts[1]
    assert json.loads(found.scripts[0])["methods"][0]["name"] in (EVIL, "other")
    assert "<script>alert" not in text
    assert "Traceback &lt;i&gt;" in text


def test_embedded_figures_cannot_end_their_element():
    text = embedded({"a": "</script><!--&"})
    assert not set("<>&") & set(text)
    assert json.loads(text) == {"a": "</script><!--&"}


def test_figures_are_those_of_the_table(small_comparison):
    content = page_data(small_comparison)
    for method, row in zip(content["methods"], small_comparison.rows, strict=True):
        assert method["name"] == row.method
        for name, (mean, low, high) in method["means"].items():
            estimate = row.estimates[name]
            assert (mean, low, high) == pytest.approx((estimate.mean, estimate.low, estimate.high), abs=6e-5)
        assert method["p"] == (None if row.p_value is None else pytest.approx(row.p_value, abs=6e-6))
    values = [small_comparison.values(row.method, "map") for row in small_comparison.rows]
    np.testing.assert_allclose(content["values"]["map"], values, atol=6e-5)
    assert content["duels"][0][1] == int((values[0] > values[1]).sum())


def test_small_differences_and_missing_values_count_alike_everywhere(make_comparison):
    c = make_comparison(methods=["one", "other"])
    by_method = {name: [r for r in c.results if r.method == name] for name in ("one", "other")}
    for mine, theirs in zip(*by_method.values(), strict=True):
        mine.per_query["map"][:] = [value + 2e-6 for value in theirs.per_query["map"]]
    for result in c.results:
        result.per_query["map"][0] = float("nan")  # nothing to find: in each fold one query has no value
    content = page_data(c)
    assert content["duels"][0][1] == content["queries"]["valued"] == 5
    assert content["queries"]["total"] == 7
    one, other = content["values"]["map"]
    assert sum(x is not None and x > y for x, y in zip(one, other, strict=True)) == 5


def test_families(make_comparison):
    facts = {"blend": {"family": "blend"}, "pmop": {"family": "own"}}  # the caller's own, whatever its name
    c = make_comparison(methods=["blend", "listnet", "plain", "pmop"], facts=facts)
    expected = {"blend": "blend", "listnet": "listwise", "plain": "own", "pmop": "own"}
    assert {method["name"]: method["family"] for method in page_data(c)["methods"]} == expected
    text = page(c)
    assert '<tr data-method="blend" data-family="blend">' in text.replace(' class="best"', "")
    assert 'data-family="blend">blend</button>' in text


def test_the_curve_is_the_mean_of_the_folds_means(small_comparison):
    for method, row in zip(page_data(small_comparison)["methods"], small_comparison.rows, strict=True):
        curves = [small_comparison.arrays(result).curve for result in row.results]
        expected = np.mean([curve.mean(axis=0) for curve in curves], axis=0)
        np.testing.assert_allclose(method["curve"], expected, atol=6e-5)


def test_the_curve_of_seeds_and_repeated_queries(make_comparison):
    c = make_comparison(average="repeats", seeds=[0, 1], repeat=True)
    row = c.rows[0]
    # by hand: each query's mean over seeds and repeats, then the mean over queries
    sums: dict[str, list] = {}
    for result in row.results:
        for qid, line in zip(result.qids, c.arrays(result).curve, strict=True):
            sums.setdefault(qid, []).append(line)
    expected = np.mean([np.mean(lines, axis=0) for lines in sums.values()], axis=0)
    np.testing.assert_allclose(page_data(c)["methods"][0]["curve"], expected, atol=1e-4)
    assert len(page_data(c)["queries"]["ids"]) == len(sums) == c.n_queries
    choices = page(c).split('id="choices"')[1].split("</table>")[0]
    assert choices.count("<td") == len(c.rows) * len(c.folds)  # one cell a fold, however many seeds


def test_rankings_by_hand(small_comparison):
    content = page_data(small_comparison)
    for number in (0, 4):  # one of each fold: the first has four queries
        ranking = content["rankings"][number]
        row = small_comparison.rows[0]
        result = row.results[0 if number < 4 else 1]
        details = small_comparison.arrays(result)
        queries = details.part
        q = number if number < 4 else number - 4
        part = slice(queries.offsets[q], queries.offsets[q + 1])
        order = sorted(range(part.stop - part.start), key=lambda i: -details.scores[part][i])[:DEPTH]
        assert [ranking["ids"][i] for i in ranking["orders"][0]] == [str(queries.document_ids[part][i]) for i in order]
        assert [ranking["grade"][i] for i in ranking["orders"][0]] == [queries.labels[part][i] for i in order]
        assert ranking["documents"] == part.stop - part.start
        assert sum(n for _, n in ranking["grades"]) == ranking["documents"]


def test_long_names_of_documents_keep_both_ends():
    name = "https://example.org/" + "a" * 200 + "/last"
    assert _short("short") == "short"
    assert len(_short(name)) == 60
    assert _short(name).startswith("https://example.org/aa")
    assert _short(name).endswith("aa/last")


def test_agreement_is_spearmans_correlation(small_comparison):
    first, second = ([small_comparison.arrays(result) for result in row.results] for row in small_comparison.rows[:2])
    correlations = []
    for one, other in zip(first, second, strict=True):
        offsets = one.part.offsets
        for start, end in pairwise(offsets):
            correlations.append(spearmanr(one.scores[start:end], other.scores[start:end]).statistic)
    assert page_data(small_comparison)["agreement"][0][1] == pytest.approx(np.mean(correlations), abs=6e-4)


def test_methods_that_score_all_alike_have_no_agreement(make_comparison):
    c = make_comparison(methods=["constant", "other"], constant=["constant"])
    flat = next(i for i, row in enumerate(c.rows) if row.method == "constant")
    assert page_data(c)["agreement"][flat] == [None, None]


def test_a_long_history_has_the_value_of_what_was_kept(make_comparison):
    values = np.linspace(0.0, 0.999, 1000)
    c = make_comparison(methods=["slow"], model=ModelSummary(history=values, unit="trees", best_iteration=333))
    for fold in _history(c, c.rows[0])["folds"]:
        assert len(fold["at"]) <= 201
        assert fold["values"][fold["at"].index(333)] == pytest.approx(values[332], abs=6e-5)


def test_one_candidate_of_equals_is_the_chosen_one(make_comparison):
    c = make_comparison(methods=["lucky"])
    for result in c.results:
        result.trials.append(result.trials[-1])  # another start that came to the same
    trials = page_data(c)["methods"][0]["trials"]
    assert [(fold, value, chosen) for fold, _, value, _, chosen, _ in trials] == [
        (fold, value, chosen) for fold in (0, 1) for value, chosen in ((0.1, False), (1.0, True), (1.0, False))
    ]


def test_weights_are_shares_and_history_is_kept(small_comparison):
    method = page_data(small_comparison)["methods"][0]
    # the fixture's weights are 1, -3 and 0 in both folds
    assert method["weights"]["features"] == [1, 0]
    assert method["weights"]["mean"] == [-0.75, 0.25]
    assert method["weights"]["of"] == 2
    assert method["history"]["unit"] == "trees"
    assert [fold["values"] for fold in method["history"]["folds"]] == [[0.1, 0.3, 0.2]] * 2
    assert method["history"]["folds"][0]["kept"] == 2


def test_without_details_the_page_still_stands(make_comparison):
    c = make_comparison(stored=False)
    content = page_data(c)
    assert content["rankings"] is None
    assert content["agreement"] is None
    text = page(c)
    for name in ("curves", "training", "weights"):
        assert f'id="{name}"' not in text
    assert 'id="pair"' in text


def test_a_page_about_users_and_items_says_so(make_comparison):
    text = page(make_comparison(unit="user", item="item"))
    assert "Wins over users" in text
    assert "test users" in text


def test_nothing_but_failures(make_comparison):
    text = page(make_comparison(methods=[], broken=["broken"]))
    assert "failed in 2 of 2 folds" in text
    assert "No method finished." in text


def test_failures_are_counted_by_fold(make_comparison):
    c = make_comparison(broken=["broken"], seeds=[0, 1])
    again = [replace(result, seed=1) for result in c.results if result.error]
    assert "failed in 2 of 2 folds" in page(Comparison(c.configuration, [*c.results, *again]))


def test_published_figures_stand_beside_ours(make_comparison):
    figures = {"ndcg@1": 0.25, "map": 0.5, "p@3": 0.1}
    rows = (PublishedRow("RankSVM", None, {"map": 0.4}), PublishedRow("ListNet <1>", "listnet", figures))
    about = ("Toy 2.0", "by hand", "letor", "two folds")
    c = make_comparison()
    c.published = [PublishedTable(*about, rows, exact=True), PublishedTable("Toy 3.0", *about[1:], rows)]
    ours = next(row for row in c.rows if row.method == "listnet").estimates
    chosen = next(row for row in c.rows if row.method == c.pick)
    (exact,) = paired_tables(c, exact=True)
    assert exact.metrics == ["ndcg@1", "map"]
    assert [(line.published, line.ours) for line in exact.pairs] == [
        ("RankSVM", None),
        ("ListNet <1>", "listnet"),
        ("best of each column", chosen.method),
    ]
    assert exact.pairs[1].figures == {"ndcg@1": (0.25, ours["ndcg@1"].mean), "map": (0.5, ours["map"].mean)}
    assert exact.pairs[2].figures["map"] == (0.5, chosen.estimates["map"].mean)
    text = page(c)
    assert text.count('<tr class="published"') == 2  # in the leaderboard: the exact table's rows alone
    assert "Context, other data: Toy 3.0" in text
    assert "ListNet &lt;1&gt;" in text
    pair = f"0.5000 / {ours['map'].mean:.4f}"
    assert pair in c.to_markdown()
    assert pair in c.to_latex()
    assert pair.replace("0.", ".") in str(c)
    assert "Toy 3.0" not in c.to_markdown()


def test_thirty_methods_on_a_hundred_queries_stay_small(make_comparison):
    text = page(make_comparison(methods=[f"method {i}" for i in range(30)], sizes=(53, 53), n_documents=150))
    assert len(text.encode()) < 8_000_000


def test_a_page_has_room_for_so_many_queries_only(make_comparison, monkeypatch):
    from podium.experiments.report import page_data as module
    from podium.experiments.report import rankings

    c = make_comparison()
    n_methods = len(c.rows)
    monkeypatch.setattr(module, "VALUES", 3 * n_methods)  # room for three of the seven queries, one metric
    monkeypatch.setattr(rankings, "PLACES", DEPTH * n_methods)  # and for the rankings of one
    content = page_data(c)
    assert len(content["queries"]["ids"]) <= 3
    assert content["queries"]["total"] == c.n_queries
    assert list(content["values"]) == ["map"]
    assert sum(ranking is not None for ranking in content["rankings"]) == 1
