"""Podium's XE-NDCG and YetiRank on trees against LightGBM's rank_xendcg and CatBoost's YetiRank, on three data sets.

    python tools/trees_of_peers.py [--data FOLDER] [--sets ohsumed,mslr,…] [--seeds 1] [--stored] [--out PAGE]

All four take part in one comparison per set and seed: the same folds, the same number of settings, chosen by NDCG@10 on
the same validation queries, which also tell when to stop. A query's value is its mean over the seeds. Nothing is fitted
twice: a run that was stopped goes on. With ``--stored``, the page is written of the seeds that are there for all sets.
"""

from __future__ import annotations

import argparse
import datetime
import importlib.metadata
import os
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import podium
from podium.experiments.result.comparison import Comparison
from podium.metrics.significance import bootstrap_interval, randomization_test
from podium.numerics.pool import threads
from podium.rankers.methods import METHODS

sys.path.insert(0, str(Path(__file__).parent))
from defaults import joined, lightgbm_rank, mslr
from defaults_page import table
from papers.machinery.comparisons import Lines, stored_comparison

ROOT = Path(__file__).parents[1]
METRIC, CONVENTION, FOLDS_SEED = "ndcg@10", "standard", 0
N_TREES, PATIENCE, RATES, DEPTHS = 200, 30, (0.03, 0.1, 0.3), (2, 4)
PAIRS = {"xendcg-trees": "LightGBM rank_xendcg", "yetirank-trees": "CatBoost YetiRank"}
"""Ours, and the owner's."""
ALLOWED, LEVEL = -0.005, 0.05
"""The mean difference that counts as no worse, if it is not significant at this level either."""

TEXT = """\
# XE-NDCG and YetiRank on trees, beside their owners

```
make trees-of-peers     # python tools/trees_of_peers.py; goes on where it was stopped
```

Podium's `xendcg-trees` against LightGBM's `rank_xendcg`, and `yetirank-trees` against CatBoost's `YetiRank` (mode
Classic, 10 rankings, as ours). In each fold every method has {n_settings} settings: a learning rate of {rates}, and
trees of {leaves} leaves (CatBoost: depth {depths}). Of at most {n_trees} trees it keeps the number that is best on the
validation queries, and stops {patience} trees after it. NDCG@10 on the validation queries, with gains of 2^grade − 1,
decides all of this. All else is each package's default. Podium's trees see half of the features, and `yetirank-trees`
70 % of the queries; **each model is the mean of three fits**, which both presets take on up to 100,000 documents: up to
{n_all_trees} trees, in three times the time. LightGBM's trees see everything, CatBoost's a weighted sample of the
documents, and these are symmetric. One thread each. Convention `{convention}`, {seeds}, {date};
{versions}.

**These test queries were judged once before**, with other defaults: a single fit, and for `xendcg-trees` also 70 % of
the queries per tree and one document in 200 per leaf. Differences in NDCG@10 on ohsumed, mslr, lightgbm and all queries
were +.0067, −.0069, −.0116 and −.0063 for `xendcg-trees`, +.0085, −.0123, −.0020 and −.0015 for `yetirank-trees`, none
significant (one seed). The defaults were then changed by what helped on synthetic lists, lists of MovieLens ratings and
random divisions of the training parts of the MSLR sample and of LightGBM's example, whose queries are judged here, too.
With `newton=True`, all queries, all features and 20 documents per leaf, a single fit of XE-NDCG is LightGBM's: at its
draws of γ the leaves are equal (a test).

| set | lists |
|---|---|
{sets}

Differences are means over queries, with 95 % bootstrap intervals and the p of a paired randomization test over queries.
*No worse* is a mean difference of at least −.005 that is not significantly below 0 (p < .05).

{verdict}

{tables}
"""


