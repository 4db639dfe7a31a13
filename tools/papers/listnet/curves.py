"""Training curves: loss against NDCG, and how many iterations each loss needs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.stats import spearmanr

import podium
from podium.losses import ListNetLoss, RankNetLoss

from ..machinery.data import CONVENTIONS, Data
from ..machinery.fitting import fold_of, n_folds
from ..machinery.page import FAILS, HOLDS, OPEN, Verdict, figure, section, table
from ..machinery.pictures import Picture
from ..machinery.run import Run

LOSSES = {"ListNet": ListNetLoss, "RankNet": RankNetLoss}
RATES = (0.003, 0.03, 0.3, 3.0)
EPOCHS = 100
NAMES = ("ohsumed", "lightgbm-rank", "mslr")


def curve(data: Data, name: str, fold: int, kind: str, rate: float, seed: int) -> dict[str, list[float]]:
    """Take the slides' steps, query by query, from 0; return training loss and NDCG@5 after each epoch."""
    part, convention = fold_of(data, name, fold), CONVENTIONS[name]
    train, valid = (queries.normalized("minmax") for queries in (part.train, part.valid))
    bound = LOSSES[kind]().bind(train.labels, train.offsets)
    alone = [LOSSES[kind]().bind(train.labels[rows], [0, rows.stop - rows.start]) for rows in train.slices()]
    lists = [np.asarray(train.features[rows], np.float64) for rows in train.slices()]
    buffers = [(np.empty(len(x)), np.empty(len(x))) for x in lists]  # the same arrays again and again: much faster
    rng, w = np.random.default_rng(seed), np.zeros(train.n_features)
    features = np.asarray(train.features, np.float64)
    told: dict[str, list[float]] = {"loss": [], "train": [], "valid": []}
    for _ in range(5 if data.quick else EPOCHS):
        for q in rng.permutation(len(train)):
            given, slope = buffers[q]
            np.dot(lists[q], w, out=given)
            alone[q].value_and_gradient(given, gradient=slope)
            w -= rate * slope @ lists[q]
        scores = features @ w
        told["loss"].append(bound.value_and_gradient(scores).value)
        for side, queries, given in (("train", train, scores), ("valid", valid, valid.features @ w)):
            found = podium.evaluate(queries, given, metrics=["ndcg@5"], convention=convention)
            told[side].append(float(found.mean["ndcg@5"]))
    return told


def _until(values: list[float], level: float) -> int:
    """Return the first epoch that reaches a level; one more than there are if none does."""
    reached = np.flatnonzero(np.array(values) >= level)
    return int(reached[0]) + 1 if len(reached) else len(values) + 1


@section(
    "Loss and NDCG during training",
    pairwise=("Discussion (1)", "the pairwise loss does not inversely correlate with NDCG"),
    listwise=("Discussion (1)", "the listwise loss does"),
    faster=("Discussion (2)", "the pairwise loss converges more slowly: RankNet needs more iterations"),
)
def convergence(run: Run) -> Iterator[str | Picture | Verdict]:
    yield (
        "Per-query steps from 0, at each of the rates "
        f"{', '.join(map(str, RATES))}; of each loss and set, the rate with the highest NDCG@5 on the validation "
        "queries, mean over epochs, folds and seeds (by the best epoch alone, rates win that jump about). The slides "
        "show NDCG@5 on TREC 2003. Correlation: Spearman's, of training loss and training NDCG@5 over the epochs "
        "of a run. Epochs: until validation NDCG@5 is 99 % of the lower of the two losses' best."
    )
    rows, needed, shown = [], [], {}
    correlations: dict[str, list[np.ndarray]] = {kind: [] for kind in LOSSES}
    for name in NAMES:
        keys = [(fold, seed) for fold in range(n_folds(run, name)) for seed in run.seeds]
        wanted = [(name, fold, kind, rate, seed) for kind in LOSSES for rate in RATES for fold, seed in keys]
        found = run.results(curve, wanted)
        runs = {}
        for kind in LOSSES:
            by_rate = {rate: [found[name, fold, kind, rate, seed] for fold, seed in keys] for rate in RATES}
            best = max(RATES, key=lambda rate: np.mean([each["valid"] for each in by_rate[rate]]))
            runs[kind] = best, by_rate[best]
        epochs = []
        for one, other in zip(runs["ListNet"][1], runs["RankNet"][1], strict=True):
            level = 0.99 * min(max(one["valid"]), max(other["valid"]))
            epochs.append((_until(one["valid"], level), _until(other["valid"], level)))
        needed.append(np.array(epochs))
        for place, kind in enumerate(LOSSES):
            rate, each_run = runs[kind]
            rho = np.array([spearmanr(each["loss"], each["train"]).statistic for each in each_run])
            correlations[kind].append(np.nan_to_num(rho))
            best = np.mean([max(each["valid"]) for each in each_run])
            rows.append([f"{name}, {kind}", f"{rate:g}", float(np.nan_to_num(rho).mean()), float(best),
                         f"{np.mean(needed[-1][:, place]):.1f}"])  # fmt: skip
        shown[name] = {kind: runs[kind][1][0] for kind in LOSSES}
    yield table(["", "rate", "correlation", "best validation ndcg@5", "epochs needed"], rows)

    def draw(axes: Any) -> None:
        for axis, name in zip(axes[:3], NAMES, strict=True):
            for kind, marker in zip(LOSSES, "os", strict=True):
                each = shown[name][kind]
                loss = np.array(each["loss"]) / each["loss"][0]
                axis.plot(loss, each["train"], marker, ms=3, label=kind)
            axis.set_title(name, fontsize=9)
            axis.set_xlabel("training loss / that of the first epoch")
            axis.set_ylabel("training NDCG@5")
        for axis, name in zip(axes[3:], NAMES, strict=True):
            for kind in LOSSES:
                axis.plot(shown[name][kind]["valid"], label=kind)
            axis.set_xlabel("epoch")
            axis.set_ylabel("validation NDCG@5")
        axes[0].legend(frameon=False)

    yield Picture("curves", "Loss against NDCG, and NDCG against epochs (first fold, seed 0)", draw, columns=3, rows=2)
    for claim, kind, negative in (("pairwise", "RankNet", False), ("listwise", "ListNet", True)):
        means = [float(each.mean()) for each in correlations[kind]]
        inverse = [mean < -0.5 for mean in means]
        said = ", ".join(f"{name} {figure(mean, 2)}" for name, mean in zip(NAMES, means, strict=True))
        agreed = all(inverse) if negative else not any(inverse)
        against = not any(inverse) if negative else all(inverse)
        yield Verdict(claim, HOLDS if agreed else FAILS if against else OPEN, f"mean correlation: {said}")
    more = [float((each[:, 1] > each[:, 0]).mean() - (each[:, 1] < each[:, 0]).mean()) for each in needed]
    said = "; ".join(
        f"{name}: {np.mean(each[:, 0]):.1f} epochs of ListNet, {np.mean(each[:, 1]):.1f} of RankNet"
        for name, each in zip(NAMES, needed, strict=True)
    )
    yield Verdict("faster", HOLDS if min(more) > 0 else FAILS if max(more) < 0 else OPEN, said)
