"""LambdaMART that learns what places did beside its trees."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import pytest

import podium
from podium.clicks import PositionBias, simulate
from podium.losses import LambdaRankLoss
from podium.rankers.debiased import LearnedBias
from podium.scorers import Trees

QUERIES = podium.make_queries(n_queries=300, n_documents=20, n_features=10, random_state=1)
TRAIN, TEST = QUERIES.take(range(100)), QUERIES.take(range(100, 300))
CLICKS = simulate(TRAIN, TRAIN.features[:, 0], exponent=1.5, sessions=15_000, random_state=2)
TREES: dict[str, Any] = {"n_trees": 40, "n_leaves": 5, "learning_rate": 0.1, "random_state": 0}


@pytest.fixture(scope="module", params=["pairwise", "additive"])
def debiased(request: pytest.FixtureRequest) -> podium.LambdaMART:
    return podium.LambdaMART(debias=request.param, **TREES).fit(CLICKS)


@pytest.fixture(scope="module")
def naive() -> float:
    return podium.LambdaMART(**TREES).fit(CLICKS, bias="naive").score(TEST)


def test_rankings_are_better_than_by_click_rates(debiased: podium.LambdaMART, naive: float) -> None:
    known = podium.LambdaMART(**TREES).fit(CLICKS, bias=PositionBias.known(CLICKS.truth.propensities)).score(TEST)
    # When this was written: naive .859, pairwise .875, additive .893, known .894.
    assert debiased.score(TEST) > naive + 0.01
    assert debiased.score(TEST) > known - 0.03


def test_places_are_found_to_fade(debiased: podium.LambdaMART) -> None:
    bias = debiased.bias_
    assert len(debiased.loss_parameters_) == 0
    if debiased.debias == "additive":
        assert bias.propensities_ is None
        assert bias.additive_[0] == 0
        assert (np.diff(bias.additive_[:5]) < 0).all()
        return
    assert bias.additive_ is None
    assert bias.propensities_[0] == bias.negative_propensities_[0] == 1
    assert (np.diff(bias.propensities_[:5]) < 0).all()
    assert PositionBias.known(bias.propensities_).weights(CLICKS).shape == (CLICKS.queries.n_documents,)


def test_without_position_bias_none_is_found() -> None:
    fair = simulate(TRAIN, TRAIN.features[:, 0], exponent=0.0, shuffle=3.0, sessions=8_000, top=5)
    plus = podium.LambdaMART(debias="pairwise", **TREES).fit(fair).bias_
    # Without any bias, places still differ a little by what is shown there.
    assert np.abs(np.log(plus.propensities_)).max() < 0.35
    added = podium.LambdaMART(debias="additive", **TREES).fit(fair).bias_.additive_
    assert np.abs(added).max() < 0.35


def test_a_large_penalty_finds_less(debiased: podium.LambdaMART) -> None:
    held = podium.LambdaMART(debias=debiased.debias, debias_penalty=3.0, **TREES).fit(CLICKS).bias_
    if debiased.debias == "additive":
        assert np.abs(held.additive_).max() < 0.5 * np.abs(debiased.bias_.additive_).max()
    else:
        assert (held.propensities_[1:] > debiased.bias_.propensities_[1:]).all()


def test_saved_and_loaded(debiased: podium.LambdaMART, tmp_path: Path) -> None:
    debiased.save(tmp_path / "a.podium")
    again = podium.load(tmp_path / "a.podium")
    np.testing.assert_array_equal(again.predict(TEST), debiased.predict(TEST))
    for name, value in vars(debiased.bias_).items():
        found = getattr(again.bias_, name)
        assert (found is None) == (value is None)
        np.testing.assert_array_equal(found, value)
    unbiased = again.set_params(debias=None).fit(TRAIN)
    assert not hasattr(unbiased, "bias_")


def test_any_ranker_of_lambdarank_on_trees() -> None:
    preset = podium.LambdaMART(debias="pairwise", **TREES).fit(CLICKS)
    loss = LambdaRankLoss(truncated_ideal=True, debias="pairwise", random_state=0)
    sampled: dict[str, Any] = {"query_fraction": None, "feature_fraction": None}
    scorer = Trees(n_trees=40, n_leaves=5, learning_rate=0.1, min_documents_in_leaf=None, **sampled)
    ranker = podium.Ranker(loss, scorer, podium.training.Boosting(50), normalize=None, random_state=0).fit(CLICKS)
    np.testing.assert_array_equal(ranker.predict(TEST), preset.predict(TEST))
    np.testing.assert_array_equal(ranker.bias_.propensities_, preset.bias_.propensities_)


def test_row_order_is_no_information() -> None:
    turn = np.arange(len(CLICKS))[::-1]
    turn = turn[np.argsort(CLICKS.query[turn], kind="stable")]  # queries and documents keep their numbers
    turned = podium.Clicks.of_rows(
        CLICKS.queries, CLICKS.row[turn], CLICKS.position[turn], CLICKS.clicks[turn], CLICKS.impressions[turn],
        CLICKS.session.max() - CLICKS.session[turn],
    )  # fmt: skip
    ours, theirs = (podium.LambdaMART(debias="pairwise", **TREES).fit(clicks) for clicks in (CLICKS, turned))
    np.testing.assert_array_equal(ours.predict(TEST), theirs.predict(TEST))


def test_validation_early_stopping_repeats_weights_and_going_on() -> None:
    ranker = podium.LambdaMART(debias="pairwise", patience=5, **{**TREES, "n_trees": 60}).fit(CLICKS, eval_set=TEST)
    assert ranker.model_.n_trees == ranker.convergence_.best_iter
    several = podium.LambdaMART(debias="additive", repeats=2, **{**TREES, "n_trees": 5}).fit(CLICKS)
    assert several.bias_.additive_.shape == (10,)
    more = podium.LambdaMART(debias="additive", **{**TREES, "n_trees": 5}).fit(CLICKS, init=several)
    assert more.model_.n_trees == 15
    only = np.zeros(len(CLICKS.queries))
    only[:3] = 1.0
    few = podium.LambdaMART(debias="pairwise", **{**TREES, "n_trees": 2})
    assert few.fit(CLICKS, sample_weight=only).bias_ is not None


def test_what_it_cannot_do_is_said() -> None:
    ranker = podium.LambdaMART(debias="pairwise", **TREES)
    with pytest.raises(ValueError, match="give session= with it, or estimate the bias before"):
        ranker.fit(CLICKS.aggregated())
    with pytest.raises(ValueError, match="from clicks alone: leave out bias="):
        ranker.fit(CLICKS, bias="naive")
    with pytest.raises(ValueError, match="from clicks alone: leave out judged queries"):
        ranker.fit([TRAIN, CLICKS], click_share=0.5)
    with pytest.raises(ValueError, match=r"train trees on a log, ranker\.fit\(clicks\)"):
        ranker.fit(TRAIN)
    with pytest.raises(ValueError, match=r"works beside boosted trees: give the ranker podium\.scorers\.Trees"):
        podium.Ranker(LambdaRankLoss(debias="additive")).fit(CLICKS)
    with pytest.raises(ValueError, match="debias must be one of None, 'pairwise', 'additive'"):
        podium.LambdaMART(debias="other").fit(CLICKS)
    all_clicked = podium.Clicks([[1.0], [2.0]], [1, 1], qid=[0, 0], position=[1, 2], document=[0, 1], session=[0, 0])
    with pytest.raises(ValueError, match="no list of the log has both documents that were clicked and others"):
        ranker.fit(all_clicked)


def test_it_is_not_below_lightgbm_with_positions(naive: float) -> None:
    order = np.lexsort((CLICKS.position, CLICKS.session))
    data = lightgbm.Dataset(
        CLICKS.queries.features[CLICKS.row[order]],
        CLICKS.clicks[order],
        group=np.bincount(CLICKS.session),
        position=CLICKS.position[order] - 1,
    )
    settings = {"objective": "lambdarank", "num_leaves": 5, "learning_rate": 0.1, "verbosity": -1, "seed": 0}
    scores = lightgbm.train(settings, data, 40).predict(TEST.features)
    theirs = podium.evaluate(TEST, scores, metrics=["ndcg@10"]).mean["ndcg@10"]
    ours = podium.LambdaMART(debias="additive", **TREES).fit(CLICKS).score(TEST)
    assert theirs > naive
    assert ours > theirs - 0.01


def test_served_models_score_the_same(debiased: podium.LambdaMART, tmp_path: Path) -> None:
    debiased.save(tmp_path / "a.podium")
    served = podium.serving.load(tmp_path / "a.podium")
    np.testing.assert_allclose(served.score(TEST.features[:20]), debiased.predict(TEST.features[:20]), rtol=1e-6)


@pytest.mark.parametrize(
    "arrays",
    [
        {"propensities_": np.ones(3)},
        {"propensities_": np.ones(3), "negative_propensities_": np.ones(2)},
        {"additive_": np.ones((2, 2))},
        {"other": np.ones(3)},
    ],
    ids=str,
)
def test_what_no_ranker_stores_is_refused(arrays: dict[str, np.ndarray]) -> None:
    with pytest.raises(ValueError, match=r"learned bias|negative_propensities_"):
        LearnedBias.from_arrays(arrays)
