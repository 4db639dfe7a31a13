"""Partial orders, and what section 6.2 leaves open: other functions, several of them, other scorers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import podium
from podium.losses import RankNetLoss, StructRankLoss

from ..machinery.data import CONVENTIONS, Data
from ..machinery.fitting import Figures, evaluated, fold_of, gathered
from ..machinery.judging import difference, judged, verdict_of
from ..machinery.page import FAILS, HOLDS, OPEN, Verdict, section, table
from ..machinery.run import Run

METRICS = ("ndcg@1", "ndcg@5", "ndcg@10", "map")


def linear(loss: Any, l2: float) -> podium.Ranker:
    trainer = podium.training.LBFGS(max_iter=100, tolerance=1e-6)
    return podium.Ranker(loss, podium.scorers.Linear(l2=l2), trainer, normalize="minmax")


def _rows(figures: Figures, usual: str) -> list[list[Any]]:
    return [
        [
            method,
            *(float(values[m].mean()) for m in METRICS),
            "" if method == usual else difference(values["ndcg@5"], figures[usual]["ndcg@5"]),
        ]
        for method, values in figures.items()
    ]


SHARES = (1.0, 0.1, 0.01)
PARTIAL = tuple(f"{loss}, {share:g} of the pairs" for share in SHARES for loss in ("full", "RankNet"))


def from_pairs(data: Data, name: str, fold: int, method: str, seed: int) -> dict[str, Any]:
    """Fit on some of the pairs that the grades make, drawn by the seed; the penalty is that of all pairs, fixed."""
    part = fold_of(data, name, fold)
    which, share = method.split(", ")[0], float(method.split(", ")[1].split()[0])
    pairs = podium.Preferences([], []).with_grades(part.train.labels, part.train.offsets)
    rng = np.random.default_rng(seed)
    kept = np.sort(rng.choice(len(pairs), max(1, int(share * len(pairs))), replace=False))
    given = podium.Preferences(pairs.winner[kept], pairs.loser[kept])
    loss = RankNetLoss() if which == "RankNet" else StructRankLoss(learn_weights=False)
    ranker = linear(loss, 1e-3).fit(part.train.features, given, qid=part.train.query_of_document)
    return {"values": judged(part.test, ranker.predict(part.test), METRICS, CONVENTIONS[name])}


@section(
    "Partial orders",
    partial=("§1, §3, §6.1", "preferences about few of the objects are enough: partial orders can be learned from"),
)
def partial_orders(run: Run) -> Iterator[str | Verdict]:
    yield (
        "A linear scorer on the pairs that the grades make, on a tenth of them and on a hundredth (about 80 of a list "
        "of 150 documents), drawn at random; l2 = .001."
    )
    seeded = [method for method in PARTIAL if ", 1 of" not in method]
    figures, _, notes = gathered(run, from_pairs, "ohsumed", PARTIAL, seeded=seeded)
    if PARTIAL[0] in figures:
        yield table(["", *METRICS, "NDCG@5, less all pairs"], _rows(figures, PARTIAL[0]))
    yield from notes
    if len(figures) == len(PARTIAL):
        few, every = figures["full, 0.01 of the pairs"]["map"], figures["full, 1 of the pairs"]["map"]
        worse = verdict_of(every, few) == HOLDS
        tenth = figures["full, 0.1 of the pairs"]["map"]
        said = f"a tenth less all: {difference(tenth, every)}; a hundredth less all: {difference(few, every)}"
        yield Verdict("partial", FAILS if worse else HOLDS, f"MAP {np.mean(few):.4f} of a hundredth; {said}")


FUNCTIONS: dict[str, Any] = {
    "sigmoid": "sigmoid",
    "two sigmoids": ["sigmoid", "sigmoid"],
    "Gaussian": "gaussian",
    "sigmoid and Gaussian": ["sigmoid", "gaussian"],
}


def with_functions(data: Data, name: str, fold: int, method: str, seed: int) -> dict[str, Any]:
    """Return the test queries' values of a network of other functions, on a linear scorer."""
    several = "two" in method  # equal weights would make two sigmoids one
    loss = StructRankLoss(functions=FUNCTIONS[method], learn_weights=several, tolerance=1e-4)
    return evaluated(data, name, fold, [linear(loss, 1e-3)], METRICS, "map")


