"""Comparing an exported model with Python: what counts as a different order, and how it is reported."""

from __future__ import annotations

import itertools
import sys
import time

import numpy as np
import pytest

import podium
from podium.export.check import count_differing
from podium.export.target import find
from podium.scorers.linear.scorer import LinearModel
from podium.scorers.thresholds import StepModel

LINEAR = "linear: ListNet, RankSVM, PMOP and most others, AdaRank"


def brute_force(scores, found, offsets, tie):
    pairs = differing = 0
    for start, stop in itertools.pairwise(offsets.tolist()):
        for i in range(start, stop):
            for j in range(start, stop):
                if scores[i] - scores[j] > tie:
                    pairs += 1
                    differing += found[i] <= found[j]
    return pairs, differing


@pytest.mark.parametrize("tie", [0.0, 0.25, 3.0])
def test_pairs_are_counted_as_by_brute_force(tie):
    rng = np.random.default_rng(0)
    for grid in (1.0, 64.0):  # with and without ties
        offsets = np.array([0, 0, 1, 13, 40])
        scores = np.round(grid * rng.standard_normal(40)) / grid
        found = np.round(grid * (scores + rng.standard_normal(40))) / grid
        assert count_differing(scores, found, offsets, tie) == brute_force(scores, found, offsets, tie)


def test_a_long_list_takes_no_square_of_time():
    rng = np.random.default_rng(0)
    scores, offsets = rng.standard_normal(300_000), np.array([0, 300_000])
    count_differing(scores[:10], scores[:10], np.array([0, 10]), 0.0)  # compiles
    began = time.perf_counter()
    assert count_differing(scores, -scores, offsets, 0.0) == (300_000 * 299_999 // 2,) * 2
    assert time.perf_counter() - began < 10  # pair by pair it would be minutes


@pytest.fixture
def exported(fitted, tmp_path):
    path = tmp_path / "score.sql"
    podium.export(fitted(LINEAR), path, format="sql")
    return fitted(LINEAR), path


def test_a_good_export(exported, queries):
    model, path = exported
    check = podium.check_export(model, path, queries, format="sql")[0]
    assert check
    assert check.by == "SQLite"
    assert not check.emulated
    assert check.n_documents == queries.n_documents
    assert check.largest_difference < 1e-12
    assert "pairs of documents in a different order: 0 of" in str(check)
    assert check.as_dict()["same_order"] is True


def test_a_wrong_file_is_found_out(exported, queries):
    model, path = exported
    text = path.read_text()
    path.write_text(f"-1e0 * ({text})")
    check = podium.check_export(model, path, queries, format="sql", n_shown=3)[0]
    assert not check
    assert check.n_differing == check.n_pairs > 1000
    assert len(check.differing) == 3
    scores = queries.group(model.predict(queries.features.astype(float)))
    for pair in check.differing:
        rows = [int(name.removeprefix("row ")) - 1 for name in pair.documents]
        assert scores[rows].tolist() == list(pair.python)
        assert pair.target == pytest.approx((-pair.python[0], -pair.python[1]))
        assert pair.python[0] > pair.python[1]
    assert f"PAIRS OF DOCUMENTS IN A DIFFERENT ORDER: {check.n_pairs:,} of {check.n_pairs:,}" in str(check)
    assert f"and {check.n_pairs - 3:,} more" in str(check)


def test_documents_without_a_score(exported, queries):
    model, path = exported
    path.write_text(f'CASE WHEN "feature_1" > 0e0 THEN {path.read_text()} END')
    check = podium.check_export(model, path, queries, format="sql")[0]
    assert not check
    assert check.n_undefined == (queries.features[:, 0] <= 0).sum() > 0
    assert np.isfinite(check.largest_difference)
    assert "DOCUMENTS WITHOUT A SCORE" in str(check)


def check_in_solr(features, folder, model):
    data = podium.Queries(features.reshape(-1, 1), features % 3, sizes=[20, 40])
    ranker = (podium.RankBoost(n_rounds=1) if isinstance(model, StepModel) else podium.ListNet(normalize=None)).fit(
        data
    )
    ranker.model_ = model
    podium.export(ranker, folder / "model.json", format="solr")
    (check,) = podium.check_export(ranker, folder / "model.json", data, format="solr")
    assert check.emulated
    assert "emulated in Python (solr does not run here)" in str(check)
    return check


ORDER = np.random.default_rng(0).permutation(60).astype(float)


def test_scores_that_float32_cannot_hold(tmp_path):
    plain = LinearModel.from_coefficients(np.ones(1))
    check = check_in_solr(1e9 + ORDER, tmp_path, plain)  # float32 numbers are 64 apart there
    assert not check
    assert check.n_differing == 0
    assert check.n_differing_ties > 0.3 * check.n_pairs > 200
    assert "TOO COARSE" in str(check)
    assert check_in_solr(1e4 + ORDER, tmp_path, plain)


def test_features_that_float32_cannot_hold(tmp_path):
    def rule(threshold):
        return StepModel(1, np.array([0.0]), np.array([threshold]), np.array([1.0]))

    check = check_in_solr(1e9 + ORDER, tmp_path, rule(1e9 + 40.5))
    assert not check
    assert check.n_differing > 50
    assert check.n_differing_rounded == 0
    assert "because features are rounded to float32" in str(check)
    assert check_in_solr(1e4 + ORDER, tmp_path, rule(1e4 + 40.5))


def test_what_is_not_installed_is_named(fitted, queries, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "xgboost", None)
    model = fitted("rules: RankBoost, FRank")
    podium.export(model, tmp_path / "m.json", format="xgboost")
    with pytest.raises(ModuleNotFoundError, match="needs xgboost, which is not installed: pip install xgboost"):
        podium.check_export(model, tmp_path / "m.json", queries, format="xgboost")


def test_formats_are_suggested():
    with pytest.raises(ValueError, match=r"no format named 'lightbgm'; there are .*Did you mean lightgbm\?"):
        find("lightbgm")
    with pytest.raises(ValueError, match=r"Did you mean sql\?"):
        find("SQLite")
