"""Compiled functions on disk: they know what they were made from, and no state of the folder stops anything."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
import threading
from pathlib import Path

import numba
import pytest

import podium
from podium.cli.main import main
from podium.core import notices
from podium.experiments.run.workers import Task, Workers
from podium.losses import RankNetLoss
from podium.numerics import code_cache, code_stamp, compile_notice
from podium.numerics.code_stamp import _Walk, stamp
from podium.numerics.compiling import callback, uncompiled

CALLED = """
from podium.numerics.compiling import njit
@njit(error_model="numpy")
def better(a, b):
    return a > b
"""
CALLER = """
from podium._called import better
from podium.numerics.compiling import njit
@njit(cache=True, error_model="numpy")
def first(a, b):
    return a if better(a, b) else b
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The folder of compiled functions, used by modules that :func:`_make` makes."""
    monkeypatch.setattr(code_cache.config, "CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(code_cache, "_warned", False)
    yield tmp_path / "cache"
    for name in ("podium._called", "podium._caller"):
        sys.modules.pop(name, None)


def _make(tmp_path: Path, called: str = CALLED):
    """Return the compiled function of a module that calls one of another, both freshly imported."""
    for name, text in (("_called", called), ("_caller", CALLER)):
        file = tmp_path / f"{name}.py"
        file.write_text(text)
        spec = importlib.util.spec_from_file_location(f"podium.{name}", file)
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
    return sys.modules["podium._caller"].first


def _hits(function) -> int:
    return sum(function.stats.cache_hits.values())


def test_a_change_in_a_called_file_recompiles_the_caller(tmp_path, folder) -> None:
    assert _make(tmp_path)(1, 2) == 2
    again = _make(tmp_path)
    assert again(1, 2) == 2
    assert _hits(again) == 1
    changed = _make(tmp_path, CALLED.replace("a > b", "a < b"))  # the caller's file is as it was
    assert changed(1, 2) == 1
    assert len(list(folder.rglob("*.nbc"))) == 1  # what is stale is removed


DAMAGES = {
    "cut": lambda b: b[:-9],
    "empty": lambda b: b"",
    "byte": lambda b: b[:50] + b"\0" + b[51:],
    "long": lambda b: b * 2,
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_file_is_replaced(tmp_path, folder, damage) -> None:
    _make(tmp_path)(1, 2)
    (file,) = folder.rglob("*.nbc")
    whole = file.read_bytes()
    file.write_bytes(damage(whole))
    repaired = _make(tmp_path)
    assert repaired(1, 2) == 2
    assert _hits(repaired) == 0
    again = _make(tmp_path)
    assert again(1, 2) == 2
    assert _hits(again) == 1


def test_without_a_folder_there_is_one_warning_and_a_result(tmp_path, folder) -> None:
    folder.write_text("not a folder")
    with pytest.warns(RuntimeWarning, match="Set NUMBA_CACHE_DIR"):
        assert _make(tmp_path)(1, 2) == 2
    assert _make(tmp_path)(1, 2) == 2  # warnings are errors in tests


def test_a_folder_that_everybody_may_write_to_is_not_used(tmp_path, folder) -> None:
    _make(tmp_path)(1, 2)
    (file,) = folder.rglob("*.nbc")
    file.parent.chmod(0o777)
    distrustful = _make(tmp_path)
    with pytest.warns(RuntimeWarning, match="other users may write"):
        assert distrustful(1, 2) == 2
    assert _hits(distrustful) == 0


def test_a_filled_folder_that_is_read_only_is_used(tmp_path, folder, monkeypatch) -> None:
    _make(tmp_path)(1, 2)
    monkeypatch.setattr(code_cache, "_replace", lambda *_: pytest.fail("written to"))
    again = _make(tmp_path)
    assert again(1, 2) == 2
    assert _hits(again) == 1


def test_no_home_and_no_folder_beside_the_sources() -> None:
    code = (
        "import warnings; warnings.simplefilter('ignore');"
        "from podium.numerics import code_cache; from pathlib import Path;"
        "print(list(code_cache.cache_folders(Path('/x/y.py'))))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONPATH": str(Path(podium.__file__).parents[1])}, capture_output=True
    )
    assert b"__pycache__" in done.stdout
    assert b".cache" not in done.stdout


def test_every_kernel_knows_every_file_it_was_made_from() -> None:
    walk = _Walk()
    walk.value(RankNetLoss.kernel)
    files = {"/".join(Path(file).parts[-2:]) for file in walk.files}
    # Directly, through a template with another function in it, and through an overload.
    assert {"losses/ranknet.py", "pairs/gaps.py", "numerics/elementary.py"} <= files
    assert "losses/listnet.py" not in files


def test_the_sorting_kernels_are_in_the_stamp_of_their_callers(monkeypatch) -> None:
    from podium.metrics.kernel import measure_queries

    before = stamp(measure_queries)
    contents = code_stamp._contents
    other = lambda file, changed: contents(file, changed) + "x" * file.endswith("numerics/sorting.py")  # noqa: E731
    monkeypatch.setattr(code_stamp, "_contents", other)
    assert stamp(measure_queries) != before


def test_numbas_own_cache_is_used_nowhere() -> None:
    own = re.compile(r"from numba import [^\n]*\b(njit|jit|cfunc|vectorize)\b|numba\.\w+\([^)\n]*cache=")
    sources = Path(podium.__file__).parent.rglob("*.py")
    assert [str(path) for path in sources if own.search(path.read_text("utf-8"))] == []


def test_those_who_wait_for_the_compiler_are_told_once(monkeypatch) -> None:
    told = threading.Semaphore(0)
    monkeypatch.setattr(notices, "compiling", told.release)
    monkeypatch.setattr(compile_notice, "AFTER", 0.01)
    watch = compile_notice._Watch()
    watch.on_start(None)
    watch.on_start(None)
    assert told.acquire(timeout=30)
    watch.on_end(None)
    watch.on_end(None)
    watch.on_start(None)
    assert not told.acquire(timeout=0.1)


def test_what_is_compiled_quickly_needs_no_word(monkeypatch) -> None:
    told = threading.Semaphore(0)
    monkeypatch.setattr(notices, "compiling", told.release)
    monkeypatch.setattr(compile_notice, "AFTER", 3600)
    watch = compile_notice._Watch()
    watch.on_start(None)
    watch.on_end(None)
    assert watch._timer is not None
    watch._timer.join(timeout=30)
    assert not watch._timer.is_alive()
    assert not told.acquire(blocking=False)


def test_compilers_are_watched(monkeypatch) -> None:
    """Both Numba's own functions and our C functions announce that they are compiled."""
    seen = []
    monkeypatch.setattr(compile_notice._Watch, "on_start", lambda self, happened: seen.append(happened))
    callback(uncompiled(lambda x: x + 1.0), "float64(float64)")
    assert seen


