"""Predicting and fitting in several threads at once, and in processes that were forked."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import podium
import podium.serving

FORK = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")

IN_A_CHILD = """
import multiprocessing, os, sys, warnings
import numpy as np
import podium
warnings.simplefilter("ignore", DeprecationWarning)

queries = podium.make_queries(n_queries=250, n_documents=50, n_features=50, random_state=0)  # enough for threads
os.sched_getaffinity = lambda _: {0, 1}
trees = podium.LambdaMART(n_trees=2, n_leaves=7, random_state=0).fit(queries)
linear = podium.ListNet().fit(queries)
expected = [trees.predict(queries), linear.predict(queries)]

def work(_=None):
    assert (trees.predict(queries) == expected[0]).all()
    assert (linear.predict(queries) == expected[1]).all()
    assert (podium.ListNet().fit(queries).coef_ == linear.coef_).all()
    again = podium.LambdaMART(n_trees=2, n_leaves=7, random_state=0).fit(queries)
    assert (again.predict(queries) == expected[0]).all()
    assert np.isfinite(again.contributions(queries.take(np.arange(25)))).all()
    return True

child = os.fork()
if child == 0:
    code = 1
    try:
        work()
        code = 0
    finally:
        os._exit(code)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
with multiprocessing.get_context("fork").Pool(1) as pool:
    assert pool.map(work, [0]) == [True]
print("done")
"""


@FORK
def test_a_forked_child_predicts_and_fits_everything_that_its_parent_did() -> None:
    done = subprocess.run([sys.executable, "-c", IN_A_CHILD], capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == "done", done.stderr


@pytest.mark.parametrize("kind", ["linear", "trees"])
def test_several_threads_predict_at_once(kind, tmp_path) -> None:
    queries = podium.make_queries(n_queries=40, n_documents=30, n_features=8, random_state=0)
    ranker = podium.ListNet() if kind == "linear" else podium.LambdaMART(n_trees=20, random_state=0)
    ranker.fit(queries).save(tmp_path / "model.podium")
    scorer = podium.serving.load(tmp_path / "model.podium")
    parts = [queries.features[a:b] for a, b in zip(queries.offsets[:-1], queries.offsets[1:], strict=True)]
    expected, served = ranker.predict(queries), [scorer.score(rows) for rows in parts]

    def call(i):
        np.testing.assert_array_equal(ranker.predict(queries), expected)
        np.testing.assert_array_equal(scorer.score(parts[i % len(parts)]), served[i % len(parts)])

    with ThreadPoolExecutor(8) as pool:
        assert len(list(pool.map(call, range(200)))) == 200
