"""From judged data to the engine, as the README has it."""

from __future__ import annotations


def test_judged_data_become_a_model_for_the_engine(podium_command, files, tmp_path):
    data, model, out = files.paths["txt"], tmp_path / "model.podium", tmp_path / "model.json"
    trained = podium_command("train", data, "--method", "auto", "--for", "solr", "--minutes", "0.3", "-o", model)
    assert trained.code == 0, trained.err
    assert f"podium export {model} --format solr" in trained.out
    exported = podium_command("export", model, "--format", "solr", "-o", out, "--check", data)
    assert exported.code == 0, exported.err
    assert "pairs of documents in a different order: 0 of" in exported.out
    page = out.with_name("model.json.README.md").read_text("utf-8")
    assert "curl -X PUT" in page
    assert "rq=" in page
