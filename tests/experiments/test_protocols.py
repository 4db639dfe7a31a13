"""How queries become parts."""

from __future__ import annotations

import numpy as np
import polars
import pytest

import podium
from podium.experiments.plan.protocol import KFold, Letor, RepeatedHoldout, TimeSplit, parse_protocol
from podium.experiments.plan.sources import open_source


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("letor", Letor()),
        ("kfold", KFold(5)),
        ("kfold:7", KFold(7)),
        ("holdout:3,0.25", RepeatedHoldout(3, 0.25, 0.2)),
        ("time", TimeSplit()),
        ("time:day,0.1,0.3,2", TimeSplit("day", 0.1, 0.3, 2)),
        ("time:,0.1", TimeSplit(None, 0.1)),
    ],
)
def test_a_protocol_and_its_text(text, value):
    assert parse_protocol(text) == parse_protocol(str(value)) == parse_protocol(value) == value
    assert value.describe()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("folds", "no protocol; there are letor, kfold"),
        ("kfold:a", "a number cannot be read"),
        ("kfold:3,4", "no protocol"),
        ("holdout:0", "whole number from 1"),
        ("holdout:1,0.6,0.5", "leave some to train"),
        ("time:t,0.3,0.2,3", "leave some to train"),
    ],
)
def test_texts_that_are_none(text, message):
    with pytest.raises(ValueError, match=message):
        parse_protocol(text)


@pytest.mark.parametrize("protocol", [KFold(4), RepeatedHoldout(3), TimeSplit(n=2)], ids=str)
def test_no_query_is_in_two_parts(protocol):
    folds = protocol.parts(23, None, 0)
    for parts in folds.values():
        together = np.concatenate(parts)
        assert len(np.unique(together)) == len(together)
        assert min(map(len, parts)) > 0
    again = protocol.parts(23, None, 0)
    assert all(a.tolist() == b.tolist() for name in folds for a, b in zip(folds[name], again[name], strict=True))
    if not isinstance(protocol, TimeSplit):
        assert any(folds[name][0].tolist() != protocol.parts(23, None, 1)[name][0].tolist() for name in folds)


def test_holdout_shares():
    train, valid, test = RepeatedHoldout(2, test=0.3, valid=0.1).parts(20, None, 0)["repeat 2"]
    assert (len(train), len(valid), len(test)) == (12, 2, 6)
    with pytest.raises(ValueError, match="2 queries are too few"):
        RepeatedHoldout().parts(2, None, 0)


def test_time_goes_forward():
    times = np.array([50, 10, 40, 20, 30, 60, 70, 80, 90, 100])
    parts = TimeSplit(n=2).parts(10, times, 0)
    # by hand: in order of time the queries are 1 3 4 2 0 5 6 7 8 9; each window tests two and validates on two
    assert [p.tolist() for p in parts["window 1"]] == [[1, 3, 4, 2], [0, 5], [6, 7]]
    assert [p.tolist() for p in parts["window 2"]] == [[1, 3, 4, 2, 0, 5], [6, 7], [8, 9]]
    with pytest.raises(ValueError, match="nothing to train on"):
        TimeSplit(test=0.25, valid=0.2, n=3).parts(7, None, 0)


@pytest.mark.parametrize(
    "days", [["2024-02-01", "2023-01-01", "2024-01-31", "2024-03-01"], [30, 9, 29, 100]], ids=["dates", "numbers"]
)
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_column_of_times_is_no_feature(tmp_path, days, suffix):
    path = tmp_path / f"t.{suffix}"
    columns = {"qid": [7, 7, 3, 9, 5], "label": [0, 1, 1, 0, 2], "x": [0.1, 0.2, 0.3, 0.4, 0.5]}
    frame = polars.DataFrame(columns | {"when": [days[1], days[0], *days[1:]]})  # query 7 is as late as its second row
    frame.write_csv(path) if suffix == "csv" else frame.write_parquet(path)
    source = open_source(path, protocol=TimeSplit("when", 0.25, 0.25), random_state=0, columns={})
    train, valid, test = source.load("latest")
    assert [part.qids.tolist() for part in (train, valid, test)] == [[3, 9], [7], [5]]
    assert train.n_features == 1


def test_text_beside_a_column_of_times_is_left_out_by_name(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("qid,label,x,title,when\n" + "".join(f"{q},1,0.5,foo,2024-01-0{q}\n" for q in range(1, 6)))
    with pytest.warns(UserWarning, match="columns without numbers are left out: 'title'$"):
        source = open_source(path, protocol=TimeSplit("when", 0.2, 0.2), random_state=0, columns={})
    assert source.load("latest")[0].feature_names == ("x",)


def test_times_that_cannot_be(tmp_path, queries, folder_of_folds):
    def source(data, protocol):
        return open_source(data, protocol=protocol, random_state=0, columns={})

    letor = tmp_path / "q.txt"
    podium.write_letor(queries, letor)
    for data in (queries, letor):
        with pytest.raises(ValueError, match="a column of times is for CSV and Parquet"):
            source(data, TimeSplit("when"))
    table = tmp_path / "q.csv"
    polars.DataFrame({"qid": [1, 2], "label": [0, 1], "x": [0.5, 0.6], "t": [1, None]}).write_csv(table)
    with pytest.raises(ValueError, match=r"q.csv: column 't', row 1 .*a time is missing"):
        source(table, TimeSplit("t"))
    with pytest.raises(ValueError, match="has folds of its own"):
        source(folder_of_folds, KFold(3))


def test_a_query_that_is_tested_several_times_counts_once(queries):
    comparison = podium.compare(queries, [], metrics=["map"], protocol=RepeatedHoldout(6, 0.4, 0.2), jobs=1)
    frame = comparison.per_query.filter(method="best-feature")
    assert frame.height == 6 * 12
    means = frame.group_by("qid", maintain_order=True).agg(polars.col("map").mean())
    assert comparison.qids == means["qid"].to_list()
    assert comparison.values("best-feature", "map").tolist() == pytest.approx(means["map"].to_list())
    assert comparison.n_queries == means.height < 6 * 12
    row = next(row for row in comparison.rows if row.method == "best-feature")
    assert row.estimates["map"].mean == pytest.approx(means["map"].mean())
