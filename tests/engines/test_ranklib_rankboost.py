"""RankLib's RankBoost beside ours, and the benchmark that runs both packages."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import podium

from .running import jars

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "ranklib.py"


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one fold of 24 lists, whose features are whole numbers from 0 to 10."""
    folder = tmp_path_factory.mktemp("data") / "Fold1"
    folder.mkdir()
    queries = podium.make_queries(n_queries=24, n_documents=12, n_features=4, random_state=0)
    signs = np.sign([np.corrcoef(column, queries.labels)[0, 1] for column in queries.features.T])
    features = queries.features * signs  # more is better
    low, high = features.min(axis=0), features.max(axis=0)
    queries = queries.with_features(np.round(10 * (features - low) / (high - low)).astype(np.float32))
    for i, part in enumerate(("trainingset", "validationset", "testset")):
        podium.write_letor(queries.take(range(8 * i, 8 * i + 8)), folder / f"{part}.txt")
    return folder.parent


def test_the_first_rule_is_ours(data: Path, tmp_path: Path) -> None:
    """With ten even thresholds, rules that only point up and all pairs alike. Later weights differ."""
    train, model = data / "Fold1" / "trainingset.txt", tmp_path / "model.txt"
    options = ["-train", str(train), "-ranker", "2", "-round", "1", "-metric2t", "NDCG@10", "-save", str(model)]
    evaluator = "ciir.umass.edu.eval.Evaluator"
    subprocess.run(["java", "-cp", jars("ranklib"), evaluator, *options, "-silent"], check=True, capture_output=True)
    feature, threshold, weight = map(float, model.read_text().splitlines()[-1].split(":"))
    queries = podium.read_letor(train)
    (rule,) = podium.RankBoost(n_rounds=1, direction="up", weigh="pairs").fit(queries).rules()
    column = queries.features[:, rule.feature]
    assert rule.feature + 1 == feature
    assert np.array_equal(column > rule.threshold, column > threshold)
    assert rule.weight == pytest.approx(weight, rel=1e-9)


def test_the_benchmark_runs_both(data: Path, tmp_path: Path) -> None:
    engines = Path(jars("ranklib")).parent
    kept = tmp_path / "kept.jsonl"
    command = [
        sys.executable,
        str(BENCHMARK),
        "--data",
        str(data),
        "--engines",
        str(engines),
        "--folds",
        "1",
        "--quick",
    ]
    command += ["--methods", "adarank", "--keep", str(kept)]
    first = subprocess.run(command, capture_output=True, text=True, check=True)
    rows = [line.split() for line in first.stdout.splitlines() if line.startswith("adarank")]
    assert [row[1] for row in rows] == ["podium", "RankLib"]
    assert all(0.3 < float(value) <= 1 for row in rows for value in row[2:5])
    again = subprocess.run(command, capture_output=True, text=True, check=True)
    assert again.stdout == first.stdout
    assert again.stderr == ""  # nothing was trained again
