"""Values on the command line."""

from __future__ import annotations

import argparse

import pytest

from podium.cli.options import comma_list, positive, setting


def test_lists():
    assert comma_list("ndcg@1, map,") == ["ndcg@1", "map"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("l2=0.01", ("l2", 0.01)),
        ("n=3", ("n", 3)),
        ("l2=1e-3", ("l2", 1e-3)),
        ("ties=random", ("ties", "random")),
        ("flag=true", ("flag", True)),
        ("flag=False", ("flag", False)),
        ("limit=None", ("limit", None)),
        ("sizes=[1, 2]", ("sizes", [1, 2])),
        ("sizes=(1, 2)", ("sizes", (1, 2))),
        ("name='0.5'", ("name", "0.5")),
        ("expr=a=b", ("expr", "a=b")),
    ],
)
def test_settings(text, expected):
    name, value = setting(text)
    assert (name, value) == expected
    assert type(value) is type(expected[1])


@pytest.mark.parametrize("text", ["l2", "=1", ""])
def test_bad_settings(text):
    with pytest.raises(argparse.ArgumentTypeError, match="NAME=VALUE"):
        setting(text)


@pytest.mark.parametrize("text", ["0", "-1", "x", "1.5", ""])
def test_not_positive(text):
    with pytest.raises(argparse.ArgumentTypeError, match="positive integer"):
        positive(text)
