"""IntervalRank and related losses: documents per second, compared with a generic solver, and growth of the cost.

    python benchmarks/interval.py [--quick]

2,000 lists of 120 documents in five grades, scores of three spreads; a gradient pass over all of them, best of several.
The peer is Clarabel, called directly (no modeling layer) on the smallest equivalent program, with one unknown
per document in addition to the intervals' ends and the slacks; building its matrices is not timed, and its
fastest list counts. It solves to its default tolerance of 1e-8, Podium exactly. The exponents are slopes of log time
against log n for one long list.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from itertools import pairwise

import clarabel
import numba
import numpy as np
from scipy import sparse

from podium.losses import GBRankLoss, IntervalRankLoss, IsotonicLoss, Loss

LENGTH, N_GRADES = 120, 5
SEPARATION, WIDTH = 1.0, 1.0
LOSSES: dict[str, Loss] = {
    "IntervalRank": IntervalRankLoss(SEPARATION, WIDTH),
    "IntervalRank, barrier 100": IntervalRankLoss(SEPARATION, WIDTH, barrier=100.0),
    "isotonic ranking": IsotonicLoss(),
    "GBRank": GBRankLoss(),
}


def seconds(run: Callable[[], object], budget: float) -> float:
    """Return the best of as many runs as fit in the budget, at least three, after a warm-up run."""
    # With one thread, CPU time: waiting for a core used by other work does not count.
    clock = time.perf_counter if numba.get_num_threads() > 1 else time.process_time
    run()
    best, spent, runs = np.inf, 0.0, 0
    while runs < 3 or spent < budget:
        start = clock()
        run()
        taken = clock() - start
        best, spent, runs = min(best, taken), spent + taken, runs + 1
    return best


def generic_program(scores: np.ndarray, labels: np.ndarray) -> clarabel.DefaultSolver:
    """Return the list's program over (new scores, lower ends, upper ends, ξ, ε), ready to be solved."""
    n, g = len(scores), N_GRADES
    own = sparse.csr_array((np.ones(n), (np.arange(n), labels)), shape=(n, g))
    one, every, none = sparse.eye_array(g), sparse.eye_array(n), sparse.csr_array
    upper_side, lower_side = one.tocsr()[:-1], one.tocsr()[1:]
    rows = [
        [-every, own, None, None, None],  # l ≤ z
        [every, None, -own, None, None],  # z ≤ u
        [None, one, -one, None, None],  # l ≤ u
        [None, -one, one, -one, None],  # u − l ≤ ξ
        [none((g - 1, n)), -lower_side, upper_side, None, -sparse.eye_array(g - 1)],  # l' − u ≥ Δ − ε
    ]
    constraints = sparse.block_array(rows, format="csc")
    margins = np.diff(2.0 ** np.arange(g) - 1)
    limits = np.concatenate((np.zeros(2 * n + 2 * g), -margins))
    diagonal = np.concatenate((np.ones(n), np.zeros(2 * g), np.full(g, WIDTH), np.full(g - 1, SEPARATION)))
    linear = np.concatenate((-scores, np.zeros(4 * g - 1)))
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    quadratic = sparse.diags_array(diagonal, format="csc")
    cones = [clarabel.NonnegativeConeT(len(limits))]
    return clarabel.DefaultSolver(quadratic, linear, constraints, limits, cones, settings)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="shorter runs: noisier figures")
    budget = 0.2 if parser.parse_args().quick else 1.0
    rng = np.random.default_rng(0)

    n_queries, n_generic = 2_000, 20
    offsets = LENGTH * np.arange(n_queries + 1)
    labels = rng.integers(0, N_GRADES, offsets[-1])
    spreads = [0.1, 3.0, 30.0]
    scores = [spread * rng.standard_normal(offsets[-1]) for spread in spreads]
    n_threads = numba.get_num_threads()

    print(f"lists of {LENGTH} documents, {N_GRADES} grades; million documents per second\n")
    print(f"{'standard deviation of scores':40}" + "".join(f"{spread:>10g}" for spread in spreads))
    for name, loss in LOSSES.items():
        rates = [documents_per_second(loss, s, labels, offsets, budget) for s in scores]
        print(f"{f'{name}, {n_threads} threads':40}" + "".join(f"{rate / 1e6:10.2f}" for rate in rates), flush=True)
    numba.set_num_threads(1)
    ours = [documents_per_second(LOSSES["IntervalRank"], s, labels, offsets, budget) for s in scores]
    print(f"{'IntervalRank, 1 thread':40}" + "".join(f"{rate / 1e6:10.2f}" for rate in ours), flush=True)
    generic = [generic_documents_per_second(s, labels, offsets[: n_generic + 1]) for s in scores]
    print(f"{'Clarabel, 1 thread':40}" + "".join(f"{rate / 1e6:10.3f}" for rate in generic))
    print(f"{'ratio':40}" + "".join(f"{a / b:9.0f}x" for a, b in zip(ours, generic, strict=True)))

    lengths = [1_000, 3_000, 10_000, 30_000, 100_000]
    print(f"\n{'one list of':28}" + "".join(f"{n:>10,}" for n in lengths) + "   exponent   (milliseconds, 1 thread)")
    for name, loss in LOSSES.items():
        times = [seconds_of_a_list(loss, n, rng, budget / 2) for n in lengths]
        exponent = np.polyfit(np.log(lengths), np.log(times), 1)[0]
        print(f"{name:28}" + "".join(f"{1e3 * t:10.3f}" for t in times) + f"   {exponent:8.2f}", flush=True)


def documents_per_second(
    loss: Loss, scores: np.ndarray, labels: np.ndarray, offsets: np.ndarray, budget: float
) -> float:
    bound, gradient = loss.bind(labels, offsets), np.empty_like(scores)
    return len(scores) / seconds(lambda: bound.value_and_gradient(scores, gradient=gradient), budget)


def generic_documents_per_second(scores: np.ndarray, labels: np.ndarray, offsets: np.ndarray) -> float:
    best = np.inf
    for start, stop in pairwise(offsets):
        s, y = scores[start:stop], labels[start:stop]
        solver = generic_program(s, y)
        begin = time.process_time()
        solution = solver.solve()
        best = min(best, time.process_time() - begin)
        value, exact = (
            solution.obj_val + 0.5 * s @ s,
            LOSSES["IntervalRank"].value_and_gradient(s, y, [0, len(s)]).value,
        )
        assert abs(value - exact) <= 1e-5 * (1 + abs(exact)), (value, exact)
    return LENGTH / best


def seconds_of_a_list(loss: Loss, n: int, rng: np.random.Generator, budget: float) -> float:
    bound, scores = loss.bind(rng.integers(0, N_GRADES, n), [0, n]), 3 * rng.standard_normal(n)
    return seconds(lambda: bound.value_and_gradient(scores), budget)


if __name__ == "__main__":
    main()
