"""Figure 1 and Table 1: OHSUMED."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import podium
from podium.experiments.result.published import table as published
from podium.rankers.methods import METHODS

from ..machinery.data import Data
from ..machinery.judging import Values, difference, joined, judged, verdict_of
from ..machinery.page import FAILS, HOLDS, OPEN, Verdict, beside, figure, section, table
from ..machinery.run import Run

PRINTED_COUNTS = {0: 11_303, 1: 2_585, 2: 2_252}
NDCG = tuple(f"ndcg@{k}" for k in range(1, 6))
PRECISION = tuple(f"p@{k}" for k in range(1, 6))
METRICS = (*NDCG, *PRECISION, "map")
HIGHEST = "letor+relevant_from=2"
BASELINES = {
    "RankBoost": "rankboost",
    "RankSVM": "ranksvm",
    "FRank": "frank",
    "ListNet": "listnet",
    "AdaRank-MAP": "adarank-map",
    "AdaRank-NDCG": "adarank-ndcg",
}
PLAIN = {"query_fraction": 1.0, "feature_fraction": 1.0}
"""Trees as the paper describes them: nothing is drawn at random."""


def settings(number: int) -> dict[str, Any]:
    """Return one of the settings that are searched, drawn once; the first is the loss's default."""
    if number == 0:
        return {"n_leaves": 8, "learning_rate": 0.05, "separation": 1.0, "width": 1.0}
    rng = np.random.default_rng(number)
    choices = {
        "n_leaves": (2, 4, 8, 16, 32),
        "learning_rate": (0.02, 0.05, 0.1, 0.2),
        "separation": (0.1, 1.0, 10.0, 100.0, 1000.0),
        "width": (0.01, 0.1, 1.0, 10.0, 100.0),
    }
    return {name: rng.choice(values).item() for name, values in choices.items()}


def counted(data: Data) -> dict[str, Any]:
    """Return the number of documents of each grade, of queries and of features."""
    tests = [fold.test for fold in data.folds("ohsumed")]
    grades, counts = np.unique(np.concatenate([test.labels for test in tests]), return_counts=True)
    found: dict[str, Any] = {"grades": {str(int(g)): int(n) for g, n in zip(grades, counts, strict=True)}}
    return found | {"queries": sum(map(len, tests)), "features": tests[0].n_features}


@section(
    "The data, and Figure 1",
    counts=("§4.2, Figure 1", "106 queries, 16,140 documents: 11,303, 2,585 and 2,252 of the grades 0, 1, 2"),
    features=("§4.2", "LETOR 3.0, each document with 25 features"),
)
def figure_1(run: Run) -> Iterator[str | Verdict]:
    found = run.result(counted)
    grades = {int(g): n for g, n in found["grades"].items()}
    rows = [[str(g), f"{grades.get(g, 0):,}", f"{n:,}"] for g, n in PRINTED_COUNTS.items()]
    yield table(["grade", "documents", "printed"], rows)
    right = grades == PRINTED_COUNTS and found["queries"] == 106
    yield Verdict(
        "counts", HOLDS if right else FAILS, f"{found['queries']} queries, {sum(grades.values()):,} documents"
    )
    theirs = {row.method.lower(): row.figures for row in published("ohsumed-letor3").rows}
    older = {row.method.lower(): row.figures for row in published("ohsumed-letor2").rows}
    same = [name for name in theirs if name in older and theirs[name] != older[name]]
    yield (
        "LETOR 2.0's OHSUMED, used here, has 25 features; LETOR 3.0's has 45, for the same queries, documents and "
        f"judgments. The paper says both “LETOR 3.0” and “25-dimensional”. The figures it quotes for {len(same)} "
        "official baselines are digit by digit those of LETOR 3.0 and differ from those of LETOR 2.0, so its Table 1 "
        "compares on LETOR 3.0; which features its own trees saw, the paper does not settle. Our trees see 25."
    )
    text = f"its baselines are LETOR 3.0's, which has 45; 25 is LETOR 2.0; ours: {found['features']}"
    yield Verdict("features", OPEN if run.quick else FAILS, text)


def grown(data: Data, fold: int, number: int) -> dict[str, Any]:
    """Return the validation MAP of a setting, which chooses, and the values on test queries, which do not."""
    part = data.folds("ohsumed")[fold]
    n_trees = 10 if data.quick else 125
    ranker = podium.IntervalRank(
        n_trees=n_trees, regression=0.0, patience=None, tree_options=PLAIN, random_state=0, **settings(number)
    ).fit(part.train)
    scores = ranker.predict(part.test)
    validation = judged(part.valid, ranker.predict(part.valid), ["map"], "letor")["map"]
    found: dict[str, Any] = {"validation": float(np.mean(validation)), **_both(part.test, scores)}
    return found


def _both(test: podium.Queries, scores: Any) -> dict[str, Values]:
    """Return values with grades from 1, and with the highest alone, as relevant."""
    return {
        "official": judged(test, scores, METRICS, "letor"),
        "highest": judged(test, scores, (*PRECISION, "map"), HIGHEST),
    }


def baseline(data: Data, fold: int, name: str) -> dict[str, Any]:
    """Return the values of a method of the official package, as it is in Podium, with its defaults."""
    part = data.folds("ohsumed")[fold]
    options = {"random_state": 0, "normalize": "minmax"}
    ranker = METHODS[BASELINES[name]].build(**options)
    ranker.fit(part.train, eval_set=part.valid, eval_metric="map")
    return _both(part.test, ranker.predict(part.test))


