"""Every kind of model in the targets that need other packages."""

from __future__ import annotations

import pytest

import podium

WITH_EXTRAS = {"onnx": ["onnxruntime"], "xgboost": ["XGBoost"], "sql": ["SQLite", "DuckDB"]}


@pytest.mark.parametrize("name", WITH_EXTRAS)
def test_every_kind_is_exported_with_parity_or_refused_with_a_reason(matrix, fitted, queries, tmp_path, name):
    n_exported = 0
    for kind in matrix.KINDS:
        model, path = fitted(kind), tmp_path / f"model.{name}"
        if matrix.refusals(kind)[name] is not None:
            with pytest.raises(podium.NotExportable, match=r"(?s).{60}"):
                podium.export(model, path, format=name)
            continue
        podium.export(model, path, format=name)
        checks = podium.check_export(model, path, queries, format=name)
        assert [check.by for check in checks] == WITH_EXTRAS[name]
        for check in checks:
            assert check, f"{kind} to {name}: {check}"
            assert check.n_pairs > 1000
            assert check.largest_difference <= 3e-6 * check.largest_score, (kind, name)
        n_exported += 1
    assert n_exported >= 3


def test_onnx_takes_logarithms(matrix, fitted, heavy, tmp_path):
    kinds = [kind for kind in matrix.KINDS if kind.startswith(("linear", "networks", "pairwise", "kernel", "PyTorch"))]
    assert len(kinds) == 6
    for kind in kinds:
        model = fitted(kind, tails=True)
        podium.export(model, tmp_path / "model.onnx", format="onnx")
        (check,) = podium.check_export(model, tmp_path / "model.onnx", heavy, format="onnx")
        assert check, f"{kind}: {check}"
        assert check.largest_difference <= 3e-6 * check.largest_score, kind


@pytest.mark.parametrize("normalize", ["minmax", "zscore"])
@pytest.mark.parametrize("kind", ["trees: LambdaMART", "networks", "pairwise", "kernel", "PyTorch"])
def test_onnx_rescales_within_the_query(matrix, queries, tmp_path, normalize, kind):
    (make,) = [make for label, make in matrix.KINDS.items() if label.startswith(kind)]
    ranker = make().set_params(normalize=normalize)
    if kind == "PyTorch":
        import torch

        ranker.set_params(scorer=podium.scorers.Torch(torch.nn.Linear(6, 1)))
        ranker.set_params(trainer=podium.training.Stochastic(epochs=2))
    features = queries.features.copy()
    features[: queries.sizes[0], 1] = 0.1  # constant in the first query
    if kind.startswith("trees"):  # which take missing values
        features[::5, 2] = float("nan")
        features[: queries.sizes[0], 4] = float("nan")
    data = queries.with_features(features)
    ranker.fit(data)
    podium.export(ranker, tmp_path / "model.onnx", format="onnx")
    (check,) = podium.check_export(ranker, tmp_path / "model.onnx", data, format="onnx")
    assert check, str(check)
    assert check.largest_difference < 3e-6 * check.largest_score
