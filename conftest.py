"""Which files are tested: those that need only the extra ``dev``; with ``--extras``, those that need others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

# A source or test file whose name ends with that of an optional package imports it, such as tests/test_torch.py; one
# whose name ends with _extras needs several, or takes long.
OPTIONAL_PACKAGES = ("torch", "sentence_transformers", "matplotlib", "_extras")
# Everything in these folders needs Java and search engines, or Dask.
HERE = Path(__file__).parent
NEEDING_EXTRAS = {HERE / "tests" / "engines", HERE / "tests" / "dask", HERE / "src" / "podium" / "dask"}
# Some cases of these need PyTorch and are skipped without it, so the files are run both ways.
RUN_BOTH_WAYS = ("test_function",)

# Files that take `make test` a second or more each, mostly to compile: contracts over all losses and rankers, worker
# processes, a browser. Their tests are marked slow, and `make test-quick` leaves them out.
SLOW = {
    "cli/test_compare.py",
    "cli/test_compare_clicks.py",
    "cli/test_demo.py",
    "cli/test_train_selection.py",
    "clicks/test_comparing.py",
    "core/test_random_state.py",
    "data/test_decimals.py",
    "data/test_indexed.py",
    "data/test_letor.py",
    "data/test_letor_damaged.py",
    "data/test_letor_errors.py",
    "experiments/test_auto.py",
    "experiments/test_blend.py",
    "experiments/test_code.py",
    "experiments/test_compare.py",
    "experiments/test_explaining.py",
    "experiments/test_faults.py",
    "experiments/test_large.py",
    "experiments/test_notebook.py",
    "experiments/test_ohsumed.py",
    "experiments/test_own_parts.py",
    "experiments/test_progress.py",
    "experiments/test_rehearsal.py",
    "experiments/test_report.py",
    "experiments/test_report_browser.py",
    "experiments/test_runs.py",
    "experiments/test_search.py",
    "experiments/test_store.py",
    "experiments/test_telling.py",
    "experiments/test_workers.py",
    "files/test_saving.py",
    "fuzz/test_fuzz.py",
    "losses/test_cofirank.py",
    "losses/test_function.py",
    "losses/test_given_pairs.py",
    "losses/test_listnet.py",
    "losses/test_on_scorers.py",
    "losses/test_pmop_variants.py",
    "losses/test_structrank_functions.py",
    "metrics/test_own.py",
    "numerics/test_compiling.py",
    "numerics/test_crossing.py",
    "numerics/test_elementary.py",
    "numerics/test_loop.py",
    "numerics/test_pair_grid.py",
    "numerics/test_subset_sampling.py",
    "numerics/trees/test_evaluate.py",
    "probabilities/test_distributions.py",
    "rankers/test_boltzrank.py",
    "rankers/test_clicked_gain.py",
    "rankers/test_explain.py",
    "rankers/test_feature_boosting.py",
    "rankers/test_logarithms.py",
    "rankers/test_rescaling.py",
    "rankers/test_sklearn.py",
    "ratings/test_compare.py",
    "scorers/test_own_scorer.py",
    "serving/test_processes.py",
    "serving/test_serving.py",
    "test_docstrings.py",
    "test_extension_points.py",
    "test_loss_contract.py",
    "test_pages.py",
    "test_places_in_memory.py",
    "test_public_names.py",
    "test_ranker_behavior.py",
    "test_row_order_contract.py",
    "test_scorer_contract.py",
    "training/test_restarts.py",
}


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


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    slow = {HERE / "tests" / name for name in SLOW}
    if missing := [path.name for path in slow if not path.is_file()]:
        raise pytest.UsageError(f"conftest.py lists files as slow that are not there: {', '.join(missing)}")
    for item in items:
        if item.path in slow:
            item.add_marker(pytest.mark.slow)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say at the end if models were not tested in real search engines, and why."""
    skipped = [report for report in terminalreporter.stats.get("skipped", []) if "tests/engines/" in report.nodeid]
    if skipped:
        reasons = {str(report.longrepr[2]).removeprefix("Skipped: ") for report in skipped}
        terminalreporter.write_line(
            f"NOT TESTED in search engines ({len(skipped)} tests): {'; '.join(sorted(reasons))}"
        )
