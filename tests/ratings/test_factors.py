"""FactorRanker: gradients, optima, new users, probabilities, priors, files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import approx_fprime, minimize
from sklearn.base import clone

import podium
from podium.losses import DavidsonLoss, ListMLELoss, PMOPLoss, RankNetLoss
from podium.numerics import pool
from podium.numerics.subsets.sampling import ARITHMETIC
from podium.probabilities.partitions import ArithmeticPartitions
from podium.ratings.estimator import RatingRanker, solved
from podium.ratings.factors.model import FactorModel, gather_rows, pair_scores
from podium.ratings.factors.scorer import Factors, as_queries
from podium.ratings.factors.top import top_items
from podium.ratings.priors import out_of_fold
from podium.ratings.rankers import probable
from podium.ratings.splits import given_n
from podium.training import LBFGS, Stochastic
from podium.training.base import Fit
from podium.training.objective import Objective


@pytest.fixture(scope="module")
def ratings() -> podium.Ratings:
    """40 users with 12 to 20 ratings of 30 items, 1 to 5 stars, following quality and taste."""
    rng = np.random.default_rng(0)
    quality, taste = rng.normal(size=30), rng.normal(size=(40, 2)) @ rng.normal(size=(2, 30))
    rows = [(u, i) for u in range(40) for i in rng.choice(30, rng.integers(12, 21), replace=False)]
    users, items = np.array(rows).T
    liking = quality[items] + taste[users, items] + 0.3 * rng.normal(size=len(rows))
    stars = 1 + np.searchsorted(np.quantile(liking, [0.1, 0.3, 0.6, 0.85]), liking)
    return podium.Ratings(users + 100, items + 500, stars)


@pytest.fixture(scope="module")
def fitted(ratings: podium.Ratings) -> podium.PMOPFactors:
    return podium.PMOPFactors(n_factors=3, priors="standard", n_folds=3, random_state=0).fit(ratings)


def test_gradient_and_batches(ratings: podium.Ratings) -> None:
    lists = ratings.take_users(np.arange(40) < 6)
    rng = np.random.default_rng(1)
    queries = as_queries(lists, lists.user, rng.normal(size=(len(lists), 2)))
    model = Factors(6, 30, 2, 1.5, 0.7, "normal").start(queries, rng)
    function = Objective(model, PMOPLoss().bind(lists.values, lists.offsets), queries)
    theta = rng.normal(size=len(model.theta))
    value, gradient = function(theta)
    assert value == pytest.approx(function(theta)[0])
    assert gradient == pytest.approx(approx_fprime(theta, lambda t: function(t)[0], 1e-7), abs=2e-5)
    # Each batch estimates the whole, penalty included: their average over equal parts is the whole.
    parts = [function.on_batch(theta, np.array(batch)) for batch in ([4, 0], [1, 5], [3, 2])]
    assert np.mean([part[1] for part in parts], axis=0) == pytest.approx(gradient)


def test_biases_alone_are_the_optimum_of_the_stated_objective(ratings: podium.Ratings) -> None:
    ranker = podium.FactorRanker(
        PMOPLoss(), 0, bias_regularization=3.0, bias_center="zero", trainer=LBFGS(tolerance=1e-12)
    ).fit(ratings)
    bound = PMOPLoss().bind(ratings.values, ratings.offsets)

    def stated(b: np.ndarray) -> float:
        return float(bound.per_query(b[ratings.item]).sum() + 1.5 * b @ b)

    def slope(b: np.ndarray) -> np.ndarray:
        d_scores = 40 * bound.value_and_gradient(b[ratings.item]).d_scores
        return np.bincount(ratings.item, d_scores, 30) + 3.0 * b

    best = minimize(stated, np.zeros(30), jac=slope, tol=1e-10)
    assert ranker.model_.item_bias == pytest.approx(best.x, abs=1e-4)
    assert ranker.convergence_.losses[-1] == pytest.approx(best.fun / 40, rel=1e-6)


def test_the_number_of_threads_changes_nothing(ratings: podium.Ratings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "_available", lambda: 3)
    monkeypatch.setattr(pool, "LITTLE_WORK", 0)  # share out even these few ratings
    rng = np.random.default_rng(0)
    factors, d_scores = rng.normal(size=(40, 3)), rng.normal(size=len(ratings))

    def computed(n_threads: int) -> list[np.ndarray]:
        with pool.threads(n_threads):
            return [
                gather_rows(factors, d_scores, ratings.offsets, np.arange(len(ratings)), ratings.item),
                pair_scores((factors, factors, d_scores), ratings.user, ratings.item),
                *top_items((factors, factors, d_scores[:40]), ratings.item[:0], np.zeros(41, np.int64), 7),
            ]

    for one, many in zip(computed(1), computed(3), strict=True):
        assert (one == many).all()


def test_stochastic_steps_early_stopping_and_callback(ratings: podium.Ratings) -> None:
    trainer = Stochastic(epochs=30, batch_size=8, learning_rate=0.05)
    build = podium.FactorRanker(
        ListMLELoss(), 2, 2.0, True, 2.0, trainer=trainer, early_stopping=0.2, bias_center="zero", random_state=3
    )
    ranker = build.fit(ratings)
    again = clone(build).fit(ratings)
    assert (again.model_.item_factors == ranker.model_.item_factors).all()
    convergence = ranker.convergence_
    assert convergence.best_iter == 1 + int(np.argmax(convergence.validation))
    assert convergence.losses[-1] < convergence.losses[0]
    assert ranker.score(ratings) > 0.9
    stopped = build.fit(ratings, eval_set=ratings, callback=lambda progress: progress.iteration == 2)
    assert stopped.n_iter_ == 2
    assert stopped.convergence_.metric == "ndcg@10 (standard)"


def test_an_averaged_loss_with_parameters(ratings: podium.Ratings) -> None:
    tied = podium.FactorRanker(DavidsonLoss(), 2, random_state=0).fit(ratings)
    assert tied.loss_parameters_.shape == (1,)
    assert tied.loss_parameters_ != pytest.approx(DavidsonLoss().initial_parameters())
    assert tied.score(ratings) > 0.85  # the usual penalty suits averages, too
    tied.loss = RankNetLoss()
    with pytest.raises(ValueError, match="not a likelihood"):
        tied.log_likelihood(ratings)
    with pytest.raises(ValueError, match="PMOPLoss"):
        tied.top_probability(100, [500, 501])


def test_folding_in_a_known_user_finds_that_user(ratings: podium.Ratings) -> None:
    # Given the items, Plackett-Luce is convex in a user's factors: at the optimum of all, each user is optimal.
    trainer = LBFGS(tolerance=1e-13, gradient_tolerance=1e-8, max_iter=5000)
    ranker = podium.PlackettLuceFactors(
        "stable", n_factors=2, regularization=2.0, bias_center="zero", trainer=trainer, random_state=0
    ).fit(ratings)
    mine = ratings.user == 7
    new = ranker.fold_in(ratings.item_ids[ratings.item[mine]], ratings.values[mine])
    assert new.factors == pytest.approx(ranker.model_.user_factors[7], abs=2e-3)
    assert ranker.predict(new, [505, 510]) == pytest.approx(ranker.predict(107, [505, 510]), abs=1e-2)
    assert ranker.recommend(new, 3).items.tolist() == ranker.recommend(107, 3).items.tolist()
    others = ranker.with_users(ratings)
    assert others.model_.user_factors[7] == pytest.approx(new.factors, abs=2e-3)
    cold = ranker.fold_in([505, 9999], [5, 1])  # an unknown item counts as the average one
    assert cold.seen.tolist() == [int(np.flatnonzero(ranker.item_ids_ == 505)[0])]
    assert np.isfinite(cold.factors).all()


def test_probabilities(ratings: podium.Ratings, fitted: podium.PMOPFactors, monkeypatch: pytest.MonkeyPatch) -> None:
    """The answers are those of PMOP on documents (tested there) for the scores of the items asked about."""
    asked = []
    for name in ("best_group", "pairs_in_lists"):
        monkeypatch.setattr(probable, name, lambda *arguments: asked.append(arguments))
    items = [500, 505, 510]
    fitted.top_probability(100, items)
    fitted.pair_probabilities(100, items, [0, 0], [1, 2], n_samples=50)
    for kind, scores, offsets, *_ in asked:
        assert kind == ARITHMETIC
        assert (scores == fitted.predict(100, items)).all()
        assert offsets.tolist() == [0, 3]
    assert [place.tolist() for place in asked[1][3:5]] == [[0, 0], [1, 2]]
    assert asked[1][5:] == (50, 0)


def test_log_likelihood(ratings: podium.Ratings, fitted: podium.PMOPFactors) -> None:
    order = np.argsort(ratings.item_ids[ratings.item[ratings.user == 0]])  # any order of rows will do
    mine = (np.full(len(order), 100), ratings.item_ids[ratings.item[ratings.user == 0]][order])
    stars = ratings.values[ratings.user == 0][order]
    loss = PMOPLoss().value_and_gradient(fitted.predict(*mine), stars, [0, len(order)]).value
    assert fitted.log_likelihood((*mine, stars)) == pytest.approx(-loss)


def test_priors_are_added_with_their_weights(fitted: podium.PMOPFactors, ratings: podium.Ratings) -> None:
    bare = podium.PMOPFactors(n_factors=0, biases=False, priors=fitted.priors_, n_folds=3, random_state=0).fit(ratings)
    mix = sum(a * p.predict(100, p.item_ids_) for a, p in zip(bare.prior_weights_, bare.priors_, strict=True))
    scores = bare.predict(100, bare.item_ids_)
    assert scores - scores.mean() == pytest.approx(mix - mix.mean())  # up to a constant for the user
    own = podium.PMOPFactors(n_factors=2, priors=[podium.ItemMean()], n_folds=3, random_state=0).fit(ratings)
    assert own.model_.item_factors.shape == (30, 2)


class _Witness(RatingRanker):
    """Scores a rating by whether it was trained on."""

    def _train(self, ratings: podium.Ratings, *watched: Any) -> Fit:
        seen = ratings.to_csr(np.ones(len(ratings))).toarray()
        return solved(FactorModel(seen, np.eye(ratings.n_items), np.zeros(ratings.n_items)))


def test_scores_out_of_fold_have_not_seen_the_rating(ratings: podium.Ratings) -> None:
    witness = _Witness().fit(ratings)
    scores = out_of_fold([witness], ratings, 4, np.random.default_rng(0))
    # Centered over the 30 items, an item that was not seen is below the user's average, one that was above it.
    assert (scores < 0).all()
    assert (witness.predict(ratings.user_ids[ratings.user], ratings.item_ids[ratings.item]) == 1).all()
    with pytest.raises(ValueError, match="priors must be rankers of ratings"):
        podium.PMOPFactors(priors=[podium.PMOP()]).fit(ratings)


def test_saved_and_loaded(ratings: podium.Ratings, fitted: podium.PMOPFactors, tmp_path: Path) -> None:
    fitted.save(tmp_path / "m.podium", dataset="made up")
    loaded = podium.load(tmp_path / "m.podium")
    assert loaded.get_params() == fitted.get_params()
    assert (loaded.predict(ratings.user_ids, 505) == fitted.predict(ratings.user_ids, 505)).all()
    for mine, theirs in zip(loaded.recommend(103), fitted.recommend(103), strict=True):
        assert (mine == theirs).all()
    assert (loaded.fold_in([500, 501], [1, 5]).factors == fitted.fold_in([500, 501], [1, 5]).factors).all()


def test_taste_from_who_rated_what(ratings: podium.Ratings) -> None:
    ranker = podium.TasteFactors(by="rated", n_factors=4, damping=2.0, random_state=0).fit(ratings)
    x = np.zeros((40, 30))
    x[ratings.user, ratings.item] = 1.0
    x /= np.sqrt(x.sum(axis=0) + 2.0)
    vectors = np.linalg.svd(x)[2][:4].T
    assert ranker.predict(102, ratings.item_ids) == pytest.approx((x @ vectors @ vectors.T)[2])
    by_ratings = podium.TasteFactors(n_factors=4, random_state=0).fit(ratings)
    mine = ratings.user == 2
    new = by_ratings.fold_in(ratings.item_ids[ratings.item[mine]], ratings.values[mine])
    assert new.factors == pytest.approx(by_ratings.model_.user_factors[2])
    level = by_ratings.fold_in(ratings.item_ids[ratings.item[mine]], ratings.values[mine] + 1)
    assert level.factors == pytest.approx(new.factors)  # generous or not, the same taste


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_factors": -1}, "n_factors must be a whole number"),
        ({"regularization": -0.1}, "regularization must be a finite number"),
        ({"early_stopping": 1.5}, "early_stopping must be a finite number above 0 and below 1"),
        ({"init": "zero"}, "init must be one of"),
        ({"priors": "all"}, "priors must be one of"),
        ({"loss": "pmop"}, "loss must be one of podium.losses"),
    ],
)
def test_refused(ratings: podium.Ratings, parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        podium.FactorRanker(**{"loss": PMOPLoss(), **parameters}).fit(ratings)


def test_movielens(shared_data: Path) -> None:
    """One replicate of docs/results/ratings.md: ties modeled beat ties broken, and the mix beats the item means."""
    train, test = given_n(podium.read_ratings(shared_data / "movielens-100k" / "u.data.gz"), 20, random_state=0)
    paper = {"n_factors": 5, "regularization": 0.0, "biases": False, "init": "uniform", "random_state": 0}
    trainer = LBFGS(tolerance=0.01)  # stops early, for time
    luce = podium.PlackettLuceFactors(trainer=trainer, **paper).fit(train)
    pmop = podium.PMOPFactors(trainer=trainer, **paper).fit(train)
    for metric in ("ndcg@1", "ndcg@5"):
        assert pmop.score(test, metric=metric) > luce.score(test, metric=metric) + 0.02
    assert pmop.log_likelihood(test) > luce.log_likelihood(test)
    mix = podium.PMOPFactors(n_factors=0, biases=False, priors="standard", n_folds=5, random_state=0).fit(train)
    assert mix.score(test, metric="ndcg@5") > podium.ItemMean().fit(train).score(test, metric="ndcg@5") + 0.005


def test_whole_rankings_have_probabilities(ratings: podium.Ratings, fitted: podium.PMOPFactors) -> None:
    items = [500, 505, 510]
    scores = fitted.predict(100, items)
    assert fitted.probabilities(100, items).above(0, 2) == ArithmeticPartitions(scores, 0).above(0, 2)
    luce = podium.PlackettLuceFactors(n_factors=2, random_state=0).fit(ratings)
    gap = np.subtract(*luce.predict(100, items)[[0, 2]])
    assert luce.probabilities(100, items).above(0, 2) == pytest.approx(1 / (1 + np.exp(-gap)))  # by hand
    pairwise = podium.FactorRanker(podium.losses.RankNetLoss(), n_factors=2, random_state=0).fit(ratings)
    with pytest.raises(ValueError, match="factors trained on RankNetLoss do not model probabilities"):
        pairwise.probabilities(100, items)
