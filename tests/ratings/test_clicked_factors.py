"""Factors learned from clicks: a query is a user, a document an item."""

import numpy as np
import pytest
from sklearn.base import clone

import podium
from podium.losses import DrawnLabels, ListNetLoss, PMOPLoss, RegressionLoss, SoftmaxLoss

N_USERS, N_ITEMS, N_SHOWN = 150, 80, 30


class Simulated:
    """Users whose tastes are factors, shown items in an order that knows nothing of these."""

    def __init__(self, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        users, items = rng.standard_normal((N_USERS, 3)), rng.standard_normal((N_ITEMS, 3))
        tastes = users @ items.T + 0.5 * rng.standard_normal(N_ITEMS)
        relevant = (tastes > np.quantile(tastes, 0.7)).astype(float)
        order = np.array([rng.permutation(N_ITEMS) for _ in range(N_USERS)])
        user = np.arange(N_USERS)[:, np.newaxis]
        shown, others = order[:, :N_SHOWN], order[:, N_SHOWN:]
        ids = [f"item {i}" for i in shown.ravel()]
        queries = podium.Queries(
            np.ones((shown.size, 1)), relevant[user, shown].ravel(), sizes=[N_SHOWN] * N_USERS, document_ids=ids
        )
        poor = rng.standard_normal(N_ITEMS)
        self.clicks = podium.clicks.simulate(
            queries, poor[shown].ravel(), sessions=30_000, random_state=seed, aggregate=True
        )
        self.bias = podium.clicks.PositionBias.known(self.clicks.truth.propensities)
        rows = np.repeat(np.arange(N_USERS), others.shape[1])
        self.unseen = podium.Ratings(rows, [f"item {i}" for i in others.ravel()], relevant[user, others].ravel())


@pytest.fixture(scope="module")
def simulated():
    return Simulated()


def factors(loss):
    return podium.FactorRanker(loss, n_factors=3, random_state=0)


@pytest.fixture(scope="module")
def fitted(simulated):
    return factors(ListNetLoss()).fit(simulated.clicks, bias=simulated.bias)


def test_users_tastes_are_learned_from_clicks(simulated, fitted):
    """NDCG@10 on items that the users were not shown: above clicks taken as they are, and above popularity."""
    clicks = simulated.clicks
    queries = clicks.queries
    attractiveness = simulated.bias.attractiveness(clicks)
    popular = podium.ItemMean().fit((queries.qids[queries.query_of_document], queries.document_ids, attractiveness))
    naive = factors(ListNetLoss()).fit(clicks, bias="naive")
    learned = fitted.score(simulated.unseen)
    assert learned > naive.score(simulated.unseen) + 0.1
    assert learned > popular.score(simulated.unseen) + 0.1
    estimated = podium.clicks.PositionBias(bootstrap=0).fit(clicks)
    assert factors(ListNetLoss()).fit(clicks, bias=estimated).score(simulated.unseen) > learned - 0.05


@pytest.mark.parametrize(
    "ranker",
    [
        podium.PMOPFactors(n_factors=3, random_state=0),
        podium.PlackettLuceFactors(n_factors=3, random_state=0),
        factors(SoftmaxLoss()),
    ],
    ids=["PMOPFactors", "PlackettLuceFactors", "Softmax"],
)
def test_other_losses_learn_too(simulated, ranker):
    naive = clone(ranker).fit(simulated.clicks, bias="naive")
    fitted = clone(ranker).fit(simulated.clicks, bias=simulated.bias)
    assert fitted.score(simulated.unseen) > naive.score(simulated.unseen) + 0.1


def test_it_is_the_loss_of_drawn_labels_on_attractiveness(simulated, fitted):
    queries = simulated.clicks.queries
    ratings = (
        queries.qids[queries.query_of_document],
        queries.document_ids,
        simulated.bias.attractiveness(simulated.clicks),
    )
    same = factors(DrawnLabels(ListNetLoss())).fit(ratings)
    np.testing.assert_array_equal(same.model_.item_factors, fitted.model_.item_factors)
    again = factors(DrawnLabels(ListNetLoss())).fit(simulated.clicks, bias=simulated.bias)
    np.testing.assert_array_equal(again.model_.item_factors, fitted.model_.item_factors)
    assert fitted.regularization_ == same.regularization_


def test_ids_are_those_of_queries_and_documents(simulated, fitted):
    assert fitted.user_ids_.tolist() == simulated.clicks.queries.qids.tolist()
    assert set(fitted.item_ids_.tolist()) == set(simulated.clicks.queries.document_ids.tolist())
    shown = set(simulated.clicks.queries.document_ids[simulated.clicks.queries.query_of_document == 0].tolist())
    new, all_of_them = (fitted.recommend(0, n=10, exclude_seen=seen).items.tolist() for seen in (True, False))
    assert not shown & set(new)
    assert shown & set(all_of_them)


def test_new_users_are_folded_in_by_probabilities(simulated, fitted, tmp_path):
    """The most probable factors of a user with the attractiveness that one of the users had are near that user's."""
    queries = simulated.clicks.queries
    chances = simulated.bias.attractiveness(simulated.clicks)
    first = queries.query_of_document == 7
    items = queries.document_ids[first]
    new = fitted.fold_in(items, chances[first])
    scores, known = fitted.predict(new, fitted.item_ids_), fitted.predict(7, fitted.item_ids_)
    assert np.corrcoef(scores, known)[0, 1] > 0.95
    fitted.save(tmp_path / "model.podium")
    loaded = podium.load(tmp_path / "model.podium")
    np.testing.assert_array_equal(loaded.predict(loaded.fold_in(items, chances[first]), fitted.item_ids_), scores)
    with pytest.raises(ValueError, match="expected probabilities from 0 to 1"):
        fitted.fold_in(items, 5 * np.ones(len(items)))


def test_ratings_afterwards_are_grades_again(simulated):
    ranker = factors(PMOPLoss())
    ranker.fit(simulated.clicks, bias=simulated.bias)
    assert ranker.draws_labels_
    ratings = podium.make_ratings(40, 30, 800)
    assert not ranker.fit(ratings).draws_labels_
    np.testing.assert_array_equal(ranker.model_.item_factors, factors(PMOPLoss()).fit(ratings).model_.item_factors)


def test_features_of_items_go_with_clicks(simulated):
    ids = sorted(set(simulated.clicks.queries.document_ids.tolist()))
    table = (ids, np.random.default_rng(0).normal(size=(len(ids), 2)))
    fitted = factors(RegressionLoss()).fit(simulated.clicks, bias=simulated.bias, features={"items": table})
    assert fitted.feature_weights_.items.shape == (2, 3)


def test_what_does_not_fit_is_refused(simulated):
    clicks, bias = simulated.clicks, simulated.bias
    with pytest.raises(ValueError, match="bias= is missing"):
        factors(PMOPLoss()).fit(clicks)
    for ranker in (podium.CoFiRank(), podium.PMF(), podium.ItemMean(), podium.ImplicitFactors()):
        with pytest.raises(ValueError, match=f"{type(ranker).__name__} does not learn from logs of clicks"):
            ranker.fit(clicks, bias=bias)
    with pytest.raises(ValueError, match="bias goes with Clicks only"):
        factors(PMOPLoss()).fit(podium.make_ratings(40, 30, 800), bias=bias)
    with pytest.raises(ValueError, match="bias goes with Clicks only"):
        podium.PMF().fit(podium.make_ratings(40, 30, 800), bias=bias)
    with pytest.raises(ValueError, match="factors learn from clicks alone"):
        factors(PMOPLoss()).fit([podium.make_queries(5, 5), clicks], bias=bias)
    alone = podium.Clicks(None, [1, 0, 1, 0], qid=[0, 0, 1, 1], position=[1, 2, 1, 2], document=list("abcd"))
    with pytest.raises(ValueError, match="each of the 4 documents of the log was shown for one query only"):
        factors(PMOPLoss()).fit(alone, bias="naive")
    by_features = podium.Clicks([[0.0], [1.0]], [1, 0], qid=[0, 0], position=[1, 2])
    with pytest.raises(ValueError, match="have no ids"):
        factors(PMOPLoss()).fit(by_features, bias="naive")
    unclicked = podium.Clicks(None, [0, 0], qid=[0, 1], position=[1, 1], document=["a", "a"])
    with pytest.raises(ValueError, match="none of the 2 documents of the log was clicked"):
        factors(PMOPLoss()).fit(unclicked, bias="naive")
