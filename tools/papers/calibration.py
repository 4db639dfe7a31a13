"""How well probabilities of pairs agree with what happens: a study of our own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

import podium
from podium.losses import DavidsonLoss, ListMLELoss, ListNetLoss, PMOPLoss, RaoKupperLoss
from podium.ratings.splits import given_n

from .machinery.data import Data
from .machinery.judging import difference
from .machinery.page import Paper, section, table
from .machinery.pictures import Picture
from .machinery.run import Run

RANKERS: dict[str, Callable[[int], Any]] = {
    "PMOP, arithmetic": lambda seed: podium.PMOP(random_state=seed),
    "PairTies, Davidson": lambda seed: podium.PairTies("davidson", random_state=seed),
    "PairTies, Rao-Kupper": lambda seed: podium.PairTies("rao-kupper", random_state=seed),
    "ListMLE": lambda seed: podium.ListMLE(random_state=seed),
    "ListNet": lambda seed: podium.ListNet(random_state=seed),
    "BoltzRank": lambda seed: podium.BoltzRank(random_state=seed),
    "SoftRank": lambda seed: podium.SoftRank(random_state=seed),
    "PMOP, geometric": lambda seed: podium.PMOP("geometric", random_state=seed),
}
SEEDED = ("BoltzRank", "SoftRank")
FACTORS: dict[str, Any] = {
    "PMOP, arithmetic": PMOPLoss(),
    "Davidson": DavidsonLoss(),
    "Rao-Kupper": RaoKupperLoss(),
    "Plackett-Luce": ListMLELoss(),
    "ListNet": ListNetLoss(),
    "PMOP, geometric": PMOPLoss("geometric"),
}
TIES = ("PMOP, arithmetic", "PMOP, geometric", "PairTies, Davidson", "PairTies, Rao-Kupper", "Davidson", "Rao-Kupper")
"""Models in which a tie has a probability."""
PAIRS = 40
"""Drawn of each list."""
FLOOR = 1e-6
"""The least probability in a logarithm: drawn ones may be 0."""
Judged = list[list[float]]
"""Rows of pairs: the number of the list, P(above), P(tied), and what happened: 1 above, 0 tied, −1 below."""


def judge(probabilities: Any, labels: np.ndarray, number: int, rng: np.random.Generator) -> Judged:
    """Return random pairs of a list with their probabilities and what the labels say."""
    n = len(labels)
    if n < 2:
        return []
    pairs = [rng.choice(n, 2, replace=False) for _ in range(PAIRS)]
    return [
        [number, probabilities.above(i, j), probabilities.tied(i, j), float(np.sign(labels[i] - labels[j]))]
        for i, j in pairs
    ]


def frequencies(labels: np.ndarray, offsets: np.ndarray) -> float:
    """Return the share of tied pairs in lists, each list alike: what one knows without any feature."""
    shares = []
    for start, stop in pairwise(offsets):
        n = stop - start
        if n > 1:
            counts = np.unique(labels[start:stop], return_counts=True)[1]
            shares.append(float((counts * (counts - 1)).sum() / (n * (n - 1))))
    return float(np.mean(shares))


def judged_documents(data: Data, fold: int, method: str, seed: int) -> dict[str, Any]:
    """Return pairs of each test list of OHSUMED, and the share of ties in the training lists."""
    part = data.folds("ohsumed")[fold]
    ranker = RANKERS[method](seed).fit(part.train)
    rng = np.random.default_rng(fold)
    rows: Judged = []
    for q in range(len(part.test)):
        one = part.test.take([q])
        rows += judge(ranker.probabilities(one), one.labels, 1000 * fold + q, rng)
    return {"rows": rows, "tied": frequencies(part.train.labels, part.train.offsets)}


def judged_films(data: Data, method: str, seed: int) -> dict[str, Any]:
    """Return pairs of up to thirty test films of some users of MovieLens, from factors trained on 20 ratings each."""
    split = given_n(data.ratings(), 10 if data.quick else 20, random_state=seed)
    train, test = split.train, split.test
    ranker = podium.FactorRanker(FACTORS[method], random_state=seed).fit(train)
    rng = np.random.default_rng(seed)
    rows: Judged = []
    users = rng.permutation(test.n_users)[: 5 if data.quick else 300]
    for u in users:
        own = rng.permutation(np.arange(test.offsets[u], test.offsets[u + 1]))[:30]
        probabilities = ranker.probabilities(test.user_ids[u], test.item_ids[test.item[own]])
        rows += judge(probabilities, test.values[own], int(u), rng)
    return {"rows": rows, "tied": frequencies(train.values, train.offsets)}


# ---- what is made of the pairs


def untied(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return, of pairs that are not tied, P(above | not tied) and whether the first is above."""
    there = rows[rows[:, 3] != 0]
    above, below = there[:, 1], 1.0 - there[:, 1] - there[:, 2]
    return np.clip(above / np.maximum(above + below, FLOOR), FLOOR, 1 - FLOOR), there[:, 3] > 0


