"""What is special to single rankers, and errors of input."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import Ridge

import podium
from podium.losses import ListNetLoss, RegressionLoss
from podium.losses.ties import DavidsonLoss
from podium.scorers import Linear
from podium.scorers.base import Scorer, SmoothModel
from podium.training import LBFGS, Stochastic


@pytest.fixture(scope="module")
def queries():
    return podium.make_queries(40, 10, 5, random_state=0)


def test_regression_is_ridge_regression() -> None:
    # Lists of equal length weigh documents equally; scikit-learn's penalty is on the sum, ours on the mean.
    queries = podium.make_queries(30, 10, 5, vary_sizes=False, random_state=1)
    X = queries.features.astype(np.float64) + 100.0  # an offset that only the intercept can take up
    ours = podium.Regression(l2=0.1, tolerance=1e-15, normalize=None).fit(
        X, queries.labels, qid=np.repeat(range(30), 10)
    )
    scale = 1.0 if RegressionLoss().value_and_gradient([0.0], [1.0], [0, 1]).value == 0.5 else 2.0
    theirs = Ridge(alpha=0.1 * len(X) / scale).fit(X, queries.labels)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-4, atol=1e-7)
    assert ours.intercept_ == pytest.approx(theirs.intercept_, rel=1e-4)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-4)


def test_standardizing_is_the_same_as_standardized_features(queries) -> None:
    X = queries.features.astype(np.float64)
    by_hand = (X - X.mean(axis=0)) / X.std(axis=0)
    for ranker in (podium.ListNet(l2=0.1), podium.ListNet(l2=0.1, l1=0.01)):
        folded = ranker.set_params(normalize="standard", tolerance=1e-14).fit(queries.with_features(X))
        coef = folded.coef_ * X.std(axis=0)
        plain = ranker.set_params(normalize=None).fit(queries.with_features(by_hand))
        np.testing.assert_allclose(coef, plain.coef_, atol=1e-5)


def test_a_loss_that_learns_something_itself(queries) -> None:
    ranker = podium.Ranker(DavidsonLoss()).fit(queries)
    assert ranker.loss_parameters_.shape == (1,)
    assert ranker.loss_parameters_[0] != 0
    assert podium.ListNet().fit(queries).loss_parameters_.shape == (0,)


def test_early_stopping_on_an_eval_set(queries) -> None:
    noise = queries.with_labels(np.random.default_rng(0).integers(0, 3, queries.n_documents))
    ranker = podium.Ranker(ListNetLoss(), trainer=Stochastic(epochs=60, patience=3), random_state=0)
    ranker.fit(queries, eval_set=noise, eval_metric=podium.metric("ndcg@3", convention="letor"))
    assert ranker.convergence_.metric == "ndcg@3 (letor)"
    assert ranker.n_iter_ == ranker.convergence_.best_iter + 3 < 60


def test_callback_and_verbose(queries, capsys) -> None:
    seen = []
    podium.ListNet(verbose=1).fit(queries, callback=lambda p: seen.append(p.iteration))
    assert seen == list(range(1, len(seen) + 1))
    assert len(capsys.readouterr().err.splitlines()) == len(seen)


def test_a_scorer_that_cannot_fold_gets_standardized_features(queries, tmp_path) -> None:
    seen = []

    class Model(SmoothModel):
        def __init__(self, theta):
            self.theta = theta

        def forward(self, queries):
            seen.append(queries.features)
            x = queries.features.astype(float)
            return x @ self.theta, lambda d: x.T @ d

    class Unfolding(Scorer):
        model_class = Model

        def start(self, queries, rng, options):
            assert options.standardization is None
            return Model(np.zeros(queries.n_features))

    ranker = podium.Ranker(ListNetLoss(), scorer=Unfolding()).fit(queries, eval_set=queries)
    expected = podium.Ranker(ListNetLoss(), scorer=Linear(l2=0)).fit(queries)
    for features in seen:
        np.testing.assert_allclose(features.std(axis=0), 1, rtol=1e-4)
    before = ranker.predict(queries)
    np.testing.assert_allclose(
        before - before.mean(), expected.predict(queries) - expected.predict(queries).mean(), atol=5e-3
    )


def test_a_listwise_scorer_needs_query_ids_to_predict(queries) -> None:
    class Listwise(Linear):
        listwise = True

    ranker = podium.Ranker(ListNetLoss(), scorer=Listwise()).fit(queries)
    with pytest.raises(ValueError, match="its scorer"):
        ranker.predict(queries.features)
    np.testing.assert_array_equal(
        ranker.predict(queries.features, qid=queries.query_of_document), ranker.predict(queries)
    )


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"eval_set": "train"}, "eval_set"),
        ({"eval_set": (np.ones((3, 5)), np.ones(3))}, "eval_qid"),
        ({"sample_weight": -np.ones(40)}, "weights"),
        ({"sample_weight": np.zeros(40)}, "sample_weight is 0 for every query"),
        ({"sample_weight": np.full(40, np.nan)}, "weights"),
    ],
    ids=["not a pair", "no eval_qid", "negative", "all zero", "nan"],
)
def test_wrong_arguments(queries, settings, match) -> None:
    with pytest.raises(ValueError, match=match):
        podium.ListNet().fit(queries, **settings)


def test_wrong_inputs(queries) -> None:
    X, y, qid = queries.features, queries.labels, queries.query_of_document
    with pytest.raises(ValueError, match="leave out y, qid and preferences"):
        podium.ListNet().fit(queries, y)
    with pytest.raises(ValueError, match="no labels"):
        podium.ListNet().fit(podium.Queries(X, qid=qid))
    with pytest.raises(ValueError, match="y to be passed"):
        podium.ListNet().fit(X, qid=qid)
    with pytest.raises(ValueError, match="one entry for each"):
        podium.ListNet().fit(X, y[:-1], qid=qid)
    with pytest.raises(ValueError, match="normalize"):
        podium.ListNet(normalize="unit").fit(queries)
    with pytest.raises(ValueError, match="loss must be"):
        podium.Ranker("listnet").fit(queries)
    with pytest.raises(ValueError, match="random_state"):
        podium.Ranker(ListNetLoss(), trainer=Stochastic(epochs=1), random_state="seed").fit(queries)
    with pytest.raises(ValueError, match="0 sample"):
        podium.ListNet().fit(np.ones((0, 3)), np.ones(0), qid=np.ones(0))
    with pytest.raises(ValueError, match="sparse"):
        podium.ListNet(normalize="minmax").fit(sparse.csr_matrix(X), y, qid=qid)


def test_refitting_forgets_the_last_fit(queries) -> None:
    names = list("abcde")
    ranker = podium.ListNet().fit(queries.with_features(queries.features, names))
    assert ranker.feature_names_in_.tolist() == names
    ranker.fit(queries.with_features(queries.features[:, :3]))
    assert not hasattr(ranker, "feature_names_in_")
    assert ranker.coef_.shape == (3,)


def test_feature_names_that_come_or_go_are_pointed_out(queries) -> None:
    import pandas as pd

    frame = pd.DataFrame(queries.features, columns=list("abcde"))
    named = podium.ListNet().fit(frame, queries.labels, qid=queries.query_of_document)
    with pytest.warns(UserWarning, match="fitted with feature names"):
        named.predict(queries.features)
    plain = podium.ListNet().fit(queries)
    with pytest.warns(UserWarning, match="fitted without feature names"):
        plain.predict(frame)


def test_random_states_of_every_kind(queries) -> None:
    def fit(state):
        return podium.Ranker(ListNetLoss(), trainer=Stochastic(epochs=1), random_state=state).fit(queries).coef_

    np.testing.assert_array_equal(fit(3), fit(np.int64(3)))
    np.testing.assert_array_equal(fit(np.random.RandomState(3)), fit(np.random.RandomState(3)))
    np.testing.assert_array_equal(fit(np.random.default_rng(3)), fit(np.random.default_rng(3)))
    assert (fit(3) != fit(4)).any()


def test_one_very_long_list() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200_000, 3)).astype(np.float32)
    y = (X @ [1, 2, 0] + rng.standard_normal(len(X)) > 2).astype(float)
    ranker = podium.ListNet().fit(X, y, qid=np.zeros(len(X)))
    assert ranker.coef_[1] > ranker.coef_[0] > abs(ranker.coef_[2])


def test_ohsumed_figures(shared_data) -> None:
    """ListNet as the field runs it: features rescaled within queries, the penalty chosen on validation queries.

    Expected: a separate prototype (NumPy and SciPy) with four penalties had NDCG@1 .5642, NDCG@5 .4677, MAP .4488.
    """
    from podium.rankers.methods import METHODS

    figures = []
    metrics = ["ndcg@1", "ndcg@5", "map"]
    for fold in range(1, 6):
        train, validation, test = (
            podium.read_letor(shared_data / "ohsumed" / f"Fold{fold}" / f"{part}.txt.gz")
            for part in ("trainingset", "validationset", "testset")
        )
        candidates = [podium.ListNet(normalize="minmax", l2=l2).fit(train) for l2 in METHODS["listnet"].grid["l2"]]

        def mean(ranker, queries):
            return podium.evaluate(queries, ranker.predict(queries), metrics=metrics, convention="letor").mean

        best = max(candidates, key=lambda ranker: mean(ranker, validation)["ndcg@1"])
        figures.append([mean(best, test)[name] for name in metrics])
    # One document at the top of one of the 106 queries moves NDCG@1 by up to .0094.
    np.testing.assert_allclose(np.mean(figures, axis=0), [0.5642, 0.4677, 0.4488], atol=0.012)


def test_trainer_is_chosen_by_the_loss_and_the_scorer() -> None:
    class Directions(ListNetLoss):
        has_gradient = False

    assert isinstance(podium.Ranker(ListNetLoss())._trainer(), LBFGS)
    assert isinstance(podium.Ranker(Directions())._trainer(), Stochastic)
