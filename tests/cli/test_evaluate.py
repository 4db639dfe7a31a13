"""``podium evaluate``: groups, metrics of the user's own, judged documents."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from podium.metrics import CONVENTIONS, FAMILIES


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    (tmp_path / "test.txt").write_text("0 qid:1 1:1\n1 qid:1 1:1\n2 qid:1 1:1\n1 qid:1 1:1\n")
    (tmp_path / "scores.txt").write_text("4\n3\n2\n1\n")
    (tmp_path / "hosts.txt").write_text("a\na\na\nb\n")
    return [tmp_path / name for name in ("test.txt", "scores.txt", "hosts.txt")]


def test_at_most_two_of_a_host_are_shown(podium_command: Callable[..., Any], files: list[Path]) -> None:
    data, scores, hosts = files
    # The value is worked out on the page about metrics.
    result = podium_command("evaluate", data, scores, "--groups", hosts, "--metrics", "p@3,ndcg")
    assert result.code == 0
    assert "0.2738" in result.out
    assert "at most 2 of a group" in result.out
    one = podium_command("evaluate", data, scores, "--groups", hosts, "--per-group", "1", "--metrics", "p@3")
    assert "at most 1 of a group" in one.out


def test_wrong_use_is_explained(podium_command: Callable[..., Any], files: list[Path]) -> None:
    data, scores, hosts = files
    hosts.write_text("a\n")
    assert "1 groups for the" in podium_command("evaluate", data, scores, "--groups", hosts).err
    assert "--per-group needs --groups" in podium_command("evaluate", data, scores, "--per-group", "1").err


def test_all_metrics_and_conventions_are_listed(podium_command: Callable[..., Any]) -> None:
    printed = podium_command("evaluate", "--list-metrics").out
    assert [line.split()[0].partition("[")[0].partition("@")[0] for line in printed.splitlines()[1:-2]] == list(
        FAMILIES
    )
    assert printed.splitlines()[-1] == f"conventions: {', '.join(CONVENTIONS)}"


def test_a_metric_of_the_users_own(
    podium_command: Callable[..., Any], files: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "cli_metrics.py").write_text("def last_grade(labels):\n    return labels[-1] / 10\n")
    data, scores, _ = files
    result = podium_command("evaluate", data, scores, "--metrics", "cli_metrics:last_grade,map", "--json")
    assert json.loads(result.out)["mean"]["last_grade"] == 0.1
    assert "has no 'first'" in podium_command("evaluate", data, scores, "--metrics", "cli_metrics:first").err


def test_judged_documents_come_from_the_judgments(
    podium_command: Callable[..., Any], files: list[Path], tmp_path: Path
) -> None:
    # q1: the unjudged document above the relevant one does not count; q2: half of the judged others are above.
    (tmp_path / "qrels").write_text("q1 0 a 1\nq1 0 b 0\nq2 0 a 1\nq2 0 b 1\nq2 0 c 0\nq2 0 d 0\n")
    ranked = {"q1": "zab", "q2": "acb"}
    lines = [f"{q} Q0 {d} 0 {-place} t\n" for q, documents in ranked.items() for place, d in enumerate(documents)]
    (tmp_path / "run").write_text("".join(lines))
    arguments = [
        "--qrels",
        tmp_path / "qrels",
        "--run",
        tmp_path / "run",
        "--metrics",
        "bpref",
        "--json",
        "--per-query",
    ]
    assert json.loads(podium_command("evaluate", *arguments).out)["per_query"]["bpref"] == [1.0, 0.75]
    refused = podium_command("evaluate", *files[:2], "--metrics", "bpref")
    assert refused.code == 2
    assert "judged" in refused.err
