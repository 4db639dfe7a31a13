"""The pool of threads: every item once, errors reach the caller, nothing depends on the number of threads."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import numpy as np
import pytest

from podium.numerics import pool
from podium.numerics.pool import each, n_threads, share, threads

MUCH = 1e12


@pytest.fixture(autouse=True)
def four_threads(monkeypatch):
    monkeypatch.setattr(pool, "_available", lambda: 4)


@pytest.mark.parametrize("n_items", [0, 1, 2, 15, 1000])
def test_every_item_is_covered_once(n_items):
    seen = np.zeros(n_items, int)

    def count(first, stop):
        seen[first:stop] += 1

    share(count, n_items, work=MUCH)
    np.testing.assert_array_equal(seen, 1)


def test_ranges_have_about_equal_costs():
    sizes = np.array([1000] + [1] * 1000)
    offsets = np.concatenate(([0], np.cumsum(sizes)))
    seen = np.zeros(len(sizes), int)
    ranges = []

    def count(first, stop):
        seen[first:stop] += 1
        ranges.append((first, stop))

    share(count, offsets, work=MUCH)
    np.testing.assert_array_equal(seen, 1)
    assert max(offsets[stop] - offsets[first] for first, stop in ranges) <= 1000 + 2000 / 16


def test_several_threads_work_at_the_same_time():
    meeting = threading.Barrier(4, timeout=30)
    each(lambda _: meeting.wait(), [(i,) for i in range(4)])


@pytest.mark.parametrize("how", ["little work", "limit", "nested"])
def test_runs_in_the_calling_thread(how):
    used = set()

    def note(first, stop):
        used.add((threading.get_ident(), first, stop))

    if how == "little work":
        share(note, 100, work=100)
    elif how == "limit":
        with threads(1):
            share(note, 100, work=MUCH)
    else:
        idents = each(lambda _: (share(note, 100, work=MUCH), threading.get_ident())[1], [(0,)])
        assert {ident for ident, _, _ in used} == set(idents)
    assert {(first, stop) for _, first, stop in used} == {(0, 100)}
    assert len(used) == 1


def test_nested_loops_do_not_deadlock():
    def inner(i):
        return sum(each(lambda j: i * j, [(j,) for j in range(20)]))

    assert each(inner, [(i,) for i in range(50)]) == [190 * i for i in range(50)]


def test_an_exception_reaches_the_caller_and_the_pool_lives_on():
    def fail(i):
        if i >= 3:
            raise ZeroDivisionError(f"item {i}")
        return i

    with pytest.raises(ZeroDivisionError, match="item"):
        each(fail, [(i,) for i in range(8)])
    assert each(fail, [(i,) for i in range(3)]) == [0, 1, 2]


def test_limits_only_go_down():
    assert n_threads() == 4
    with threads(2):
        assert n_threads() == 2
        with threads(3):
            assert n_threads() == 2
    assert n_threads() == 4


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, None),
        ({"PODIUM_NUM_THREADS": "1"}, 1),
        ({"OMP_NUM_THREADS": "1"}, 1),
        ({"NUMBA_NUM_THREADS": "1", "OMP_NUM_THREADS": "7"}, 1),
        ({"PODIUM_NUM_THREADS": "9999", "OMP_NUM_THREADS": "1"}, None),
        ({"OMP_NUM_THREADS": "many"}, None),
    ],
)
def test_the_environment_limits_the_number_of_threads(environment, expected):
    names = ("PODIUM_NUM_THREADS", "OMP_NUM_THREADS", "NUMBA_NUM_THREADS")
    clean = {name: value for name, value in os.environ.items() if name not in names}
    code = "from podium.numerics.pool import n_threads; print(n_threads())"
    found = subprocess.run(
        [sys.executable, "-c", code], env={**clean, **environment}, capture_output=True, check=True, text=True
    )
    assert int(found.stdout) == (expected or len(os.sched_getaffinity(0)))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_works_after_a_fork():
    def meeting():
        each(threading.Barrier(2, timeout=20).wait, [(), ()])

    meeting()  # the parent's threads exist
    child = os.fork()
    if child == 0:
        status = 1
        try:
            meeting()
            status = 0
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_idle_threads_sleep():
    each(threading.Barrier(4, timeout=30).wait, [()] * 4)
    before = os.times()
    threading.Event().wait(0.3)
    after = os.times()
    assert (after.user + after.system) - (before.user + before.system) < 0.1
