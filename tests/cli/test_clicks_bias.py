"""Estimating a bias from the command line."""

import json

import polars
import pytest

import podium
from podium.clicks import load_bias, simulate


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    queries = podium.make_queries(n_queries=40, n_documents=8, n_features=3)
    c = simulate(queries, queries.labels, top=4, sessions=20_000, aggregate=True)
    path = tmp_path_factory.mktemp("clicks") / "log.parquet"
    ids = c.queries.document_ids[c.row]
    polars.DataFrame(
        {"qid": c.query, "doc": ids, "rank": c.position, "clicks": c.clicks, "impressions": c.impressions}
    ).write_parquet(path)
    return path


@pytest.mark.parametrize("method", ["swaps", "em", "dual", "pairwise", "trust"])
def test_a_curve_is_printed_and_stored(podium_command, log, tmp_path, method):
    out = tmp_path / "bias.json"
    done = podium_command("clicks", "bias", log, "-o", out, "--method", method, "--bootstrap", "5")
    assert done.code == 0, done.err
    theta = load_bias(out).propensities_
    lines = done.out.splitlines()
    assert lines[0].endswith(" places")
    assert lines[2].split()[:2] == ["1", "1.000"]
    assert lines[2].endswith("█" * 40)
    assert lines[3].split()[1] == f"{theta[1]:.3f}"
    assert abs(theta[1] - 0.5) < 0.1


def test_json_and_errors(podium_command, log, tmp_path):
    out = tmp_path / "bias.json"
    done = podium_command("clicks", "bias", log, "-o", out, "--bootstrap", "0", "--json")
    found = json.loads(done.out)
    assert found["propensities"][0] == 1.0
    assert found["intervals"] is None
    done = podium_command("clicks", "bias", log, "-o", out, "--method", "dbn")
    assert done.code == 2
    assert "whole sessions" in done.err
    done = podium_command("clicks", "bias", log, "-o", out, "--position-column", "place")
    assert done.code == 2
    assert "there is no column 'place'" in done.err