def log_scores(rows: np.ndarray, tied: float | None = None) -> np.ndarray:
    """Return −log of the probability of what happened, per list; with ``tied``, of that share of ties and no model."""
    if tied is None:
        three = np.column_stack((1.0 - rows[:, 1] - rows[:, 2], rows[:, 2], rows[:, 1]))
    else:
        three = np.tile([(1 - tied) / 2, tied, (1 - tied) / 2], (len(rows), 1))
    chances = three[np.arange(len(rows)), rows[:, 3].astype(int) + 1]
    return per_list(rows[:, 0], -np.log(np.maximum(chances, FLOOR)))


def per_list(lists: np.ndarray, values: np.ndarray) -> np.ndarray:
    return np.array([values[lists == number].mean() for number in np.unique(lists)])


def reliability(chances: np.ndarray, happened: np.ndarray, n_bins: int = 10) -> list[tuple[float, float, int]]:
    """Return the mean probability, the share that happened and the number of pairs, in bins of equally many pairs."""
    parts = np.array_split(np.argsort(chances, kind="stable"), n_bins)
    return [(float(chances[p].mean()), float(happened[p].mean()), len(p)) for p in parts if len(p)]


def calibration_error(bins: list[tuple[float, float, int]]) -> float:
    """Return the mean distance of probabilities from shares, over pairs."""
    return float(sum(n * abs(p - share) for p, share, n in bins) / sum(n for *_, n in bins))


def _ends(errors: dict[str, float]) -> str:
    """Return which methods are the best and the worst calibrated."""
    in_order = sorted(errors, key=errors.__getitem__)
    return f"the best calibrated are those of {in_order[0]}, the worst those of {in_order[-1]}"


