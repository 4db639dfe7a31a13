"""Trees grown by several workers together: the trees of a fit in one process, for every kind of loss."""

from __future__ import annotations

import os
import signal

import numpy as np
import pytest

import podium
import podium.dask
from podium.losses import DrawnLabels, FunctionLoss, ListNetLoss, Loss, WithRegression
from podium.scorers import Trees


def lists(n_queries, seed):
    """Queries whose features have three levels, so that every worker has each often enough: bins are then the same."""
    made = podium.make_queries(n_queries=n_queries, n_documents=12, n_features=4, random_state=seed)
    return podium.Queries(np.clip(np.round(made.features), -1, 1), made.labels, sizes=made.sizes)


def _half_squares(scores, labels):
    difference = scores - labels
    return 0.5 * (difference * difference).sum(), difference


TRAIN, VALID = lists(60, 0), lists(20, 1)
LOSSES = [
    found()
    for found in vars(podium.losses).values()
    if isinstance(found, type)
    and issubclass(found, Loss)
    and found not in (Loss, DrawnLabels, FunctionLoss, WithRegression)
] + [WithRegression(ListNetLoss(), weight=1.0), FunctionLoss(_half_squares, convex=True)]


@pytest.fixture(scope="module")
def train(client):
    return podium.dask.from_queries(TRAIN, 3, client=client)


@pytest.fixture(scope="module")
def valid(client):
    return podium.dask.from_queries(VALID, 2, client=client)


def assert_same_trees(found, expected):
    """Oracle: LightGBM in one process."""
    there, here = found.model_.forest, expected.model_.forest
    assert there.n_trees == here.n_trees
    assert there.feature.tolist() == here.feature.tolist()
    assert there.threshold.tolist() == here.threshold.tolist()
    np.testing.assert_allclose(there.leaf_value, here.leaf_value, rtol=0, atol=1e-6)


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
def test_trees_are_those_of_one_process(train, loss):
    scorer = Trees(n_trees=3, n_leaves=4, query_fraction=0.7)
    found, expected = (podium.Ranker(loss, scorer, random_state=3).fit(queries) for queries in (train, TRAIN))
    assert_same_trees(found, expected)
    np.testing.assert_allclose(found.loss_parameters_, expected.loss_parameters_, atol=1e-6)
    np.testing.assert_allclose(found.convergence_.losses, expected.convergence_.losses, atol=1e-6)
    np.testing.assert_allclose(found.predict(train).compute(), expected.predict(TRAIN), atol=1e-6)


def test_early_stopping_saving_and_going_on(train, valid, tmp_path):
    options = {"n_trees": 40, "n_leaves": 4, "learning_rate": 0.5, "patience": 5, "random_state": 0}
    here = podium.LambdaMART(**options).fit(TRAIN, eval_set=VALID)
    there = podium.LambdaMART(**options).fit(train, eval_set=valid)
    assert here.convergence_.n_iter < 40
    assert there.convergence_.best_iter == here.convergence_.best_iter
    np.testing.assert_allclose(there.convergence_.validation, here.convergence_.validation, atol=1e-6)
    assert_same_trees(there, here)
    there.save(tmp_path / "model.podium")
    loaded = podium.load(tmp_path / "model.podium")
    np.testing.assert_array_equal(loaded.predict(VALID), there.predict(VALID))
    mixed = podium.LambdaMART(**options).fit(train, eval_set=VALID)  # validation queries of this process
    assert mixed.convergence_.validation == there.convergence_.validation
    more = {**options, "patience": None, "n_trees": 3}
    assert_same_trees(
        podium.LambdaMART(**more).fit(train, init=loaded), podium.LambdaMART(**more).fit(TRAIN, init=loaded)
    )


def test_a_worker_without_a_partition_and_features_without_a_split(client):
    one = podium.dask.from_queries(TRAIN, 1, client=client)
    ranker = podium.LambdaMART(n_trees=2, n_leaves=4, random_state=0)
    assert_same_trees(ranker.fit(one), podium.LambdaMART(n_trees=2, n_leaves=4, random_state=0).fit(TRAIN))
    constant = podium.Queries(np.ones((TRAIN.n_documents, 2)), TRAIN.labels, sizes=TRAIN.sizes)
    d = podium.dask.from_queries(constant, 2, client=client)
    assert podium.GBDT(n_trees=2).fit(d).predict(constant) == pytest.approx(
        podium.GBDT(n_trees=2).fit(constant).predict(constant)
    )


@pytest.mark.parametrize(("name", "value"), [("categorical", [0]), ("monotone", {0: 1})])
def test_what_cannot_be_distributed_is_refused_by_name(train, name, value):
    ranker = podium.Ranker(ListNetLoss(), Trees(n_trees=2, **{name: value}))
    with pytest.raises(ValueError, match=f"cluster with {name} features"):
        ranker.fit(train)


def test_a_lost_worker_is_named(new_client):
    client = new_client(2)
    d = podium.dask.from_queries(TRAIN, 2, client=client)
    address, pid = max(client.run(os.getpid).items())

    def kill(progress):
        if progress.iteration == 2:
            os.kill(pid, signal.SIGKILL)

    with pytest.raises(RuntimeError, match=rf"lost the worker {address} with partition \d \(30 queries, .* MB\)"):
        podium.LambdaMART(n_trees=50, n_leaves=4).fit(d, callback=kill)


def test_a_worker_out_of_memory_names_partition_and_size(new_client):
    client = new_client(2)
    d = podium.dask.from_queries(TRAIN, 2, client=client)
    poor = client.who_has([d.parts[1].future])[d.parts[1].future.key][0]
    ranker = podium.Ranker(Hungry(), Trees(n_trees=2))
    ranker.fit(d)  # compiled, loaded
    client.run(_limit_memory, workers=[poor])
    with pytest.raises(MemoryError, match=r"ran out of memory at partition 1 \(30 queries, .* features, .* MB\)"):
        ranker.fit(d)


class Hungry(ListNetLoss):
    """Takes two gigabytes where there is a limit."""

    def prepare(self, data):
        import resource

        if resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY:
            np.ones(2**28)
        return super().prepare(data)


def _limit_memory():
    """Let this process have little more address space than it has now."""
    import resource
    from pathlib import Path

    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + 2**28, resource.RLIM_INFINITY))
