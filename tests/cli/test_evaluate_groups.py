"""``podium evaluate --groups``."""

from __future__ import annotations

import pytest


@pytest.fixture
def files(tmp_path):
    (tmp_path / "test.txt").write_text("0 qid:1 1:1\n1 qid:1 1:1\n2 qid:1 1:1\n1 qid:1 1:1\n")
    (tmp_path / "scores.txt").write_text("4\n3\n2\n1\n")
    (tmp_path / "hosts.txt").write_text("a\na\na\nb\n")
    return [tmp_path / name for name in ("test.txt", "scores.txt", "hosts.txt")]


def test_at_most_two_of_a_host_are_shown(podium_command, files) -> None:
    data, scores, hosts = files
    # The value is worked out on the page about metrics.
    result = podium_command("evaluate", data, scores, "--groups", hosts, "--metrics", "p@3,ndcg")
    assert result.code == 0
    assert "0.2738" in result.out
    assert "at most 2 of a group" in result.out
    one = podium_command("evaluate", data, scores, "--groups", hosts, "--per-group", "1", "--metrics", "p@3")
    assert "at most 1 of a group" in one.out


def test_wrong_use_is_explained(podium_command, files) -> None:
    data, scores, hosts = files
    hosts.write_text("a\n")
    assert "1 lines" in podium_command("evaluate", data, scores, "--groups", hosts).err
    assert "--per-group needs --groups" in podium_command("evaluate", data, scores, "--per-group", "1").err
