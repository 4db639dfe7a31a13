"""Table 2: how the cost of a pass grows with the length of lists and the number of features."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from podium.losses import DavidsonLoss, ListMLELoss, PMOPLoss, RankNetLoss, RankRegressLoss

from ..machinery.data import Data
from ..machinery.judging import best_time, slope
from ..machinery.page import FAILS, HOLDS, OPEN, Verdict, section, table
from ..machinery.pictures import Picture
from ..machinery.run import Run

LENGTHS = (2000, 8000, 32_000, 128_000)
FEATURES = (16, 64, 256, 1024)
LOSSES: dict[str, Any] = {
    "PMOP-FD": PMOPLoss(),
    "PMOP-Gibbs, one sweep": PMOPLoss("geometric", "gibbs"),
    "PMOP-MH, one proposal": PMOPLoss("geometric", "mh"),
    "ListMLE": ListMLELoss(ties="stable"),
    "RankNet": RankNetLoss(),
    "Rank Regress": RankRegressLoss(),
    "PairTies-D": DavidsonLoss(),
}


def pass_time(data: Data, name: str, n: int, features: int) -> float:
    """Return the best of some CPU times, in ms, of a pass over one list: scores, loss, gradient in weights."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((n, features))
    weights, labels = rng.standard_normal(features) / np.sqrt(features), rng.integers(0, 5, n).astype(float)
    bound = LOSSES[name].bind(labels, [0, n])
    return best_time(lambda: x.T @ bound.value_and_gradient(x @ weights).d_scores, 2 if data.quick else 30)


@section(
    "Table 2: cost",
    linear=("§3.3.1, Table 2", "a pass of PMOP-FD and ListMLE takes O(N F)"),
    samplers=("§6.1", "the samplers are linear in the length of lists, too"),
    pairs=("Table 2, §6.1", "pairwise methods take max{O(N²), O(N F)}"),
)
def table_2(run: Run) -> Iterator[str | Picture | Verdict]:
    yield (
        "CPU time of one pass over a single list of N documents in five grades, one thread, best of thirty: the "
        "exponents of N at F = 16 and of F at N = 8,000, fitted to the last three, where fixed costs have less "
        "weight."
    )
    lengths, widths = (LENGTHS[:2], FEATURES[:2]) if run.quick else (LENGTHS, FEATURES)
    middle = lengths[0] if run.quick else 8000
    by_n = {name: [run.result(pass_time, name, n, 16) for n in lengths] for name in LOSSES}
    by_f = {name: [run.result(pass_time, name, middle, f) for f in widths] for name in LOSSES}
    in_n = {name: slope(lengths[-3:], times[-3:]) for name, times in by_n.items()}
    in_f = {name: slope(widths[-3:], times[-3:]) for name, times in by_f.items()}
    rows = [
        [
            name,
            *(f"{t:.2f}" for t in by_n[name]),
            f"{in_n[name]:.2f}",
            *(f"{t:.2f}" for t in by_f[name]),
            f"{in_f[name]:.2f}",
        ]
        for name in LOSSES
    ]
    header = ["ms", *(f"N = {n}" for n in lengths), "exponent", *(f"F = {f}" for f in widths), "exponent"]
    yield table(header, rows)

    def draw(axes: Any) -> None:
        for axis, x, times, label in ((axes[0], lengths, by_n, "N"), (axes[1], widths, by_f, "F")):
            for name, each in times.items():
                axis.plot(x, each, "o-", markersize=3, label=name)
            axis.set(xscale="log", yscale="log", xlabel=label, ylabel="ms per pass")
        axes[0].legend(frameon=False, fontsize=7)

    yield Picture("cost", "Time of a pass by the number of documents and of features", draw, columns=2)

    def linear(*names: str) -> str:
        return HOLDS if all(in_n[name] < 1.25 for name in names) else FAILS

    def said(*names: str) -> str:
        return ", ".join(f"{name} N^{in_n[name]:.2f}" for name in names)

    both = ("PMOP-FD", "ListMLE")
    wide = ", ".join(f"{name} F^{in_f[name]:.2f}" for name in both)
    yield Verdict("linear", linear(*both), f"{said(*both)}; {wide}")
    chains = ("PMOP-Gibbs, one sweep", "PMOP-MH, one proposal")
    yield Verdict("samplers", linear(*chains), said(*chains))
    pairs = ("RankNet", "Rank Regress", "PairTies-D")
    quadratic = [name for name in pairs if in_n[name] > 1.75]
    verdict = HOLDS if len(quadratic) == len(pairs) else FAILS
    note = "; sums over pairs of grades need no visit to each pair" if verdict == FAILS else ""
    yield Verdict("pairs", verdict if not run.quick else OPEN, said(*pairs) + note)
