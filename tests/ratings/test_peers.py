"""Methods of other packages: what they learn is ranked as they rank it, where they are installed."""

from __future__ import annotations

import importlib
import sys
import warnings
from typing import Any

import numpy as np
import pytest

import podium
from podium.ratings.estimator import RATING_METHODS

METHODS = [name for name in RATING_METHODS if "." in name]


@pytest.fixture(scope="module")
def train() -> podium.Ratings:
    """Numbers with gaps: user 0 and item 3 have no rating."""
    ratings = podium.make_ratings(25, 20, 300, random_state=1, min_ratings=8)
    return ratings.take((ratings.user != 0) & (ratings.item != 3))


def imported(name: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip(name, reason="a package of benchmarks/requirements.txt", exc_type=ImportError)


def fitted(method: str, train: podium.Ratings, **more: Any) -> podium.PeerRanker:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what other packages warn of when they are imported is their own affair
        return podium.PeerRanker(method, n_factors=4, iterations=5, random_state=0, **more).fit(train)


def test_all_peers_are_searched_with_as_many_settings_as_ours() -> None:
    assert METHODS == ["cornac.bpr", "cornac.wmf", "implicit.als", "implicit.bpr", "surprise.baseline", "surprise.svd"]
    for name in METHODS:
        assert np.prod([len(list(values)) for values in RATING_METHODS[name].grid.values()]) == 6


@pytest.mark.parametrize("method", METHODS)
def test_a_missing_package_is_named(method: str, train: podium.Ratings, monkeypatch: pytest.MonkeyPatch) -> None:
    package = "tensorflow" if method == "cornac.wmf" else method.partition(".")[0]
    for name in [name for name in sys.modules if name.partition(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    named = "scikit-surprise" if package == "surprise" else package
    with pytest.raises(ModuleNotFoundError, match=f"{method} is trained by {named}, which is not installed"):
        podium.PeerRanker(method).fit(train)


@pytest.mark.parametrize("method", ["implicit.als", "implicit.bpr"])
def test_implicit_recommends_the_same(method: str, train: podium.Ratings) -> None:
    imported("implicit")
    ranker = fitted(method, train, relevant_from=3)
    seen = train.at_least(3).to_csr(np.ones((train.values >= 3).sum(), np.float32))
    name = {"implicit.als": "AlternatingLeastSquares", "implicit.bpr": "BayesianPersonalizedRanking"}[method]
    theirs = getattr(importlib.import_module(method), name)(factors=4, iterations=5, num_threads=1, random_state=0)
    theirs.fit(seen, show_progress=False)
    ids, scores = theirs.recommend(5, seen[5], N=5)
    ours = ranker.score_matrix([train.user_ids[5]])[0]
    np.testing.assert_allclose(ours[ids], scores, rtol=1e-5)
    again = fitted(method, train, relevant_from=3)
    assert (again.score_matrix(train.user_ids) == ranker.score_matrix(train.user_ids)).all()


def test_cornac_scores_the_same(train: podium.Ratings) -> None:
    models = imported("cornac.models")
    ranker = fitted("cornac.bpr", train)
    data = importlib.import_module("cornac.data")
    numbers = {i: i for i in range(25)}, {i: i for i in range(20)}
    columns = train.user.astype(np.int32), train.item.astype(np.int32), train.values.astype(np.float32)
    theirs = models.BPR(k=4, max_iter=5, seed=0, num_threads=1).fit(data.Dataset(25, 20, *numbers, columns))
    ours = ranker.score_matrix(train.user_ids[[5]])[0]
    np.testing.assert_allclose(ours, theirs.score(5), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("method", ["surprise.svd", "surprise.baseline"])
def test_surprise_ranks_the_same(method: str, train: podium.Ratings) -> None:
    surprise = imported("surprise")
    ranker = fitted(method, train)
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"u": train.user, "i": train.item, "r": train.values})
    data = surprise.Dataset.load_from_df(frame, surprise.Reader(rating_scale=(-99, 99))).build_full_trainset()
    theirs = (
        surprise.SVD(n_factors=4, n_epochs=5, random_state=0)
        if method == "surprise.svd"
        else surprise.BaselineOnly({"n_epochs": 5}, verbose=False)
    ).fit(data)
    ours = ranker.score_matrix(train.user_ids[[5]])[0]
    expected = np.array([theirs.predict(5, i).est for i in range(20)])
    np.testing.assert_allclose(ours - ours[0], expected - expected[0], atol=1e-9)  # but for the user's own level


def test_a_peer_is_compared_and_saved(train: podium.Ratings, tmp_path: Any) -> None:
    imported("implicit")
    found = podium.compare_ratings(
        *(train, ["implicit.als"]),
        **{"protocol": "random", "candidates": "catalogue", "replicates": 1, "jobs": 1, "metrics": ["ndcg@5"]},
    )[10]
    assert not found.failed
    assert found.configuration.methods["implicit.als"].fixed == {"relevant_from": 4.0}
    ranker = fitted("implicit.als", train)
    ranker.save(tmp_path / "als.podium")
    loaded = podium.load(tmp_path / "als.podium")
    assert (loaded.score_matrix(train.user_ids) == ranker.score_matrix(train.user_ids)).all()