def blocks(found: dict[str, np.ndarray], tied: float, name: str, what: str) -> Iterator[str | Picture]:
    """Write the table, the comparison of log scores and the diagrams of one data set."""
    rows, scores, order_errors, tie_errors = [], {}, {}, {}
    for method, pairs in found.items():
        chances, happened = untied(pairs)
        order = -np.log(np.where(happened, chances, 1 - chances))
        bins = reliability(chances, happened)
        order_errors[method] = calibration_error(bins)
        cells = [f"{order.mean():.4f}", f"{order_errors[method]:.3f}"]
        if method in TIES:
            scores[method] = log_scores(pairs)
            of_ties = reliability(pairs[:, 2], pairs[:, 3] == 0)
            tie_errors[method] = calibration_error(of_ties)
            cells += [f"{scores[method].mean():.4f}", f"{tie_errors[method]:.3f}"]
        rows.append([method, *cells, *[""] * (4 - len(cells))])
    any_pairs = next(iter(found.values()))
    none = log_scores(any_pairs, tied)
    rows.append(["*no model: training frequencies*", f"{np.log(2):.4f}", "", f"{none.mean():.4f}", ""])
    header = ["", "log score, untied pairs", "its calibration error", "log score, ties included", "error of P(tie)"]
    yield table(header, rows)
    yield f"Of P(above), {_ends(order_errors)}. Of P(tie), {_ends(tie_errors)}."
    yield "Log score with ties less that of the training frequencies (below 0: the model knows something), over lists:"
    yield table(
        ["", "difference"], [[m, difference(s, log_scores(found[m], tied))] for m, s in scores.items()], numbers=False
    )

    def draw(axes: Any) -> None:
        for axis, ties in zip(axes, (False, True), strict=True):
            axis.plot([0, 1], [0, 1], color="#b8b8b8", linewidth=1)
            for method, pairs in found.items():
                if ties and method not in TIES:
                    continue
                bins = reliability(*((pairs[:, 2], pairs[:, 3] == 0) if ties else untied(pairs)))
                axis.plot([p for p, *_ in bins], [share for _, share, _ in bins], "o-", markersize=3, label=method)
            label = "P(tie)" if ties else "P(above), of pairs that are not tied"
            axis.set(xlabel=label, ylabel="share that happened", xlim=(0, 1), ylim=(0, 1))
            axis.legend(frameon=False, fontsize=7)

    yield Picture(name, f"Reliability on {what}: ten bins of equally many pairs", draw, columns=2, size=(4.6, 4.2))


def gathered(results: Sequence[dict[str, Any]]) -> np.ndarray:
    return np.array([row for each in results for row in each["rows"]])


@section("OHSUMED")
def documents(run: Run) -> Iterator[str | Picture]:
    yield (
        "Five folds, each ranker with its defaults on the training part; 40 random pairs of each test query. Lists "
        "are whole: what PMOP, BoltzRank and the geometric potential say of a pair depends on the others. Methods "
        "that depend on a seed have three, and their pairs are put together."
    )
    n_folds = 2 if run.quick else 5
    asked = [
        (fold, method, seed)
        for method in RANKERS
        for seed in (run.seeds if method in SEEDED else run.seeds[:1])
        for fold in range(n_folds)
    ]
    results = run.results(judged_documents, asked, some=True)
    complete = {m: [r for (_, method, _), r in results.items() if method == m] for m in RANKERS}
    found = {m: gathered(each) for m, each in complete.items() if len(each) >= n_folds}
    tied = float(np.mean([each["tied"] for each in results.values()]))
    if lacking := [m for m in RANKERS if m not in found]:
        yield f"Not computed yet: {', '.join(lacking)}."
    yield from blocks(found, tied, "ohsumed", "OHSUMED")


@section("MovieLens")
def films(run: Run) -> Iterator[str | Picture]:
    yield (
        "Factors with their default penalties, trained on 20 ratings per user; of 300 users, lists of up to thirty "
        "test films, 40 pairs of each; three draws."
    )
    results = run.results(judged_films, [(method, seed) for seed in run.seeds for method in FACTORS], some=True)
    found = {m: gathered([r for (method, _), r in results.items() if method == m]) for m in FACTORS}
    found = {m: rows for m, rows in found.items() if len(rows)}
    if lacking := [m for m in FACTORS if m not in found]:
        yield f"Not computed yet: {', '.join(lacking)}."
    tied = float(np.mean([each["tied"] for each in results.values()]))
    yield from blocks(found, tied, "movielens", "MovieLens 100K")


PAPER = Paper(
    "calibration",
    "Are the probabilities right? Calibration of pairs",
    "Some rankers answer with [probabilities](../probabilities.md). Here P(i above j) and P(i tied with j) are "
    "compared with the grades and stars of test data. *Log score* is the mean of −log P(what happened), lower is "
    "better; of untied pairs it is that of P(above | not tied), so that models without ties can be compared. "
    "*Calibration error* is the mean distance of a probability from the share that happened, in ten bins of equally "
    "many pairs. Settings are defaults, "
    "and penalties matter: a larger one draws probabilities together.",
    [documents, films],
    {},
)
