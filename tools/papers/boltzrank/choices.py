"""Choices of section 4.2: λ, g, hidden units, the sample of rankings, gradient steps, documents left out."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from ..machinery.data import Data
from ..machinery.fitting import Figures, evaluated, gathered, means_of
from ..machinery.judging import difference, verdict_of
from ..machinery.page import FAILS, HOLDS, OPEN, Verdict, figure, section, table
from ..machinery.pictures import Picture
from ..machinery.run import Run
from .settings import METRICS, ranker

RESTARTS = 3
"""Random starts in these sections, where the paper has ten: they compare settings with each other."""


def with_options(data: Data, name: str, fold: int, options: str, seed: int) -> dict[str, Any]:
    """Return the test queries' values of BoltzRank with options, which are JSON."""
    made = ranker(seed, data.quick, restarts=RESTARTS, **json.loads(options))
    return evaluated(data, name, fold, [made], METRICS, by="ndcg@5")


USUAL = {"weight": 0.9, "g": "linear", "hidden": 5, "n_samples": 100, "redraw": False, "subsample_irrelevant": 0.0}


def options_of(**options: Any) -> str:
    """Return options as JSON, without those that are the paper's anyway: so that these are fitted once."""
    return json.dumps({name: value for name, value in options.items() if USUAL.get(name) != value}, sort_keys=True)


def _compared(run: Run, settings: dict[str, str]) -> tuple[Figures, dict[str, float], dict[str, float], list[str]]:
    """Return figures by name, means of NDCG@5 on validation queries, seconds, and what is missing."""
    names = {key: name for name, key in settings.items()}
    figures, results, notes = gathered(run, with_options, "ohsumed", tuple(settings.values()), title=names.__getitem__)
    valid, seconds = (
        {
            name: sum(each[what] for each in results[key]) / len(results[key])
            for name, key in settings.items()
            if key in figures
        }
        for what in ("valid", "seconds")
    )
    return {name: figures[key] for name, key in settings.items() if key in figures}, valid, seconds, notes


def _table(figures: Figures, valid: dict[str, float], seconds: dict[str, float], what: str) -> str:
    rows = [
        [name, *(float(v[m].mean()) for m in METRICS), valid[name], f"{seconds[name]:.1f}"]
        for name, v in figures.items()
    ]
    return table([what, *METRICS, "validation ndcg@5", "fit (s)"], rows)


def _no_difference(claim: str, figures: Figures, usual: str, others: Sequence[str]) -> Verdict:
    """Return whether none of the others differs significantly from the usual one, in NDCG@5."""
    signs = [verdict_of(figures[name]["ndcg@5"], figures[usual]["ndcg@5"]) for name in others]
    said = "; ".join(f"{name} {difference(figures[name]['ndcg@5'], figures[usual]['ndcg@5'])}" for name in others)
    return Verdict(claim, HOLDS if set(signs) == {OPEN} else FAILS, f"NDCG@5, less that of {usual}: {said}")


LAMBDAS = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0)


@section(
    "Figure 3(b): NDCG against λ",
    best=("§4.2, Figure 3(b)", "λ = .9 is best"),
    rises=("§4.2, Figure 3(b)", "as λ decreases from 1, NDCG increases at first"),
    drops=("§4.2, Figure 3(b)", "it decreases significantly as λ approaches 0"),
)
def figure_3b(run: Run) -> Iterator[str | Picture | Verdict]:
    yield f"BoltzRank1 trained on NDCG@5, {RESTARTS} random starts. λ = 1 is the expected metric alone."
    figures, valid, seconds, notes = _compared(run, {f"{x:g}": options_of(weight=x) for x in LAMBDAS})
    yield _table(figures, valid, seconds, "λ")
    names = [f"{x:g}" for x in LAMBDAS]
    yield from notes
    if len(figures) < len(names):
        return

    def draw(axes: Any) -> None:
        for m in ("ndcg@1", "ndcg@3", "ndcg@5"):
            axes.plot(LAMBDAS, [figures[name][m].mean() for name in names], "o-", label=f"{m}, test")
        axes.plot(LAMBDAS, [valid[name] for name in names], "k:", label="ndcg@5, validation")
        axes.set_xlabel("λ")
        axes.set_ylabel("NDCG")
        axes.legend(frameon=False)

    yield Picture("lambda", "Figure 3(b): NDCG against λ, OHSUMED, means of three seeds and five folds", draw)
    on_test = means_of(figures, "ndcg@5")
    by_validation, by_test = (max(of, key=of.__getitem__) for of in (valid, on_test))
    nearer = [name for name in names if name not in ("0", "1")]
    said = f"best on validation queries: {by_validation}, on test queries: {by_test}"
    yield Verdict("best", HOLDS if by_validation == "0.9" else FAILS, said)
    inner = max(nearer, key=valid.__getitem__)  # chosen on validation queries
    for claim, end in (("rises", "1"), ("drops", "0")):
        a, b = figures[inner]["ndcg@5"], figures[end]["ndcg@5"]
        yield Verdict(
            claim, verdict_of(a, b), f"NDCG@5, λ = {inner} (by validation) less λ = {end}: {difference(a, b)}"
        )


