"""Ranking losses on boosted trees, by the number of trees (figure 3 of the IntervalRank paper, on public data).

For each fold and method, all combinations of the method's grid (``podium methods``) are trained on the training part;
the combination and the number of trees that are best on the validation part are evaluated on the test part, once. The
figure shows the chosen combinations on the test part for every number of trees; it plays no part in the choice.

    python examples/boosted_trees.py OHSUMED [--mslr MSLR] [--methods a,b,…] [--out FOLDER]  # needs podium-rank[report]

OHSUMED is a folder of folds. MSLR, if given, is a folder with train and test files of web search: each of five folds of
the training queries serves as validation part in turn, and the test part is always the same.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np

import podium
from podium.data.io.folds import find_folds, read_fold
from podium.metrics.significance import bootstrap_interval, randomization_test
from podium.rankers.methods import METHODS

NAMES = {
    "intervalrank": "IntervalRank",
    "intervalrank-reg": "IntervalRank_Reg",
    "isotonicrank": "isotonic",
    "gbrank": "GBRank",
    "gbrank-reg": "GBRank_Reg",
    "lambdamart": "LambdaMART",
    "listmle-trees": "ListMLE-trees",
    "query-offset": "query offset",
    "gbdt": "GBDT",
}
METRICS = ("ndcg@1", "ndcg@3", "ndcg@5", "ndcg@10", "map")
CURVE = "ndcg@5"
N_TREES = 125  # as in the paper

Fold = tuple[podium.Queries, podium.Queries, podium.Queries]


@dataclass
class Result:
    """The results of one method over all folds."""

    same_test: bool
    """Do all folds have the same test part?"""
    per_query: dict[str, list[list[float]]] = field(default_factory=lambda: {name: [] for name in METRICS})
    """By metric, one list per fold of the values of its test queries."""
    curves: dict[str, list[list[float]]] = field(default_factory=lambda: {name: [] for name in METRICS})
    """By metric, one list per fold of the means over its test queries, by number of trees."""
    chosen: list[str] = field(default_factory=list)

    def fold_means(self, metric: str) -> float:
        return float(np.mean([np.mean(values) for values in self.per_query[metric]]))

    def by_query(self, metric: str) -> np.ndarray:
        """Return the metric of each test query, averaged over folds if all have the same test part."""
        folds = self.per_query[metric]
        return np.mean(folds, axis=0) if self.same_test else np.concatenate(folds)

    def curve(self, metric: str) -> np.ndarray:
        """Return the mean of the folds' curves; one that ended early continues at its last value."""
        longest = max(map(len, self.curves[metric]))
        return np.mean([np.pad(c, (0, longest - len(c)), mode="edge") for c in self.curves[metric]], axis=0)


def run(method: str, folds: list[Fold], convention: str, primary: str) -> Result:
    result, grid = Result(all(test is folds[0][2] for _, _, test in folds)), METHODS[method].grid
    build = partial(METHODS[method].build, n_trees=N_TREES, normalize="minmax", random_state=0)
    for train, validation, test in folds:
        best = -1.0
        for values in product(*grid.values()):
            settings = dict(zip(grid, values, strict=True))
            ranker = build(**settings).fit(train, eval_set=validation, eval_metric=f"{primary} ({convention})")
            story = ranker.convergence_
            if max(story.validation) > best:
                best, n_trees, chosen = max(story.validation), story.best_iter, settings
        stages = list(build(**chosen).fit(train).staged_predict(test))  # the same trees again, and those after the best
        e = podium.evaluate(test, stages[n_trees - 1], metrics=METRICS, convention=convention)
        for name in METRICS:
            result.per_query[name].append(e.per_query[name].tolist())
        means = [podium.evaluate(test, s, metrics=METRICS, convention=convention).mean for s in stages]
        for name in METRICS:
            result.curves[name].append([mean[name] for mean in means])
        result.chosen.append(f"{n_trees} trees, " + ", ".join(f"{k} {v:g}" for k, v in chosen.items()))
    return result


def kept(path: Path, compute: Callable[[], Result]) -> Result:
    """Return the result from the file, or compute it and write it there."""
    if path.exists():
        return Result(**json.loads(path.read_text()))
    result = compute()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(asdict(result)))
    return result


def table(results: dict[str, Result], against: str) -> str:
    """Return a table of means, half widths of bootstrap intervals, and p of a paired test on the last metric."""
    lines = ["| method | " + " | ".join(m.upper() for m in METRICS) + " | p |", "|---|" + "---:|" * (len(METRICS) + 1)]
    pooled = {name: {m: r.by_query(m) for m in METRICS} for name, r in results.items()}
    for name, r in results.items():
        cells = []
        for m in METRICS:
            low, high = bootstrap_interval(pooled[name][m])
            cells.append(f"{r.fold_means(m):.4f} ±{(high - low) / 2:.3f}")
        p = "" if name == against else f"{randomization_test(pooled[name]['map'], pooled[against]['map']):.2f}"
        lines.append(f"| {NAMES[name]} | {' | '.join(cells)} | {p} |".replace("0.", "."))
    return "\n".join(lines)


def ohsumed(folder: Path) -> Iterator[Fold]:
    for fold in map(read_fold, find_folds(folder)):
        yield fold.train, fold.validation, fold.test


def mslr(folder: Path) -> Iterator[Fold]:
    train, test = (podium.read_letor(next(folder.glob(f"{part}*"))) for part in ("train", "test"))
    for one, validation, other in podium.k_folds(len(train), 5, random_state=0):
        yield train.take(np.sort(np.append(one, other))), train.take(validation), test


def picture(panels: dict[str, dict[str, Result]], path: Path) -> None:
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, len(panels), figsize=(6 * len(panels), 4.2), squeeze=False)
    for axis, (title, results) in zip(axes[0], panels.items(), strict=True):
        for name, r in results.items():
            curve = r.curve(CURVE)
            axis.plot(np.arange(1, len(curve) + 1), curve, label=NAMES[name], lw=1.4)
        axis.set(title=title, xlabel="trees", ylabel="NDCG@5, test")
        axis.grid(alpha=0.3)
    axes[0][0].axhline(0.4609, color="gray", ls=":", label="IntervalRank, published (LETOR 3.0)")
    axes[0][0].legend(fontsize=8, ncol=2, loc="lower right")
    figure.tight_layout()
    figure.savefig(path, dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("ohsumed", type=Path)
    parser.add_argument("--mslr", type=Path)
    parser.add_argument("--out", type=Path, default=Path("podium-runs/boosted-trees"), help="folder for finished parts")
    parser.add_argument("--methods", default=",".join(NAMES))
    options = parser.parse_args()
    sets = {"OHSUMED (LETOR 2.0), letor": (list(ohsumed(options.ohsumed)), "letor", "map")}
    if options.mslr:
        sets["MSLR sample, mslr"] = (list(mslr(options.mslr)), "mslr", "ndcg@10")
    panels: dict[str, dict[str, Result]] = {}
    for title, setting in sets.items():
        panels[title] = {}
        for method in options.methods.split(","):
            path = options.out / f"{title.split()[0].lower()}-{method}.json"
            result = panels[title][method] = kept(path, partial(run, method, *setting))
            print(f"{method}: {'; '.join(result.chosen)}", flush=True)
        against = "gbdt" if "gbdt" in panels[title] else next(iter(panels[title]))
        print(f"\n{title}\n\n{table(panels[title], against)}\n", flush=True)
    picture(panels, options.out / "boosted-trees.png")


if __name__ == "__main__":
    main()
