"""How engines are found, started and asked.

The jars are not part of the project. They are in ``$PODIUM_ENGINES`` or ``../shared/engines``, or where ``make
engines`` collects them, one folder ``lib`` per engine. Where they are found, they must work; without them, or without
a Java compiler, the tests are skipped.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

HERE = Path(__file__).parent


def jars(engine: str) -> str:
    """Return the class path of an engine; skip the test if there is none."""
    if shutil.which("javac") is None:
        pytest.skip("no Java compiler (openjdk-17-jdk-headless)")
    given = os.environ.get("PODIUM_ENGINES")
    for place in [given] if given else [HERE.parents[2] / "shared" / "engines", HERE]:
        if any(Path(place, engine, "lib").glob("*.jar")):
            return str(Path(place, engine, "lib", "*"))
        if place != HERE and Path(place).is_dir():
            raise AssertionError(f"{place} has no jars of {engine}: a folder of engines that is found must work")
    if given:
        raise AssertionError(f"PODIUM_ENGINES={given} is not a folder")
    pytest.skip("the engines' jars were not found: make engines, or set PODIUM_ENGINES to their folder")


def run_java(engine: str, program: str, *arguments: str | Path) -> np.ndarray:
    """Return the scores that a program prints, one per line."""
    command = ["java", "-cp", jars(engine), str(HERE / engine / program), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    if done.returncode != 0:
        raise AssertionError(f"{program} failed: {done.stderr[-2000:]}")
    return np.array([float(line) for line in done.stdout.splitlines()])


class Solr:
    """A Solr server with one collection, ``ranking``, whose documents have a field per feature."""

    def __init__(self, url: str) -> None:
        self.core = f"{url}/ranking"

    def call(self, path: str, content: Any = None, method: str | None = None) -> Any:
        """Send a request, with ``content`` as JSON, and return the answer; raise AssertionError with what Solr says."""
        data = None if content is None else content if isinstance(content, bytes) else json.dumps(content).encode()
        request = urllib.request.Request(f"{self.core}/{path}", data, {"Content-Type": "application/json"})
        request.method = method or ("GET" if data is None else "POST")
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            raise AssertionError(error.read().decode()[-2000:]) from None

    def index(self, X: np.ndarray, names: Sequence[str], query: str, ids: Sequence[str] | None = None) -> None:
        """Replace all documents by these rows; a NaN is a field that the document lacks."""
        ids = [str(i) for i in range(len(X))] if ids is None else ids
        documents = [
            {"id": key, "qid": query, **{name: float(x) for name, x in zip(names, row, strict=True) if x == x}}
            for key, row in zip(ids, X, strict=True)
        ]
        self.call("update", {"delete": {"query": "*:*"}})
        self.call("update?commit=true", documents)

    def put(self, model: Path) -> None:
        """Put an exported model and its features into the stores, as FILE.README.md says."""
        content = json.loads(model.read_text(encoding="utf-8"))
        features = model.with_name(f"{model.name}.features.json").read_bytes()
        self.call(f"schema/model-store/{content['name']}", method="DELETE")
        self.call(f"schema/feature-store/{content['store']}", method="DELETE")
        self.call("schema/feature-store", features, method="PUT")
        self.call("schema/model-store", model.read_bytes(), method="PUT")

    def rerank(self, query: str, model: str, rows: int, fields: str = "id,score") -> list[dict[str, Any]]:
        """Return the documents of a query in the order of a model."""
        asked = {"q": f"qid:{query}", "rq": f"{{!ltr model={model} reRankDocs={rows}}}", "fl": fields, "rows": rows}
        return self.call(f"select?{urllib.parse.urlencode(asked)}")["response"]["docs"]

    def scores(self, model: Path, X: np.ndarray, names: Sequence[str]) -> np.ndarray:
        """Return the scores of rows by an exported model; the order of the answer is that of its scores."""
        self.put(model)
        self.index(X, names, "1")
        name = json.loads(model.read_text(encoding="utf-8"))["name"]
        found = self.rerank("1", name, len(X))
        scores = np.full(len(X), np.nan)
        scores[[int(document["id"]) for document in found]] = [document["score"] for document in found]
        assert [document["score"] for document in found] == sorted(scores, reverse=True)
        return scores
