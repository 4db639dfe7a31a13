"""The machinery of ``make papers``, on a paper made up for it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

TOOLS = Path(__file__).parents[2] / "tools"


@pytest.fixture(scope="module", autouse=True)
def _tools_are_importable():
    sys.path.insert(0, str(TOOLS))
    yield
    sys.path.remove(str(TOOLS))


computed: list[tuple] = []


def squared(data, number):
    computed.append((number,))
    return {"square": number**2}


def made_paper(numbers):
    from papers.machinery.page import HOLDS, Paper, Verdict, section, table

    @section("Squares", grow=("§1", "squares grow"), missing=("§2", "nobody judges this"))
    def squares(run):
        yield "Before any result."
        found = run.results(squared, [(n,) for n in numbers])
        yield table(["n", "square"], [[str(n), value["square"]] for (n,), value in found.items()])
        yield Verdict("grow", HOLDS, "4 < 9")

    return Paper("made", "A made paper", "Introduction.", [squares], {("Table 9", "secret data"): "not to be had"})


def run_in(folder, **options):
    from papers.machinery.data import Data
    from papers.machinery.run import Run

    return Run(folder / "runs", Data(None, quick=True), **options)


def test_a_stopped_run_goes_on_where_it_was(tmp_path):
    from papers.machinery.page import write_page

    computed.clear()
    assert write_page(made_paper([2]), run_in(tmp_path), tmp_path) == []
    assert write_page(made_paper([2, 3]), run_in(tmp_path), tmp_path) == []
    assert computed == [(2,), (3,)]  # nothing twice
    page = (tmp_path / "made.md").read_text("utf-8")
    assert "| 3 | 9 |" in page
    assert "| §1 | squares grow | holds | 4 < 9 |" in page
    assert "| §2 | nobody judges this | cannot tell here | not computed yet |" in page
    assert "| Table 9 | secret data | cannot tell here | not to be had |" in page
    assert "Written from 2 stored results" in page
    write_page(made_paper([2]), run_in(tmp_path, again=frozenset({"squared"})), tmp_path)
    assert computed == [(2,), (3,), (2,)]


def test_a_page_of_stored_results_says_what_is_not_computed(tmp_path):
    from papers.machinery.page import write_page

    computed.clear()
    write_page(made_paper([2]), run_in(tmp_path), tmp_path)
    missing = write_page(made_paper([2, 3]), run_in(tmp_path, stored_only=True), tmp_path)
    assert missing == ["Squares: 1 of 2 results of `squared`"]
    page = (tmp_path / "made.md").read_text("utf-8")
    assert "Before any result." in page
    assert "*Not computed yet: 1 of 2 results of `squared`.*" in page
    assert "| §1 | squares grow | cannot tell here | not computed yet |" in page
    run = run_in(tmp_path, stored_only=True)
    assert run.results(squared, [(2,), (3,)], some=True) == {(2,): {"square": 4}}
    assert list(run.lacking) == ["1 of 2 results of `squared` (3)"]  # done without, and said
    write_page(made_paper([4]), run_in(tmp_path), tmp_path, only=["another"])
    assert computed == [(2,)]  # a section that is not asked for is not computed


def test_mistakes_are_refused(tmp_path):
    from papers.machinery.page import Verdict, section, write_page

    @section("Typing errors")
    def typing_errors(run):
        yield Verdict("not-declared", "holds", "")

    paper = made_paper([2])
    with pytest.raises(ValueError, match="does not declare"):
        write_page(type(paper)("x", "X", "", [typing_errors], {}), run_in(tmp_path), tmp_path)
    with pytest.raises(ValueError, match="cannot tell here"):
        Verdict("x", "maybe", "")
    run = run_in(tmp_path)
    run.result(squared, 5)
    next((tmp_path / "runs" / "squared").glob("*.json")).write_text("{")
    with pytest.raises(ValueError, match=r"not a stored result.*delete it"):
        run.result(squared, 5)
    with pytest.raises(ValueError, match="no data set"):
        run.data.folds("nothing")


def test_every_paper_is_found_and_its_claims_have_places():
    from papers.machinery.command import main, papers

    found = papers()
    for paper in found.values():
        assert paper.sections
        for part in paper.sections:
            assert all(where and what for where, what in part.claims.values())
    with pytest.raises(SystemExit):
        main(["no-such-paper"])


def test_quick_pages_leave_the_documentation_alone(tmp_path, capsys):
    from papers.machinery.command import main

    assert main(["pmop", "--quick", "--sections", "counting", "figure_2", "appendix_c", "--runs", str(tmp_path)]) == 0
    page = (tmp_path / "docs" / "pmop.md").read_text("utf-8")
    assert "102,247,563 for ten objects" in page  # the paper's own number
    assert "| Figure 2, Gibbs | sweeps of this kind sample from the model | holds |" in page
    assert "misprinted: Davidson, i above j, Rao-Kupper, i above j" in page
    assert "not computed: Table 1: documents" in capsys.readouterr().out
    assert "(pmop.md)" in (tmp_path / "docs" / "README.md").read_text("utf-8")
