"""What a model file tells about itself."""

from __future__ import annotations

import json

import pytest

import podium


def test_a_trained_model(podium_command, files, tmp_path, monkeypatch):
    monkeypatch.chdir(files.folder)
    model = tmp_path / "m.podium"
    train = ["train", "data.csv", *files.columns, "--method", "listnet", "--set", "l2=0.25", "-o", model]
    assert podium_command(*train).code == 0
    shown = podium_command("show", model, "--top", "2")
    assert shown.code == 0, shown.err
    for words in ("ListNet", "l2=0.25", "data.csv (24 queries", "podium train data.csv", "robust: by mean"):
        assert words in shown.out
    assert f"podium {podium.__version__}, python" in shown.out
    assert "podium export" not in shown.out  # the command that train ends with is no version
    content = json.loads(podium_command("show", model, "--json").out)
    ranker = podium.load(model)
    weights = {found["feature"]: found["value"] for found in content["features"]}
    assert weights == dict(zip(["f0", "f1", "f2", "f3"], ranker.coef_.tolist(), strict=True))
    sizes = [abs(value) for value in weights.values()]
    assert sizes == sorted(sizes, reverse=True)
    assert shown.out.count("\nf") - shown.out.count("\nfeature") == 2
    assert content["settings"]["l2"] == 0.25
    assert content["export"] == podium.export_formats(ranker)


def test_a_blend_saved_from_python(podium_command, files, tmp_path):
    members = [podium.ListNet(normalize="minmax"), ("forest", podium.GBDT(n_trees=2))]
    podium.Blend(members).fit(files.queries).save(tmp_path / "m.podium", dataset="synthetic")
    shown = podium_command("show", tmp_path / "m.podium")
    assert shown.code == 0, shown.err
    for words in ("Blend", "listnet=0.500", "forest=0.500", "synthetic", "not exported"):
        assert words in shown.out


@pytest.mark.parametrize(
    ("ranker", "kind"), [(podium.GBDT(n_trees=2), "importance"), (podium.RankBoost(2), "importance")]
)
def test_importances(podium_command, files, tmp_path, ranker, kind):
    ranker.fit(files.queries).save(tmp_path / "m.podium")
    content = json.loads(podium_command("show", tmp_path / "m.podium", "--json").out)
    assert content["kind"] == kind
    assert content["features"][0]["feature"] in [f"feature {j}" for j in range(1, 5)]
    assert content["data"] is None
