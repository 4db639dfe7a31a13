"""One cluster for all tests of a process, of two single-threaded workers; others for tests that kill workers."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
from dask.distributed import Client, LocalCluster


def _start(stack: ExitStack, n_workers: int, **options: bool) -> Client:
    cluster = LocalCluster(
        n_workers=n_workers, threads_per_worker=1, dashboard_address=":0", silence_logs=logging.CRITICAL
    )
    return stack.enter_context(Client(stack.enter_context(cluster), **options))


@pytest.fixture(scope="session")
def client() -> Iterator[Client]:
    with ExitStack() as stack:
        yield _start(stack, 2)


@pytest.fixture(scope="module")
def new_client() -> Iterator[Callable[[int], Client]]:
    """A function that starts a cluster of so many workers for one file of tests, which may kill them."""
    with ExitStack() as stack:
        yield lambda n_workers: _start(stack, n_workers, set_as_default=False)
