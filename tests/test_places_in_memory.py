"""Same input, same bits, wherever arrays lie in memory: every loss, metric and scorer.

A loop that writes is compiled twice, for arrays that may overlap within a few steps and for others; which one runs
depends on how far the arrays lie apart. If it also makes a sum, its order, and so its last bit, does too. Here short
lists have their arrays side by side, in several orders, and so have the buffers of compiled code; what comes out is
compared with that of arrays that lie far apart. The memory of compiled code is governed in a child process, which runs
this file.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

SIZES = (12, 17, 24)
ASIDE = 4096
"""A distance, in bytes, from which on arrays are never taken for overlapping ones."""
Result = tuple[bytes, ...]


class Arena:
    """Places arrays one behind the other in one buffer, with a gap between them."""

    def __init__(self, gap: int) -> None:
        self.bytes, self.gap = np.zeros(2**17, np.uint8), gap
        self.at = -self.bytes.ctypes.data % 64

    def place(self, value: Any) -> Any:
        """Return a copy of an array, or of all arrays in a tuple of tuples; large ones stay where they are."""
        if isinstance(value, tuple):
            items = [self.place(item) for item in value]
            return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
        if not isinstance(value, np.ndarray) or value.nbytes > 1000:
            return value
        self.at += -self.at % 8
        copy = self.bytes[self.at : self.at + value.nbytes].view(value.dtype).reshape(value.shape)
        copy[...] = value
        self.at += value.nbytes + self.gap
        return copy


def of_losses() -> Iterator[tuple[str, Callable[[int, int], Result]]]:
    """Yield functions of an order of arrays and a gap between them that evaluate a loss."""
    from test_loss_contract import ALL

    rng = np.random.default_rng(0)
    for loss in ALL:
        for n in SIZES:
            labels, scores = rng.integers(0, 4, n).astype(np.float64), rng.normal(size=n)
            bound = loss.bind(labels, np.array([0, n]))
            given = [scores, scores.astype(np.float32)] if loss.keeps_float32 else [scores]
            for scores in given:

                def evaluate(order: int, gap: int, bound: Any = bound, scores: np.ndarray = scores) -> Result:
                    arena, prepared = Arena(gap), bound.prepared
                    if order == 0:
                        scores, gradient, placed = arena.place((scores, scores, prepared))
                    elif order == 1:
                        gradient, scores, placed = arena.place((scores, scores, prepared))
                    else:
                        scores, placed, gradient = arena.place((scores, prepared, scores))
                    bound._set_prepared(placed)
                    found = bound.value_and_gradient(scores, gradient=gradient)
                    bits = np.float64(found.value).tobytes(), gradient.tobytes(), found.d_parameters.tobytes()
                    if bound.loss.has_curvature:
                        second = bound.value_and_gradient(scores, gradient=gradient, curvature=True)
                        bits += np.float64(second.value).tobytes(), gradient.tobytes(), second.d2_scores.tobytes()
                    bound._set_prepared(prepared)
                    return bits

                yield f"{loss}, {n} documents, {scores.dtype}", evaluate


def of_metrics() -> Iterator[tuple[str, Callable[[int, int], Result]]]:
    """Yield functions that evaluate all metrics on some lists."""
    from podium.metrics import FAMILIES, metric

    rng = np.random.default_rng(1)
    names = [family.named(5 if family.cutoff == "required" else None) for family in FAMILIES.values()]
    for n in SIZES:
        scores, labels = rng.normal(size=n).round(1), rng.integers(0, 4, n).astype(np.float64)

        def evaluate(order: int, gap: int, scores: np.ndarray = scores, labels: np.ndarray = labels) -> Result:
            arena = Arena(gap)
            labels, scores = arena.place((labels, scores)) if order else arena.place((scores, labels))[::-1]
            offsets = np.array([0, len(scores)])
            judged = np.ones(len(scores), bool)
            values = [metric(name, max_grade=4.0).per_query(scores, labels, offsets, judged=judged) for name in names]
            return tuple(value.tobytes() for value in values)

        yield f"metrics, {n} documents", evaluate


def of_scorers() -> Iterator[tuple[str, Callable[[int, int], Result]]]:
    """Yield functions that evaluate ListNet's loss and its gradient on each scorer, and fit rules on features."""
    import podium
    import test_scorer_contract as scorers
    from podium.losses import ListNetLoss
    from podium.training.objective import Objective

    queries = scorers.queries_of()
    for scorer in scorers.SCORERS:

        def evaluate(order: int, gap: int, scorer: Any = scorer) -> Result:
            arena = Arena(gap)
            placed = queries.with_features(arena.place(queries.features)).with_labels(arena.place(queries.labels))
            bound = ListNetLoss().bind(placed.labels, placed.offsets)
            objective = Objective(scorers.model_of(scorer, placed), bound, placed)
            value, gradient = objective(arena.place(objective.initial()))
            return np.float64(value).tobytes(), gradient.tobytes()

        yield f"{scorer}", evaluate
    for ranker in (podium.FRank(n_rounds=3), podium.RankBoost(n_rounds=3), podium.AdaRank(n_rounds=3)):
        yield type(ranker).__name__, lambda *_, ranker=ranker: (ranker.fit(queries).predict(queries).tobytes(),)


