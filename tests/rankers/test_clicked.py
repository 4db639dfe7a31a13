"""Rankers that learn from clicks: what their labels are, what the bias is good for, and clicks beside judgments."""

from typing import Any

import numpy as np
import pytest

import podium
from podium.clicks import PositionBias, simulate
from podium.data.bias import WeightlessError
from podium.losses import DrawnLabels, ListNetLoss, RegressionLoss, SoftmaxLoss
from podium.rankers.clicked import SHARES, clicked_lists

QUERIES = podium.make_queries(n_queries=200, n_documents=15, n_features=10, random_state=1)
TRAIN, TEST = QUERIES.take(range(80)), QUERIES.take(range(80, 200))
TRUTH = np.arange(1.0, 11.0) ** -1.0


def log_of(queries: podium.Queries, **options: Any) -> podium.Clicks:
    """Clicks on the lists of a ranker that has half of the weights wrong: what it puts on top is clicked most."""
    poor = queries.features @ (podium.Regression(normalize=None).fit(queries).coef_ * ([1, -1] * 5))
    return simulate(queries, poor, sessions=8_000, shuffle=0.3, aggregate=True, **options)


CLICKS = log_of(TRAIN)
BIAS = PositionBias.known(TRUTH)


@pytest.fixture
def small() -> podium.Clicks:
    """Two documents of query a, shown twice each; one of query b."""
    return podium.Clicks(
        [[1.0], [0.0], [1.0], [0.0], [5.0]],
        [1, 1, 0, 1, 1],
        qid=list("aaaab"),
        position=[1, 2, 2, 1, 2],
        document=list("xyxyz"),
    )


class Half:
    """Place 1 is seen always, place 2 half of the time; documents are attractive as given."""

    def attractiveness(self, clicks: podium.Clicks) -> np.ndarray:
        return np.array([0.5, 1.0, 0.25])

    def weights(self, clicks: podium.Clicks) -> np.ndarray:
        return np.bincount(clicks.row, clicks.clicks * clicks.position)


@pytest.mark.parametrize(
    "ranker", [podium.ListNet(), podium.PMOP(), podium.LambdaMART(n_trees=60, random_state=0)], ids=repr
)
def test_with_the_bias_rankings_are_better_than_by_click_rates(ranker: podium.rankers.BaseRanker) -> None:
    naive = ranker.fit(CLICKS, bias="naive").score(TEST)
    known = ranker.fit(CLICKS, bias=BIAS).score(TEST)
    graded = ranker.fit(TRAIN).score(TEST)
    # When this was written: naive .70 to .74, with the bias .86 to .92, with grades .88 to .92 (three logs).
    assert known > naive + 0.08
    assert known > graded - 0.04


@pytest.mark.parametrize("loss", [SoftmaxLoss(), RegressionLoss()], ids=repr)
def test_losses_linear_in_labels_need_no_draws(loss: podium.losses.Loss) -> None:
    ranker = podium.Ranker(loss)
    assert ranker.fit(CLICKS, bias=BIAS).score(TEST) > ranker.fit(CLICKS, bias="naive").score(TEST) + 0.08


def test_labels_and_weights_by_hand(small: podium.Clicks) -> None:
    drawn = clicked_lists(podium.ListNet(), small, Half(), None)
    assert drawn is not None
    assert drawn.queries.labels.tolist() == [0.5, 1.0, 0.25]
    assert drawn.drawing is not None
    assert drawn.query_weight is None
    # Worth: x 1 in two impressions, y 2 + 1 in two, z 2 in one; query a had two sessions, b one.
    shares = clicked_lists(podium.Ranker(SoftmaxLoss()), small, Half(), None)
    assert shares is not None
    assert shares.queries.labels.tolist() == [0.5, 1.5, 2.0]
    assert shares.query_weight is not None
    assert shares.query_weight.tolist() == [4.0, 2.0]
    assert shares.weights([1.0, 3.0]).tolist() == [4.0, 6.0]  # type: ignore[union-attr]
    assert shares.drawing is None
    judged = podium.Queries([[0.0], [1.0]], [0, 3], sizes=[2])
    mixed = clicked_lists(podium.Regression(), [judged, small], Half(), 0.25)
    assert mixed is not None
    assert mixed.queries.labels.tolist() == [0, 3, 1.5, 4.5, 6.0]
    assert mixed.query_weight is not None
    assert mixed.query_weight.tolist() == [0.75, 0.125, 0.125]
    naive = clicked_lists(podium.ListNet(), small, "naive", None)
    assert naive is not None
    assert naive.queries.labels.tolist() == [0.5, 1.0, 1.0]


def test_a_bias_without_weights_gives_its_attractiveness(small: podium.Clicks) -> None:
    class FromTheTop(Half):
        def weights(self, clicks: podium.Clicks) -> np.ndarray:
            raise WeightlessError("users read from the top")

    class Broken(Half):
        def weights(self, clicks: podium.Clicks) -> np.ndarray:
            raise ValueError("another fault")

    found = clicked_lists(podium.Regression(), small, FromTheTop(), None)
    assert found is not None
    assert found.queries.labels.tolist() == [0.5, 1.0, 0.25]
    with pytest.raises(ValueError, match="another fault"):
        clicked_lists(podium.Regression(), small, Broken(), None)


