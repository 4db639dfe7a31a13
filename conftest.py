"""Which files are tested: those that need only the extra ``dev``; with ``--extras``, those that need others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

# A source or test file whose name ends with that of an optional package imports it, such as tests/test_torch.py; one
# whose name ends with _extras needs several, or takes long.
OPTIONAL_PACKAGES = ("torch", "matplotlib", "_extras")
# Everything in these folders needs Java and search engines, or Dask.
HERE = Path(__file__).parent
NEEDING_EXTRAS = {HERE / "tests" / "engines", HERE / "tests" / "dask", HERE / "src" / "podium" / "dask"}
# Some cases of these need PyTorch and are skipped without it, so the files are run both ways.
RUN_BOTH_WAYS = ("test_function",)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--extras", action="store_true", help="run only the tests that need optional packages or engines")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    if collection_path in NEEDING_EXTRAS and not config.getoption("--extras"):
        return True  # as a whole: its conftest.py may import what is absent
    named = (Path(argument.partition("::")[0]).resolve() for argument in config.args)
    if collection_path.suffix != ".py" or collection_path.stem in RUN_BOTH_WAYS or collection_path in named:
        return None
    needs_extras = collection_path.stem.endswith(OPTIONAL_PACKAGES) or bool(
        NEEDING_EXTRAS & set(collection_path.parents)
    )
    return True if needs_extras != config.getoption("--extras") else None


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say at the end if models were not tested in real search engines, and why."""
    skipped = [report for report in terminalreporter.stats.get("skipped", []) if "tests/engines/" in report.nodeid]
    if skipped:
        reasons = {str(report.longrepr[2]).removeprefix("Skipped: ") for report in skipped}
        terminalreporter.write_line(
            f"NOT TESTED in search engines ({len(skipped)} tests): {'; '.join(sorted(reasons))}"
        )
