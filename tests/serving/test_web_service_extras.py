"""The web service of docs/serving.md, behind a server that preloads and forks, called by eight clients at once."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import podium
import podium.serving

PAGE = Path(__file__).parents[2] / "docs" / "serving.md"


@pytest.fixture(params=["linear", "trees"])
def service(request, tmp_path):
    """Start the service; return its address and the model's path."""
    pytest.importorskip("gunicorn")
    pytest.importorskip("uvicorn")
    queries = podium.make_queries(n_queries=30, n_documents=20, n_features=6, random_state=0)
    ranker = podium.ListNet() if request.param == "linear" else podium.LambdaMART(n_trees=10, random_state=0)
    ranker.fit(queries).save(tmp_path / "model.podium")
    code = next(
        block for block in re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL) if "app(" in block
    )
    (tmp_path / "service.py").write_text(code)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    command = [sys.executable, "-W", "ignore", "-m", "gunicorn", "service:app", "--preload", "--workers", "2"]
    command += ["--worker-class", "uvicorn.workers.UvicornWorker", "--bind", address, "--timeout", "60"]
    root = str(Path(podium.__file__).parents[1])
    environment = {**os.environ, "PODIUM_MODEL": str(tmp_path / "model.podium"), "PYTHONPATH": root}
    with (tmp_path / "log").open("w") as log:
        server = subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=log, stderr=log)
    try:
        deadline = time.monotonic() + 60
        while True:
            try:
                socket.create_connection(address.split(":"), timeout=1).close()
                break
            except OSError:
                assert server.poll() is None, (tmp_path / "log").read_text()
                assert time.monotonic() < deadline
                time.sleep(0.1)
        yield f"http://{address}/", tmp_path / "model.podium"
    finally:
        server.terminate()
        server.wait(30)


def ask(address, documents):
    body = json.dumps({"documents": documents}).encode()
    with urllib.request.urlopen(urllib.request.Request(address, data=body), timeout=60) as answer:
        return json.load(answer)


def test_eight_clients_at_once(service) -> None:
    address, path = service
    scorer = podium.serving.load(path)
    rng = np.random.default_rng(0)
    lists = [rng.normal(size=(int(rng.integers(1, 100)), 6)) for _ in range(80)]

    def call(rows):
        answer = ask(address, rows.tolist())
        expected = scorer.score(rows)
        assert answer["scores"] == expected.tolist()
        assert answer["best_first"] == np.argsort(-expected, kind="stable").tolist()

    with ThreadPoolExecutor(8) as clients:
        assert len(list(clients.map(call, lists))) == 80
    with pytest.raises(urllib.error.HTTPError, match="422"):
        ask(address, [[1.0, 2.0]])
