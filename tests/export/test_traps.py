"""Values on and next to thresholds, missing values, names and sizes that are hard to get right."""

from __future__ import annotations

import json
import sqlite3

import lightgbm
import numpy as np
import pytest

import podium
from podium.export.target import find
from podium.export.targets.lightgbm import forest_text
from podium.export.targets.sql import linear_expression, number, quoted
from podium.numerics.trees.forest import Forest
from podium.scorers.linear.scorer import LinearModel
from podium.scorers.trees.model import TreesModel


def exported(model, path, name, **options):
    podium.export(model, path, format=name, **options)
    return next(iter(find(name).runs.values()))


@pytest.mark.parametrize("name", ["lightgbm", "sql"])
def test_decisions_at_thresholds(traps, rows_at_thresholds, tmp_path, name):
    run = exported(traps, tmp_path / "model", name)
    np.testing.assert_array_equal(run(tmp_path / "model", rows_at_thresholds), traps.predict(rows_at_thresholds))
    finite = np.isfinite(traps.model_.forest.threshold)
    wide = np.repeat(rows_at_thresholds[:1], 2 * finite.sum(), axis=0)  # next to thresholds in float64
    feature, threshold = traps.model_.forest.feature[finite], traps.model_.forest.threshold[finite]
    wide[np.arange(len(feature)), feature] = threshold
    wide[len(feature) + np.arange(len(feature)), feature] = np.nextafter(threshold, np.inf)
    np.testing.assert_array_equal(run(tmp_path / "model", wide), traps.predict(wide))


def test_numbers_in_sql_are_exact():
    rng = np.random.default_rng(0)
    values = np.concatenate(
        (rng.standard_normal(3000), np.exp(10 * rng.standard_normal(3000)), [0, -0.5, 1e-310, 1e300])
    )
    connection = sqlite3.connect(":memory:")
    for value in map(float, values):
        assert connection.execute(f"SELECT {number(value)}").fetchone()[0] == value
    connection.close()


def test_names_are_quoted_in_sql(fitted, matrix, queries, tmp_path):
    names = ['a "quoted" name', "select", "two words", "Größe", "semi;colon", "it's"]
    model = fitted(next(iter(matrix.KINDS)))
    for options in ({}, {"table": 'my "table"'}):
        run = exported(model, tmp_path / "score.sql", "sql", feature_names=names, **options)
        features = queries.features.astype(np.float64)
        np.testing.assert_allclose(run(tmp_path / "score.sql", features), model.predict(features), rtol=1e-12)
    text = (tmp_path / "score.sql").read_text()
    assert text.startswith("SELECT d.*,\n")
    assert text.endswith('FROM "my ""table""" AS d\n')
    assert [f["name"] for f in json.loads((tmp_path / "score.sql.features.json").read_text())] == names


def test_long_sums_are_not_deep_expressions():
    columns = [quoted(f"x{j}") for j in range(1500)]
    connection = sqlite3.connect(":memory:")
    connection.execute(f"CREATE TABLE t ({', '.join(f'{column} REAL' for column in columns)})")
    connection.execute(f"INSERT INTO t VALUES ({', '.join('2' * 1500)})")
    expression = linear_expression(np.full(1500, 0.5), -1.0, columns)
    assert connection.execute(f"SELECT {expression} FROM t").fetchone()[0] == 1499.0
    connection.close()


def test_a_constant_is_exported(tmp_path):
    model = podium.ListNet().fit(np.eye(4), np.arange(4), qid=[0, 0, 1, 1])
    model.model_ = LinearModel.from_coefficients(np.zeros(4), 1.5)
    run = exported(model, tmp_path / "model", "sql")
    assert run(tmp_path / "model", np.eye(4)).tolist() == [1.5] * 4
    rules = podium.RankBoost(n_rounds=2).fit(np.zeros((4, 4)), np.arange(4), qid=[0, 0, 1, 1])
    for name in ("sql", "lightgbm"):
        run = exported(rules, tmp_path / "model", name)
        assert run(tmp_path / "model", np.eye(4)).tolist() == rules.predict(np.eye(4)).tolist()


def test_rules_become_trees_that_lightgbm_reads(tmp_path):
    steps = Forest.of_steps(np.array([0, 2]), np.array([0.5, -1 / 3]), np.array([1.5, 1e-3]), n_features=3)
    booster = lightgbm.Booster(model_str=forest_text(steps))
    assert booster.num_trees() == 2
    assert booster.predict([[0.5, 0, -0.34], [0.6, 0, -0.33]]).tolist() == [0.0, 1.501]


def test_lightgbm_has_no_names_with_spaces(fitted, matrix, tmp_path):
    model = fitted("rules: RankBoost, FRank")
    with pytest.raises(ValueError, match="'two words' cannot be one"):
        podium.export(model, tmp_path / "m", format="lightgbm", feature_names=["a", "b", "two words", "d", "e", "f"])


def test_names_reach_lightgbm(fitted, tmp_path):
    model = fitted("trees: LambdaMART, GBDT, GBRank and others")
    podium.export(model, tmp_path / "m", format="lightgbm", feature_names=list("abcdef"))
    assert lightgbm.Booster(model_file=tmp_path / "m").feature_name() == list("abcdef")
    assert isinstance(model.model_, TreesModel)
    assert "feature_names=a" not in model.model_.text


def test_categories_count_by_their_whole_part(fitted, queries, tmp_path):
    model = fitted("trees with categorical features")
    rows = np.repeat(queries.features[:1].astype(np.float64), 100, axis=0)
    rows[:, 3] = np.linspace(-2.5, 47.25, 100)
    rows[:5, 3] = [np.nan, -0.5, 0.5, -1, 1e6]
    expected = lightgbm.Booster(model_str=model.model_.text).predict(rows)
    assert len(set(expected)) > 2
    for name in ("sql", "lightgbm"):
        run = exported(model, tmp_path / "m", name)
        np.testing.assert_allclose(run(tmp_path / "m", rows), expected, rtol=1e-12)