@section(
    "Other functions, and several",
    gaussian=("§6.2", "open: products of Gaussian distribution functions"),
    several=("§6.2", "open: K functions in place of one"),
)
def functions(run: Run) -> Iterator[str | Verdict]:
    yield "Fully connected, linear scorer, l2 = .001; w1 and w2 stay at 1, but for two sigmoids, which learn theirs."
    figures, _, notes = gathered(run, with_functions, "ohsumed", tuple(FUNCTIONS), seeded=())
    if "sigmoid" in figures:
        yield table(["", *METRICS, "NDCG@5, less sigmoid"], _rows(figures, "sigmoid"))
    yield from notes
    for claim, names in (("gaussian", ("Gaussian",)), ("several", ("two sigmoids", "sigmoid and Gaussian"))):
        if all(name in figures for name in (*names, "sigmoid")):
            pairs = [(figures[name]["ndcg@5"], figures["sigmoid"]["ndcg@5"]) for name in names]
            signs = [verdict_of(*pair) for pair in pairs]
            verdict = HOLDS if HOLDS in signs else FAILS if FAILS in signs else OPEN
            said = "; ".join(f"{name} {difference(*pair)}" for name, pair in zip(names, pairs, strict=True))
            yield Verdict(claim, verdict, f"better than one sigmoid? NDCG@5: {said}")


SCORERS: dict[str, Callable[[int, bool], list[Any]]] = {
    "kernel regression": lambda seed, quick: [
        podium.StructRank("full", None, 300, epochs=2 if quick else 10, restarts=1, random_state=seed)
    ],
    "linear": lambda seed, quick: [linear(StructRankLoss(learn_weights=False), l2) for l2 in (1e-4, 1e-3, 1e-2)],
    "network, 5 hidden units": lambda seed, quick: [
        podium.Ranker(
            StructRankLoss(learn_weights=False),
            podium.scorers.MLP(hidden=5, l2=1e-3),
            podium.training.Stochastic(epochs=2 if quick else 30, patience=None),
            normalize="minmax",
            random_state=seed,
        )
    ],
}


def with_scorer(data: Data, name: str, fold: int, method: str, seed: int) -> dict[str, Any]:
    """Return the test queries' values of the fully connected network on another scorer."""
    return evaluated(data, name, fold, SCORERS[method](seed, data.quick), METRICS, "map")


@section(
    "Other scorers",
    scorer=("§6.2", "open: neural networks in place of kernel regression"),
)
def scorers(run: Run) -> Iterator[str | Verdict]:
    yield "Fully connected, loss averaged. Kernel regression on 300 documents without a ball, one start."
    figures, _, notes = gathered(
        run, with_scorer, "ohsumed", tuple(SCORERS), seeded=("kernel regression", "network, 5 hidden units")
    )
    usual = "kernel regression"
    if usual in figures:
        yield table(["", *METRICS, f"NDCG@5, less {usual}"], _rows(figures, usual))
    yield from notes
    if len(figures) == len(SCORERS):
        others = [name for name in SCORERS if name != usual]
        pairs = [(figures[name]["ndcg@5"], figures[usual]["ndcg@5"]) for name in others]
        signs = [verdict_of(*pair) for pair in pairs]
        verdict = HOLDS if HOLDS in signs else FAILS if FAILS in signs else OPEN
        said = "; ".join(f"{name} {difference(*pair)}" for name, pair in zip(others, pairs, strict=True))
        yield Verdict("scorer", verdict, f"better than kernel regression? NDCG@5: {said}")
