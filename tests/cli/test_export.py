"""``podium export``: files, checks, exit codes and errors."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest

import podium


@pytest.fixture(scope="module")
def models(files, tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    podium.ListNet().fit(files.queries).save(folder / "linear.podium")
    podium.ListNet(normalize="minmax").fit(files.queries).save(folder / "rescaled.podium")
    return folder


def test_a_model_is_exported_and_checked(podium_command, files, models, tmp_path):
    out = tmp_path / "score.sql"
    names = tmp_path / "names.txt"
    names.write_text("bm25\nage\nclicks\nlength\n")
    options = ("--format", "sql", "-o", out, "--feature-names", names, "--set", "table=documents")
    result = podium_command("export", models / "linear.podium", *options, "--check", files.paths["txt"])
    assert result.code == 0, result.err
    assert f"written to {out}" in result.out
    assert "scored by SQLite" in result.out
    assert "pairs of documents in a different order: 0 of" in result.out
    assert '"clicks"' in out.read_text()
    assert 'FROM "documents"' in out.read_text()
    assert sorted(path.name for path in tmp_path.glob("score*")) == [
        "score.sql",
        "score.sql.README.md",
        "score.sql.features.json",
    ]


def test_json(podium_command, files, models, tmp_path):
    out = tmp_path / "m.json"
    options = ("--format", "solr", "-o", out, "--json", "--check", files.paths["csv"], *files.columns)
    result = podium_command("export", models / "linear.podium", *options)
    assert result.code == 0, result.err
    told = json.loads(result.out)
    assert told["files"] == [str(out), f"{out}.README.md", f"{out}.features.json"]
    (check,) = told["checks"]
    assert check["emulated"]
    assert check["same_order"]


def test_a_different_order_is_exit_code_1(podium_command, tmp_path):
    features = 1e9 + np.random.default_rng(0).permutation(60).reshape(60, 1)  # float32 numbers are 64 apart there
    data = podium.Queries(features, features[:, 0] % 3, sizes=[20, 40], feature_names=["x"])
    podium.ListNet(normalize=None).fit(data).save(tmp_path / "m.podium")
    podium.write_table(data, tmp_path / "data.csv")
    options = ("--format", "solr", "-o", tmp_path / "m.json", "--check", tmp_path / "data.csv")
    result = podium_command("export", tmp_path / "m.podium", *options)
    assert result.code == 1, result.err
    assert "TOO COARSE" in result.out


def test_the_formats_are_listed(podium_command, models):
    result = podium_command("export", "--list")
    assert result.code == 0
    for name in ("solr", "opensearch", "elasticsearch", "vespa", "onnx", "lightgbm", "xgboost", "sql"):
        assert f"\n{name} " in result.out
    assert "sql: table: " in result.out
    result = podium_command("export", "--list", models / "rescaled.podium")
    assert "onnx           yes" in result.out
    assert "rescales features within each query" in result.out
    listed = json.loads(podium_command("export", "--list", models / "linear.podium", "--json").out)
    assert {row["format"] for row in listed if row["refused"] is None} >= {"solr", "sql", "onnx"}


@pytest.mark.parametrize(
    ("names", "told"),
    [
        ("a\nb\nc\n", "names.txt:3: the file ends after 3 names, but the model has 4 features"),
        ("a\nb\nc\nd\ne\n", "names.txt:5: a name too many ('e'): the model has 4 features"),
        ("a\nb\na\nd\n", "names.txt:3: the name 'a' is in line 1 already"),
        ("a\n\nb\nc\nd\n", "names.txt:2: an empty line"),
        ("", "the file ends after 0 names"),
    ],
)
def test_files_of_names_that_do_not_fit(podium_command, models, tmp_path, names, told):
    (tmp_path / "names.txt").write_text(names)
    options = ("--format", "sql", "-o", tmp_path / "x.sql", "--feature-names", tmp_path / "names.txt")
    result = podium_command("export", models / "linear.podium", *options)
    assert result.code == 2
    assert told in result.err
    assert not (tmp_path / "x.sql").exists()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--format", "sqll", "-o", "x"], "Did you mean sql?"),
        (["--format", "sql"], "--out missing"),
        ([], "--format and --out missing"),
        (["--format", "sql", "-o", "x", "--set", "tabel=t"], "no option 'tabel'; its options: table"),
        (["--format", "lightgbm", "-o", "x"], "takes trees; this ListNet is of the kind 'linear'"),
    ],
)
def test_errors_say_what_to_do(podium_command, models, tmp_path, monkeypatch, arguments, told):
    monkeypatch.chdir(tmp_path)
    result = podium_command("export", models / "linear.podium", *arguments)
    assert result.code == 2
    assert told in result.err
    assert list(tmp_path.iterdir()) == []


def test_a_missing_package_is_named(podium_command, models, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    result = podium_command("export", models / "linear.podium", "--format", "onnx", "-o", tmp_path / "m.onnx")
    assert result.code == 2
    assert "needs onnx, which is not installed: pip install 'podium-rank[export]'" in result.err
