"""Ranking accuracy: OHSUMED, and sets of five grades in place of CSearch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import podium

from ..machinery.data import SETS, Data
from ..machinery.fitting import Figures, evaluated, gathered
from ..machinery.judging import difference, verdict_of
from ..machinery.page import FAILS, HOLDS, OPEN, Verdict, beside, section, table
from ..machinery.pictures import Picture
from ..machinery.run import Run

CUTOFFS = range(1, 11)
METRICS = (*(f"ndcg@{k}" for k in CUTOFFS), "map")
RATES = (0.003, 0.03, 0.3, 3.0, 30.0)
SCALED = {"normalize": "minmax"}


def steps(preset: type, seed: int, quick: bool) -> list[Any]:
    """Return the paper's training: per-query steps without a penalty; validation queries choose T and the rate."""
    epochs = 5 if quick else 100
    options = {"optimizer": "sgd", "max_iter": epochs, "l2": 0.0, "random_state": seed}
    return [preset(learning_rate=rate, **options, **SCALED) for rate in RATES]


METHODS: dict[str, Callable[[int, bool], list[Any]]] = {
    "ListNet": lambda seed, quick: steps(podium.ListNet, seed, quick),
    "RankNet": lambda seed, quick: steps(podium.RankNet, seed, quick),
    "Ranking SVM": lambda seed, quick: [podium.RankSVM(l2=l2, **SCALED) for l2 in (1e-4, 1e-2, 1e-1, 1.0, 10.0)],
    "RankBoost": lambda seed, quick: [
        podium.RankBoost(n_rounds=n, direction=direction, **SCALED)
        for direction in ("up", "both")
        for n in ((5,) if quick else (10, 30, 100, 300))
    ],
}
SEEDED = ("ListNet", "RankNet")
PRINTED = {
    "ListNet": (0.5231, 0.4970, 0.4777, 0.4685, 0.4662, 0.4510, 0.4495, 0.4510, 0.4495, 0.4489, 0.4496),
    "Ranking SVM": (0.4952, 0.4755, 0.4649, 0.4595, 0.4579, 0.4547, 0.4469, 0.4448, 0.4435, 0.4411, 0.4469),
    "RankBoost": (0.4977, 0.4827, 0.4726, 0.4609, 0.4502, 0.4417, 0.4391, 0.4364, 0.4333, 0.4356, 0.4403),
}
SHOWN = ("ndcg@1", "ndcg@3", "ndcg@5", "ndcg@10", "map")


def compared(data: Data, name: str, fold: int, method: str, seed: int) -> dict[str, Any]:
    """Return the test queries' values of a method, its settings chosen by MAP on validation queries."""
    return evaluated(data, name, fold, METHODS[method](seed, data.quick), METRICS, "map")


def _differences(figures: Figures, metrics: tuple[str, ...]) -> str:
    others = [method for method in METHODS if method != "ListNet"]
    rows = [
        [f"ListNet − {other}", *(difference(figures["ListNet"][m], figures[other][m]) for m in metrics)]
        for other in others
    ]
    return table(["", *metrics], rows, numbers=False)


@section(
    "Ranking accuracy on OHSUMED",
    ranknet=("Ranking accuracy (3)", "ListNet outperforms RankNet"),
    rankboost=("Ranking accuracy (3)", "ListNet outperforms RankBoost"),
    ranksvm_map=("Ranking accuracy (3)", "ListNet is better than Ranking SVM in MAP"),
    ranksvm_ndcg=("Ranking accuracy (3)", "and partly in NDCG"),
)
def accuracy(run: Run) -> Iterator[str | Picture | Verdict]:
    yield (
        "The slides' protocol: five folds; on validation queries, the number of iterations T of RankNet and ListNet is "
        "chosen (up to 100, and the rate, which is not printed, of "
        f"{', '.join(map(str, RATES))}), the parameter of Ranking SVM, and the number of weak learners of RankBoost. "
        "Both networks are linear, as the slides' is; RankNet's usual one has a hidden layer."
    )
    figures, _, notes = gathered(run, compared, "ohsumed", tuple(METHODS), seeded=SEEDED)
    rows = []
    for method, values in figures.items():
        printed = dict(zip(METRICS, PRINTED.get(method, [None] * 11), strict=True))
        rows.append([method, *(beside(float(values[m].mean()), printed[m]) for m in SHOWN)])
    yield table(["", *SHOWN], rows)
    yield from notes
    if len(figures) < len(METHODS):
        return

    def draw(axes: Any) -> None:
        for method, values in figures.items():
            axes.plot(CUTOFFS, [values[f"ndcg@{k}"].mean() for k in CUTOFFS], "o-", ms=3, label=method)
        axes.set_xlabel("cutoff")
        axes.set_ylabel("NDCG")
        axes.legend(frameon=False)

    yield Picture("ohsumed", "NDCG on OHSUMED, test queries of five folds", draw)
    yield _differences(figures, ("ndcg@5", "map"))
    for claim, other, m in (
        ("ranknet", "RankNet", "map"),
        ("rankboost", "RankBoost", "map"),
        ("ranksvm_map", "Ranking SVM", "map"),
    ):
        a, b = figures["ListNet"][m], figures[other][m]
        yield Verdict(claim, verdict_of(a, b), f"MAP {difference(a, b)}")
    mine, svm = figures["ListNet"], figures["Ranking SVM"]
    signs = [verdict_of(mine[m], svm[m]) for m in METRICS[:-1]]
    higher = sum(mine[m].mean() > svm[m].mean() for m in METRICS[:-1])
    verdict = HOLDS if HOLDS in signs else FAILS if FAILS in signs else OPEN
    said = f"higher at {higher} of 10 cutoffs, significantly at {signs.count(HOLDS)}; NDCG@5 "
    yield Verdict("ranksvm_ndcg", verdict, said + difference(mine["ndcg@5"], svm["ndcg@5"]))


@section(
    "Five grades, in place of CSearch",
    ranknet_5=("Ranking accuracy (4)", "on CSearch, ListNet outperforms RankNet"),
    rankboost_5=("Ranking accuracy (4)", "on CSearch, ListNet outperforms RankBoost"),
)
def csearch(run: Run) -> Iterator[str | Verdict]:
    yield "CSearch has five grades and 600 features. Two public sets of five grades, convention `standard`, NDCG."
    all_figures = {}
    for name in ("lightgbm-rank", "mslr"):
        figures, _, notes = gathered(run, compared, name, tuple(METHODS), seeded=SEEDED)
        yield f"### {SETS[name]}"
        yield table(["", *SHOWN], [[method, *(float(v[m].mean()) for m in SHOWN)] for method, v in figures.items()])
        yield from notes
        if len(figures) == len(METHODS):
            yield _differences(figures, ("ndcg@5",))
            all_figures[name] = figures
    for claim, other in (("ranknet_5", "RankNet"), ("rankboost_5", "RankBoost")):
        pairs = {name: (f["ListNet"]["ndcg@5"], f[other]["ndcg@5"]) for name, f in all_figures.items()}
        told = {verdict_of(*pair) for pair in pairs.values()} - {OPEN}
        if len(pairs) == 2:
            said = "; ".join(f"{name}: NDCG@5 {difference(*pair)}" for name, pair in pairs.items())
            yield Verdict(claim, told.pop() if len(told) == 1 else OPEN, said)
