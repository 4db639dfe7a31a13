"""A metric that gives every order the same value chooses nothing, in comparisons and within fits, and that is said."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest

import podium
from podium import Queries
from podium.experiments.plan.judges import judges
from podium.experiments.plan.protocol import KFold
from podium.experiments.plan.sources import DealtQueries
from podium.metrics import metric

from ..feature_ranker import Feature

REASON = "cannot tell methods apart here: grades begin at 1, so that every document counts as relevant"


@pytest.fixture(scope="module")
def stars(queries):
    """Grades from 1 to 3: all relevant, so MAP and MRR are 1 whatever the order."""
    return Queries(queries.features, queries.labels + 1, sizes=queries.sizes)


@pytest.fixture(scope="module")
def one_grade(queries):
    return Queries(queries.features, np.repeat(np.arange(len(queries)) % 3, queries.sizes), sizes=queries.sizes)


class Lines:
    """Listens like a command that was told to be quiet."""

    def __init__(self):
        self.warned = []

    def note(self, text): ...

    def start(self, total, done): ...

    def finished(self, text, seconds_left=None): ...

    def warn(self, text):
        self.warned.append(text)


def test_the_next_metric_that_tells_is_primary_and_the_others_are_marked(stars, tmp_path):
    told = Lines()
    found = podium.compare(
        stars,
        {"mine": (Feature(), {"number": [0, 1, 2]})},
        metrics=["map", "ndcg@5", "mrr"],
        folds=3,
        jobs=1,
        out=tmp_path,
        progress=told,
    )
    assert found.primary == "ndcg@5"
    assert told.warned == [f"map {REASON}", f"mrr {REASON}", "ndcg@5 is the primary metric instead of map"]
    assert found.to_dict()["notes"] == [f"map {REASON}", f"mrr {REASON}"]
    for text in (str(found), found.to_markdown(), found.to_latex(), found.to_html()):
        assert "map*" in text
        assert "mrr*" in text
        assert "ndcg@5*" not in text
        assert f"map {REASON}" in " ".join(text.split())
    assert f"map {REASON}" in found.table()["notes"][0]
    assert not any(found.leads(row, "map") for row in found.rows)
    # the choice of settings: not always the first, as a metric without differences would choose
    assert {r.parameters["number"] for r in found.results if r.method == "mine"} != {0}
    assert podium.experiments.Comparison.load(tmp_path).notes == found.notes


def test_without_a_listener_it_is_a_warning(stars):
    with pytest.warns(UserWarning, match=r"map cannot tell|primary metric instead"):
        found = podium.compare(stars, {"a": Feature()}, metrics=["map"], folds=3, jobs=1)
    assert found.metrics == ["map", "ndcg@10"]  # none of those asked for tells: NDCG is added


def test_a_search_warns_of_it_without_a_listener(stars):
    with pytest.warns(UserWarning, match=r"map cannot tell|ndcg@10 chooses instead"):
        found = podium.tune("listnet", stars, metric="map", space={"l2": [0.001, 0.1]}, folds=2)
    assert found.tuning_.metric.name == "ndcg@10"


def test_a_primary_metric_that_cannot_tell_is_an_error_and_nothing_at_all_stops(stars, one_grade):
    with pytest.raises(ValueError, match=rf"map {REASON}, so it cannot be the primary metric; ndcg@10"):
        podium.compare(stars, {"a": Feature()}, folds=3, jobs=1, primary="map")
    with pytest.raises(ValueError, match=r"no metric can tell methods apart here .* all documents have the same grade"):
        podium.compare(one_grade, {"a": Feature()}, folds=3, jobs=1)


def test_labels_of_test_parts_have_no_say(queries):
    """One fold whose training and validation parts have one grade per list, while the test part has several."""

    class OneFold(DealtQueries):
        def load(self, fold):
            train, validation, test = super().load(fold)
            flat = [Queries(part.features, np.ones(part.n_documents), sizes=part.sizes) for part in (train, validation)]
            return *flat, test

    with pytest.raises(ValueError, match="no metric can tell"):
        judges(["ndcg@10"], "standard", None, OneFold(queries, "toy", KFold(3), 0))
    assert judges("map", "standard", None, DealtQueries(queries, "toy", KFold(3), 0)).silent == {}


def test_ratings_are_compared_by_a_metric_that_tells():
    told, rng = Lines(), np.random.default_rng(0)
    users, items = np.repeat(np.arange(12), 15), np.tile(np.arange(15), 12)
    ratings = podium.Ratings(users, items, rng.integers(1, 6, len(users)))
    options = {"n": 8, "replicates": 1, "min_test": 5, "jobs": 1, "metrics": ["hit@50", "ndcg@5"], "progress": told}
    found = podium.compare_ratings(ratings, ["item-mean"], **options)[8]
    assert found.primary == "ndcg@5"
    # a hit within 50 of a dozen is certain
    assert told.warned[0] == f"given-8: hit@50 cannot tell methods apart here: {found.configuration.silent['hit@50']}"
    with pytest.raises(ValueError, match="hit@50 cannot tell"):
        podium.compare_ratings(ratings, ["item-mean"], primary="hit@50", **options)


@pytest.mark.parametrize("ranker", [podium.GBDT(n_trees=3, random_state=0), podium.BestFeature("map")])
def test_within_a_fit_another_metric_chooses_with_a_warning(ranker, stars, queries):
    with pytest.warns(UserWarning, match="map cannot tell .*; ndcg@10 chooses instead"):
        warned = ranker.fit(stars, eval_set=stars, eval_metric="map").predict(stars)
    if isinstance(ranker, podium.BestFeature):
        by_ndcg = podium.BestFeature(metric("ndcg@10")).fit(stars).predict(stars)
    else:
        by_ndcg = podium.GBDT(n_trees=3, random_state=0).fit(stars, eval_set=stars).predict(stars)
    assert warned.tolist() == by_ndcg.tolist()


def test_validation_queries_that_tell_nothing_stop_nothing(queries, one_grade):
    ranker = podium.GBDT(n_trees=3, random_state=0)
    with pytest.warns(UserWarning, match="no metric can tell .* the validation queries choose nothing"):
        blind = ranker.fit(queries, eval_set=one_grade).predict(queries)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert blind.tolist() == ranker.fit(queries).predict(queries).tolist()


def test_the_command_says_it_though_quiet(stars, tmp_path, capsys):
    from podium.cli.main import main

    podium.write_letor(stars, tmp_path / "stars.txt")
    argv = ["compare", str(tmp_path / "stars.txt"), "--methods", "best-feature", "--folds", "3", "--jobs", "1"]
    argv += ["--out", str(tmp_path / "run"), "--quiet"]
    assert main([*argv, "--json"]) == 0
    out, err = capsys.readouterr()
    assert err.splitlines() == [f"map {REASON}", "ndcg@10 is the primary metric instead of map"]
    assert json.loads(out)["notes"] == [f"map {REASON}"]
    assert main([*argv, "--primary", "map"]) == 2
    assert f"map {REASON}" in capsys.readouterr().err
