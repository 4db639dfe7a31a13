"""``podium clicks evaluate``: the figures of ``podium.clicks.evaluate``, for models and files of scores."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

import podium


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A log with features, one without, models, files of scores, and documents of which some were never shown."""
    folder = tmp_path_factory.mktemp("judging")
    queries = podium.make_queries(n_queries=30, n_documents=8, n_features=3, random_state=0)
    queries = queries.with_document_ids([f"d{i}" for i in range(queries.n_documents)])
    clicks = podium.clicks.simulate(queries, queries.features[:, 0], top=6, shuffle=1.0, sessions=1_000)
    names = ["f0", "f1", "f2"]
    columns = {"query": clicks.query, "document": clicks.queries.document_ids[clicks.row]}
    columns |= {"position": clicks.position, "clicks": clicks.clicks, "session": clicks.session}
    pl.DataFrame(columns).write_csv(folder / "bare.csv")
    features = {name: clicks.queries.features[clicks.row, j] for j, name in enumerate(names)}
    pl.DataFrame(columns | features).write_parquet(folder / "log.parquet")
    known = {"query": queries.query_of_document, "document": queries.document_ids}
    known |= {name: queries.features[:, j] for j, name in enumerate(names)}
    pl.DataFrame(known).sample(fraction=1.0, shuffle=True, seed=1).write_csv(folder / "documents.csv")
    named = podium.read_clicks(folder / "log.parquet", features=names).queries.with_labels(
        queries.labels[clicks.truth.rows]
    )
    podium.ListNet(random_state=0).fit(named).save(folder / "new.podium")
    podium.Regression().fit(
        podium.Queries(named.features[:, :2], named.labels, sizes=named.sizes, feature_names=names[:2])
    ).save(folder / "old.podium")
    podium.clicks.PositionBias.known(1 / np.arange(1.0, 7.0)).save(folder / "bias.json")
    shown = clicks.queries
    table = {"query": shown.query_of_document, "document": shown.document_ids, "score": shown.features[:, 1]}
    pl.DataFrame(table).write_csv(folder / "second.csv")
    podium.write_run(folder / "first.run", shown, shown.features[:, 0])
    podium.write_run(folder / "all.run", queries, queries.features[:, 2])
    podium.write_run(folder / "part.run", shown.take(range(10)), shown.take(range(10)).features[:, 0])
    return folder


def test_models_are_judged_as_in_python(podium_command, folder, monkeypatch):
    monkeypatch.chdir(folder)
    options = ("--bias", "bias.json", "--metrics", "dcg@3,p@1", "--json")
    result = podium_command("clicks", "evaluate", "log.parquet", "new.podium", "--against", "old.podium", *options)
    assert result.code == 0, result.err
    told = json.loads(result.out)
    clicks = podium.read_clicks("log.parquet", features=["f0", "f1", "f2"])
    how = {"metrics": ["dcg@3", "p@1"], "bias": podium.clicks.load_bias("bias.json")}
    new = podium.clicks.evaluate(clicks, podium.load("new.podium"), **how)
    scores = podium.load("old.podium").predict(
        clicks.queries.with_features(clicks.queries.features[:, :2], ["f0", "f1"])
    )
    old = podium.clicks.evaluate(clicks, scores, **how)
    for name, evaluation in (("new.podium", new), ("old.podium", old)):
        for metric, figures in told["rankings"][name]["metrics"].items():
            assert figures["mean"] == evaluation.mean[metric]
            assert figures["interval"] == list(evaluation.interval[metric])
            assert figures["effective_size"] == evaluation.effective_size[metric]
    assert told["difference"]["p@1"]["p_value"] == new.compare(old, "p@1").p_value
    assert (told["estimator"], told["interval_by"], told["sessions"]) == ("ips", "queries", 1_000)


@pytest.mark.parametrize("estimator", ["ips", "snips", "dr"])
def test_files_of_scores(podium_command, folder, monkeypatch, estimator):
    monkeypatch.chdir(folder)
    result = podium_command(
        "clicks", "evaluate", "bare.csv", "first.run", "--against", "second.csv", "--bias", "bias.json",
        "--estimator", estimator, "--interval", "sessions", "--metrics", "dcg@3",
    )  # fmt: skip
    assert result.code == 0, result.err
    clicks = podium.read_clicks("log.parquet", features=["f0", "f1", "f2"])
    how = {"metrics": "dcg@3", "bias": podium.clicks.load_bias("bias.json"), "interval": "sessions"}
    features = clicks.queries.features
    first, second = (podium.clicks.evaluate(clicks, features[:, j], estimator=estimator, **how) for j in (0, 1))
    assert str(first).splitlines()[2] in result.out
    assert str(second).splitlines()[2] in result.out
    assert str(first.compare(second, "dcg@3")) in result.out
    assert f"({estimator})" in result.out


def test_queries_that_are_not_ranked_are_counted(podium_command, folder, monkeypatch):
    monkeypatch.chdir(folder)
    result = podium_command("clicks", "evaluate", "bare.csv", "part.run", "--bias", "bias.json", "--json")
    assert result.code == 0, result.err
    assert "20 of the 30 queries of the log are not ranked" in result.err
    assert json.loads(result.out)["queries"] == 10


def test_candidates_have_the_documents_that_were_not_shown(podium_command, folder, monkeypatch):
    monkeypatch.chdir(folder)
    options = ("--bias", "bias.json", "--candidates", "documents.csv", "--metrics", "p@1", "--json")
    result = podium_command("clicks", "evaluate", "bare.csv", "new.podium", "--against", "all.run", *options)
    assert result.code == 0, result.err
    candidates = podium.read_table("documents.csv", qid="query", document_id="document", label=None)
    clicks = podium.read_clicks("bare.csv")
    bias = podium.clicks.load_bias("bias.json")
    expected = podium.clicks.evaluate(clicks, podium.load("new.podium"), candidates, "p@1", bias=bias)
    assert json.loads(result.out)["rankings"]["new.podium"]["metrics"]["p@1"]["mean"] == expected.mean["p@1"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("bare.csv worst.run", "worst.run: documents that the log never showed hold"),
        ("log.parquet new.podium --against all.run", "are not among the"),
        ("bare.csv new.podium", "bare.csv lacks 3 of the 3 features"),
        ("log.parquet new.podium --metrics ndcg@10", "cannot be told from clicks"),
        ("log.parquet new.podium --candidates documents.csv --features f0", "leave out --features"),
        ("log.parquet documents.csv", "no column of the score"),
        ("log.parquet none.podium", "none.podium: No such file"),
        ("log.parquet twice.csv", "twice.csv: row 2 below the header: this document of this query has a score"),
        ("log.parquet new.podium --level 2", "level must be"),
    ],
)
def test_mistakes(podium_command, folder, monkeypatch, arguments, message):
    monkeypatch.chdir(folder)
    (folder / "worst.run").write_text("0 Q0 unknown 1 2.0 t\n0 Q0 d0 2 1.0 t\n")
    (folder / "twice.csv").write_text("query,document,score\n0,d0,1\n0,d0,2\n")
    result = podium_command("clicks", "evaluate", *arguments.split(), "--bias", "bias.json")
    assert result.code == 2
    assert message in result.err
    assert not result.out
