"""One cluster for all tests of a process: two workers, single-threaded processes."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest
from dask.distributed import Client, LocalCluster


@pytest.fixture(scope="session")
def client() -> Iterator[Client]:
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=logging.CRITICAL
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client