@section(
    "Table 1: OHSUMED",
    first=("§4.2, Table 1", "above RankBoost, RankSVM, FRank, ListNet and AdaRank in NDCG@1, @2, @3 and P@1, P@2"),
    significant=("§4.2", "these improvements are significant"),
    bottom=("§4.2", "the benefits are less at NDCG@4, @5, P@3 to P@5 and MAP"),
    definitions=("Eqs. 13–14, Table 1", "P@k and MAP of the table count the highest grade alone as relevant"),
)
def table_1(run: Run) -> Iterator[str | Verdict]:
    n_settings, n_folds = (2, 2) if run.quick else (16, 5)
    yield (
        f"The five official folds, 125 trees, no part of the data drawn at random. Of {n_settings} settings (leaves, "
        "shrinkage, λ1, λ2 drawn from 2–32, 0.02–0.2, 0.1–1,000, 0.01–100) the one with the best MAP on the validation "
        "part is tested. Our baselines have their defaults, the validation part as `eval_set`, and features scaled "
        "within each query. Convention `letor`: P@k and MAP count grades 1 and 2, as LETOR's tool does. Printed "
        "figures, of LETOR 3.0, in italics; they are not of the same features."
    )
    found = run.results(grown, [(fold, n) for fold in range(n_folds) for n in range(n_settings)], jobs=1)
    chosen = [max(range(n_settings), key=lambda n: found[f, n]["validation"]) for f in range(n_folds)]
    own = {kind: joined([found[f, n][kind] for f, n in enumerate(chosen)]) for kind in ("official", "highest")}
    names = list(BASELINES)[:2] if run.quick else list(BASELINES)
    parts = run.results(baseline, [(fold, name) for name in names for fold in range(n_folds)])
    others = {
        kind: {name: joined([parts[f, name][kind] for f in range(n_folds)]) for name in names}
        for kind in ("official", "highest")
    }
    printed = {row.method: row.figures for row in published("ohsumed-letor3").rows}
    rows = [
        [name, *(beside(float(np.mean(values[m])), printed.get(name, {}).get(m)) for m in METRICS)]
        for name, values in (*others["official"].items(), ("IntervalRank", own["official"]))
    ]
    yield table(["", *METRICS], rows)
    older = [row for row in published("ohsumed-letor2").rows if any(m in row.figures for m in METRICS)]
    yield "The official figures of LETOR 2.0, for the data that ours are of:"
    yield table(["", *METRICS], [[row.method, *(row.figures.get(m) for m in METRICS)] for row in older])
    yield "With the highest grade alone as relevant (Eqs. 13 and 14):"
    last = (*PRECISION, "map")
    both = (*others["highest"].items(), ("IntervalRank", own["highest"]))
    yield table(["", *last], [[name, *(figure(float(np.mean(values[m]))) for m in last)] for name, values in both])
    yield (
        "Chosen settings: "
        + "; ".join(f"fold {f + 1} {_short(settings(n))}" for f, n in enumerate(chosen))
        + ". Two leaves are the least there are; 0.02 is the slowest rate of those searched."
    )
    yield from _judged_table(own["official"], others["official"], own["highest"])


def _short(setting: dict[str, Any]) -> str:
    names = {"n_leaves": "leaves", "learning_rate": "rate", "separation": "λ1", "width": "λ2"}
    return ", ".join(f"{names[name]} {value:g}" for name, value in setting.items())


def _judged_table(own: Values, others: dict[str, Values], highest: Values) -> Iterator[Verdict]:
    top, rest = ("ndcg@1", "ndcg@2", "ndcg@3", "p@1", "p@2"), ("ndcg@4", "ndcg@5", "p@3", "p@4", "p@5", "map")
    best = {m: max(others, key=lambda name: np.mean(others[name][m])) for m in METRICS}
    gain = {m: float(np.mean(own[m]) - np.mean(others[best[m]][m])) for m in METRICS}
    above = [m for m in top if gain[m] > 0]
    said = ", ".join(f"{m} {gain[m]:+.4f} of {best[m]}" for m in top)
    yield Verdict("first", HOLDS if len(above) == len(top) else FAILS, said)
    signs = {m: verdict_of(own[m], others[best[m]][m]) for m in top}
    tests = "; ".join(f"{m}: {difference(own[m], others[best[m]][m])}" for m in ("ndcg@1", "ndcg@3", "p@1"))
    yield Verdict("significant", HOLDS if set(signs.values()) == {HOLDS} else FAILS, tests)
    less = np.mean([gain[m] for m in rest]) < np.mean([gain[m] for m in top])
    text = f"mean gain over the best baseline {np.mean([gain[m] for m in rest]):+.4f}, at the top "
    yield Verdict("bottom", HOLDS if less else FAILS, f"{text}{np.mean([gain[m] for m in top]):+.4f}")
    by_both = {m: (float(np.mean(own[m])), float(np.mean(highest[m]))) for m in ("p@1", "map")}
    figures = "; ".join(f"{m}: {figure(a)} of grades 1 and 2, {figure(b)} of 2 alone" for m, (a, b) in by_both.items())
    wrong = all(
        abs(a - printed) < abs(b - printed) for (a, b), printed in zip(by_both.values(), (0.6892, 0.4466), strict=True)
    )
    yield Verdict("definitions", FAILS if wrong else OPEN, f"{figures}; printed .6892 and .4466")