def sets(data: Path) -> dict[str, tuple[str, Any, dict[str, Any]]]:
    """Return what is compared on: a description, queries or their folder, and how these become folds."""
    return {
        "ohsumed": ("OHSUMED (LETOR 2.0), its own five folds, 106 queries", data / "ohsumed", {"protocol": "letor"}),
        "mslr": (
            "sample of MSLR-WEB10K, training and test part together in five-fold rotation, 86 queries",
            lambda: joined(mslr(data), mslr(data, "test")),
            {"folds": 5},
        ),
        "lightgbm": (
            "LightGBM's ranking example, training and test part together in five-fold rotation, 251 queries",
            lambda: joined(lightgbm_rank(data), lightgbm_rank(data, "test")),
            {"folds": 5},
        ),
    }


def methods(seed: int) -> dict[str, tuple[Any, Any]]:
    """Return the contestants with what is searched."""
    from catboost import CatBoostRanker
    from lightgbm import LGBMRanker

    leaves = [2**depth for depth in DEPTHS]
    ours = {"n_leaves": leaves, "learning_rate": RATES}
    theirs = {"estimator__num_leaves": leaves, "estimator__learning_rate": RATES}
    symmetric = {"estimator__depth": DEPTHS, "estimator__learning_rate": RATES}
    lightgbm = LGBMRanker(
        objective="rank_xendcg",
        n_estimators=N_TREES,
        early_stopping_round=PATIENCE,
        metric="ndcg",
        eval_at=[10],
        n_jobs=1,
        verbosity=-1,
        random_state=seed,
    )
    catboost = CatBoostRanker(
        loss_function="YetiRank:mode=Classic;permutations=10",
        iterations=N_TREES,
        depth=DEPTHS[0],  # it has no parameters but those given
        learning_rate=RATES[0],
        early_stopping_rounds=PATIENCE,
        eval_metric="NDCG:top=10;type=Exp;hints=skip_train~true",
        thread_count=1,
        random_seed=seed,
        allow_writing_files=False,
    )
    trees: dict[str, Any] = {"n_trees": N_TREES, "patience": PATIENCE, "random_state": seed}
    return {
        "xendcg-trees": (METHODS["xendcg-trees"].build(**trees), ours),
        "LightGBM rank_xendcg": (podium.adapt(lightgbm), theirs),
        "yetirank-trees": (METHODS["yetirank-trees"].build(**trees), ours),
        "CatBoost YetiRank": (podium.adapt(catboost), symmetric),
    }


def compared(name: str, seed: int, options: argparse.Namespace) -> Comparison | None:
    """Return the comparison on a set with a seed: computed as far as it is not stored, or None if it may not be."""
    folder = options.runs / f"{name}-{seed}"
    if options.stored:
        return stored_comparison(folder)
    _, data, protocol = sets(options.data)[name]
    with warnings.catch_warnings(), threads(1):
        warnings.simplefilter("ignore")  # LightGBM's on eval_at among its parameters
        return podium.compare(
            data() if callable(data) else data,
            methods(seed),
            metrics=(METRIC, "map"),
            convention=CONVENTION,
            primary=METRIC,
            random_state=FOLDS_SEED,
            out=folder,
            jobs=1,
            progress=Lines(f"{name}, seed {seed}"),
            **protocol,
        )


Found = Mapping[str, Sequence[Comparison]]
"""Comparisons by set, one per seed."""


def page(found: Found, described: Mapping[str, str]) -> str:
    """Return the page of what was computed."""
    n_seeds = len(next(iter(found.values())))
    packages = ("podium-rank", "lightgbm", "catboost")
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in packages)
    return TEXT.format(
        n_settings=len(RATES) * len(DEPTHS),
        rates=" or ".join(f"{rate:g}" for rate in RATES),
        leaves=" or ".join(str(2**depth) for depth in DEPTHS),
        depths=" or ".join(map(str, DEPTHS)),
        n_trees=N_TREES,
        patience=PATIENCE,
        convention=CONVENTION,
        seeds="seed 0"
        if n_seeds == 1
        else f"the mean over {n_seeds} seeds of each query's value (the folds are the same)",
        n_all_trees=3 * N_TREES,
        date=f"{datetime.date.today():%-d %B %Y}",
        versions=versions,
        sets="\n".join(f"| {name} | {described[name]} |" for name in found),
        verdict=_verdict(found),
        tables="\n".join(_tables(found)),
    )


