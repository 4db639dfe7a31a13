"""The demonstration, with two quick methods; its own six are looked up."""

from __future__ import annotations

import podium
from podium.cli import demo
from podium.rankers.methods import METHODS


def test_from_lists_to_a_ranking(podium_command, tmp_path, monkeypatch):
    monkeypatch.setattr(demo, "METHODS", "listnet,regression")
    folder = tmp_path / "demo"
    shown = podium_command("demo", "--out", folder, "--jobs", "1")
    assert shown.code == 0, shown.err
    commands = [line[len("$ podium ") :].split() for line in shown.out.splitlines() if line.startswith("$ podium ")]
    assert [name for name, *_ in commands] == ["compare", "train", "export", "rank"]
    assert "listnet" in shown.out
    assert "best-feature" in shown.out
    assert (folder / "report.html").exists()
    assert len(shown.out.splitlines()) < 60
    ranker = podium.load(folder / "model.podium")
    queries = podium.read_table(folder / "lists.csv")
    *_, best = shown.out.split("title  ")[-1].strip().splitlines()[1:2]
    last = queries.take([len(queries) - 1])
    assert best.startswith(str(last.document_ids[ranker.predict(last).argmax()]))
    for command in commands:  # they do the same for a user
        again = podium_command(*command)
        assert again.code == 0, again.err


def test_the_five_papers_take_part():
    assert set(demo.METHODS.split(",")) == {"listnet", "structrank", "boltzrank", "pmop", "intervalrank", "lambdamart"}
    assert set(demo.METHODS.split(",")) <= set(METHODS)
