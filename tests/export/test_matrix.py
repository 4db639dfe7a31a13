"""Every kind of model in every format that needs no extra package: exported with parity, or refused with a reason."""

from __future__ import annotations

import pytest

import podium
from podium.export.target import find

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
