"""Default settings of the presets on losses that other packages have, against the best single feature.

    python tools/defaults_of_losses.py [--data FOLDER] [--sets ohsumed,mslr,…] [--parts NAME,…] [--stored]

Sets, rotation and metrics are those of tools/defaults.py, which has all presets and takes hours. Nothing is fitted
twice: a run that was stopped goes on. With ``--stored``, the page is written of what there is, and says what is
missing.
"""

from __future__ import annotations

import argparse
import datetime
import os
import sys
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

import podium
from podium.experiments.result.comparison import Comparison
from podium.metrics.significance import randomization_test
from podium.numerics.pool import threads
from podium.rankers.methods import METHODS

sys.path.insert(0, str(Path(__file__).parent))
from defaults import CONVENTION, METRICS, SEED, SETS
from defaults_page import FLOOR, LEVEL, table
from papers.machinery.comparisons import Lines, stored_comparison

ROOT = Path(__file__).parents[1]
LINEAR = (
    *("softmax", "unique-softmax", "xendcg", "rankcosine", "plistmle", "approxndcg", "gumbel-approxndcg", "approxmrr"),
    *("lambdaloss", "lambdaloss-arp1", "lambdaloss-arp2", "lambdaloss-ndcg1", "lambdaloss-ndcg2"),
    *("neuralndcg", "yetirank", "stochasticrank"),
)
FITTED_ONCE = "rankcosine-trees", "lambdaloss-trees", "stochasticrank-trees"
FITTED_THRICE = {
    "softmax trees": ("softmax-trees", "unique-softmax-trees"),
    "random trees": ("xendcg-trees", "yetirank-trees"),
    "smooth trees": ("approxndcg-trees", "neuralndcg-trees"),
}
ON_TREES = (*(name for part in FITTED_THRICE.values() for name in part), *FITTED_ONCE)
PARTS = {"fitted once": (*LINEAR, *FITTED_ONCE), **FITTED_THRICE}
Values = Mapping[str, Mapping[str, np.ndarray]]
"""Values of a metric on each query, by set and method."""

TEXT = """\
# Defaults of the losses that other packages have

```
python tools/defaults_of_losses.py     # goes on where it was stopped
```

The presets on these losses with their defaults, on the sets and by the rotation of [Defaults](defaults.md): three
fifths of the queries train, one is the `eval_set`, one judges; of data with a test part only the training and
validation parts. Figures are means over all queries, convention `{convention}`, seed {seed}, {date}. **▲** and **▼**
mark a preset that is significantly above or below `best-feature`, which is chosen on the same validation queries
(paired randomization test over queries, p < .05, not corrected for the number of tests). *Gain* is the mean over the
sets of the difference from it.

{verdict}{missing}

`softmax-trees`, `unique-softmax-trees`, `approxndcg-trees`, `neuralndcg-trees`, `xendcg-trees` and `yetirank-trees`
are means of three fits by default, on up to 100,000 documents. For the first four this was chosen on three of these
sets (ohsumed, linear 25, binary), for the first two also on another one; for the others elsewhere: see
[trees beside their owners'](trees-of-peers.md).
"""


def compared(name: str, part: str, options: argparse.Namespace) -> Comparison | None:
    """Return the comparison of a part on a set: computed as far as it is not stored, or None if it may not be."""
    folder = options.runs / f"{name}-{part}".replace(" ", "-")
    if options.stored:
        return stored_comparison(folder)
    with warnings.catch_warnings(), threads(1):
        warnings.simplefilter("ignore")  # members that stop at their default number of iterations
        return podium.compare(
            SETS[name][1](options.data),
            {method: replace(METHODS[method], grid={}) for method in PARTS[part]},
            metrics=METRICS,
            convention=CONVENTION,
            primary=METRICS[0],
            folds=5,
            random_state=SEED,
            out=folder,
            jobs=1,
            progress=Lines(f"{name}, {part}"),
        )


def values(found: Mapping[str, Mapping[str, Comparison]], metric: str) -> Values:
    """Return what was computed, without sets on which the metric cannot tell methods apart."""
    by_set = {}
    for name, parts in found.items():
        by_method = {
            row.method: comparison.values(row.method, metric)
            for part, comparison in parts.items()
            for row in comparison.rows
            if row.estimates and row.method in (*PARTS[part], FLOOR, "random")
        }
        if len({round(float(np.nanmean(value)), 12) for value in by_method.values()}) > 1:
            by_set[name] = by_method
    return by_set


