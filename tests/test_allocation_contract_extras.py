"""A failed allocation inside compiled code is an exception, never an answer: every loss, and losses on every scorer.

As SQLite's tests do, the n-th allocation fails, for each n in turn: in a child process, which runs this file.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from .compiled_memory import FailingMemory

MOST = 40  # allocations that are made to fail per loss or scorer, spread over all there are


def wrong_answers(memory: FailingMemory, name: str, function: Callable[[], np.ndarray]) -> tuple[int, list[str]]:
    """Return how many failures were raised as such, and a description of each that became a wrong answer."""
    right = function()
    n = memory.count(function)
    wrong, n_raised = [], 0
    for failing in np.unique(np.linspace(1, n, min(n, MOST)).astype(int)).tolist():
        result = memory.outcome(function, failing)
        n_raised += result is None
        if result is not None and not np.array_equal(result, right):
            wrong.append(f"{name}: allocation {failing} of {n} failed, and the answer was another one")
    if not np.array_equal(function(), right):
        wrong.append(f"{name}: another answer after failures")
    return n_raised, wrong


def main() -> None:
    import compiled_memory
    import test_loss_contract as losses
    import test_scorer_contract as scorers
    from podium.losses import ListNetLoss
    from podium.training.objective import Objective

    memory = compiled_memory.FailingMemory()
    lists = losses.Lists(seed=1)
    jobs: dict[str, Callable[[], np.ndarray]] = {}
    for loss in losses.ALL:
        bound = loss.bind(lists.labels, lists.offsets)

        def evaluate(bound: Any = bound) -> np.ndarray:
            result = bound.value_and_gradient(lists.scores)
            return np.concatenate(([result.value], result.d_scores, result.d_parameters))

        jobs[repr(loss)] = evaluate
    queries = scorers.queries_of()
    for scorer in scorers.SCORERS:
        objective = Objective(
            scorers.model_of(scorer, queries), ListNetLoss().bind(queries.labels, queries.offsets), queries
        )

        def step(objective: Any = objective) -> np.ndarray:
            value, gradient = objective(objective.initial())
            return np.append(gradient, value)

        jobs[f"ListNetLoss on {scorer}"] = step
    for name, function in jobs.items():
        n_raised, wrong = wrong_answers(memory, name, function)
        print(f"{n_raised}\t{name}\t{'; '.join(wrong)}", flush=True)


def test_failed_allocations_are_never_answers() -> None:
    done = subprocess.run([sys.executable, "-W", "error", __file__], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    assert [wrong for _, _, wrong in rows if wrong] == []
    # Most kernels allocate: the memory was indeed that of compiled code.
    assert sum(int(raised) > 0 for raised, _, _ in rows) > len(rows) / 2


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    main()
