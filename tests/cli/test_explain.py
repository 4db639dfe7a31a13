"""Explanations on the command line are those of the Python interface; documents are named by id or number."""

from __future__ import annotations

import json

import pytest

import podium


@pytest.fixture(scope="module")
def model(files, tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "model.podium"
    podium.ListNet(random_state=0).fit(podium.read_letor(files.paths["txt"])).save(path)
    return path


def test_the_first_two_of_the_ranking(podium_command, files, model):
    queries = podium.read_letor(files.paths["txt"])
    result = podium_command("explain", model, files.paths["txt"], "--query", "2", "--json")
    assert result.code == 0, result.err
    found, expected = json.loads(result.out), podium.load(model).explain(queries, query=2)
    assert found["contributions"] == expected.to_dict()["contributions"]
    assert [d["place"] for d in found["documents"]] == [1, 2]
    assert found["query"] == "2"


def test_documents_by_number_and_a_page(podium_command, files, model, tmp_path):
    page = tmp_path / "why.html"
    more = ("--query", "0", "--documents", "2", "1", "--top", "2", "--html", page)
    result = podium_command("explain", model, files.paths["txt"], *more)
    assert result.code == 0, result.err
    expected = podium.load(model).explain(podium.read_letor(files.paths["txt"]), documents=(1, 0))
    assert f"{expected.contributions[0].contribution:+.6g}" in result.out
    assert "document 2 (place" in result.out
    assert "2 others" in result.out
    assert "feature 1" in result.out or "feature 2" in result.out or "feature 3" in result.out
    assert page.read_text().startswith("<!doctype html>")
    alone = podium_command("explain", model, files.paths["txt"], "--query", "1", "--documents", "2")
    assert "against the mean of its" in alone.out


def test_documents_by_id(podium_command, model, tmp_path):
    data = tmp_path / "data.txt"
    data.write_text(
        "0 qid:a 1:1 2:2 3:0 4:1 #docid = 2\n0 qid:b 1:1 #docid = x\n1 qid:a 1:3 2:0 3:1 4:1 #docid = 007\n"
    )
    by_id = podium_command("explain", model, data, "--query", "a", "--documents", "2", "007", "--json")
    documents = json.loads(by_id.out)["documents"]
    assert [(d["name"], d["row"]) for d in documents] == [("2", 0), ("007", 2)]  # an id comes before a number


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "has 24 queries: name one with --query, such as --query 0"),
        (["--query", "x"], "has no query 'x'; it has 0, 1, 2, 3, 4, …"),
        (["--query", "1", "--documents", "99"], "query 1 has no document '99': give an id or a number from 1 to"),
        (["--query", "1", "--documents", "1", "1"], "names document 1 of the query twice"),
        (["--query", "1", "--documents", "1", "2", "3"], "takes two documents, or one; got 3"),
    ],
)
def test_errors(podium_command, files, model, arguments, message):
    result = podium_command("explain", model, files.paths["txt"], *arguments)
    assert result.code == 2
    assert message in result.err
