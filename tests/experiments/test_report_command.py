"""``podium report``, and that every format has the same figures."""

from __future__ import annotations

import csv
import io
import json
import re

import pytest

from podium.cli.main import main
from podium.experiments import Comparison
from podium.experiments.run.store import FILE


@pytest.fixture
def run_folder(make_comparison, tmp_path):
    """A run's folder, with an unfinished method."""
    c = make_comparison(broken=["stopped_&_left"])
    c.store.describe(status="interrupted", total_seconds=12.5)
    return tmp_path


def test_all_files_are_made_again(run_folder, capsys):
    assert main(["report", str(run_folder)]) == 0
    printed = capsys.readouterr()
    assert "report.html" in printed.out
    assert "stopped_&_left" in printed.err
    for name in ("report.html", "table.md", "table.tex", "results.csv", "per_query.csv"):
        assert (run_folder / name).stat().st_size > 100, name
    assert "12.5 s" in (run_folder / "report.html").read_text()


def test_every_format_has_the_same_figures(run_folder, capsys):
    found = {}
    for kind in ("markdown", "latex", "csv", "text"):
        assert main(["report", str(run_folder), "--format", kind]) == 0
        found[kind] = capsys.readouterr().out
    assert main(["report", str(run_folder), "-o", str(run_folder / "page.html")]) == 0
    page = (run_folder / "page.html").read_text()
    embedded = json.loads(re.search(r'id="data">(.*?)</script>', page)[1])
    rows = {row["method"]: row for row in csv.DictReader(io.StringIO(found["csv"]))}
    for row in Comparison.load(run_folder).rows[:3]:
        means = [f"{row.estimates[name].mean:.4f}" for name in ("ndcg@1", "ndcg@5", "map")]
        for kind in ("markdown", "latex", "text"):
            line = next(line for line in found[kind].splitlines() if row.method in line.split("|")[:2][-1].split()[:1])
            assert re.findall(r"\d\.\d{4}", line) == means, kind
        assert [f"{float(rows[row.method][name]):.4f}" for name in ("ndcg@1", "ndcg@5", "map")] == means
        assert all(f">{mean}" in page for mean in means)
        method = next(m for m in embedded["methods"] if m["name"] == row.method)
        assert [f"{method['means'][name][0]:.4f}" for name in ("ndcg@1", "ndcg@5", "map")] == means


def test_a_file_says_by_its_ending_what_it_holds(run_folder, capsys):
    assert main(["report", str(run_folder), "-o", str(run_folder / "paper.tex")]) == 0
    assert r"\toprule" in (run_folder / "paper.tex").read_text()
    assert main(["report", str(run_folder), "-o", "paper.docx"]) == 2
    assert "--format" in capsys.readouterr().err


def test_a_folder_that_is_no_run(tmp_path, capsys):
    assert main(["report", str(tmp_path)]) == 2
    assert f"there is no {FILE}" in capsys.readouterr().err
    (tmp_path / FILE).write_text("{" * 2000)
    assert main(["report", str(tmp_path)]) == 2
    assert f"{FILE} is damaged, or not a run of podium compare" in capsys.readouterr().err
