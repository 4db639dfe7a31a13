"""Names are looked up when they are used, so a wrong one would go unnoticed until then."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import podium

TOOL = Path(__file__).parent.parent / "tools" / "public_names.py"


# These need optional packages, with which they are tested: tests/dask, tests/test_torch.py, …
@pytest.mark.parametrize(
    "name", [name for name in podium.__all__ if name not in ("dask", "sentence_transformers", "torch")]
)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(podium, name) is not None


def test_a_room_lists_what_its_modules_list() -> None:
    assert set(podium.training.__all__) >= {"LBFGS", "Stochastic", "Problem"}
    assert all(hasattr(podium.training, name) for name in podium.training.__all__)
    assert not {"public_names", "base", "Monitor"} & set(podium.training.__all__)


@pytest.fixture(scope="module")
def tool():
    specification = importlib.util.spec_from_file_location("public_names", TOOL)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def test_lists_of_names_are_up_to_date(tool) -> None:
    assert [str(path) for path in tool.stale(tool.SOURCE)] == [], "run: python tools/public_names.py"


def test_a_new_module_needs_no_second_list(tool, tmp_path) -> None:
    """A loss and a ranker in files of their own: both are found, and only the ranker is a name of podium itself."""
    for room in (*tool.ROOMS, "files"):
        (tmp_path / "podium" / room).mkdir(parents=True)
        (tmp_path / "podium" / room / "__init__.py").write_text(f'"""The room {room}."""\n')
    root = tmp_path / "podium" / "__init__.py"
    root.write_text(f"before\n{tool.BEGIN}\n{tool.END}\nafter\n")
    (tmp_path / "podium" / "losses" / "new.py").write_text('__all__ = ["NewLoss", "ALoss"]\nraise RuntimeError\n')
    (tmp_path / "podium" / "losses" / "private.py").write_text("class Private: ...\n")
    (tmp_path / "podium" / "rankers" / "new.py").write_text('__all__ = ["New", "BaseRanker"]\n')
    files = {path.relative_to(tmp_path).as_posix(): text for path, text in tool.generate(tmp_path).items()}
    assert files["podium/losses/__init__.py"] == (
        '"""The room losses."""\n\nfrom podium.core.rooms import public_names\nfrom podium.losses.new import *\n\n'
        "__all__ = public_names(__name__)\n"
    )
    assert files["podium/scorers/__init__.py"] == '"""The room scorers."""\n'
    assert files["podium/__init__.py"].startswith(f"before\n{tool.BEGIN}\n")
    assert files["podium/__init__.py"].endswith(f"\n{tool.END}\nafter\n")
    names: dict = {}
    exec(files["podium/__init__.py"].partition("before")[2].rpartition("after")[0], names)
    assert names["_NAMES"].keys() == {"podium", "podium.rankers"}
    assert names["_NAMES"]["podium.rankers"] == "New"
    assert names["_NAMES"]["podium"].split() == sorted([*tool.ROOMS, *tool.MODULES])
    assert "from podium.rankers.new import New as New\n" in files["podium/__init__.pyi"]
    assert "NewLoss" not in files["podium/__init__.pyi"]
    (tmp_path / "podium" / "losses" / "other.py").write_text('__all__ = ["NewLoss"]\n')
    with pytest.raises(ValueError, match=r"losses\.new and podium\.losses\.other both list NewLoss"):
        tool.generate(tmp_path)


def test_the_tool_from_the_command_line() -> None:
    done = subprocess.run([sys.executable, TOOL, "--check"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "")


def test_a_new_family_of_metrics_is_imported(tool, tmp_path: Path) -> None:
    shutil.copytree(tool.SOURCE / "podium", tmp_path / "podium", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "podium" / "metrics" / "families" / "my_family.py").write_text('"""A family."""\n')
    (outdated,) = tool.stale(tmp_path).items()
    assert outdated[0].as_posix().endswith("metrics/families/__init__.py")
    assert "\n    my_family,\n" in outdated[1]
