"""Models of PyTorch on the command line, which need the code of their module."""

from __future__ import annotations

import numpy as np
import pytest

import podium
from podium import scorers

torch = pytest.importorskip("torch")
MODULE = "import torch\n\ndef network():\n    return torch.nn.Linear(4, 1)\n\nready = network()\n"


@pytest.mark.parametrize("name", ["network", "ready"])
def test_rank_and_export(podium_command, tmp_path, monkeypatch, name) -> None:
    monkeypatch.chdir(tmp_path)
    module = f"networks_{name}"
    (tmp_path / f"{module}.py").write_text(MODULE)
    queries = podium.make_queries(n_queries=8, n_documents=5, n_features=4, random_state=0)
    ranker = podium.Ranker(podium.losses.ListNetLoss(), scorers.Torch(torch.nn.Linear(4, 1)), random_state=0)
    ranker.fit(queries).save(tmp_path / "model.podium")
    podium.write_letor(queries, tmp_path / "data.txt")
    refused = podium_command("rank", "model.podium", "data.txt")
    assert refused.code == 2
    assert "--module FILE:NAME" in refused.err
    ranked = podium_command("rank", "model.podium", "data.txt", "--module", f"{module}:{name}")
    assert ranked.code == 0, ranked.err
    np.testing.assert_allclose([float(line) for line in ranked.out.split()], ranker.predict(queries), rtol=1e-6)
    given = ("--format", "onnx", "-o", "model.onnx", "--check", "data.txt", "--module", f"{module}:{name}")
    exported = podium_command("export", "model.podium", *given)
    assert exported.code == 0, exported.err
