"""Published figures: that they are there, and shown only beside the data they are for."""

from __future__ import annotations

import pytest

import podium
from podium.data.io.folds import find_folds, read_fold
from podium.experiments.result.published import combined, for_dataset, table, tables
from podium.experiments.run.seal import fingerprint
from podium.rankers.methods import METHODS


def test_the_tables_are_whole():
    for name in tables():
        found = table(name)
        assert found.title
        assert found.source
        assert found.note
        assert not found.exact
        assert found.label.startswith("context")
        for row in found.rows:
            assert row.figures
            assert all(0 < value < 1 for value in row.figures.values())
            for metric in row.figures:
                podium.metric(metric)
    with pytest.raises(ValueError, match="no published figures are called 'x'"):
        table("x")


def test_the_best_official_figures():
    # The highest of the columns of the official LETOR 2.0 table, read by eye.
    letor = table("ohsumed-letor2")
    best = {m: letor.best(m) for m in ("ndcg@1", "ndcg@3", "ndcg@5", "ndcg@10", "map", "mrr")}
    assert best == {
        "ndcg@1": ("MHR-BC", 0.5519),
        "ndcg@3": ("FRank", 0.4995),
        "ndcg@5": ("FRank", 0.4688),
        "ndcg@10": ("ListNet", 0.4489),
        "map": ("ListNet", 0.4496),
        "mrr": None,
    }
    ours = {row.method: row.ours for row in letor.rows}
    assert ours["MHR-BC"] is None
    assert {"listnet", "ranksvm"} <= {name for name in ours.values() if name in METHODS}


def test_the_fingerprint_is_of_the_content(folder_of_folds, tmp_path):
    test = read_fold(find_folds(folder_of_folds)[0]).test
    copy = tmp_path / "copy.txt.gz"
    podium.write_letor(test, copy)
    assert fingerprint(podium.read_letor(copy)) == fingerprint(test)
    labels = test.labels.copy()
    labels[0] = 1 - labels[0]
    others = [test.with_labels(labels), test.with_features(test.features[:, :-1]), test.take(range(1, len(test)))]
    assert len({fingerprint(test), *map(fingerprint, others)}) == 4
    assert combined(["a", "b"]) == combined(["b", "a"]) != combined(["a"])


def test_ohsumed_is_known_by_its_content(shared_data):
    parts = [fingerprint(read_fold(fold).test) for fold in find_folds(shared_data / "ohsumed")]
    exact, context = for_dataset(combined(parts))
    assert exact.exact
    assert exact.title == "OHSUMED, LETOR 2.0"
    assert not context.exact
    assert "other data" in context.label
    assert for_dataset(combined(parts[:4])) == []


def test_relatives_are_context_and_strangers_nothing(queries):
    assert [found.exact for found in for_dataset("", "ohsumed-45")] == [False]
    assert len(for_dataset("", "ml-100k")) == 3
    assert for_dataset("", "mine") == []
    comparison = podium.compare(queries, [], metrics=["map"], folds=3, jobs=1)
    assert comparison.published == []
    assert comparison.to_dict()["published"] == []