def main() -> None:
    from compiled_memory import PlacedMemory

    memory = PlacedMemory()
    for jobs in (of_losses, of_metrics, of_scorers):
        for name, function in jobs():
            right = function(0, ASIDE)
            differs = []
            for step, gap in ((1, 0), (-1, 64)):
                for order in range(3):
                    if memory.placed(partial(function, order, gap), step, gap) != right:
                        differs.append((step, gap, order))
            print(f"{name}\t{differs or ''}\t{memory.n_bytes}", flush=True)
    os._exit(0)  # at an ordinary end, memory would be freed that is gone


def test_places_in_memory_do_not_change_a_bit() -> None:
    done = subprocess.run([sys.executable, "-W", "error", __file__], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    assert [f"{name}: {differs}" for name, differs, _ in rows if differs] == []
    assert int(rows[0][2]) < int(rows[-1][2]) < 0.9 * 2**27  # the memory was indeed that of compiled code, and sufficed


def test_a_sum_in_a_loop_that_writes_would_be_noticed() -> None:
    """As it once was in QueryOffsetLoss: the last bit of its value differs between places."""
    from podium.losses.base import njit
    from podium.numerics.elementary import FAST

    @njit(fastmath=FAST, error_model="numpy")
    def with_gradient(scores: np.ndarray, labels: np.ndarray, gradient: np.ndarray) -> float:
        offset, squares = (scores - labels).mean(), 0.0
        for i in range(len(scores)):
            error = scores[i] - labels[i] - offset
            squares += error * error
            gradient[i] = error
        return squares

    @njit(fastmath=FAST, error_model="numpy")
    def apart(scores: np.ndarray, labels: np.ndarray, gradient: np.ndarray) -> float:
        offset, squares = (scores - labels).mean(), 0.0
        for i in range(len(scores)):
            error = scores[i] - labels[i] - offset
            squares += error * error
        for i in range(len(scores)):
            gradient[i] = scores[i] - labels[i] - offset
        return squares

    rng = np.random.default_rng(0)
    differing = {with_gradient: 0, apart: 0}
    for n in range(8, 33):
        labels, scores = rng.integers(0, 4, n).astype(np.float64), rng.normal(size=n)
        for function in differing:
            found = {function(*Arena(gap).place((scores, labels, np.zeros(n)))) for gap in (0, 64, ASIDE)}
            differing[function] += len(found) > 1
    assert differing[apart] == 0
    if not differing[with_gradient]:
        pytest.skip("places in memory do not matter to code for this processor")


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    main()
