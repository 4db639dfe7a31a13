"""A full disk, a folder that cannot be written, a process killed in a transaction: a run loses only what is under way.

Faults are injected where they happen, in SQLite itself: a limit on the size of the file is a full disk. Runs that are
killed between trials, and two processes on one run, are in ``test_compare.py`` and ``test_store.py``.
"""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys

import numpy as np
import pytest

import podium
from podium.experiments.run.lock import locked
from podium.experiments.run.store import FILE, Store

from ..feature_ranker import Feature


def run(queries, out=None, **options):
    methods = {"mine": (Feature(), {"number": [0, 1, 2, 3]})}
    return podium.compare(queries, methods, metrics=["map"], folds=3, jobs=1, out=out, **options)


class Counting:
    """Listens for how many trials there are and how many were kept."""

    counts = ()

    def note(self, text): ...

    def start(self, total, done):
        self.counts = total, done

    def finished(self, text, seconds_left=None): ...


def test_a_full_disk_loses_the_trial_under_way_and_nothing_else(queries, tmp_path, monkeypatch):
    opened = Store.__init__

    def on_a_small_disk(self, *arguments, **options):
        opened(self, *arguments, **options)
        self._database.execute("PRAGMA max_page_count = 20")

    with monkeypatch.context() as patch:
        patch.setattr(Store, "__init__", on_a_small_disk)
        with pytest.raises(OSError, match=rf"{FILE}: database or disk is full"):
            run(queries, tmp_path)
    database = sqlite3.connect(tmp_path / FILE)
    (kept,) = database.execute("SELECT count(*) FROM trials").fetchone()
    assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    database.close()
    assert 0 < kept < 18
    listener = Counting()
    found = run(queries, tmp_path, progress=listener)  # there is room again
    assert listener.counts[1] >= kept - 1  # the last one had no room for its scores, or for the result
    assert found.values("mine", "map").tolist() == run(queries).values("mine", "map").tolist()


def test_a_folder_that_cannot_be_written_is_named_and_nobody_else_is_blamed(queries, tmp_path):
    (tmp_path / ".lock").mkdir()  # as root, a folder without permissions could be written
    with pytest.raises(OSError, match=r"\.lock: unable to open database file; the folder of a run must be writable"):
        run(queries, tmp_path)
    with locked(tmp_path / "other"), pytest.raises(ValueError, match="another comparison is running"):
        run(queries, tmp_path / "other")


def test_a_disk_that_is_full_for_the_tables_keeps_the_run(queries, tmp_path, monkeypatch):
    from podium.experiments.result import frames

    def no_space(path):
        raise OSError(28, "No space left on device", str(path))

    with monkeypatch.context() as patch:
        patch.setattr(frames, "atomic_write", no_space)
        with pytest.raises(OSError, match="No space left"):
            run(queries, tmp_path)
    listener = Counting()
    run(queries, tmp_path, progress=listener)
    assert listener.counts == ()  # nothing was left to compute
    assert (tmp_path / "report.html").is_file()


KILLED = """
import os, signal, sys
from pathlib import Path
import numpy as np
from podium.experiments.run import store
from podium.experiments.run.outcomes import Trial

def trial(number):
    return Trial("a", "1", {}, number=number, test_scores=np.ones(3))

held = store.Store(Path(sys.argv[1]))
held.add_trial("first", trial(1))
store._pack = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)  # after the trial's row, before its scores
held.add_trial("second", trial(2))
"""


def test_a_process_killed_within_a_transaction_leaves_no_half_of_a_trial(queries, tmp_path):
    run(queries, tmp_path)
    killed = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path / FILE)])
    assert killed.returncode == -signal.SIGKILL
    store = Store(tmp_path / FILE)
    assert store.trial("second") is None
    assert store.trial_with_scores("first").test_scores.tolist() == np.ones(3).tolist()
    assert podium.experiments.Comparison.load(tmp_path).failed == []
