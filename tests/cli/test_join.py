"""Logged rows and judgments in, training data out."""

from __future__ import annotations

import json
import math

import pytest

import podium


@pytest.fixture
def logged(tmp_path):
    rows = [
        {"query": q, "document": f"0{d}", "features": {"bm25": q * d, "age": d % 3} | ({"rare": 1} if d > 3 else {})}
        for q in (1, 2, 3)
        for d in range(1, 6)
    ]
    path = tmp_path / "logged.jsonl"
    path.write_text("\n".join(map(json.dumps, [*rows, rows[0]])))
    (tmp_path / "qrels.txt").write_text("".join(f"{q} 0 0{d} {d % 2}\n" for q in (1, 2) for d in range(2, 7)))
    return path


def test_logged_rows_become_data_that_train_reads(podium_command, logged, tmp_path):
    data, model = tmp_path / "data.parquet", tmp_path / "m.podium"
    result = podium_command("join", logged, "--judgments", tmp_path / "qrels.txt", "-o", data)
    assert result.code == 0, result.err
    assert "8 documents of 2 queries, 3 features, 8 judged" in result.out
    assert "logged, but not judged: 2 documents (01 of query 1, 01 of query 2): dropped; --unjudged zero" in result.out
    assert "without any judgment: 1 query with 5 documents (3): dropped" in result.out
    assert "judged, but never logged: 2 documents (06 of query 1, 06 of query 2)" in result.out
    assert "logged more than once: 1 row" in result.out
    assert "9 values, set to 0" in result.out
    queries = podium.read_table(data)
    assert queries.feature_names == ("bm25", "age", "rare")
    assert queries.document_ids.tolist() == ["02", "03", "04", "05"] * 2
    assert queries.labels.tolist() == [0, 1, 0, 1] * 2
    assert podium_command("train", data, "--method", "listnet", "-o", model).code == 0
    assert list(podium.load(model).feature_names_in_) == ["bm25", "age", "rare"]


def test_letor_text_has_its_names_beside_it(podium_command, logged, tmp_path):
    data, names = tmp_path / "data.txt", tmp_path / "names.txt"
    names.write_text("age\nbm25\n")
    more = ["--unjudged", "zero", "--feature-names", names, "--json"]
    result = podium_command("join", logged, "--judgments", tmp_path / "qrels.txt", "-o", data, *more)
    account = json.loads(result.out)
    assert account["n_documents"] == 10
    assert account["judged_not_logged"] == [["1", "06"], ["2", "06"]]
    assert account["logged_not_judged"] == [["1", "01"], ["2", "01"]]
    assert account["features_left_out"] == ["rare"]
    assert (tmp_path / "data.txt.names.txt").read_text() == "age\nbm25\n"
    queries = podium.read_letor(data)
    assert queries.labels.tolist() == [0, 0, 1, 0, 1] * 2
    assert queries.document_ids[0] == "01"
    assert queries.features[4].tolist() == [2, 5]


def test_nothing_is_written_after_an_error(podium_command, logged, tmp_path):
    (tmp_path / "qrels.txt").write_text("9 0 x 1\n")
    result = podium_command("join", logged, "--judgments", tmp_path / "qrels.txt", "-o", tmp_path / "data.csv")
    assert result.code == 2
    assert "no query of the 15 logged documents is judged there" in result.err
    assert not (tmp_path / "data.csv").exists()


def test_logarithms_that_an_exported_model_had_derived_are_left_out(podium_command, tmp_path):
    """log_a, neglog_c and _log_e are made by the formulas of exports; log_b and log_c are only called so."""
    logged, data = tmp_path / "logged.jsonl", tmp_path / "data.csv"
    rows = []
    for d in range(6):
        a, b, c = 3.0 * d, float(d), d - 2.5
        features = {"a": a, "b": b, "c": c, "log_a": math.log1p(a / 7), "log_b": d % 2, "d": 1.0, "log_c": math.sin(d)}
        features["neglog_c"] = math.log1p(max(-c, 0.0) / 0.5)
        features |= {"e": 2 * c, "_log_e": math.copysign(math.log1p(abs(2 * c) / 0.3), c)}
        rows.append({"query": 1, "document": str(d), "features": features})
    logged.write_text("\n".join(map(json.dumps, rows)))
    (tmp_path / "qrels.txt").write_text("".join(f"1 0 {d} {d % 2}\n" for d in range(6)))
    arguments = ["join", logged, "--judgments", tmp_path / "qrels.txt", "-o", data]
    result = podium_command(*arguments)
    assert "logarithms of other features: log_a, neglog_c, _log_e: left out; --keep-logarithms keeps them" in result.out
    assert podium.read_table(data).feature_names == ("a", "b", "c", "log_b", "d", "log_c", "e")
    assert json.loads(podium_command(*arguments, "--json").out)["features_left_out"] == ["log_a", "neglog_c", "_log_e"]
    assert podium_command(*arguments, "--keep-logarithms").code == 0
    assert podium.read_table(data).n_features == 10
