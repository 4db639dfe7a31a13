"""``podium clicks ask``: the documents of ``podium.clicks.ask``, as a file that raters fill in."""

from __future__ import annotations

import json

import polars as pl
import pytest

import podium

METRIC = ("--metric", "dcg@3")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A log with features, two models, and their bias."""
    folder = tmp_path_factory.mktemp("asking")
    queries = podium.make_queries(n_queries=20, n_documents=8, n_features=3, random_state=0)
    queries = queries.with_document_ids([f"d{i}" for i in range(queries.n_documents)])
    clicks = podium.clicks.simulate(queries, queries.features[:, 0], top=5, shuffle=1.0, sessions=500, aggregate=True)
    columns = {"query": clicks.query, "document": clicks.queries.document_ids[clicks.row]}
    columns |= {"position": clicks.position, "clicks": clicks.clicks, "impressions": clicks.impressions}
    columns |= {f"f{j}": clicks.queries.features[clicks.row, j] for j in range(3)}
    pl.DataFrame(columns).write_parquet(folder / "log.parquet")
    named = podium.read_clicks(folder / "log.parquet", features=["f0", "f1", "f2"]).queries
    judged = named.with_labels(queries.labels[clicks.truth.rows])
    podium.ListNet(random_state=0).fit(judged).save(folder / "new.podium")
    podium.Regression().fit(judged.take(range(2))).save(folder / "old.podium")
    podium.clicks.PositionBias.known(clicks.truth.propensities).save(folder / "bias.json")
    return folder


def test_from_two_models_to_a_file_and_back(podium_command, folder, monkeypatch, tmp_path):
    monkeypatch.chdir(folder)
    pairs = tmp_path / "pairs.csv"
    command = ("clicks", "ask", "new.podium", "log.parquet", "--against", "old.podium", "--bias", "bias.json", *METRIC)
    result = podium_command(*command, "-n", "10", "-o", pairs, "--json")
    assert result.code == 0, result.err
    told = json.loads(result.out)
    clicks = podium.read_clicks("log.parquet", features=["f0", "f1", "f2"])
    new, old = (podium.load(f"{name}.podium") for name in ("new", "old"))
    bias = podium.clicks.load_bias("bias.json")
    same = podium.clicks.ask(new, clicks, 10, against=old, bias=bias, metric="dcg@3")
    assert [row["document"] for row in told["documents"]] == same.documents.tolist()
    assert (told["mean"], told["probability"], told["file"]) == (same.mean, same.probability, str(pairs))
    lines = pairs.read_text().splitlines()
    filled = [line.replace(",,", f",{i % 3},", 1) for i, line in enumerate(lines[1:])]
    pairs.write_text("\n".join([lines[0], *filled]) + "\n")
    again = podium_command(*command, "-n", "10", "--judged", pairs)
    assert again.code == 0, again.err
    judged = podium.join_judgments(clicks.queries, pairs).queries
    more = podium.clicks.ask(new, clicks, 10, against=old, bias=bias, metric="dcg@3", judged=judged)
    assert again.out.strip() == str(more).strip()
    assert "by clicks and judgments" in again.out


def test_one_model(podium_command, folder, monkeypatch, tmp_path):
    monkeypatch.chdir(folder)
    pairs = tmp_path / "pairs.csv"
    result = podium_command("clicks", "ask", "new.podium", "log.parquet", "--bias", "bias.json", "-n", "5", "-o", pairs)
    assert result.code == 0, result.err
    assert f"For raters: {pairs}" in result.out
    assert pl.read_csv(pairs).columns[:4] == ["query", "document", "label", "rank"]
    assert pl.read_csv(pairs).height == 5


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("new.podium log.parquet --metric map", "cannot be told from clicks"),
        ("new.podium log.parquet --highest 3", "--highest goes with --judged"),
        ("new.podium log.parquet -n 0", "not a positive integer"),
        ("new.podium log.parquet --judged bias.json", "bias.json"),
        ("log.parquet new.podium", "new.podium is a model, and stands where the log is expected"),
    ],
)
def test_mistakes(podium_command, folder, monkeypatch, arguments, message, capsys):
    monkeypatch.chdir(folder)
    try:
        result = podium_command("clicks", "ask", *arguments.split(), "--bias", "bias.json", "-o", "no.csv")
        code, said = result.code, result.err
    except SystemExit as error:  # of the parser
        code, said = error.code, capsys.readouterr().err
    assert code == 2
    assert message in said
    assert not (folder / "no.csv").exists()
