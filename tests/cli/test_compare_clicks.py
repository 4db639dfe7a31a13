"""``podium compare LOG --clicks``: the same as in Python, the command that trains the pick, refusals."""

from __future__ import annotations

import json
import shlex

import numpy as np
import polars as pl
import pytest

import podium


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    """A folder with a log, a bias, and documents of which some were never shown."""
    folder = tmp_path_factory.mktemp("log")
    queries = podium.make_queries(n_queries=40, n_documents=8, n_features=3, random_state=0)
    clicks = podium.clicks.simulate(queries, queries.features[:, 0], top=5, sessions=2_000, random_state=0)
    columns = {"query": clicks.query, "document": clicks.queries.document_ids[clicks.row], "session": clicks.session}
    columns |= {"place": clicks.position, "clicked": clicks.clicks}
    features = {f"f{j}": clicks.queries.features[clicks.row, j] for j in range(3)}
    pl.DataFrame(columns | features).write_parquet(folder / "log.parquet")
    pl.DataFrame(columns).write_csv(folder / "bare.csv")
    known = {"query": clicks.queries.query_of_document, "document": clicks.queries.document_ids}
    known |= {f"f{j}": clicks.queries.features[:, j] for j in range(3)}
    documents = pl.DataFrame(known)
    documents.write_csv(folder / "documents.csv")
    unknown = documents.with_columns(pl.col("document") + 10_000, f0=pl.lit(1e3, dtype=documents["f0"].dtype))
    pl.concat([documents, unknown]).write_csv(folder / "more.csv")
    podium.clicks.PositionBias.known(1 / np.arange(1.0, 6.0)).save(folder / "bias.json")
    return folder


COMMAND = ("compare", "log.parquet", "--clicks", "--bias", "bias.json", "--methods", "regression", "--folds", "3")


def test_the_same_as_in_python(podium_command, log, tmp_path, monkeypatch):
    monkeypatch.chdir(log)
    options = ("--metrics", "dcg@3,p@1", "--interval", "sessions", "--jobs", "1", "--out", str(tmp_path / "run"))
    content = json.loads(podium_command(*COMMAND, *options, "--json", "--quiet").out)
    clicks = podium.read_clicks("log.parquet", features=["f0", "f1", "f2"])
    bias = podium.clicks.load_bias("bias.json")
    how = {"metrics": ["dcg@3", "p@1"], "interval": "sessions", "folds": 3}
    same = podium.clicks.compare(clicks, "regression", bias=bias, **how, jobs=1, name="log", progress=False)
    assert content["configuration"]["estimated"] == same.configuration.estimated
    assert content["rows"][0]["metrics"] == same.to_dict()["rows"][0]["metrics"]
    assert content["rows"][0]["metrics"]["dcg@3"]["estimator"] == "ips"
    assert sorted(row["method"] for row in content["rows"]) == ["best-feature", "production", "random", "regression"]
    result = podium_command(*COMMAND, *options)
    assert result.code == 0, result.err
    assert "dcg@3 (ips)" in result.out
    assert "trials were finished by an earlier run and are kept" in result.err
    again = podium_command("report", str(tmp_path / "run"), "--format", "text")
    assert again.out.strip() == result.out.partition("\n\nReport:")[0].strip()


def test_the_command_for_the_pick_trains_it(podium_command, log, tmp_path, monkeypatch):
    monkeypatch.chdir(log)
    result = podium_command(*COMMAND, "--jobs", "1", "--out", str(tmp_path / "run"), "--normalize", "minmax")
    command = shlex.split(result.out.splitlines()[-1])
    assert command[:3] == ["podium", "train", "log.parquet"]
    command[command.index("model.podium")] = str(tmp_path / "model.podium")
    trained = podium_command(*command[1:])
    assert trained.code == 0, trained.err
    model = podium.load(tmp_path / "model.podium")
    assert model.normalize == "minmax"
    assert f"l2={model.l2}" in command
    refused = podium_command("train", "--from-run", str(tmp_path / "run"), "-o", str(tmp_path / "other.podium"))
    assert refused.code == 2
    assert "this is a comparison on a log of clicks; a model is trained on the log itself: podium train" in refused.err


def test_biases_by_name_and_features_elsewhere(podium_command, log, tmp_path, monkeypatch):
    monkeypatch.chdir(log)
    options = ("--methods", "regression", "--folds", "3", "--jobs", "1", "--quiet", "--estimator", "snips")
    for bias, words in {"swaps": "estimated on the training part of each fold", "naive": "naive"}.items():
        where = ("--features", "documents.csv", "--out", str(tmp_path / bias))
        result = podium_command("compare", "bare.csv", "--clicks", "--bias", bias, *options, *where)
        assert result.code == 0, result.err
        assert "dcg@10 (per unit of relevance, snips)" in result.out
        assert words in " ".join(result.out.split())
        if bias == "swaps":
            assert "podium clicks bias bare.csv --method swaps -o bias.json &&" in result.out
            assert result.out.splitlines()[-1].endswith("-o model.podium")
            assert "--features documents.csv --method regression" in result.out


def test_documents_never_shown_are_a_reason_in_the_row(podium_command, log, tmp_path, monkeypatch):
    monkeypatch.chdir(log)
    options = ("--candidates", "more.csv", "--jobs", "1", "--quiet", "--out", str(tmp_path / "run"))
    result = podium_command(*COMMAND, *options)
    assert result.code == 1
    assert "documents that the log never showed hold" in " ".join(result.out.split())
    assert result.out.splitlines()[4].startswith(" production")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["log.parquet", "--bias", "bias.json"], "--bias goes with --clicks"),
        (["log.parquet", "--estimator", "dr"], "--estimator goes with --clicks"),
        (["log.parquet", "--session-column", "s"], "--session-column goes with --clicks"),
        (["--clicks", "--bias", "bias.json"], "--clicks needs DATA"),
        (["log.parquet", "--clicks"], "--clicks needs --bias"),
        ([*COMMAND[1:], "--qrels", "q"], "--qrels does not go with --clicks: clicks are the only judgments"),
        ([*COMMAND[1:], "--label-column", "y"], "--label-column does not go with --clicks: clicks are the only"),
        ([*COMMAND[1:], "--convention", "letor"], "--convention does not go with --clicks"),
        ([*COMMAND[1:], "--run", "a=b"], "--run does not go with --clicks: `podium clicks evaluate` judges"),
        ([*COMMAND[1:], "--rehearse"], "--rehearse does not go with --clicks"),
        ([*COMMAND[1:], "--metrics", "ndcg@1,ndcg@5,ndcg@10,map"], "ndcg@1 (standard) cannot be told from clicks"),
        ([*COMMAND[1:], "--candidates", "more.csv", "--features", "f0"], "--candidates has the features"),
        ([*COMMAND[1:], "--bias", "nowhere.json"], "nowhere.json"),
        ([*COMMAND[1:], "--protocol", "letor", "--methods", "listnet"], "either folds or a protocol"),
    ],
)
def test_refusals(podium_command, log, monkeypatch, options, message):
    monkeypatch.chdir(log)
    result = podium_command("compare", *options)
    assert result.code == 2
    assert message in result.err