@section(
    "The function g",
    little=("§4.2", "as long as g preserves signs and is bounded, its exact form has little effect"),
)
def pair_weights(run: Run) -> Iterator[str | Verdict]:
    names = ("linear", "sign", "logistic")
    figures, valid, seconds, notes = _compared(run, {g: options_of(g=g) for g in names})
    yield _table(figures, valid, seconds, "g")
    yield from notes
    if len(figures) == len(names):
        yield _no_difference("little", figures, "linear", names[1:])


@section(
    "Hidden units",
    five=("§4.2", "5 hidden units of {1, 3, 5, 10} are best, by cross validation"),
)
def hidden_units(run: Run) -> Iterator[str | Verdict]:
    names = ("1", "3", "5", "10")
    figures, valid, seconds, notes = _compared(run, {n: options_of(hidden=int(n)) for n in names})
    yield _table(figures, valid, seconds, "hidden")
    yield from notes
    if len(figures) == len(names):
        best = max(valid, key=valid.__getitem__)
        on_validation = ", ".join(f"{name}: {figure(value)}" for name, value in valid.items())
        gap = difference(figures["5"]["ndcg@5"], figures["1"]["ndcg@5"])
        said = f"validation NDCG@5 {on_validation}; on test queries 5 less 1: {gap}"
        yield Verdict("five", HOLDS if best == "5" else FAILS, said)


SIZES = ("20", "100", "300", "1000")


@section(
    "The number of rankings",
    enough=("§4.2", "no significant improvement beyond 100 rankings (tried: 20 to 1,000)"),
    few=("§3.4", "even a small set of rankings is enough to learn and generalize"),
)
def sample_size(run: Run) -> Iterator[str | Verdict]:
    figures, valid, seconds, notes = _compared(run, {k: options_of(n_samples=int(k)) for k in SIZES})
    yield _table(figures, valid, seconds, "K")
    yield from notes
    if "100" in figures:
        more = [k for k in ("300", "1000") if k in figures]
        if more:
            yield _no_difference("enough", figures, "100", more)
        if "20" in figures:
            a, b = figures["20"]["ndcg@5"], figures["100"]["ndcg@5"]
            worse = verdict_of(b, a) == HOLDS
            yield Verdict("few", FAILS if worse else HOLDS, f"NDCG@5 of 20 less 100: {difference(a, b)}")


@section(
    "Rankings drawn once or anew",
    once=("§3.4", "rankings can be drawn once (re-drawing is avoided for its cost)"),
)
def redrawn(run: Run) -> Iterator[str | Verdict]:
    names = {"once": options_of(redraw=False), "anew in each epoch": options_of(redraw=True)}
    figures, valid, seconds, notes = _compared(run, names)
    yield _table(figures, valid, seconds, "drawn")
    yield from notes
    if len(figures) == 2:
        yield _no_difference("once", figures, "once", ["anew in each epoch"])


@section(
    "Plain gradient ascent",
    ascent=("§3.4, Algorithm 1", "straightforward gradient ascent, query by query, learns the scoring function"),
)
def optimizer(run: Run) -> Iterator[str | Verdict]:
    yield "The paper does not print its rate η; these are fixed rates, beside Adam's .003, Podium's default."
    names = {"Adam, .003": options_of()}
    names |= {f"plain, {rate}": options_of(optimizer="sgd", learning_rate=rate) for rate in (0.03, 0.3, 3.0)}
    figures, valid, seconds, notes = _compared(run, names)
    yield _table(figures, valid, seconds, "steps")
    yield from notes
    if len(figures) == len(names):
        best = max((name for name in names if name.startswith("plain")), key=valid.__getitem__)
        a, b = figures[best]["ndcg@5"], figures["Adam, .003"]["ndcg@5"]
        worse = verdict_of(b, a) == HOLDS
        said = f"NDCG@5 of {best} (the best rate by validation) less Adam: {difference(a, b)}"
        yield Verdict("ascent", FAILS if worse else HOLDS, said)


@section(
    "Four fifths of the irrelevant documents left out",
    left_out=("§4.1", "80 % of the irrelevant training documents can be left out, to save time"),
)
def subsampling(run: Run) -> Iterator[str | Verdict]:
    yield "On OHSUMED, where 70 % of the documents are irrelevant; of TD2004's, which cannot be had, it is 98.5 %."
    names = {"all": options_of(subsample_irrelevant=0.0), "a fifth": options_of(subsample_irrelevant=0.8)}
    figures, valid, seconds, notes = _compared(run, names)
    yield _table(figures, valid, seconds, "irrelevant documents")
    yield from notes
    if len(figures) == 2:
        yield _no_difference("left_out", figures, "all", ["a fifth"])