def _pairs(found: Found, metric: str, ours: str, theirs: str) -> dict[str, list[np.ndarray]]:
    """Return both methods' values by set, and those of all sets."""
    pairs = {name: [_mean(c, method, metric) for method in (ours, theirs)] for name, c in found.items()}
    return pairs | {"all queries": [np.concatenate(values) for values in zip(*pairs.values(), strict=True)]}


def _mean(comparisons: Sequence[Comparison], method: str, metric: str) -> np.ndarray:
    """Return each query's mean over the seeds: all have the same folds, thus the same order of queries."""
    return np.asarray(np.mean([comparison.values(method, metric) for comparison in comparisons], axis=0))


def _verdict(found: Found) -> str:
    """Return a sentence on where ours misses what is wanted, and where that is significant."""
    missed, significant = [], []
    for ours, theirs in PAIRS.items():
        for name, values in _pairs(found, METRIC, ours, theirs).items():
            if "no" in list(_cells(*values))[-1]:
                missed.append(f"`{ours}` on {name}")
                if randomization_test(values[0], values[1]) < LEVEL:
                    significant.append(missed[-1])
    if not missed:
        return f"**By {METRIC}, ours is no worse on any set.**"
    how = f"significantly for {', '.join(significant)}" if significant else "nowhere significantly"
    return f"**By {METRIC}, ours is worse than that: {', '.join(missed)}; {how}.**"


def _tables(found: Found) -> Iterator[str]:
    for metric in (METRIC, "map"):
        for ours, theirs in PAIRS.items():
            rows = [[name, *_cells(*values)] for name, values in _pairs(found, metric, ours, theirs).items()]
            header = ["set", "queries", ours, theirs, "difference", "95 % interval", "p", "no worse"]
            yield f"## {ours} and {theirs}, {metric}\n\n{table(header, rows)}\n"


def _cells(ours: np.ndarray, theirs: np.ndarray) -> Iterator[str]:
    """Yield a row's figures; queries for which the metric has no value do not count."""
    difference, p = ours - theirs, randomization_test(ours, theirs)
    low, high = bootstrap_interval(difference)
    mean = float(np.nanmean(difference))
    yield str(int(np.isfinite(difference).sum()))
    yield from (f"{np.nanmean(values):.4f}" for values in (ours, theirs))
    yield from (f"{mean:+.4f}", f"{low:+.4f} to {high:+.4f}", f"{p:.3f}")
    yield "yes" if mean >= ALLOWED and not (mean < 0 and p < LEVEL) else "**no**"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    data = os.environ.get("PODIUM_DATA") or ROOT.parent / "shared" / "data"
    parser.add_argument("--data", type=Path, default=Path(data), help="folder of ohsumed, mslr-sample, lightgbm-rank")
    parser.add_argument("--sets", help="names separated by commas; all if not given")
    parser.add_argument("--seeds", type=int, default=1, help="seeds of all four, from 0 on")
    parser.add_argument("--runs", type=Path, default=ROOT / "podium-runs" / "trees-of-peers", help="folder of the runs")
    parser.add_argument("--stored", action="store_true", help="compute nothing: write the page of what is stored")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "results" / "trees-of-peers.md")
    options = parser.parse_args()
    described = {name: facts[0] for name, facts in sets(options.data).items()}
    wanted = options.sets.split(",") if options.sets else list(described)
    done: dict[str, list[Comparison]] = {name: [] for name in wanted}
    for seed in range(options.seeds):  # in the outer loop: what there is so far has every set
        comparisons = {name: compared(name, seed, options) for name in wanted}
        if None in comparisons.values():
            break
        for name, comparison in comparisons.items():
            assert comparison is not None
            done[name].append(comparison)
    if not all(done.values()):
        parser.error(f"nothing is stored in {options.runs} for all of {', '.join(wanted)}")
    options.out.write_text(page(done, described), encoding="utf-8")


if __name__ == "__main__":
    main()
