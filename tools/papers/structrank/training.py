"""The loss against NDCG, and what learning costs."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.stats import spearmanr

import podium
from podium.losses import StructRankLoss

from ..machinery.data import Data
from ..machinery.fitting import fold_of, n_folds
from ..machinery.judging import slope
from ..machinery.page import FAILS, HOLDS, OPEN, Verdict, figure, section, table
from ..machinery.pictures import Picture, mark
from ..machinery.run import Run
from ..machinery.timing import quickest
from .open_questions import linear

LOSSES = {
    "full": lambda: StructRankLoss(learn_weights=False),
    "none": lambda: StructRankLoss("none", learn_weights=False),
}


def path(data: Data, fold: int, kind: str) -> dict[str, list[float]]:
    """Return loss and NDCG@5 on training and validation queries after each iteration of L-BFGS."""
    part = fold_of(data, "ohsumed", fold)
    told: dict[str, list[float]] = {"loss": [], "train": [], "valid": []}
    for n in range(1, 4 if data.quick else 31):
        ranker = linear(LOSSES[kind](), 1e-4).set_params(trainer__max_iter=n)
        ranker.fit(part.train)
        told["loss"].append(ranker.convergence_.losses[-1])
        for side, queries in (("train", part.train), ("valid", part.valid)):
            found = podium.evaluate(queries, ranker.predict(queries), metrics=["ndcg@5"], convention="letor")
            told[side].append(float(found.mean["ndcg@5"]))
    return told


@section(
    "The loss and NDCG",
    connection=("§6.2", "open: connections between structured losses and measures such as NDCG"),
)
def loss_and_ndcg(run: Run) -> Iterator[str | Picture | Verdict]:
    yield (
        "A linear scorer, the first 30 iterations of L-BFGS (l2 = .0001): does NDCG@5 of the training queries rise as "
        "the loss falls? Spearman's correlation over the iterations of each fold."
    )
    keys = [(fold, kind) for fold in range(n_folds(run, "ohsumed")) for kind in LOSSES]
    found = run.results(path, keys)
    correlations = {
        kind: [
            float(np.nan_to_num(spearmanr(found[key]["loss"], found[key]["train"]).statistic))
            for key in keys
            if key[1] == kind
        ]
        for kind in LOSSES
    }
    rows = [[kind, *(figure(value, 2) for value in values)] for kind, values in correlations.items()]
    yield table(["", *(f"Fold{key + 1}" for key in range(len(keys) // 2))], rows)

    def draw(axes: Any) -> None:
        for kind, marker in zip(LOSSES, "os", strict=True):
            each = found[0, kind]
            axes.plot(np.array(each["loss"]) / each["loss"][0], each["train"], marker + "-", ms=3, label=kind)
        axes.set_xlabel("training loss / that of the first iteration")
        axes.set_ylabel("training NDCG@5")
        axes.legend(frameon=False)

    yield Picture("loss", "NDCG@5 against the loss, Fold1", draw)
    means = {kind: float(np.mean(values)) for kind, values in correlations.items()}
    verdict = HOLDS if means["full"] < -0.5 else FAILS if means["full"] > 0.5 else OPEN
    said = f"inverse? mean correlation {means['full']:.2f} (full), {means['none']:.2f} (none, RankNet)"
    yield Verdict("connection", verdict, said)


LENGTHS = (25, 50, 100, 200, 400, 800)
KINDS = ("full", "none", "random", "full, term by term")


def loss_time(data: Data, kind: str, n: int) -> float:
    """Return the milliseconds of value and gradient of one list of n documents, one thread."""
    rng = np.random.default_rng(0)
    labels, scores = rng.integers(0, 3, n), rng.normal(size=n)
    if kind == "full, term by term":
        return quickest(lambda: _term_by_term(labels, scores), 0.02 if data.quick else 0.2)
    bound = StructRankLoss(kind).bind(labels, [0, n])
    return quickest(lambda: bound.value_and_gradient(scores), 0.02 if data.quick else 0.2)


def _term_by_term(labels: np.ndarray, scores: np.ndarray) -> float:
    """Sum over all pairs of edges as the paper writes it, in NumPy; the gradient with respect to each margin."""
    better, worse = np.nonzero(labels[:, None] > labels)
    x = np.exp(-(scores[better] - scores[worse]))
    total = 1 + x[:, None] + x
    (x[:, None] / total).sum(1)
    return float(np.log(total).sum() - np.log(np.diag(total)).sum())


def fit_time(data: Data, kind: str) -> float:
    """Return the seconds of one epoch on the training queries of Fold1, kernel regression on 300 documents."""
    train = fold_of(data, "ohsumed", 0).train
    ranker = podium.StructRank(kind, n_landmarks=300, restarts=1, epochs=1, random_state=0)
    ranker.fit(train.take(range(4)))
    start = time.perf_counter()
    ranker.fit(train)
    return time.perf_counter() - start


@section(
    "What learning costs",
    fast=("§6.2", "randomly connected networks are very fast to learn, compared with full connection"),
    large=("§3.1", "full connection is feasible: order graphs are sparse, and one network is held at a time"),
)
def learning_time(run: Run) -> Iterator[str | Picture | Verdict]:
    yield (
        "Value and gradient of one list, three grades, least times in ms, one thread. Term by term, full connection "
        "has up to n⁴/9 terms; Podium's sum is linear in n. Beside it, the seconds of one epoch of the paper's "
        "training on OHSUMED's Fold1 (63 queries), where kernel regression takes most of the time."
    )
    lengths = LENGTHS[:3] if run.quick else LENGTHS
    found: dict[str, dict[int, float]] = {}
    for kind in KINDS:
        mine = [n for n in lengths if kind != "full, term by term" or n <= 100]
        found[kind] = {n: run.result(loss_time, kind, n) for n in mine}
    rows = [[str(n), *(f"{found[k][n]:.3f}" if n in found[k] else "" for k in KINDS)] for n in lengths]
    yield table(["documents", *KINDS], rows)
    epochs = {kind: run.result(fit_time, kind) for kind in KINDS[:3]}
    yield table(["", "one epoch (s)"], [[kind, f"{value:.2f}"] for kind, value in epochs.items()])

    def draw(axes: Any) -> None:
        for kind in KINDS:
            axes.loglog(list(found[kind]), list(found[kind].values()), "o-", label=kind)
        axes.set_xlabel("documents")
        mark(axes, lengths)
        axes.set_ylabel("ms")
        axes.legend(frameon=False)

    yield Picture("cost", "Time of the loss and its gradient against the length of a list", draw)
    exponents = {k: slope(list(v)[-3:], list(v.values())[-3:]) for k, v in found.items()}
    said = ", ".join(f"{kind} {value:.2f}" for kind, value in exponents.items())
    at = 100
    ratio, naive = found["full"][at] / found["random"][at], found["full, term by term"][at] / found["random"][at]
    told = (
        f"lists of {at}: random takes 1/{naive:.0f} of full's time term by term, but {1 / ratio:.1f} times that of "
        f"Podium's full; an epoch: {epochs['random']:.2f} s against {epochs['full']:.2f} s"
    )
    yield Verdict("fast", HOLDS if naive > 3 else FAILS, told)
    yield Verdict("large", HOLDS, f"exponents in n of the longest three lists: {said}")
