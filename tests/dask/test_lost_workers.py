"""Workers that die: what they held is sent and made again, and the result has the same bits."""

from __future__ import annotations

import logging
import os
import resource
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from dask.distributed import Client, LocalCluster

import dask
import podium
from podium.dask import from_queries


@pytest.fixture(scope="module")
def three_workers() -> Iterator[Client]:
    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # it says that workers die, which is the point here
    with (
        LocalCluster(n_workers=3, threads_per_worker=1, dashboard_address=":0", silence_logs=logging.CRITICAL) as made,
        Client(made) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def queries() -> podium.Queries:
    return podium.make_queries(n_queries=40, n_documents=10, n_features=4, random_state=5)


def test_one_of_three_is_killed_during_a_fit(three_workers, queries) -> None:
    local = podium.ListNet(l2=1e-4).fit(queries, eval_set=queries)
    d = from_queries(queries, 5, client=three_workers)
    assert d.n_partitions == 5
    workers = three_workers.run(os.getpid)
    held = {place for places in three_workers.who_has([part.future for part in d.parts]).values() for place in places}
    assert len(held) == 3
    killed = []

    def kill_one(progress: podium.training.Progress) -> None:
        if progress.iteration == 2:
            killed.append(workers[sorted(held)[1]])
            os.kill(killed[0], signal.SIGKILL)

    other = podium.ListNet(l2=1e-4).fit(d, eval_set=d, callback=kill_one)
    assert killed
    assert local.n_iter_ > 4
    np.testing.assert_array_equal(other.coef_, local.coef_)
    assert other.convergence_ == local.convergence_
    assert other.score(d) == local.score(queries)  # what was sent again is there


def test_a_worker_out_of_memory_names_partition_and_size(three_workers, queries) -> None:
    def grows(part: podium.Queries) -> None:
        if part.qids[0] == 0:
            os._exit(137)  # as the kernel ends a process that takes too much

    d = from_queries(queries, 4, client=three_workers)
    three_workers.cluster.scheduler.allowed_failures = 0  # give up at once, which saves starting workers again
    with pytest.raises(MemoryError, match=r"partition 0 \(\d+ queries, \d+ documents × 4 features, .* MB\).*smaller"):
        d.each(grows)

    def refuses(part: podium.Queries) -> None:
        if part.qids[0] > 0:
            raise MemoryError("Unable to allocate 8 EiB")

    with pytest.raises(MemoryError, match=r"ran out of memory at partition [123] \(.*memory_limit"):
        d.each(refuses)


def test_a_worker_above_its_memory_limit_names_partition_and_size(queries) -> None:
    limits = {f"distributed.worker.memory.{name}": False for name in ("target", "spill", "pause")}
    with (
        dask.config.set({**limits, "distributed.scheduler.allowed-failures": 0}),
        LocalCluster(
            n_workers=1,
            threads_per_worker=1,
            memory_limit="700MB",
            dashboard_address=":0",
            silence_logs=logging.CRITICAL,
        ) as made,
        Client(made, set_as_default=False) as client,
    ):
        d = from_queries(queries, 1, client=client)
        with pytest.raises(MemoryError, match=r"partition 0 \(40 queries, \d+ documents × 4 features, .* MB\)"):
            d.each(_grow)
        client.wait_for_workers(1)
        client.run(_limit_address_space)
        with pytest.raises(MemoryError, match=r"ran out of memory at partition 0 \(40 queries, .*memory_limit"):
            from_queries(queries, 1, client=client).each(_grow, 2**28)


def _grow(part: podium.Queries, size: int = 2**21) -> None:
    """Take up to 1.6 GB, slowly enough for the nanny, which looks ten times per second."""
    kept = []
    for _ in range(100):
        kept.append(np.ones(size))
        time.sleep(0.03)


def _limit_address_space() -> None:
    """Let this process have little more address space than it has now."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + 2**27, resource.RLIM_INFINITY))