def page(found: Mapping[str, Mapping[str, Comparison]]) -> str:
    """Return the page of what was computed."""
    by_metric = {metric: values(found, metric) for metric in METRICS}
    known = by_metric[METRICS[0]]
    absent = {m: [s for s in SETS if m not in known.get(s, {})] for m in (*LINEAR, *ON_TREES)}
    every = len(SETS)
    missing = "; ".join(
        f"`{method}` on {'any set' if len(sets) == every else ', '.join(sets)}"
        for method, sets in absent.items()
        if sets
    )
    text = TEXT.format(
        convention=CONVENTION,
        seed=SEED,
        date=f"{datetime.date.today():%-d %B %Y}",
        verdict=_verdict(by_metric),
        missing=f" Not computed: {missing}." if missing else "",
    )
    return "\n".join([text, *(f"## {metric}\n\n{_table(by_metric[metric])}\n" for metric in METRICS)])


def _mark(own: np.ndarray, floor: np.ndarray) -> str:
    if randomization_test(own, floor) >= LEVEL:
        return ""
    return " ▲" if np.nanmean(own - floor) > 0 else " **▼**"


def _gains(by_set: Values, method: str) -> dict[str, float]:
    """Return the mean difference from the best feature by set."""
    return {s: float(np.nanmean(v[method] - v[FLOOR])) for s, v in by_set.items() if method in v}


def _verdict(by_metric: Mapping[str, Values]) -> str:
    """Return sentences on what is below the best feature: significantly, in the mean over sets, or at all."""
    significant, in_the_mean, at_all = [], [], []
    for metric, by_set in by_metric.items():
        for method in (*LINEAR, *ON_TREES):
            gains = _gains(by_set, method)
            if gains and np.mean(list(gains.values())) < 0:
                in_the_mean.append(f"`{method}` ({metric})")
            for name, gain in gains.items():
                if gain < 0:
                    at_all.append(f"`{method}` on {name} ({metric}, {gain:+.4f})")
                    if "▼" in _mark(by_set[name][method], by_set[name][FLOOR]):
                        significant.append(at_all[-1])
    phrases = [f"significantly below `best-feature`: {', '.join(significant) or 'none'}"]
    phrases += [f"below it in the mean over the sets: {', '.join(in_the_mean) or 'none'}"]
    phrases += [f"below it on a set by any amount: {', '.join(at_all) or 'none'}"]
    return f"**{'; '.join(phrases)}.**".replace("**s", "**S", 1)


def _table(by_set: Values) -> str:
    rows = []
    for group in (LINEAR, ON_TREES, (FLOOR, "random")):
        present = [method for method in group if any(method in v for v in by_set.values())]
        means = {method: np.mean(list(_gains(by_set, method).values())) for method in present}
        for method in sorted(present, key=lambda method: -means[method]):
            rows.append([method, *_cells(by_set, method), f"{means[method]:+.4f}"])
    return table(["preset", *by_set, "gain"], rows)


def _cells(by_set: Values, method: str) -> Iterator[str]:
    for by_method in by_set.values():
        own = by_method.get(method)
        yield "" if own is None else f"{np.nanmean(own):.4f}{_mark(own, by_method[FLOOR])}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    data = os.environ.get("PODIUM_DATA") or ROOT.parent / "shared" / "data"
    parser.add_argument("--data", type=Path, default=Path(data), help="folder of ohsumed, mslr-sample, lightgbm-rank")
    parser.add_argument("--sets", default=",".join(SETS), help="names separated by commas")
    parser.add_argument("--parts", default=",".join(PARTS), help="names separated by commas")
    parser.add_argument("--runs", type=Path, default=ROOT / "podium-runs" / "defaults-of-losses", help="folder of runs")
    parser.add_argument("--stored", action="store_true", help="compute nothing: write the page of what is stored")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "results" / "defaults-of-losses.md")
    options = parser.parse_args()
    found: dict[str, dict[str, Comparison]] = {}
    for name in options.sets.split(","):
        for part in options.parts.split(","):
            if (comparison := compared(name, part, options)) is not None:
                found.setdefault(name, {})[part] = comparison
    in_order = {name: found[name] for name in SETS if name in found}
    options.out.write_text(page(in_order), encoding="utf-8")


if __name__ == "__main__":
    main()
