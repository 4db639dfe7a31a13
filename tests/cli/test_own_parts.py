"""Losses, scorers, rankers and metrics of one's own on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import podium

OWN = """
import numpy as np
import podium

class Loss(podium.losses.ListNetLoss):
    pass

class Scorer(podium.scorers.Linear):
    pass

class Ranker(podium.ListNet):
    pass

ranker = podium.ListNet(l2=0.5, normalize="minmax")
adapted = podium.adapt(Loss)
number = 3

def first(labels):
    return float(labels[0] > 0)

first_is_right = podium.metrics.define("first_is_right", first)
"""


@pytest.fixture
def own(tmp_path, monkeypatch):
    """Return the name of a module in the current folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    name = f"own_{abs(hash(tmp_path)):x}"  # a name of its own in each test: modules stay imported
    (tmp_path / f"{name}.py").write_text(OWN)
    return name


def test_a_loss_on_a_scorer(podium_command, files, tmp_path):
    out = tmp_path / "m.podium"
    parts = ["--loss", "ListMLELoss", "--scorer", "trees", "--set", "n_trees=5", "--set", "ties=random"]
    result = podium_command("train", files.paths["txt"], *parts, "-o", out)
    assert result.code == 0, result.err
    assert result.out.startswith("ListMLELoss on trees: trained in ")
    ranker = podium.load(out)
    assert (ranker.scorer.n_trees, ranker.loss.ties, ranker.random_state) == (5, "random", 0)
    loose = ["--set", "trainer__tolerance=0.001"]
    result = podium_command("train", files.paths["txt"], "--loss", "ranknetloss", *loose, "-o", out)
    assert result.code == 0, result.err
    assert isinstance(podium.load(out).scorer, podium.scorers.Linear)
    assert podium.load(out).trainer.tolerance == 0.001


def test_own_parts_are_imported_by_train_and_on_request_by_rank(podium_command, files, own):
    parts = ["--loss", f"{own}:Loss", "--scorer", f"{own}:Scorer", "--set", "l2=0.01"]
    result = podium_command("train", files.paths["txt"], *parts, "-o", "m.podium")
    assert result.code == 0, result.err
    refused = podium_command("rank", "m.podium", files.paths["txt"])
    assert refused.code == 2
    assert f"imported only if you say so: --part {own}:Loss --part {own}:Scorer" in refused.err
    given = ["--part", f"{own}:Loss", "--part", f"{own}:Scorer"]
    ranked = podium_command("rank", "m.podium", files.paths["txt"], *given)
    expected = podium.ListNet(l2=0.01).fit(podium.read_letor(files.paths["txt"]))
    np.testing.assert_allclose(
        [float(line) for line in ranked.out.splitlines()], expected.predict(podium.read_letor(files.paths["txt"]))
    )


def test_own_rankers(podium_command, files, own):
    data = files.paths["txt"]
    made = podium_command("train", data, "--method", f"{own}:Ranker", "--set", "l2=0.1", "-o", "m.podium")
    assert made.code == 0, made.err
    ranked = podium_command("rank", "m.podium", data, "--part", f"{own}:Ranker")
    assert len(ranked.out.splitlines()) == files.queries.n_documents
    configured = podium_command("train", data, "--method", f"{own}:ranker", "--set", "k=2", "-o", "m.podium")
    assert configured.code == 0, configured.err
    ranker = podium.load("m.podium")
    assert (ranker.l2, ranker.normalize, ranker.k) == (0.5, "minmax", 2)  # as its author configured it


def test_own_metrics_are_reported(podium_command, files, own):
    train = ["train", files.paths["txt"], "--method", "random", "-o", "m.podium"]
    result = podium_command(*train, "--metrics", f"{own}:first_is_right,map", "--json")
    assert result.code == 0, result.err
    assert 0 < json.loads(result.out)["training"]["first_is_right"] < 1


def test_own_parts_that_cannot_be_used(podium_command, files, own):
    data = files.paths["txt"]
    for arguments, message in {
        ("--method", f"{own}:number"): "expected a ranker, its class, or a function that returns one",
        ("--method", f"{own}:adapted"): "Podium model file holds no pickle",
        ("--method", f"{own}:nothing"): "has no 'nothing'",
        ("--method", "no_such_module:x"): "no module named 'no_such_module'",
        ("--method", f"{own}:Ranker", "--set", "l3=1"): "has no parameter 'l3'",
        ("--loss", f"{own}:number"): "not a Loss",
        ("--loss", "ListNetLoss", "--scorer", f"{own}:Loss"): "not a Scorer",
    }.items():
        result = podium_command("train", data, *arguments, "-o", "m.podium")
        assert result.code == 2, arguments
        assert message in result.err
        assert not Path("m.podium").exists()
