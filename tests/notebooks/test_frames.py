"""Results as frames of pandas, polars and Arrow; the values are those of the results themselves."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pandas
import polars
import pyarrow
import pytest

import podium


@pytest.fixture(scope="module")
def comparison():
    queries = podium.make_queries(n_queries=9, n_documents=4, n_features=3, random_state=0)
    return podium.compare(queries, ["regression"], folds=3, metrics=["ndcg@5"], jobs=1)


@pytest.mark.parametrize("what", ["table", "per_query", "trials"])
def test_a_comparison_in_each_kind(comparison, what):
    ours = comparison.to_frame(what, "polars")
    assert isinstance(ours, polars.DataFrame)
    theirs, arrow = comparison.to_frame(what, "pandas"), comparison.to_frame(what, "pyarrow")
    assert isinstance(theirs, pandas.DataFrame)
    assert isinstance(arrow, pyarrow.Table)
    assert ours.columns == theirs.columns.tolist() == arrow.column_names
    for name in ours.columns:
        known = ours[name].is_not_null().to_numpy()
        assert theirs[name].notna().tolist() == known.tolist()
        assert theirs[name][known].tolist() == ours[name].drop_nulls().to_list() == arrow[name].drop_null().to_pylist()


@pytest.mark.parametrize("kind", [pandas.DataFrame, polars.DataFrame, pyarrow.table])
def test_frames_come_as_the_kind_that_was_given(kind):
    columns = {"qid": [1, 1, 2, 2, 3, 3], "label": [0, 1] * 3, "x": [0.1, 0.7, 0.2, 0.4, 0.3, 0.9]}
    given = kind(columns)
    queries = podium.Queries.from_frame(given)
    made = podium.compare(queries, ["regression"], folds=3, metrics=["ndcg@5"], jobs=1, search="grid")
    assert {type(made.table()), type(made.per_query), type(made.trials)} == {type(given)}
    assert type(podium.tune("regression", queries, folds=3, jobs=1).trials_) is type(given)
    assert podium.Queries(given, qid=columns["qid"]).frame_kind == queries.take([0, 1]).frame_kind
    assert podium.Queries([[1.0]], qid=[1]).frame_kind is None


def test_an_evaluation_in_each_kind():
    evaluation = podium.evaluate([0, 2, 1, 0], [2.0, 1.0, 2.0, 1.0], qid=["b", "b", "a", "a"], metrics=["mrr", "map"])
    frame = evaluation.to_frame("pandas")
    assert frame["qid"].tolist() == ["b", "a"]
    np.testing.assert_array_equal(frame["mrr"], [0.5, 1.0])
    assert evaluation.to_frame("pyarrow")["mrr"].to_pylist() == [0.5, 1.0]
    assert evaluation.to_frame("polars").columns == ["qid", "mrr", "map"]


def test_other_kinds_are_refused(comparison):
    with pytest.raises(ValueError, match="kind must be one of 'polars', 'pandas', 'pyarrow'; got 'excel'"):
        comparison.to_frame("table", "excel")
    with pytest.raises(ValueError, match="what must be one of 'table', 'per_query', 'trials'; got 'rows'"):
        comparison.to_frame("rows")


def test_pandas_without_pyarrow():
    program = """if True:
        import sys
        sys.modules["pyarrow"] = None  # importing it raises ImportError
        import polars
        from podium.core.showing.frames import as_kind
        frame = polars.DataFrame({"qid": ["a", None], "ndcg@5": [0.5, None], "seed": [1, 2], "trial": [None, 3]})
        print(as_kind(frame, "pandas").fillna(-1).values.tolist())
        try:
            as_kind(frame, "pyarrow")
        except ImportError as error:
            print(error)
    """
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    values, refusal = run.stdout.splitlines()
    assert values == "[['a', 0.5, 1, -1.0], [-1, -1.0, 2, 3.0]]"
    assert refusal.endswith("pip install pyarrow")