def test_programs_are_told_on_standard_error_unless_they_configure_logging() -> None:
    program = "from podium.core import notices; notices.compiling()"
    for start in ("", "import logging; logging.getLogger('podium').setLevel('ERROR'); "):
        done = subprocess.run([sys.executable, "-c", start + program], capture_output=True, text=True, check=True)
        assert done.stderr == ("" if start else "podium: compiling, first run only\n")


def test_the_command_line_says_that_it_compiles_unless_it_is_to_be_quiet(monkeypatch) -> None:
    monkeypatch.setattr(notices, "compiling", None)
    main(["methods"])
    assert notices.compiling is notices.say_compiling
    assert main(["compare", "no-such-file", "--quiet"]) == 2
    assert notices.compiling is None


@pytest.mark.parametrize("told", [False, True])
def test_one_of_several_workers_says_that_it_compiles(monkeypatch, told) -> None:
    monkeypatch.setattr(notices, "compiling", notices.say_compiling if told else None)
    with Workers(2) as workers:
        tasks = [Task(str(number), _is_told, ()) for number in range(2)]
        for worker, task in zip(workers._workers, tasks, strict=True):
            worker.give(task, 1)
        said = []
        for worker in workers._workers:
            while not worker.receive():
                pass
            said.append(worker.outcome)
    assert said == [told, False]


def _is_told() -> bool:
    return notices.compiling is not None


def test_a_function_from_elsewhere_has_no_stamp() -> None:
    """It may be redefined in a notebook, without a trace."""
    from podium.numerics.compiling import with_globals
    from podium.numerics.kernels import _call_loss

    assert stamp(lambda x: x) is None
    assert stamp(_call_loss) is not None
    theirs = numba.njit(lambda given, prepared, out: 0.0)
    assert stamp(with_globals(_call_loss, kernel=theirs)) is None
