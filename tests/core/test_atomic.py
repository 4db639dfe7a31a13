"""Files are written whole or not at all, whatever happens on the way."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import time
from pathlib import Path

import polars
import pytest

from podium.cli.main import main
from podium.core import atomic
from podium.core.atomic import atomic_write, require_writable


@pytest.fixture(autouse=True)
def _fresh(monkeypatch) -> None:
    monkeypatch.setattr(atomic, "_looked_through", set())


def _names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def _fail(path: Path, error: BaseException) -> None:
    with atomic_write(path) as file:
        file.write("half")
        raise error


def test_what_a_killed_process_left_is_removed(tmp_path) -> None:
    code = (
        "import os, signal, sys; from podium.core.atomic import atomic_write\n"
        "with atomic_write(sys.argv[1]) as file: file.write('half'); file.flush(); os.kill(os.getpid(), signal.SIGKILL)"
    )
    target = tmp_path / "scores.txt"
    target.write_text("before")
    killed = subprocess.run([sys.executable, "-c", code, str(target)])
    assert killed.returncode < 0
    (left,) = (name for name in _names(tmp_path) if name.endswith(".part"))
    assert target.read_text() == "before"
    with atomic_write(tmp_path / "other.txt") as file:
        file.write("x")
    assert left in _names(tmp_path)  # young: its process may not have locked it yet
    os.utime(tmp_path / left, (time.time() - 3600,) * 2)
    atomic._looked_through.clear()
    with atomic_write(tmp_path / "other.txt") as file:
        file.write("y")
    assert _names(tmp_path) == ["other.txt", "scores.txt"]


def test_what_another_process_is_writing_stays(tmp_path) -> None:
    mine = tmp_path / ".mine.part"
    mine.write_text("a file of the user's")
    with atomic_write(tmp_path / "a.txt") as file:
        (part,) = (name for name in _names(tmp_path) if name.startswith(".a.txt."))
        os.utime(tmp_path / part, (time.time() - 3600,) * 2)
        os.utime(mine, (time.time() - 3600,) * 2)
        atomic._looked_through.clear()
        with atomic_write(tmp_path / "b.txt") as other:
            other.write("b")
        file.write("a")
    assert _names(tmp_path) == [".mine.part", "a.txt", "b.txt"]


def test_a_full_disk_names_the_path_and_leaves_nothing(tmp_path) -> None:
    path = tmp_path / "model.podium"
    path.write_text("before")
    with pytest.raises(OSError, match=r"No space left on device.*model\.podium"):
        _fail(path, OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))
    assert _names(tmp_path) == ["model.podium"]
    assert path.read_text() == "before"


def test_a_file_too_large_for_the_system(tmp_path) -> None:
    """With RLIMIT_FSIZE the system itself refuses to write, as a full disk does."""
    code = (
        "import resource, signal, sys, numpy; from podium.files.archive import write_archive\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN); resource.setrlimit(resource.RLIMIT_FSIZE, (50000, 50000))\n"
        "try: write_archive(sys.argv[1], {}, {'a': numpy.zeros(100000)})\n"
        "except OSError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path / "m")], capture_output=True, text=True, check=True)
    assert str(tmp_path / "m") in done.stdout
    assert _names(tmp_path) == []


def test_ctrl_c_inside_leaves_the_old_file(tmp_path) -> None:
    path = tmp_path / "scores.txt"
    path.write_text("before")
    with pytest.raises(KeyboardInterrupt):
        _fail(path, KeyboardInterrupt())
    assert (_names(tmp_path), path.read_text()) == (["scores.txt"], "before")


def test_the_folder_is_synced(tmp_path, monkeypatch) -> None:
    synced = []
    fsync = os.fsync
    monkeypatch.setattr(
        os, "fsync", lambda handle: (synced.append(os.path.realpath(f"/proc/self/fd/{handle}")), fsync(handle))
    )
    with atomic_write(tmp_path / "a") as file:
        file.write("a")
    assert synced[-1] == str(tmp_path)


def test_a_folder_that_cannot_be_written_to_is_named(tmp_path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="file"), atomic_write(tmp_path / "file" / "model.podium"):
        pass


def test_a_folder_that_cannot_be_written_to_is_known_before_long_work(tmp_path, monkeypatch) -> None:
    """Root, who may run the tests, writes everywhere."""
    asked = []
    monkeypatch.setattr("os.access", lambda folder, mode: asked.append(folder) or mode != os.W_OK)
    with pytest.raises(PermissionError, match=r"Permission denied: '.*new.podium'"):
        require_writable(tmp_path / "made later" / "new.podium")
    assert asked == [tmp_path]
    monkeypatch.setattr("podium.cli.train._train", lambda *_: pytest.fail("trained"))
    assert main(["train", "data.txt", "--method", "listnet", "-o", str(tmp_path / "new.podium")]) == 2
    monkeypatch.undo()
    require_writable(tmp_path / "made later" / "new.podium")
    assert not list(tmp_path.iterdir())


def test_a_long_name(tmp_path) -> None:
    path = tmp_path / ("n" * 250)
    with atomic_write(path) as file:
        file.write("a")
    assert path.read_text() == "a"


@pytest.mark.parametrize("kind", [OSError, polars.exceptions.ComputeError])
def test_a_full_disk_that_polars_meets_names_the_path(tmp_path, kind):
    """Its errors have a number only in their text; writing CSV raises the first kind, Parquet the other."""
    with pytest.raises(OSError, match=r"\[Errno 28\] No space left on device: '.*data\.txt'"):  # noqa: SIM117
        with atomic_write(tmp_path / "data.txt"):
            raise kind("underlying IO error: No space left on device (os error 28)")
    assert list(tmp_path.iterdir()) == []
