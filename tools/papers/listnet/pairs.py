"""What the slides hold against pairs: queries with more pairs weigh more, and there are many."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import podium
from podium.losses import ListNetLoss, RankNetLoss
from podium.metrics.significance import randomization_test

from ..machinery.data import CONVENTIONS, Data
from ..machinery.fitting import fold_of, n_folds
from ..machinery.judging import difference, slope
from ..machinery.page import FAILS, HOLDS, OPEN, Verdict, figure, section, table
from ..machinery.pictures import Picture, mark
from ..machinery.run import Run
from ..machinery.timing import quickest

SETS_OF_PAIRS = ("ohsumed", "lightgbm-rank", "mslr")


def n_pairs(queries: podium.Queries) -> np.ndarray:
    """Return each query's number of pairs of unequal grade."""
    return np.array([(y[:, None] > y).sum() for y in (queries.labels[part] for part in queries.slices())])


def by_pairs(data: Data, name: str, fold: int, normalize: bool) -> dict[str, Any]:
    """Fit RankNet on sums over all pairs, or on each query's mean; return figures by training and test query.

    The penalty is chosen by MAP on the validation queries.
    """
    part, convention = fold_of(data, name, fold), CONVENTIONS[name]
    fitted: list[tuple[float, podium.Ranker]] = []
    # A sum over pairs is larger by their mean number: the penalty grows with it, so that both have the same choice.
    scale = 1.0 if normalize else float(n_pairs(part.train).mean())
    for l2 in (1e-4, 1e-3, 1e-2):
        ranker = podium.Ranker(RankNetLoss(normalize), podium.scorers.Linear(l2=l2 * scale), normalize="minmax")
        ranker.fit(part.train)
        value = podium.evaluate(part.valid, ranker.predict(part.valid), metrics=["map"], convention=convention)
        fitted.append((value.mean["map"], ranker))
    best = max(fitted, key=lambda each: each[0])
    told: dict[str, Any] = {}
    for side, queries in (("train", part.train), ("test", part.test)):
        scores = best[1].predict(queries)
        found = podium.evaluate(queries, scores, metrics=["ndcg@5"], convention=convention).per_query["ndcg@5"]
        told[side] = {"pairs": n_pairs(queries).tolist(), "ndcg@5": found.tolist(), "right": _right(queries, scores)}
    return told


def _right(queries: podium.Queries, scores: np.ndarray) -> list[float]:
    """Return each query's share of pairs in the right order; 0.5 if it has none."""
    shares = []
    for part in queries.slices():
        y, s = queries.labels[part], scores[part]
        above = y[:, None] > y
        shares.append(float((s[:, None] > s)[above].mean()) if above.any() else 0.5)
    return shares


