"""PyTorch imported before or after Podium has worked: neither slows the other down."""

from __future__ import annotations

import subprocess
import sys

import pytest

MEASURE = """
import time
import podium
{before}
queries = podium.make_queries(n_queries=300, n_documents=50, n_features=30, random_state=0)
podium.ListNet().fit(queries).predict(queries)
podium.LambdaMART(n_trees=3).fit(queries).predict(queries)
import torch

x = torch.ones(20, 20)
for _ in range(200):
    (x @ x).relu()
times = []
for _ in range(300):
    started = time.perf_counter()
    (x @ x).relu()
    times.append(time.perf_counter() - started)
podium.ListNet().fit(queries).predict(queries)
print(sorted(times)[len(times) // 2])
"""


def median(before: str) -> float:
    code = MEASURE.format(before=before)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300)
    return float(done.stdout)


def test_order_of_imports() -> None:
    pytest.importorskip("torch")
    first, later = median("import torch"), median("")
    assert later < 20 * first  # spinning threads made it 90 times slower
