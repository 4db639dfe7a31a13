"""Features of users and items: encoding, gradients, what is cold, files."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import polars
import pytest
from scipy.optimize import approx_fprime

import podium
from podium.losses import PMOPLoss, RankNetLoss
from podium.ratings.factors.scorer import Factors, as_queries
from podium.ratings.factors.sided import SidedFactors
from podium.ratings.features import Encoding
from podium.training import LBFGS, Stochastic
from podium.training.objective import Objective

COLUMNS: dict[str, list[Any]] = {
    "item": ["a", "b", "c", "d"],
    "year": [1990.0, 2000.0, None, 2010.0],
    "genres": ["x|y", "x", "y| z", None],
    "title": ["one", "two", "three", "four"],
    "new": [True, False, False, False],
}


@pytest.mark.parametrize("kind", [pandas.DataFrame, polars.DataFrame, polars.from_dict])
def test_encoding_by_hand(kind: Any) -> None:
    frame = kind(COLUMNS)
    table = podium.FeatureTable(frame.to_arrow() if kind is polars.from_dict else frame)
    encoding = Encoding.of(table)
    # Titles and z occur once and have no column. The mean year is 2000, its deviation √(200/3); the item without a year
    # is the average one, and so is the item without genres, of the other three of which two are x and two are y.
    assert encoding.names() == [
        *("year", "year is missing", "genres=x", "genres=y", "genres is missing", "new"),
    ]
    deviation = (200 / 3) ** 0.5
    assert encoding(table) == pytest.approx(
        np.array(
            [
                [-10 / deviation, -0.25, 1 / 3, 1 / 3, -0.25, 0.75 / 0.1875**0.5],
                [0, -0.25, 1 / 3, -2 / 3, -0.25, -0.25 / 0.1875**0.5],
                [0, 0.75, -2 / 3, 1 / 3, -0.25, -0.25 / 0.1875**0.5],
                [10 / deviation, -0.25, 0, 0, 0.75, -0.25 / 0.1875**0.5],
            ]
        )
    )
    assert Encoding.from_json(encoding.to_json()) == encoding
    lists = polars.DataFrame({"item": ["a", "b"], "genres": [["x", "y"], ["y"]]})
    assert podium.FeatureTable(lists).column("genres") == [["x", "y"], ["y"]]
    assert podium.FeatureTable(frame if kind is not polars.from_dict else frame.to_arrow(), separator="/").column(
        "genres"
    )[0] == ["x|y"]


def test_tables_that_cannot_be_features() -> None:
    frame = polars.DataFrame({"film": [1, 1], "x": [1.0, 2.0]})
    ratings = podium.make_ratings(30, 20, 600)
    odd = podium.FeatureTable(pandas.DataFrame({"item": [1], "x": [{}]}))
    endless = podium.FeatureTable(([1, 2], [[1.0], [np.inf]]))
    for message, build in {
        "no column 'item' of ids; the columns are 'film', 'x'": lambda: podium.FeatureTable(frame),
        "film 1 is in more than one row": lambda: podium.FeatureTable(frame, "film"),
        "column '0', row 1 .from 0.: infinite": lambda: endless.column("0"),
        "one row for each of the 2 ids": lambda: podium.FeatureTable(([1, 2], [[1.0]])),
        "must be a pandas, polars or pyarrow frame": lambda: podium.FeatureTable([1, 2, 3]),
        "an empty one": lambda: podium.FeatureTable(frame, "film", separator=""),
        "neither a number, a text nor a list of texts": lambda: odd.column("x"),
        "ItemMean takes no features": lambda: podium.ItemMean().fit(ratings, features={"items": frame}),
        'keys "items" and "users"': lambda: podium.PMOPFactors().fit(ratings, features={"item": frame}),
        "features of items: ids are of type .*, but those of the ratings of type int": lambda: podium.PMOPFactors().fit(
            ratings, features={"items": (["a"], [[1.0]])}
        ),
    }.items():
        with pytest.raises(ValueError, match=message):
            build()


def test_features_from_files(tmp_path: Path) -> None:
    text = "movie|year|genres\n7|1990|a,b\n8||b\n"
    (tmp_path / "items.gz").write_bytes(gzip.compress(text.encode()))
    table = podium.read_features(tmp_path / "items.gz", separator=",")  # fields and labels have separators of their own
    assert table.column("genres") == [["a", "b"], ["b"]]
    (tmp_path / "items.tsv").write_text(text.replace("|", "\t").replace(",", "|"))
    table = podium.read_features(tmp_path / "items.tsv")
    assert table.ids.tolist() == [7, 8]
    assert table.column("genres") == [["a", "b"], ["b"]]
    assert table.column("year") == pytest.approx([1990, np.nan], nan_ok=True)
    polars.DataFrame({"x": [1.0], "user": ["ann"]}).write_parquet(tmp_path / "users.parquet")
    assert podium.read_features(tmp_path / "users.parquet").ids.tolist() == ["ann"]
    (tmp_path / "broken.csv").write_text("item,x\n1,2\n2,3,4,5\n")
    with pytest.raises(ValueError, match=r"broken\.csv:3: 4 fields, but the header has 2"):
        podium.read_features(tmp_path / "broken.csv")


@pytest.mark.parametrize("biases", [True, False])
def test_gradient_by_finite_differences(biases: bool) -> None:
    ratings = podium.make_ratings(6, 12, 50, min_ratings=3)
    rng = np.random.default_rng(0)
    users, items = rng.normal(size=(6, 2)), rng.normal(size=(12, 3))
    scorer = SidedFactors(Factors(6, 12, 2, 1.5, 0.7 if biases else None, "normal"), users, items, 0.4, 3.0)
    queries = as_queries(ratings, ratings.user)
    model = scorer.start(queries, rng)
    assert len(model.theta) == 6 * 2 + 12 * 2 + 12 * biases + 2 * 2 + 3 * 2 + 3 * biases
    function = Objective(model, PMOPLoss().bind(ratings.values, ratings.offsets), queries)
    theta = rng.normal(size=len(model.theta))
    value, gradient = function(theta)
    assert gradient == pytest.approx(approx_fprime(theta, lambda t: function(t)[0], 1e-7), abs=2e-5)
    parts = [function.on_batch(theta, np.array(batch)) for batch in ([4, 0], [1, 5], [3, 2])]
    assert np.mean([part[1] for part in parts], axis=0) == pytest.approx(gradient)
    # The value, from the formulas: scores of the sums, and penalties on the deviations and on the weights.
    at = model.at(theta)
    weights, width = at.weights, 2
    own = theta[: 18 * width]
    w = own[:12].reshape(6, 2) + users @ weights.users
    h = own[12:].reshape(12, 2) + items @ weights.items
    b = theta[36:48] + items @ weights.bias if biases else np.zeros(12)
    scores = np.einsum("ij,ij->i", w[ratings.user], h[ratings.item]) + b[ratings.item]
    loss = PMOPLoss().value_and_gradient(scores, ratings.values, ratings.offsets).value
    size = 1.5 * (own @ own) + (0.7 * theta[36:48] @ theta[36:48] if biases else 0.0)
    size += 0.4 * float((weights.users**2).sum() + (weights.items**2).sum()) + 3.0 * float(weights.bias @ weights.bias)
    assert value == pytest.approx(loss + 0.5 * size / 6)


class Taste:
    """Ratings that follow features: items are of three kinds, users like one or the other by their own kind."""

    def __init__(self) -> None:
        rng = np.random.default_rng(0)
        self.kind, self.group = np.arange(60) % 3, np.arange(90) % 2
        rows = [(u, i) for u in range(90) for i in rng.choice(60, 15, replace=False)]
        user, item = np.array(rows).T
        liking = np.array([[2.0, 0.0, -1.0], [-2.0, 0.5, 1.0]])[self.group[user], self.kind[item]]
        stars = np.clip(np.round(3 + liking + 0.4 * rng.normal(size=len(rows))), 1, 5)
        warm = (item < 48) & (user < 75)  # the others have no ratings in training
        self.train = podium.Ratings(user[warm], item[warm], stars[warm])
        self.items = polars.DataFrame({"item": np.arange(60), "kind": [f"k{k}" for k in self.kind]})
        self.users = pandas.DataFrame({"user": np.arange(90), "group": [f"g{g}" for g in self.group]})
        self.best = np.where(self.group == 0, 0, 2)
        """The kind that each user likes best."""


@pytest.fixture(scope="module")
def taste() -> Taste:
    return Taste()


@pytest.fixture(scope="module")
def fitted(taste: Taste) -> podium.PMOPFactors:
    ranker = podium.PMOPFactors(n_factors=2, random_state=0)
    return ranker.fit(taste.train, features={"items": taste.items, "users": taste.users})


def test_what_is_cold_is_ranked_by_its_features(taste: Taste, fitted: podium.PMOPFactors) -> None:
    assert fitted.user_ids_.tolist() == [*taste.train.user_ids, *range(75, 90)]
    scores = fitted.predict(np.arange(90)[:, None], np.arange(48, 60))  # items without ratings, all users
    best = taste.kind[48:][scores.argmax(axis=1)]
    assert (best == taste.best).mean() > 0.97
    assert (best[75:] == taste.best[75:]).all()  # users without ratings, too
    names = fitted.encodings_["items"].names()
    assert names == ["kind=k0", "kind=k1", "kind=k2"]
    plain = podium.PMOPFactors(n_factors=2, random_state=0).fit(taste.train)
    assert plain.feature_weights_ is None
    assert np.ptp(plain.predict(0, np.arange(48, 60))) == 0.0  # all unknown
    recommended = fitted.recommend(89, n=60).items
    assert len(recommended) == 60


def test_any_loss_and_any_trainer(taste: Taste) -> None:
    for loss, trainer in ((RankNetLoss(), LBFGS(max_iter=200)), (PMOPLoss(), Stochastic(20, 10, 0.05))):
        ranker = podium.FactorRanker(loss, n_factors=2, trainer=trainer, random_state=0)
        scores = ranker.fit(taste.train, features={"items": taste.items}).predict(
            np.arange(70)[:, None], np.arange(48, 60)
        )
        assert (taste.kind[48:][scores.argmax(axis=1)] == taste.best[:70]).mean() > 0.9


def test_a_penalty_keeps_weights_small(taste: Taste) -> None:
    features, sizes = {"items": taste.items}, []
    for strength in (0.1, 1.0, 10.0, 100.0):
        ranker = podium.PMOPFactors(n_factors=2, feature_regularization=strength, random_state=0)
        weights = ranker.fit(taste.train, features=features).feature_weights_
        assert weights is not None
        sizes.append(sum(float((x**2).sum()) for x in weights))
    assert sizes[0] > sizes[1] > sizes[2] > 10 * sizes[3]


def test_items_without_features_are_learned_from_their_ratings(taste: Taste) -> None:
    half = taste.items.filter(polars.col("item") >= 24)
    ranker = podium.PMOPFactors(n_factors=2, random_state=0).fit(taste.train, features={"items": half})
    scores = ranker.predict(np.arange(75)[:, None], np.arange(24))
    by_kind = np.stack([scores[:, taste.kind[:24] == k].mean(axis=1) for k in (0, 2)], axis=1)
    assert (2 * by_kind.argmax(axis=1) == taste.best[:75]).mean() > 0.9


def test_with_priors(taste: Taste) -> None:
    priors = [podium.ItemMean(), podium.PMOPFactors(n_factors=1, random_state=0)]
    ranker = podium.PMOPFactors(n_factors=2, priors=priors, n_folds=2, random_state=0)
    ranker.fit(taste.train, features={"items": taste.items})
    scores = ranker.predict(np.arange(75)[:, None], np.arange(48, 60))
    assert (taste.kind[48:][scores.argmax(axis=1)] == taste.best[:75]).mean() > 0.9
    with pytest.raises(ValueError, match="priors know nothing of features"):
        ranker.with_features({"items": taste.items})


def test_newcomers_after_training_and_in_files(taste: Taste, fitted: podium.PMOPFactors, tmp_path: Path) -> None:
    fitted.save(tmp_path / "m.podium")
    loaded = podium.load(tmp_path / "m.podium")
    assert loaded.predict(80, range(60)).tolist() == fitted.predict(80, range(60)).tolist()
    more = {
        "items": pandas.DataFrame({"kind": ["k2", "k0", "unheard of"], "item": [60, 61, 62]}),
        "users": pandas.DataFrame({"group": ["g0"], "user": [90]}),
    }
    wider = loaded.with_features(more)
    assert len(loaded.item_ids_) == 60
    assert wider.predict(90, 61) > wider.predict(90, 62) > wider.predict(90, 60)
    assert wider.predict(1, 60) > wider.predict(1, 61)
    assert wider.predict(90, 61) == pytest.approx(wider.predict(88, 57))  # users and items of the same kinds, all cold
    newcomer = wider.fold_in([0, 61, 2, 60], [5, 5, 1, 1])
    assert wider.predict(newcomer, 3) > wider.predict(newcomer, 5)
    with pytest.raises(ValueError, match="there is no column 'kind', which the ranker learned"):
        fitted.with_features({"items": ([99], [[1.0]])})
    with pytest.raises(ValueError, match="had texts when the ranker was fitted"):
        fitted.with_features({"items": pandas.DataFrame({"item": [99], "kind": [1.5]})})
    plain = podium.PMOPFactors(n_factors=1, random_state=0).fit(taste.train)
    with pytest.raises(ValueError, match="fitted without features of items"):
        plain.with_features({"items": more["items"]})