def test_a_loss_of_drawn_labels_keeps_its_number_of_draws() -> None:
    many = podium.Ranker(DrawnLabels(ListNetLoss(), n_draws=64)).fit(CLICKS, bias=BIAS)
    usual = podium.Ranker(ListNetLoss()).fit(CLICKS, bias=BIAS)
    assert not np.allclose(many.coef_, usual.coef_, rtol=1e-6)
    same = podium.Ranker(DrawnLabels(ListNetLoss(), n_draws=64))
    same.fit(CLICKS.queries.with_labels(BIAS.attractiveness(CLICKS)))
    np.testing.assert_allclose(many.coef_, same.coef_, rtol=1e-12)


def test_judged_and_clicked_queries_together() -> None:
    judged, clicked = TRAIN.take(range(10)), CLICKS.take(range(10, 80))
    none = podium.ListNet(normalize=None).fit([judged, clicked], bias=BIAS, click_share=0.0)
    np.testing.assert_allclose(none.coef_, podium.ListNet(normalize=None).fit(judged).coef_, rtol=1e-3, atol=1e-5)
    ranker = podium.Ranker(SoftmaxLoss(), normalize=None)
    alone = ranker.fit(clicked, bias=BIAS).coef_
    np.testing.assert_allclose(ranker.fit([judged, clicked], bias=BIAS, click_share=1.0).coef_, alone, rtol=1e-3)
    valid, test = TEST.take(range(40)), TEST.take(range(40, 120))
    best = podium.ListNet(random_state=0).fit([judged, clicked], bias=BIAS, eval_set=valid)
    assert list(best.click_shares_) == list(SHARES)
    assert best.click_share_ == max(SHARES, key=lambda share: best.click_shares_[share])
    again = podium.ListNet(random_state=0).fit(
        [judged, clicked], bias=BIAS, eval_set=valid, click_share=best.click_share_
    )
    assert best.score(valid) == again.score(valid) == pytest.approx(best.click_shares_[best.click_share_])
    assert best.score(test) > podium.ListNet().fit(judged).score(test)
    assert not hasattr(best.fit(judged), "click_share_")


def test_the_truth_of_a_simulation_is_a_bias() -> None:
    by_truth = podium.ListNet(random_state=0).fit(CLICKS, bias=CLICKS.truth)
    np.testing.assert_array_equal(by_truth.coef_, podium.ListNet(random_state=0).fit(CLICKS, bias=BIAS).coef_)
    trust = log_of(TRAIN, trust=(0.9, 0.2))
    np.testing.assert_array_equal(trust.truth.as_bias().beta_, 0.2 * TRUTH)
    podium.ListNet(random_state=0).fit(trust, bias=trust.truth)
    with pytest.raises(ValueError, match="read from the top"):
        podium.ListNet(random_state=0).fit(log_of(TRAIN, model="cascade"), bias=log_of(TRAIN, model="cascade").truth)


def test_saved_and_loaded(tmp_path: Any) -> None:
    ranker = podium.ListNet().fit(CLICKS, bias=BIAS)
    ranker.save(tmp_path / "model.podium")
    np.testing.assert_array_equal(podium.load(tmp_path / "model.podium").predict(TEST), ranker.predict(TEST))


def test_mistakes_are_explained(small: podium.Clicks) -> None:
    listnet = podium.ListNet()
    judged = podium.Queries([[0.0], [1.0]], [0, 3], sizes=[2])
    cases: list[tuple[Any, dict[str, Any], str]] = [
        (small, {}, "bias= is missing: .*PositionBias.*'naive'"),
        (small, {"bias": "none"}, "or 'naive'; got 'none'"),
        (small, {"bias": 3}, "must have the methods attractiveness and weights"),
        (small, {"bias": Half(), "click_share": 0.5}, "click_share goes with .Queries, Clicks. only"),
        (judged, {"bias": Half()}, "bias goes with Clicks only"),
        ([judged, small], {"bias": Half()}, "give eval_set=, or click_share="),
        ([judged, small], {"bias": Half(), "click_share": 2}, "click_share must be"),
        ([judged, judged, small], {"bias": Half()}, "got Queries, Queries, Clicks"),
        ([judged.without_labels(), small], {"bias": Half(), "click_share": 0.5}, "no labels"),
        ([TRAIN, small], {"bias": Half(), "click_share": 0.5}, "1 features, but the judged part is expecting 10"),
        (small.with_features(small.queries.with_features(np.empty((3, 0)))), {"bias": Half()}, "no features to learn"),
    ]
    for given, options, message in cases:
        with pytest.raises(ValueError, match=message):
            listnet.fit(given, **options)
    unclicked = podium.Clicks([[1.0]], [0], qid=[1], position=[1], document=[1])
    with pytest.raises(ValueError, match="none of the 1 documents of the log was clicked"):
        listnet.fit(unclicked, bias="naive")
    with pytest.raises(ValueError, match="AdaRank is not trained on a loss"):
        podium.AdaRank().fit(small, bias="naive")

    class Wrong(Half):
        def attractiveness(self, clicks: podium.Clicks) -> np.ndarray:
            return np.array([0.5, 2.0, 0.0])

        def weights(self, clicks: podium.Clicks) -> np.ndarray:
            return np.array([np.nan, 1.0, 1.0])

    with pytest.raises(ValueError, match="probabilities from 0 to 2"):
        listnet.fit(small, bias=Wrong())
    with pytest.raises(ValueError, match="one finite number for each of the 3 documents"):
        podium.Regression().fit(small, bias=Wrong())
