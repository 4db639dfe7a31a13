"""Factors on a cluster are the factors of one process, to the last bit. The oracle is the fit in this process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import podium
from podium.dask import from_ratings, read_ratings
from podium.losses import DavidsonLoss, ListNetLoss, PMOPLoss
from podium.ratings.factors.scorer import Factors, as_queries
from podium.training import LBFGS, Problem, Stochastic
from podium.training.objective import Objective, remote_objective

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
SHORT = LBFGS(max_iter=12)


@pytest.fixture(scope="module")
def rows() -> list[tuple[str, int, float]]:
    """Some 400 ratings by 40 users of 15 items, of which each has several in most blocks; users come one by one."""
    rng = np.random.default_rng(3)
    chosen = [(f"u{u}", int(i)) for u in range(40) for i in rng.permutation(15)[: 4 + u % 11]]
    return [(user, item, float(rng.integers(1, 6))) for user, item in chosen]


@pytest.fixture(scope="module")
def ratings(rows) -> podium.Ratings:
    return podium.Ratings.from_triples(rows)


def _write(path: Path, rows: list[tuple[str, int, float]]) -> str:
    path.write_text("".join(f"{user}\t{item}\t{value}\n" for user, item, value in rows))
    return str(path)


def _assert_same_model(one: Any, other: Any) -> None:
    assert one.n_iter_ == other.n_iter_ > 3
    assert one.convergence_ == other.convergence_
    for name, array in one.model_.to_arrays().items():
        np.testing.assert_array_equal(other.model_.to_arrays()[name], array, err_msg=name)
    np.testing.assert_array_equal(other.loss_parameters_, one.loss_parameters_)


@pytest.mark.parametrize("n_partitions", [1, 2, 3])
@pytest.mark.parametrize("loss", [PMOPLoss(), ListNetLoss()], ids=lambda loss: type(loss).__name__)
def test_a_fit_equals_the_local_one_to_the_bit(client, ratings, loss, n_partitions) -> None:
    distributed = from_ratings(ratings, n_partitions, client=client)
    assert distributed.n_partitions == n_partitions
    ranker = podium.FactorRanker(loss, n_factors=3, trainer=SHORT, bias_center="zero", random_state=1)
    here = ranker.fit(ratings).score(ratings), ranker.model_, ranker.recommend("u7", n=3).items.tolist()
    there = podium.FactorRanker(loss, n_factors=3, trainer=SHORT, bias_center="zero", random_state=1).fit(distributed)
    _assert_same_model(ranker, there)
    assert there.score(ratings) == here[0]
    assert there.recommend("u7", n=3).items.tolist() == here[2]


@pytest.mark.parametrize(
    "ranker",
    [
        podium.PMOPFactors(n_factors=2, biases=False, init="uniform", trainer=SHORT, random_state=2),
        podium.PMOPFactors(n_factors=0, bias_center="zero", trainer=SHORT, random_state=2),
        podium.PlackettLuceFactors(n_factors=2, bias_center="zero", trainer=SHORT, random_state=2),
        podium.FactorRanker(DavidsonLoss(), n_factors=2, bias_center="zero", trainer=SHORT, random_state=2),
    ],
    ids=["no biases", "biases alone", "ties at random", "a parameter of the loss"],
)
def test_options_and_presets_equal_the_local_fit_too(client, ratings, ranker) -> None:
    from sklearn.base import clone

    here, there = (clone(ranker).fit(data) for data in (ratings, from_ratings(ratings, 3, client=client)))
    _assert_same_model(here, there)


def test_validation_ratings_here_or_there_choose_the_same_iteration(client, ratings) -> None:
    held_out = np.arange(len(ratings)) % 5 == 0
    train, valid = ratings.take(~held_out), ratings.take(held_out)
    there = from_ratings(train, 2, client=client)
    data = (train, valid), (there, valid), (there, from_ratings(valid, 3, client=client))
    here, *others = (
        podium.PMOPFactors(n_factors=2, bias_center="zero", random_state=0).fit(one, eval_set=held)
        for one, held in data
    )
    assert here.convergence_.validation
    for other in others:
        _assert_same_model(here, other)


def test_the_model_is_an_ordinary_one(client, ratings, tmp_path) -> None:
    fitted = podium.PMOPFactors(n_factors=2, bias_center="zero", trainer=SHORT, random_state=0).fit(
        from_ratings(ratings, 2, client=client)
    )
    np.testing.assert_array_equal(fitted.seen_.item, ratings.item)
    np.testing.assert_array_equal(fitted.seen_.values, ratings.values)
    fitted.save(tmp_path / "model.podium")
    again = podium.load(tmp_path / "model.podium")
    np.testing.assert_array_equal(again.predict("u3", [0, 1, 2]), fitted.predict("u3", [0, 1, 2]))
    assert again.fold_in([1, 2], [5, 1]).factors.tolist() == fitted.fold_in([1, 2], [5, 1]).factors.tolist()


def test_each_part_has_its_users_factors_only(client, ratings) -> None:
    distributed = from_ratings(ratings, 3, client=client)
    scorer = Factors(ratings.n_users, ratings.n_items, 2, 1.0, 1.0, "normal")
    model = Problem(PMOPLoss(), scorer, distributed.queries).start_model(np.random.default_rng(0))
    divided = model.divided(distributed.queries, [_one_block(fact.sizes) for fact in distributed.queries.facts])
    n_users = [len(fact.sizes) for fact in distributed.queries.facts]
    assert np.diff(divided.own).tolist() == [2 * n for n in n_users]
    assert [len(part.theta) for part in divided.models] == [2 * n + 3 * ratings.n_items for n in n_users]


def _one_block(sizes: np.ndarray) -> Any:
    from podium.numerics.loop import Blocks

    return Blocks(np.array([0, len(sizes)]), float(sizes.sum()))


def test_files_of_whole_users_are_read_where_they_are(client, rows, ratings, tmp_path) -> None:
    """The borders of files are no borders of blocks: an evaluation is the same within rounding, and repartitioned
    ratings give the same bits."""
    border = next(n for n, row in enumerate(rows) if row[0] == "u23")
    paths = [_write(tmp_path / "a.tsv", rows[:border]), "file://" + _write(tmp_path / "b.tsv", rows[border:])]
    read = read_ratings(paths, client=client)
    assert (read.n_partitions, len(read), read.n_users, read.n_items) == (2, len(rows), 40, 15)
    assert repr(read) == f"DistributedRatings({len(rows)} ratings, 40 users, 15 items, 2 partitions)"
    _assert_same_ratings(read.collect(), ratings)

    scorer = Factors(40, 15, 2, 1.0, 1.0, "normal")
    queries = as_queries(ratings, ratings.user)
    model = scorer.start(queries, np.random.default_rng(0))
    value, gradient = Objective(model, PMOPLoss().bind(queries.labels, queries.offsets), queries)(model.theta)
    value_there, gradient_there = remote_objective(model, PMOPLoss(), read.queries, None)(model.theta)
    np.testing.assert_allclose(value_there, value, rtol=1e-12)
    np.testing.assert_allclose(gradient_there, gradient, rtol=1e-12, atol=1e-14)

    ranker = podium.PMOPFactors(n_factors=2, bias_center="zero", trainer=SHORT, random_state=0)
    here = podium.PMOPFactors(n_factors=2, bias_center="zero", trainer=SHORT, random_state=0).fit(ratings)
    _assert_same_model(here, ranker.fit(read.repartitioned(2)))


def test_a_user_in_two_files_is_refused_by_name_or_moved(client, rows, ratings, tmp_path) -> None:
    border = next(n for n, row in enumerate(rows) if row[0] == "u23") + 2
    again = [("u23", rows[border - 1][1], 5.0), ("u2", 0, 4.0)]  # rated before, in the other file
    paths = [_write(tmp_path / "a.tsv", rows[:border]), _write(tmp_path / "b.tsv", rows[border:] + again)]
    with pytest.raises(ValueError, match=r"user 'u2\d?' has ratings in .*a.tsv and .*b.tsv \(2 such users\)"):
        read_ratings(paths, client=client)
    with pytest.raises(ValueError, match=r'duplicates="mean" cannot be had with cut="shuffle"'):
        read_ratings(paths, cut="shuffle", duplicates="mean", client=client)
    moved = read_ratings(paths, cut="shuffle", client=client)
    assert moved.n_partitions == 2
    _assert_same_ratings(moved.collect(), podium.Ratings.from_triples(rows + again))


def test_ids_that_are_numbers_in_one_file_and_texts_in_another_are_texts(client, tmp_path) -> None:
    rows = [("1", 7, 3.0), ("1", 8, 2.0), ("x", 8, 1.0)]
    paths = [_write(tmp_path / "a.tsv", rows[:2]), _write(tmp_path / "b.tsv", rows[2:])]
    assert read_ratings(paths, client=client).user_ids.tolist() == ["1", "x"]


def _assert_same_ratings(one: podium.Ratings, other: podium.Ratings) -> None:
    assert one.user_ids.tolist() == other.user_ids.tolist()
    assert one.item_ids.tolist() == other.item_ids.tolist()
    for name in ("offsets", "item", "values"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


@pytest.mark.parametrize(
    ("ranker", "message"),
    [
        (podium.PMOPFactors(trainer=Stochastic()), "PMOPFactors .* trainer Stochastic.*LBFGS"),
        (podium.PMOPFactors(priors="standard"), "with priors.*without priors it can"),
        (podium.PMOPFactors(bias_center="zero", early_stopping=0.2), "give held-out ratings as eval_set"),
        (podium.PMOPFactors(), 'bias_center="zero"'),
        (podium.CoFiRank(), "CoFiRank cannot be trained on a cluster.*FactorRanker"),
        (podium.TasteFactors(), "TasteFactors cannot be trained on a cluster.*FactorRanker"),
        (podium.PMF(), "PMF cannot be trained on a cluster.*FactorRanker"),
    ],
)
def test_what_cannot_be_trained_on_a_cluster_says_what_can(client, ratings, ranker, message) -> None:
    with pytest.raises(ValueError, match=message):
        ranker.fit(from_ratings(ratings, 2, client=client))
