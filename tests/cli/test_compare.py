"""``podium compare`` and ``podium methods`` from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import podium
from podium.rankers.methods import METHODS
from podium.rankers.presets.linear import Regression


@pytest.fixture
def arguments(files, tmp_path):
    return ["compare", files.paths["csv"], *files.columns, "--methods", "regression", "--folds", "3", "--jobs", "1"]


def test_table_to_stdout_progress_to_stderr(podium_command, arguments, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = podium_command(*arguments, "--convention", "letor", "--metrics", "ndcg@3,map")
    assert result.code == 0
    assert result.out.startswith("data: 3 methods, 3 folds, convention letor")
    assert {line.split()[0] for line in result.out.splitlines() if "±." in line} == {
        *("regression", "best-feature", "random")
    }
    assert "\nReport: podium-runs/data/report.html\n" in result.out
    assert result.out.endswith("podium train --from-run podium-runs/data -o model.podium\n")
    total = 3 * (len(METHODS["regression"].grid["l2"]) + 2)
    assert f"[{total}/{total}]" in result.err
    assert " s left] fold 1, regression" in result.err
    assert (tmp_path / "podium-runs" / "data" / "report.html").is_file()
    again = podium_command(*arguments, "--convention", "letor", "--metrics", "ndcg@3,map")
    assert again.out == result.out
    assert f"{total} of {total} trials were finished by an earlier run" in again.err


def test_json_and_quiet(podium_command, arguments, tmp_path):
    result = podium_command(*arguments, "--out", tmp_path / "run", "--json", "--quiet", "--metrics", "map")
    content = json.loads(result.out)
    assert result.err == ""
    assert content["configuration"]["convention"] == "standard"
    assert {row["method"] for row in content["rows"]} == {"regression", "best-feature", "random"}
    assert 0 < content["rows"][0]["metrics"]["map"]["mean"] <= 1


def test_protocol_search_and_seeds(podium_command, files, tmp_path):
    data = ["compare", files.paths["csv"], *files.columns, "--methods", "regression", "--jobs", "1", "--metrics", "map"]
    options = ["--protocol", "holdout:2,0.3,0.3", "--search", "random", "--budget", "2", "--seeds", "2", "--seed", "5"]
    content = json.loads(podium_command(*data, *options, "--out", tmp_path / "run", "--json", "--quiet").out)
    configuration = content["configuration"]
    assert configuration["protocol"]["name"] == "holdout:2,0.3,0.3"
    assert configuration["search"] == {"strategy": "random", "budget": 2}
    assert configuration["seeds"] == [5, 6]
    assert configuration["data"]["folds"] == ["repeat 1", "repeat 2"]
    refused = podium_command(*data, "--protocol", "folds:3")
    assert refused.code == 2
    assert "is no protocol; there are letor" in refused.err


def test_a_failing_method_is_exit_code_1(podium_command, arguments, tmp_path, monkeypatch):
    def fit(*_, **__):
        raise ValueError("singular")

    monkeypatch.setattr(Regression, "fit", fit)
    result = podium_command(*arguments, "--out", tmp_path / "run")
    assert result.code == 1
    assert "ValueError: singular" in result.out


def test_interrupted(podium_command, arguments, tmp_path, monkeypatch):
    def fit(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(Regression, "fit", fit)
    result = podium_command(*arguments, "--out", tmp_path / "run")
    assert result.code == 130
    assert result.err.splitlines()[-1].startswith("podium: interrupted; finished trials are kept in ")
    assert result.out == ""


def test_methods(podium_command):
    result = podium_command("methods")
    assert result.code == 0
    table, _, advice = result.out.partition("\n\n")
    names = [line.split()[0] for line in table.splitlines()[1:]]
    assert names == list(METHODS)
    assert advice.startswith("Where to start: `podium train DATA --method auto`")
    listed = json.loads(podium_command("methods", "--json").out)
    assert [method["name"] for method in listed] == names
    assert listed[0]["grid"]


MINE = """
import podium
from feature_ranker import Feature

ranker = Feature()
searched = Feature(), {"number": [0, 1, 2]}
broken = 3

def first(labels):
    return float(labels[0] > 0)

first_is_good = podium.metrics.define("first_is_good", first)
"""


def test_names_of_objects_on_the_command_line(podium_command, tmp_path, monkeypatch):
    (tmp_path / "feature_ranker.py").write_text((Path(__file__).parents[1] / "feature_ranker.py").read_text())
    (tmp_path / "mine_parts.py").write_text(MINE)
    monkeypatch.chdir(tmp_path)
    queries = podium.make_queries(n_queries=30, n_documents=8, n_features=5, random_state=3)
    podium.write_letor(queries, tmp_path / "data.txt")
    methods = "mine_parts:ranker,mine_parts:searched,regression"
    options = ["--folds", "3", "--jobs", "2", "--metrics", "map,mine_parts:first_is_good", "--out", "run", "--quiet"]
    result = podium_command("compare", "data.txt", "--methods", methods, *options)
    assert result.code == 0, result.err
    lines = {line.split()[0] for line in result.out.splitlines() if "±" in line}
    assert {"mine_parts:ranker", "mine_parts:searched", "regression"} <= lines
    assert "first_is_good" in result.out
    refused = podium_command("compare", "data.txt", "--methods", "mine_parts:broken")
    assert refused.code == 2
    assert "method 'mine_parts:broken': 3 has no fit" in refused.err
