"""BLAS is limited within the context only, and a library that is loaded later is found."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest
import scipy.linalg  # noqa: F401  (brings a BLAS)
from threadpoolctl import threadpool_info, threadpool_limits

from podium.numerics.blas import _libraries, quiet_blas


def blas_threads() -> list[int]:
    return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]


def test_one_thread_within_and_as_before_after(monkeypatch) -> None:
    with threadpool_limits(limits=2, user_api="blas"):
        before = blas_threads()
        if 2 not in before:  # some builds cannot have more threads than they started with
            pytest.skip("no BLAS here can be given two threads")
        for _ in range(2):
            with quiet_blas():
                assert set(blas_threads()) == {1}
            assert blas_threads() == before
        found = _libraries(len(sys.modules))
        assert _libraries(len(sys.modules)) is found
        monkeypatch.setitem(sys.modules, "imported_since", ModuleType("imported_since"))
        assert _libraries(len(sys.modules)) is not found
