"""A fit on a cluster is the fit in one process, to the last bit: the contract of every loss, scorer and option.

The oracle is the fit in this process.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import podium
import podium.losses
from podium.dask import DistributedQueries, from_queries
from podium.data.remote import PartFacts
from podium.losses import (
    BoltzRankLoss,
    DavidsonLoss,
    DrawnLabels,
    FunctionLoss,
    LambdaRankLoss,
    ListNetLoss,
    Loss,
    PMOPLoss,
    SoftRankLoss,
    WithRegression,
)
from podium.scorers import MLP, Kernel, Linear, Potentials
from podium.training import LBFGS
from podium.training.objective import Objective, remote_objective

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def _half_squares(scores: np.ndarray, labels: np.ndarray) -> tuple[float, np.ndarray]:
    difference = scores - labels
    return 0.5 * (difference * difference).sum(), difference


LOSSES: list[Loss] = [
    found()
    for found in vars(podium.losses).values()
    if isinstance(found, type)
    and issubclass(found, Loss)
    and found not in (Loss, DrawnLabels, FunctionLoss, WithRegression)
] + [
    BoltzRankLoss("err", weight=0.5, n_samples=20, g="logistic"),
    SoftRankLoss("normal", learn_sigma=True),
    LambdaRankLoss(metric="err@5", truncation=3),
    WithRegression(ListNetLoss(), weight=1.0, targets="identity"),
    FunctionLoss(_half_squares, convex=True),
]


@pytest.fixture(scope="module")
def queries() -> podium.Queries:
    """Lists of all kinds; the highest grade is in the last partition only."""
    made = podium.make_queries(n_queries=36, n_documents=11, n_features=4, n_grades=3, random_state=5)
    sizes = np.insert(made.sizes, [3, 20], [0, 0])
    labels = made.labels.copy()
    labels[made.offsets[7] : made.offsets[8]] = 1.0
    labels[made.offsets[-2] :] += 2.0
    return podium.Queries(made.features, labels, sizes=sizes)


@pytest.fixture(scope="module")
def distributed(client, queries) -> DistributedQueries:
    d = from_queries(queries, 3, client=client)
    assert d.n_partitions == 3
    return d


def assert_same(local: Any, other: Any) -> None:
    np.testing.assert_array_equal(other.model_.theta, local.model_.theta)
    np.testing.assert_array_equal(other.loss_parameters_, local.loss_parameters_)
    assert other.convergence_ == local.convergence_


def fit_both(ranker: podium.Ranker, queries: podium.Queries, d: DistributedQueries, **options: Any) -> tuple[Any, Any]:
    from sklearn.base import clone

    remote = {name: d if value is queries else value for name, value in options.items()}
    local, other = clone(ranker).fit(queries, **options), clone(ranker).fit(d, **remote)
    assert_same(local, other)
    return local, other


@pytest.mark.parametrize("scorer", [Linear(l2=0.01), MLP(3)], ids=["linear", "mlp"])
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_every_loss(loss: Loss, scorer: Any, queries, distributed) -> None:
    ranker = podium.Ranker(loss, scorer, LBFGS(max_iter=2), random_state=0)
    weights = np.random.default_rng(1).random(len(queries))
    fit_both(ranker, queries, distributed, sample_weight=weights)


@pytest.mark.parametrize("n_partitions", [1, 2, 5])
def test_any_number_of_partitions(client, queries, n_partitions) -> None:
    d = from_queries(queries, n_partitions, client=client)
    assert d.n_partitions == n_partitions
    fit_both(podium.Ranker(ListNetLoss(), MLP(3), LBFGS(max_iter=20), random_state=0), queries, d)


@pytest.mark.parametrize(
    "ranker",
    [
        podium.Ranker(ListNetLoss(), Potentials(2, 2), LBFGS(max_iter=3), random_state=0),
        podium.Ranker(ListNetLoss(), Kernel(n_landmarks=30), LBFGS(max_iter=3), random_state=0),
        podium.Ranker(ListNetLoss(), Kernel(30, leave_out=None), LBFGS(max_iter=3), normalize=None, random_state=0),
        podium.Ranker(DavidsonLoss(), Linear(l1=0.01, l2=0.1)),
        podium.PMOP(l2=0.1),  # counts its penalty per document
        podium.ListMLE(random_state=3),  # draws the order of ties
        podium.Regression(normalize="minmax"),  # has an intercept
        podium.ListNet(normalize="zscore"),
    ],
    ids=["potentials", "kernel", "kernel-as-in-the-paper", "l1", "pmop", "listmle", "minmax", "zscore"],
)
def test_scorers_penalties_and_normalization(ranker, queries, distributed) -> None:
    local, other = fit_both(ranker, queries, distributed)
    np.testing.assert_allclose(other.predict(distributed).compute(), local.predict(queries), rtol=1e-12)


def test_validation_and_going_on(queries, distributed, tmp_path) -> None:
    trainer = LBFGS(max_iter=30, select="best", patience=3)
    for metric in ("ndcg@3", "err"):  # the highest grade of all, for ERR, is in one partition
        ranker = podium.Ranker(ListNetLoss(), Linear(l2=1e-4), trainer)
        local, other = fit_both(ranker, queries, distributed, eval_set=queries, eval_metric=metric)
        assert local.convergence_.validation
    assert other.score(distributed) == local.score(queries)
    other.save(tmp_path / "model.podium")
    loaded = podium.load(tmp_path / "model.podium")
    np.testing.assert_array_equal(loaded.predict(queries), local.predict(queries))
    for init in (local, tmp_path / "model.podium"):
        fit_both(podium.Ranker(ListNetLoss(), Linear(l2=1e-4), LBFGS(max_iter=4)), queries, distributed, init=init)


def test_sparse_and_single_precision(client, queries) -> None:
    for features in (sparse.csr_matrix(queries.features), queries.features.astype(np.float32)):
        given = queries.with_features(features)
        fit_both(podium.ListNet(), given, from_queries(given, 3, client=client))


@pytest.mark.parametrize("scorer", [Linear(), MLP(2)], ids=["linear", "mlp"])
def test_logarithms_of_heavy_tails(client, queries, scorer) -> None:
    features = queries.features.copy()
    features[:, 0] = np.exp(3 * (features[:, 0] - features[:, 0].mean()) / features[:, 0].std())
    heavy = queries.with_features(features.astype(np.float32))
    ranker = podium.Ranker(ListNetLoss(), scorer, LBFGS(max_iter=5), normalize="robust", random_state=0)
    for given in (heavy, heavy.with_features(sparse.csr_matrix(heavy.features))):
        local, other = fit_both(ranker, given, from_queries(given, 3, client=client), eval_set=given)
        assert (local.standardization_.log_scale > 0).sum() == 1
        for name in ("log_scale", "log_negative"):
            found = getattr(other.standardization_, name)
            np.testing.assert_array_equal(found, getattr(local.standardization_, name))
        np.testing.assert_allclose(other.predict(given), local.predict(given), rtol=1e-12)
        d = from_queries(given, 2, client=client)
        np.testing.assert_allclose(other.predict(d).compute(), local.predict(given), rtol=1e-12)
        fit_both(ranker, given, d, init=local)


@pytest.mark.parametrize("scorer", [Linear(), MLP(2)], ids=["linear", "mlp"])
def test_one_long_list(client, scorer) -> None:
    """A list that is a large part of all documents is summed in pieces, on a cluster as here."""
    rng = np.random.default_rng(0)
    sizes = np.array([30] * 10 + [5000] + [30] * 10)
    long = podium.Queries(rng.random((sizes.sum(), 3)), rng.integers(0, 3, sizes.sum()), sizes=sizes)
    d = from_queries(long, 3, client=client)
    assert d.n_partitions == 3
    fit_both(podium.Ranker(ListNetLoss(), scorer, LBFGS(max_iter=3), random_state=0), long, d)


def test_borders_of_somebody_else(client, queries) -> None:
    """Partitions that end within blocks: each evaluation is within rounding."""
    d = from_queries(queries, 1, client=client)
    bounds = np.array([0, 5, 6, 30, len(queries)])
    from podium.dask.moving import cut_at

    parts, facts = cut_at(client, d.parts, d.starts, bounds)
    strange = DistributedQueries(client, parts, facts)
    assert strange.starts.tolist() == bounds.tolist()
    for loss, scorer in ((PMOPLoss(), Linear()), (ListNetLoss(), MLP(3))):
        model = scorer.start(queries, np.random.default_rng(0))
        local = Objective(model, loss.bind(queries.labels, queries.offsets), queries)
        remote = remote_objective(model, loss, strange, None)
        theta = local.initial() + 0.1
        (value, gradient), (other_value, other_gradient) = local(theta), remote(theta)
        assert other_value == pytest.approx(value, rel=1e-12)
        np.testing.assert_allclose(other_gradient, gradient, rtol=0, atol=1e-12 * np.abs(gradient).max())
    repartitioned = strange.repartitioned(3)
    fit_both(podium.ListNet(), queries, repartitioned)


def test_evaluation_per_query(queries, distributed) -> None:
    metrics = ["ndcg@5", "map", "err", "mrr (letor)"]
    scores = np.random.default_rng(0).random(queries.n_documents).round(1)
    local = podium.evaluate(queries, scores, metrics=metrics)
    found = podium.evaluate(distributed, scores, metrics=metrics)
    for name in metrics:
        np.testing.assert_array_equal(found.per_query[name], local.per_query[name])
    assert (str(found), found.mean) == (str(local), local.mean)
    with pytest.raises(ValueError, match="give none of the arrays"):
        podium.evaluate(distributed, scores, qid=np.zeros(3))


def test_what_cannot_be_distributed_says_what_can(queries, distributed) -> None:
    import torch

    network = podium.scorers.Torch(torch.nn.Linear(4, 1))
    for ranker, message in {
        podium.RankBoost(): r"not trained on a loss.*podium\.ListNet\(\)",
        podium.StructRank(): r"trainer Feasible.*podium\.training\.LBFGS\(\)",
        podium.Ranker(ListNetLoss(), MLP(2)): r"trainer Stochastic.*podium\.training\.LBFGS\(\)",
        podium.Ranker(ListNetLoss(), network, LBFGS()): r"TorchModel.*Linear, MLP, Potentials and Kernel can",
        podium.Ranker(ListNetLoss(), Kernel(), LBFGS()): r"n_landmarks",
    }.items():
        with pytest.raises(ValueError, match=message):
            ranker.fit(distributed)
    with pytest.raises(ValueError, match="predict, score and podium"):
        podium.ListNet().fit(queries).rank(distributed)
    with pytest.raises(ValueError, match="leave out y, qid and preferences"):
        podium.ListNet().fit(distributed, queries.labels)


def test_an_error_in_a_loss_names_the_query(queries, distributed) -> None:
    def fails(scores: np.ndarray, labels: np.ndarray) -> tuple[float, np.ndarray]:
        if labels.max(initial=0) >= 3.0:
            raise RuntimeError("no such grade")
        return 0.0, np.zeros_like(scores)

    with pytest.raises(RuntimeError, match="no such grade") as caught:
        podium.Ranker(FunctionLoss(fails)).fit(distributed)
    assert f"the id {queries.qids[-1]}" in " ".join(caught.value.__notes__)
    assert f"query number {len(queries) - 1}" in " ".join(caught.value.__notes__)


def test_unlabeled_and_unlike_partitions_are_refused(client, queries) -> None:
    plain = podium.Queries(queries.features, sizes=queries.sizes)
    with pytest.raises(ValueError, match="have no labels"):
        podium.ListNet().fit(from_queries(plain, 2, client=client))
    fact = PartFacts.of(queries)
    with pytest.raises(ValueError, match="partition 1 has 7 features"):
        DistributedQueries(client, [], [fact, replace(fact, n_features=7)])
    with pytest.raises(ValueError, match="no partition"):
        DistributedQueries(client, [], [])
