"""The loop over queries: what its compiled copies are made of, and what it says when a loss is not finite."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from podium.losses import ListNetLoss, RankNetLoss, RankRegressLoss
from podium.losses.loop import _source_files, _stamp, over_queries


def names(files: set[str]) -> set[str]:
    return {"/".join(Path(file).parts[-2:]) for file in files}


def test_a_compiled_copy_knows_every_file_it_was_made_from() -> None:
    files = names(_source_files(RankNetLoss.kernel))
    # Directly, through a template with another function in it, and through an overload.
    assert {"losses/ranknet.py", "losses/pairs.py", "solvers/elementary.py"} <= files
    assert "losses/listnet.py" not in files


def test_a_changed_file_makes_another_copy(tmp_path: Path) -> None:
    file = tmp_path / "kernel.py"
    file.write_text("one")
    before = _stamp({str(file)})
    assert _stamp({str(file)}) == before
    file.write_text("another")
    assert _stamp({str(file)}) != before


def test_one_copy_for_each_kernel() -> None:
    assert over_queries(ListNetLoss.kernel) is over_queries(ListNetLoss.kernel)
    assert over_queries(ListNetLoss.kernel) is not over_queries(RankNetLoss.kernel)


def test_a_loss_that_overflows_says_where() -> None:
    scores = np.array([0.0, 1.0, 1e200, -1e200])
    with pytest.raises(ValueError, match="RankRegressLoss is nan on query number 1, whose scores reach from -1e"):
        RankRegressLoss().value_and_gradient(scores, [1, 0, 0, 1], [0, 2, 4])
