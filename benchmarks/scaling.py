"""Cost of every loss against the length of one list, with the fitted exponent.

    python benchmarks/scaling.py [--quick]

One list of n documents in three grades, scores with standard deviation 2 in float32, value and gradient, one thread
(there is one query). Times are the best of several runs; the exponent is the slope of log time against log n.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from podium import losses


def cases() -> dict[str, tuple[losses.Loss, str]]:
    """Return losses by name, with a remark where the cost is not linear."""
    return {
        "ListNet": (losses.ListNetLoss(), ""),
        "ListMLE": (losses.ListMLELoss(), ""),
        "PMOP arithmetic": (losses.PMOPLoss(), ""),
        "RankNet": (losses.RankNetLoss(), ""),
        "Ranking SVM": (losses.RankSVMLoss(), ""),
        "Ranking SVM, squared": (losses.RankSVMLoss(squared=True), ""),
        "Rank Regress": (losses.RankRegressLoss(), ""),
        "Regression": (losses.RegressionLoss(), ""),
        "GBRank": (losses.GBRankLoss(), ""),
        "IntervalRank": (losses.IntervalRankLoss(), ""),
        "IntervalRank, barrier 100": (losses.IntervalRankLoss(barrier=100.0), ""),
        "Isotonic ranking": (losses.IsotonicLoss(), ""),
        "Query-offset regression": (losses.QueryOffsetLoss(), ""),
        "LambdaRank, truncation 30": (losses.LambdaRankLoss(truncation=30), ""),
        "Rao-Kupper": (losses.RaoKupperLoss(), ""),
        "Davidson": (losses.DavidsonLoss(), ""),
        "StructRank full": (losses.StructRankLoss("full"), ""),
        "StructRank random": (losses.StructRankLoss("random"), "at most 64 terms per document"),
        "StructRank none": (losses.StructRankLoss("none"), ""),
        "PMOP geometric, MH": (losses.PMOPLoss("geometric", "mh"), "sampled"),
        "PMOP geometric, Gibbs": (losses.PMOPLoss("geometric", "gibbs"), "sampled"),
        "PMOP geometric, exact": (losses.PMOPLoss("geometric"), "O(n³), lists of up to 1,000"),
    }


def seconds(bound: losses.base.BoundLoss, scores: np.ndarray, budget: float) -> float:
    """Return the best of as many runs as fit in the budget, at least three."""
    gradient = np.empty_like(scores)
    bound.value_and_gradient(scores, gradient=gradient)
    best, spent, runs = np.inf, 0.0, 0
    while runs < 3 or (spent < budget and runs < 200):
        start = time.perf_counter()
        bound.value_and_gradient(scores, gradient=gradient)
        taken = time.perf_counter() - start
        best, spent, runs = min(best, taken), spent + taken, runs + 1
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="shorter runs: noisier figures")
    budget = 0.1 if parser.parse_args().quick else 0.5

    lengths = [1_000, 3_000, 10_000, 30_000]
    rng = np.random.default_rng(0)
    print(
        f"{'loss':28}" + "".join(f"{n:>11,}" for n in lengths) + "   exponent   (milliseconds for value and gradient)"
    )
    for name, (loss, remark) in cases().items():
        short = "exact" in name
        used = [100, 200, 400, 800] if short else lengths
        times = []
        for n in used:
            scores = (2 * rng.standard_normal(n)).astype(np.float32)
            bound = loss.bind(rng.integers(0, 3, n), np.array([0, n]))
            times.append(seconds(bound, scores, budget))
        exponent = np.polyfit(np.log(used), np.log(times), 1)[0]
        note = f"   {remark}" + (f", here n = {used}" if short else "") if remark else ""
        print(f"{name:28}" + "".join(f"{1e3 * t:11.3f}" for t in times) + f"   {exponent:8.2f}{note}", flush=True)


if __name__ == "__main__":
    main()