@section(
    "Queries with more pairs",
    vary=("Motivation", "the number of pairs varies largely from query to query"),
    biased=("Motivation", "training on all pairs makes a model biased toward queries with more pairs"),
    harm=("Motivation", "(implied) that harms the ranking"),
)
def bias(run: Run) -> Iterator[str | Verdict]:
    yield (
        "RankNet's loss summed over all pairs, as pairwise methods take it, or averaged within each query first. If "
        "the sum is biased, it does better than the mean on training queries with many pairs, compared with queries "
        "with few: the gain in the share of pairs in the right order, in the half of the training queries with more "
        "pairs less in the other half. Test queries: all."
    )
    rows, varied, gains, harms = [], [], [], []
    for name in SETS_OF_PAIRS:
        folds = range(n_folds(run, name))
        found = run.results(by_pairs, [(name, fold, normalize) for fold in folds for normalize in (False, True)])
        counts: list[int] = []
        change: list[float] = []
        ndcg: dict[bool, list[float]] = {False: [], True: []}
        for fold in folds:
            summed, mean = found[name, fold, False], found[name, fold, True]
            counts += summed["train"]["pairs"]
            change += np.subtract(summed["train"]["right"], mean["train"]["right"]).tolist()
            for normalize, each in ((False, summed), (True, mean)):
                ndcg[normalize] += each["test"]["ndcg@5"]
        pairs, changes = np.array(counts), np.array(change)
        many = pairs > np.median(pairs)
        largest = np.sort(pairs)[::-1][: max(1, len(pairs) // 10)].sum() / pairs.sum()
        gap = changes[many].mean() - changes[~many].mean()
        p = _shuffled_p(changes, many)
        varied.append(float(largest))
        gains.append((gap, p))
        harms.append((np.array(ndcg[True]), np.array(ndcg[False])))
        rows.append(
            [name, f"{pairs.min()} to {pairs.max()}", f"{100 * largest:.0f} %", f"{gap:+.4f}, p {p:.3f}",
             difference(*harms[-1])]
        )  # fmt: skip
    yield table(
        ["", "pairs per query", "of all pairs, in the tenth with most", "gain with many pairs", "NDCG@5, mean − sum"],
        rows,
        numbers=False,
    )
    least = min(varied)
    said = f"a tenth of the queries has {100 * least:.0f} to {100 * max(varied):.0f} % of all pairs"
    yield Verdict("vary", HOLDS if least > 0.2 else FAILS, said)
    signs = [HOLDS if gap > 0 and p < 0.05 else FAILS if gap < 0 and p < 0.05 else OPEN for gap, p in gains]
    said = "; ".join(f"{name} {gap:+.4f}, p {p:.3f}" for name, (gap, p) in zip(SETS_OF_PAIRS, gains, strict=True))
    yield Verdict("biased", _all_of(signs), said)
    signs = []
    for mean, total in harms:
        p = randomization_test(mean, total)
        signs.append(OPEN if p >= 0.05 else HOLDS if (mean - total).mean() > 0 else FAILS)
    said = "; ".join(f"{n}: NDCG@5 {difference(*h)}" for n, h in zip(SETS_OF_PAIRS, harms, strict=True))
    yield Verdict("harm", _all_of(signs), said)


def _all_of(signs: list[str]) -> str:
    told = set(signs) - {OPEN}
    return told.pop() if len(told) == 1 else OPEN


def _shuffled_p(changes: np.ndarray, many: np.ndarray) -> float:
    """Return the two-sided p of a difference of means of two groups, by shuffling who is in which."""
    rng = np.random.default_rng(0)
    seen = changes[many].mean() - changes[~many].mean()
    drawn = []
    for _ in range(2000):
        group = rng.permutation(many)
        drawn.append(changes[group].mean() - changes[~group].mean())
    return float((1 + (np.abs(drawn) >= abs(seen)).sum()) / 2001)


LENGTHS = (100, 200, 400, 800, 1600, 3200)


def loss_time(data: Data, kind: str, n: int) -> float:
    """Return the milliseconds of value and gradient of one list; with curvature, all pairs are visited."""
    rng = np.random.default_rng(0)
    labels, scores = rng.integers(0, 3, n).astype(float), rng.normal(size=n)
    bound = (ListNetLoss() if kind == "ListNet" else RankNetLoss()).bind(labels, [0, n])
    every_pair = kind == "all pairs"
    return quickest(lambda: bound.value_and_gradient(scores, curvature=every_pair), 0.02 if data.quick else 0.2)


@section(
    "The number of pairs",
    cost=("Motivation", "n(n − 1)/2 pairs make training costly"),
)
def pairs(run: Run) -> Iterator[str | Picture | Verdict]:
    yield "Value and gradient of one list, three grades, least times in ms. RankNet as Podium computes it, and by pair."
    kinds = ("ListNet", "RankNet", "all pairs")
    lengths = LENGTHS[:3] if run.quick else LENGTHS
    found = {kind: [run.result(loss_time, kind, n) for n in lengths] for kind in kinds}
    rows = [[str(n), *(f"{found[kind][i]:.3f}" for kind in kinds)] for i, n in enumerate(lengths)]
    yield table(["documents", *kinds], rows)

    def draw(axes: Any) -> None:
        for kind in kinds:
            axes.loglog(lengths, found[kind], "o-", label=kind)
        axes.set_xlabel("documents")
        mark(axes, lengths)
        axes.set_ylabel("ms")
        axes.legend(frameon=False)

    yield Picture("pairs", "Time of a loss and its gradient against the length of a list", draw)
    exponents = {kind: slope(lengths[-3:], found[kind][-3:]) for kind in kinds}
    said = "fitted exponents of the longest three: " + ", ".join(f"{k} {figure(e, 2)}" for k, e in exponents.items())
    costly = exponents["all pairs"] > 1.7
    note = "; pair by pair, yes; summed on a grid of scores, RankNet is not quadratic"
    yield Verdict("cost", HOLDS if costly else FAILS, said + note)
