"""What is said when the cache of compiled functions is cold. Compiling takes long, hence not among the quick tests."""

from __future__ import annotations

import os
import subprocess
import sys

import podium


def test_a_cold_cache_is_reported_once_and_compile_fills_it(tmp_path) -> None:
    path = tmp_path / "model.podium"
    queries = podium.make_queries(n_queries=12, n_documents=15, n_features=5, random_state=0)
    podium.LambdaMART(n_trees=3, min_documents_in_leaf=5).fit(queries).save(path)
    code = (
        "import sys, numpy, podium.serving; scorer = podium.serving.load(sys.argv[1]);"
        "rows = numpy.zeros((2, 5), 'f'); scorer.score(rows); scorer.score(rows)"
    )

    def run(cache, *command):
        done = subprocess.run(
            [sys.executable, *command],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / cache)},
        )
        return done.stdout, done.stderr

    assert run("cold", "-c", code, path)[1].count("podium compile MODEL") == 1
    assert run("cold", "-c", code, path)[1] == ""
    assert "float32" in run("filled", "-m", "podium", "compile", path)[0]
    assert run("filled", "-c", code, path)[1] == ""
