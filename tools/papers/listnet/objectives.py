"""What the slides leave open: other objectives than cross entropy of the first place, other models than linear ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import podium
from podium.losses import ListNetLoss
from podium.losses.listnet_divergences import DIVERGENCES, PHIS

from ..machinery.data import Data
from ..machinery.fitting import Figures, evaluated, gathered
from ..machinery.judging import difference, verdict_of
from ..machinery.page import FAILS, HOLDS, OPEN, Verdict, section, table
from ..machinery.run import Run

METRICS = ("ndcg@1", "ndcg@3", "ndcg@5", "ndcg@10", "map")
SCALED = {"normalize": "minmax"}
USUAL = "cross-entropy"
VARIANTS: dict[str, dict[str, Any]] = {
    **{name: {"divergence": name} for name in DIVERGENCES},
    **{f"φ = {name}": {"phi": name} for name in PHIS if name != "exp"},
    **{f"first {k} places": {"k": k} for k in (2, 3, 5)},
}


def variant(data: Data, name: str, fold: int, which: str, seed: int) -> dict[str, Any]:
    """Return the test queries' values of ListNet with another objective, on a linear model."""
    rankers = [
        podium.ListNet(l2=l2, max_iter=300, random_state=seed, **VARIANTS[which], **SCALED) for l2 in (1e-3, 1e-2)
    ]
    return evaluated(data, name, fold, rankers, METRICS, "map")


def _table(figures: Figures, usual: str, what: str) -> str:
    rows = [
        [
            method,
            *(float(values[m].mean()) for m in METRICS),
            "" if method == usual else difference(values["ndcg@5"], figures[usual]["ndcg@5"]),
        ]
        for method, values in figures.items()
    ]
    return table([what, *METRICS, f"NDCG@5, less {usual}"], rows)


@section(
    "Other objectives",
    objective=("Conclusions", "open: other objective functions besides cross entropy"),
    top_one=("Listwise approach", "the probability of the first place stands for that of permutations"),
)
def objectives(run: Run) -> Iterator[str | Verdict]:
    yield (
        "OHSUMED; L-BFGS, l2 of .001 and .01 by MAP on validation queries. Divergences and φ are of the first place. "
        "For five places, prefixes are drawn (three seeds)."
    )
    seeded = ("first 5 places",)
    figures, _, notes = gathered(run, variant, "ohsumed", tuple(VARIANTS), seeded=seeded)
    if USUAL in figures:
        yield _table(figures, USUAL, "")
    yield from notes
    if len(figures) == len(VARIANTS):
        others = [name for name in (*DIVERGENCES, *(f"φ = {phi}" for phi in PHIS)) if name in figures and name != USUAL]
        better = [n for n in others if verdict_of(figures[n]["ndcg@5"], figures[USUAL]["ndcg@5"]) == HOLDS]
        worse = [n for n in others if verdict_of(figures[n]["ndcg@5"], figures[USUAL]["ndcg@5"]) == FAILS]
        said = f"of {len(others)}, significantly better in NDCG@5: {', '.join(better) or 'none'}; worse: "
        yield Verdict("objective", HOLDS if better else OPEN, said + (", ".join(worse) or "none"))
        more = [name for name in figures if name.startswith("first")]
        signs = [verdict_of(figures[name]["ndcg@5"], figures[USUAL]["ndcg@5"]) for name in more]
        said = "; ".join(f"{n}: NDCG@5 {difference(figures[n]['ndcg@5'], figures[USUAL]['ndcg@5'])}" for n in more)
        yield Verdict("top_one", FAILS if HOLDS in signs else HOLDS, said)


MODELS: dict[str, Callable[[int, bool], list[Any]]] = {
    "linear": lambda seed, quick: [podium.ListNet(l2=l2, **SCALED) for l2 in (1e-3, 1e-2)],
    "network, 10 hidden units": lambda seed, quick: [
        podium.Ranker(
            ListNetLoss(),
            podium.scorers.MLP(hidden=10, l2=l2),
            podium.training.Stochastic(epochs=3 if quick else 30, patience=None),
            random_state=seed,
            **SCALED,
        )
        for l2 in (1e-4, 1e-2)
    ],
    "boosted trees": lambda seed, quick: [
        podium.Ranker(
            ListNetLoss(),
            podium.scorers.Trees(n_trees=5 if quick else 150, n_leaves=leaves, learning_rate=0.1),
            random_state=seed,
            **SCALED,
        )
        for leaves in (4, 8)
    ],
}


def with_model(data: Data, name: str, fold: int, which: str, seed: int) -> dict[str, Any]:
    """Return the test queries' values of ListNet's loss on another model."""
    return evaluated(data, name, fold, MODELS[which](seed, data.quick), METRICS, "map")


@section(
    "Other models",
    model=("Conclusions", "open: other ranking models than the linear network"),
)
def models(run: Run) -> Iterator[str | Verdict]:
    figures, _, notes = gathered(run, with_model, "ohsumed", tuple(MODELS), seeded=("network, 10 hidden units",))
    if "linear" in figures:
        yield _table(figures, "linear", "")
    yield from notes
    if len(figures) == len(MODELS):
        others = [name for name in MODELS if name != "linear"]
        signs = [verdict_of(figures[name]["ndcg@5"], figures["linear"]["ndcg@5"]) for name in others]
        gaps = [f"{n}: NDCG@5 {difference(figures[n]['ndcg@5'], figures['linear']['ndcg@5'])}" for n in others]
        verdict = HOLDS if HOLDS in signs else FAILS if set(signs) == {FAILS} else OPEN
        yield Verdict("model", verdict, "better than linear? " + "; ".join(gaps))
