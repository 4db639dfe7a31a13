"""Every kind of model in every format that needs no extra package: exported with parity, or refused with a reason."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

import podium
from podium.export.target import find
from podium.export.targets import sql

WITHOUT_EXTRAS = ("elasticsearch", "lightgbm", "opensearch", "solr", "sql", "vespa")


def test_the_table_in_the_documentation_is_up_to_date(matrix):
    assert matrix.PAGE.read_text("utf-8") == matrix.page(), "run python tools/export_matrix.py"


def test_every_kind_is_exported_with_parity_or_refused_with_a_reason(matrix, fitted, queries, tmp_path):
    for kind in matrix.KINDS:
        expected = matrix.refusals(kind)
        refused = all(expected[name] is not None for name in WITHOUT_EXTRAS)
        model = matrix.KINDS[kind]() if refused else fitted(kind)
        for name in WITHOUT_EXTRAS:
            path = tmp_path / f"model.{name}"
            if expected[name] is not None:
                with pytest.raises(podium.NotExportable) as refusal:
                    podium.export(model, path, format=name)
                assert len(str(refusal.value)) > 60, (kind, name)
                assert list(tmp_path.glob(f"model.{name}*")) == []
                continue
            podium.export(model, path, format=name)
            checks = podium.check_export(model, path, queries, format=name)
            assert checks, (kind, name)
            for check in checks:
                assert check, f"{kind} to {name}: {check}"
                assert check.n_pairs > 1000
                assert check.largest_difference <= 1e-5 * check.largest_score, (kind, name)
                assert check.emulated == (not find(name).runs)
            for file in tmp_path.glob(f"model.{name}*"):
                file.unlink()


@pytest.mark.parametrize("name", WITHOUT_EXTRAS)
def test_models_of_logarithms(matrix, fitted, heavy, tmp_path, name):
    """What is exported with features as they come is exported with logarithms, too."""
    for kind in (kind for kind in matrix.KINDS if kind.startswith(("linear", "networks"))):
        if matrix.refusals(kind)[name] is not None:
            continue
        model, path = fitted(kind, tails=True), tmp_path / f"model.{name}"
        for options in ({}, {"type": "model/ranklib"} if name in ("opensearch", "elasticsearch") else {}):
            podium.export(model, path, format=name, **options)
            for check in podium.check_export(model, path, heavy, format=name):
                assert check, f"{kind} to {name}: {check}"
                assert check.n_pairs > 1000
                assert check.largest_difference <= 1e-5 * check.largest_score, (kind, name)
                assert "logarithms" in path.with_name(f"{path.name}.README.md").read_text(), name


def test_logarithms_have_names_of_their_own(fitted, matrix, tmp_path):
    linear, path = fitted(next(iter(matrix.KINDS)), tails=True), tmp_path / "model.json"
    names = ["a", "log_a", "c", "d", "e", "_log_e"]
    podium.export(linear, path, format="solr", feature_names=names)
    model = json.loads(path.read_text())
    used = ["__log_a", "log_a", "c", "d", "__log_e", "_log_e", "__neglog_a"]
    assert [feature["name"] for feature in model["features"]] == list(model["params"]["weights"]) == used
    features = json.loads((tmp_path / "model.json.features.json").read_text())
    assert [feature["name"] for feature in features] == [*names, "__log_a", "__log_e", "__neglog_a"]
    assert "`__log_a`, `__log_e`, `__neglog_a`" in (tmp_path / "model.json.README.md").read_text()
    with pytest.raises(ValueError, match=r"logarithm of 'a b'.*--feature-names"):
        podium.export(linear, path, format="opensearch", feature_names=["a b", "b", "c", "d", "e", "f"])


def test_units_of_a_feature_set_follow_the_model(fitted, matrix, heavy, tmp_path):
    """Feature sets that were filled in keep what was filled in; the units of logarithms are the new model's."""
    kind = next(iter(matrix.KINDS))
    tripled = heavy.with_features(heavy.features * 3.0)
    model, other = fitted(kind, tails=True), matrix.KINDS[kind]().fit(tripled)
    for name in ("solr", "opensearch"):
        path, features = tmp_path / name, tmp_path / f"{name}.features.json"
        podium.export(model, path, format=name)
        features.write_text(features.read_text().replace('"field": "feature_5"', '"field": "price"'))
        assert features not in podium.export(model, path, format=name)
        assert features in podium.export(other, path, format=name)
        assert features.read_text().count('"field": "price"') == 1
        assert podium.check_export(other, path, tripled, format=name)[0]


def test_sqlite_without_mathematical_functions(fitted, matrix, heavy, tmp_path):
    linear = fitted(next(iter(matrix.KINDS)), tails=True)
    podium.export(linear, tmp_path / "score.sql", format="sql")
    registered: list[str] = []

    class Plain:
        def execute(self, query: str) -> Plain:
            return self

        def fetchone(self) -> None:
            return None

        def create_function(self, name: str, n: int, function: Callable[[float], float], deterministic: bool) -> None:
            assert (function(None), function(1.0)) == (None, 0.0)
            registered.append(name)

    sql._require_ln(Plain())
    assert registered == ["LN"]
    assert "SQLITE_ENABLE_MATH_FUNCTIONS" in (tmp_path / "score.sql.README.md").read_text()


def test_formats_of_a_model(fitted, matrix):
    linear = next(iter(matrix.KINDS))
    assert podium.export_formats(fitted(linear)) == [
        "elasticsearch",
        "onnx",
        "opensearch",
        "solr",
        "sql",
        "vespa",
    ]
