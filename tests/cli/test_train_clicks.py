"""``podium train LOG --clicks``: the same as in Python, features from the log or from another file."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import podium


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    """A folder with a log with features, one without, the features, their bias, and judged queries."""
    folder = tmp_path_factory.mktemp("log")
    queries = podium.make_queries(n_queries=40, n_documents=8, n_features=3, random_state=0)
    clicks = podium.clicks.simulate(queries, queries.features[:, 0], top=5, sessions=2_000, aggregate=True)
    columns = {"query": clicks.query, "document": clicks.queries.document_ids[clicks.row]}
    columns |= {"position": clicks.position, "clicks": clicks.clicks, "impressions": clicks.impressions}
    features = {f"f{j}": clicks.queries.features[clicks.row, j] for j in range(3)}
    pl.DataFrame(columns).write_csv(folder / "bare.csv")
    pl.DataFrame(columns | features).write_parquet(folder / "log.parquet")
    clicks = podium.clicks.simulate(queries, queries.features[:, 0], top=5, sessions=2_000)
    columns = {"query": clicks.query, "document": clicks.queries.document_ids[clicks.row], "session": clicks.session}
    columns |= {"position": clicks.position, "clicks": clicks.clicks}
    features = {f"f{j}": clicks.queries.features[clicks.row, j] for j in range(3)}
    pl.DataFrame(columns | features).write_parquet(folder / "sessions.parquet")
    known = {"query": clicks.queries.query_of_document, "document": clicks.queries.document_ids}
    known |= {f"f{j}": clicks.queries.features[:, j] for j in range(3)}
    pl.DataFrame(known).write_csv(folder / "features.csv")
    judged = {"qid": queries.query_of_document, "label": queries.labels}
    pl.DataFrame(judged | {f"f{j}": queries.features[:, j] for j in range(3)}).write_csv(folder / "judged.csv")
    podium.clicks.PositionBias.known(1 / np.arange(1.0, 6.0)).save(folder / "bias.json")
    return folder


def test_the_same_model_as_in_python(podium_command, log, monkeypatch):
    monkeypatch.chdir(log)
    options = ("--clicks", "--bias", "bias.json", "--method", "listnet", "--seed", "3", "-o")
    result = podium_command("train", "log.parquet", *options, "a.podium", "--valid", "judged.csv")
    assert result.code == 0, result.err
    assert "validation: ndcg@10" in result.out
    assert "training: ndcg" not in result.out
    assert "To export it: podium export a.podium" in result.out
    assert "--check judged.csv" in result.out  # the log is no list of documents
    clicks = podium.read_clicks("log.parquet", features=["f0", "f1", "f2"])
    judged = podium.read_queries("judged.csv")
    bias = podium.clicks.load_bias("bias.json")
    same = podium.ListNet(random_state=3).fit(clicks, bias=bias, eval_set=judged)
    model = podium.load("a.podium")
    np.testing.assert_allclose(model.coef_, same.coef_, rtol=1e-12)
    assert model.provenance_["data"]["training"]["bias"]["file"] == "bias.json"
    result = podium_command("train", "bare.csv", *options, "b.podium", "--features", "features.csv")
    assert result.code == 0, result.err
    assert "--check" not in result.out
    without = podium.ListNet(random_state=3).fit(clicks, bias=bias)
    np.testing.assert_allclose(podium.load("b.podium").coef_, without.coef_, rtol=1e-6)


def test_the_bias_is_learned_beside_the_trees(podium_command, log, monkeypatch):
    monkeypatch.chdir(log)
    options = ("--debias", "pairwise", "--method", "lambdamart", "--seed", "3", "--set", "n_trees=5")
    result = podium_command("train", "sessions.parquet", "--clicks", *options, "-o", "d.podium")
    assert result.code == 0, result.err
    model = podium.load("d.podium")
    clicks = podium.read_clicks("sessions.parquet", features=["f0", "f1", "f2"])
    same = podium.LambdaMART(n_trees=5, debias="pairwise", random_state=3).fit(clicks)
    np.testing.assert_array_equal(model.bias_.propensities_, same.bias_.propensities_)
    assert f"places from the top, propensities: 1, {same.bias_.propensities_[1]:.3g}, " in result.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("log.parquet --clicks --method listnet", "podium clicks bias LOG"),
        ("log.parquet --debias pairwise --method lambdamart", "--debias goes with --clicks"),
        ("log.parquet --clicks --debias pairwise --method lambdamart", "give session= with it"),
        ("sessions.parquet --clicks --debias pairwise --method listnet", "no parameter 'debias'"),
        ("log.parquet --clicks --debias additive --bias bias.json --method lambdamart", "leave out --bias"),
        ("log.parquet --bias bias.json --method listnet", "--bias goes with --clicks"),
        ("log.parquet --position-column p --method listnet", "--position-column goes with --clicks"),
        ("log.parquet --clicks --bias bias.json --method listnet --tune", "leave out --tune"),
        ("bare.csv --clicks --bias naive --method listnet", "--features FILE looks them up"),
        ("log.parquet --clicks --bias features.csv --method listnet", "not a bias that Podium saved"),
    ],
)
def test_mistakes(podium_command, log, monkeypatch, arguments, message):
    monkeypatch.chdir(log)
    result = podium_command("train", *arguments.split(), "-o", "no.podium")
    assert result.code != 0
    assert message in result.err
    assert not (log / "no.podium").exists()
