"""The SoftRank preset, and its answer to how likely each rank is."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import podium
from podium.data.queries import Queries
from podium.losses.softrank import rank_distribution
from podium.rankers.presets.softrank import SoftRank

QUICK = {"epochs": 10, "random_state": 0}


@pytest.fixture(scope="module")
def queries() -> Queries:
    return podium.make_queries(40, 8, 5, random_state=0)


@pytest.mark.parametrize("settings", [{}, {"approximation": "binomial"}, {"learn_sigma": True}, {"hidden": 3}])
def test_learns_and_saves(queries: Queries, settings: dict[str, object], tmp_path: Path) -> None:
    ranker = SoftRank(**settings, **QUICK).fit(queries)  # type: ignore[arg-type]
    assert ranker.score(queries) > podium.RandomRanker(random_state=0).fit(queries).score(queries) + 0.15
    assert (ranker.sigma_ == 1) == ("learn_sigma" not in settings)
    ranker.save(tmp_path / "model.podium")
    loaded = podium.load(tmp_path / "model.podium")
    assert loaded.sigma_ == ranker.sigma_
    np.testing.assert_array_equal(loaded.predict(queries), ranker.predict(queries))


def test_sigma_is_chosen_on_validation_queries(queries: Queries) -> None:
    train, valid = queries.take(np.arange(25)), queries.take(np.arange(25, 40))
    ranker = SoftRank(sigma=[0.1, 1.0], **QUICK).fit(train, eval_set=valid)
    assert ranker.chosen_ == {"sigma": ranker.sigma_}


def test_rank_distribution_in_the_order_of_the_rows(queries: Queries) -> None:
    ranker = SoftRank(**QUICK).fit(queries)
    order = np.random.default_rng(0).permutation(20)
    X, qid = queries.features[:20][order], np.repeat(["a", "b"], [8, 12])[order]
    p = ranker.rank_distribution(X, qid=qid)
    assert p.shape == (20, 12)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    for name in ("a", "b"):
        rows = np.flatnonzero(qid == name)
        n = len(rows)
        expected = rank_distribution(ranker.predict(X[rows]), [0, n], ranker.sigma_, "normal")
        np.testing.assert_allclose(p[rows, :n], expected, atol=1e-12)
        assert (p[rows, n:] == 0).all()
        # The document with the highest score is the likeliest to be first.
        assert p[rows, 0].argmax() == ranker.predict(X[rows]).argmax()
    with pytest.raises(ValueError, match="qid"):
        ranker.rank_distribution(X)
