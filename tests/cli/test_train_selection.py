"""``podium train --tune``, ``--method auto`` and ``--from-run``."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

import podium
from podium.rankers.methods import METHODS


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_tuning(podium_command, files, here):
    data = files.paths["txt"]
    command = ("train", data, "--method", "listnet", "--tune", "--jobs", "1", "-o", "m.podium")
    result = podium_command(*command)
    assert result.code == 0, result.err
    assert (
        f"chosen among {len(METHODS['listnet'].grid['l2'])} settings by cross-validation on 5 folds: l2=" in result.out
    )
    same = podium.tune("listnet", podium.read_letor(data))
    queries = podium.read_letor(data)
    assert podium.load("m.podium").predict(queries).tolist() == same.predict(queries).tolist()
    assert (Path("podium-runs") / f"{Path(data).name.split('.')[0]}-listnet" / "run.sqlite").is_file()
    # The last line is a command that works.
    line = next(line for line in result.out.splitlines() if line.startswith("To export it: "))
    assert "--format solr" in line
    again = podium_command(*command, "--json", "--quiet")
    assert json.loads(again.out)["tuning"]["parameters"] == {"l2": same.l2}
    assert "fit" not in again.err  # nothing was tried again


def test_the_first_metric_that_can_tell_chooses_and_that_is_said_even_if_quiet(podium_command, files, here):
    queries = podium.read_letor(files.paths["txt"])
    podium.write_letor(queries.with_labels(queries.labels + 1), "stars.txt")
    command = ("train", "stars.txt", "--method", "regression", "--tune", "--metrics", "map,ndcg@5", "--quiet", "--json")
    result = podium_command(*command, "--jobs", "1", "-o", "m.podium")
    assert result.err.splitlines()[0].startswith("map cannot tell methods apart here: grades begin at 1")
    tuning = json.loads(result.out)["tuning"]
    assert tuning["metric"] == "ndcg@5 (standard)"
    assert "map cannot tell" in tuning["notes"][0]


def test_auto_within_no_time(podium_command, files, here):
    result = podium_command(
        "train", files.paths["txt"], "--method", "auto", "--minutes", "0.001", "--jobs", "1", "-o", "m.podium"
    )
    assert result.code == 0, result.err
    assert "is fitted untried" in result.out
    assert podium.load("m.podium").n_queries_ == 24


def test_from_run(podium_command, files, here):
    data = files.paths["txt"]
    methods = ("--methods", "listnet,regression", "--folds", "3", "--jobs", "1", "--metrics", "ndcg@10")
    compared = podium_command("compare", data, *methods, "--out", "my run")
    command = compared.out.rstrip().splitlines()[-1].strip()
    assert command == "podium train --from-run 'my run' -o model.podium"
    assert command.replace("'", "&#x27;") in Path("my run/report.html").read_text()
    trained = podium_command(*shlex.split(command)[1:])
    assert trained.code == 0, trained.err
    pick = re.search(r"To train (\S+), the pick", compared.out)[1]
    assert trained.out.startswith(f"{pick}: trained in")
    assert podium.load("model.podium").n_queries_ == 24
    named = podium_command("train", "--from-run", "my run", "--method", "regression", "-o", "r.podium", "--json")
    assert json.loads(named.out)["method"] == "regression"
    assert podium.load("r.podium").provenance_["data"]["training"]["queries"] == 24
    other = podium_command("train", "--from-run", "my run", "--data", files.paths["csv"], "-o", "x.podium")
    assert other.code == 2
    assert not Path("x.podium").exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--method", "listnet"], "give the training data, or --from-run RUN"),
        (["x.txt"], "give --method NAME"),
        (["x.txt", "--from-run", "r"], "leave out DATA"),
        (["x.txt", "--method", "auto", "--tune"], "leave out --tune"),
        (["x.txt", "--method", "listnet", "--budget", "3"], "--search and --budget go with --tune"),
        (["x.txt", "--method", "listnet", "--minutes", "3"], "--minutes goes with --tune"),
        (["x.txt", "--method", "listnet", "--for", "solr"], "--for goes with --method auto"),
        (["x.txt", "--loss", "ListNetLoss", "--tune"], "--tune goes with --method"),
    ],
)
def test_options_that_do_not_go_together(podium_command, options, said):
    result = podium_command("train", *options, "-o", "m.podium")
    assert result.code == 2
    assert said in result.err
