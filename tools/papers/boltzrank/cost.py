"""What training and inference cost, against the number of documents and of rankings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import podium
from podium.losses import BoltzRankLoss, RankNetLoss

from ..machinery.data import Data
from ..machinery.judging import slope
from ..machinery.page import FAILS, HOLDS, Verdict, section, table
from ..machinery.pictures import Picture, mark
from ..machinery.run import Run
from ..machinery.timing import quickest

LENGTHS = (50, 100, 200, 400, 800)
SIZES = (25, 50, 100, 200, 400)


def loss_time(data: Data, kind: str, m: int, k: int) -> float:
    """Return the milliseconds of value and gradient of 20 lists of m documents, one thread."""
    rng = np.random.default_rng(0)
    offsets = np.arange(0, 21 * m, m)
    labels, scores = rng.integers(0, 3, 20 * m), rng.normal(size=20 * m)
    loss = RankNetLoss() if kind == "RankNet" else BoltzRankLoss(n_samples=k)
    bound = loss.bind(labels, offsets)
    return quickest(lambda: bound.value_and_gradient(scores), 0.02 if data.quick else 0.2)


def inference_time(data: Data, pairwise: bool, m: int) -> float:
    """Return the milliseconds to score one list of m documents."""
    queries = podium.make_queries(n_queries=10, n_documents=10, n_features=25, random_state=0)
    ranker = podium.BoltzRank(pairwise, restarts=1, epochs=1, normalize=None, random_state=0).fit(queries)
    features = np.random.default_rng(0).normal(size=(m, 25))
    return quickest(lambda: ranker.predict(features, qid=np.zeros(m)), 0.02 if data.quick else 0.2)


@section(
    "What it costs",
    training=("§3.4", "learning costs O(k n m²) for k rankings, n queries and m documents"),
    inference=("§3.3, §3.4", "pairs raise the cost of inference from O(m) to O(m²) per list"),
    as_pairwise=("§3.4", "with few rankings, learning is not much slower than a pairwise method"),
)
def cost(run: Run) -> Iterator[str | Picture | Verdict]:
    yield (
        "Value and gradient of the loss on 20 lists (K rankings of m documents; RankNet sums over all pairs), and the "
        "time to score one list; least times, one thread, of a machine that others use as well."
    )
    lengths = LENGTHS[:2] if run.quick else LENGTHS
    by_m = {m: run.result(loss_time, "BoltzRank", m, 100) for m in lengths}
    by_k = {k: run.result(loss_time, "BoltzRank", 100, k) for k in SIZES}
    ranknet = {m: run.result(loss_time, "RankNet", m, 0) for m in lengths}
    scored = {pairs: {m: run.result(inference_time, pairs, m) for m in lengths} for pairs in (False, True)}
    rows = [
        [str(m), f"{by_m[m]:.2f}", f"{ranknet[m]:.2f}", f"{scored[False][m]:.3f}", f"{scored[True][m]:.3f}"]
        for m in lengths
    ]
    yield table(["m", "loss, K = 100 (ms)", "RankNet (ms)", "score, BoltzRank1 (ms)", "BoltzRank2 (ms)"], rows)
    yield table(["K", "loss, m = 100 (ms)"], [[str(k), f"{by_k[k]:.2f}"] for k in SIZES])
    upper = lengths[len(lengths) // 2 :] if len(lengths) > 3 else lengths
    in_m = slope(lengths, [by_m[m] for m in lengths])
    in_k = slope(SIZES, list(by_k.values()))
    of = {pairs: slope(upper, [scored[pairs][m] for m in upper]) for pairs in (False, True)}

    def draw(axes: Any) -> None:
        left, right = axes
        left.loglog(lengths, [by_m[m] for m in lengths], "o-", label="BoltzRank, K = 100")
        left.loglog(lengths, [ranknet[m] for m in lengths], "s-", label="RankNet")
        right.loglog(lengths, [scored[False][m] for m in lengths], "o-", label="BoltzRank1")
        right.loglog(lengths, [scored[True][m] for m in lengths], "s-", label="BoltzRank2")
        left.set_ylabel("loss of 20 lists (ms)")
        right.set_ylabel("scores of one list (ms)")
        for each in axes:
            each.set_xlabel("documents per list")
            mark(each, lengths)
            each.legend(frameon=False)

    yield Picture("cost", "Time against the number of documents", draw, columns=2)
    said = f"fitted exponents: {in_m:.2f} in m, {in_k:.2f} in K; the sum over pairs collapses, so it is O(k n m)"
    yield Verdict("training", FAILS if in_m < 1.5 else HOLDS, said)
    said = f"fitted exponents from {upper[0]} documents: {of[False]:.2f} without pairs, {of[True]:.2f} with"
    yield Verdict("inference", HOLDS if of[True] > of[False] + 0.4 else FAILS, said)
    at = 200 if 200 in by_m else lengths[-1]
    ratio = by_m[at] / ranknet[at]
    said = f"{ratio:.1f} times RankNet's time for lists of {at} documents"
    yield Verdict("as_pairwise", HOLDS if ratio < 3 else FAILS, said)
