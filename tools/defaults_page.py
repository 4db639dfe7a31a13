"""The page docs/results/defaults.md, from the comparisons that tools/defaults.py makes."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path

import numpy as np

from podium.experiments.result.comparison import Comparison
from podium.experiments.run.outcomes import Result
from podium.experiments.run.store import FILE
from podium.metrics.significance import bootstrap_interval, randomization_test

FLOOR, LEVEL = "best-feature", 0.05
KINDS = ("weights", "network", "features", "trees", "attention")
"""The parts that presets with their defaults are divided into, by what their models are."""
Found = Mapping[str, Mapping[str, Comparison]]
"""Comparisons by set and part."""

TEXT = """\
# Defaults against one feature, tuned settings and Auto

```
make defaults     # python tools/defaults.py; goes on where it was stopped
```

Every preset with its defaults in five-fold rotation over whole queries: three fifths train, one is the `eval_set`, one
judges. Of data with a test part only the training and validation parts are used; OHSUMED's test parts are in the last
section, and decided nothing. Figures are means over all queries, convention `standard`, seed 0, {date}. **▲** and **▼**
mark a preset that is significantly above or below `best-feature`, which is chosen on the same validation queries
(paired randomization test over queries, p < .05, not corrected for the number of tests).

| set | lists |
|---|---|
{sets}

{verdict}
"""


def write_page(
    out: Path,
    found: Found,
    sets: Mapping[str, str],
    metrics: Sequence[str],
    budget: int,
    learners: Sequence[str],
) -> None:
    """Write the page, with what was computed and a line on what was not."""
    below = list(_below(found, metrics))
    verdict = "**None of the presets in the tables is significantly below `best-feature` on any of these sets.**"
    if below:
        verdict = f"Significantly below `best-feature`: {'; '.join(below)}."
    verdict += f"\n\n{_when(found)}{_missing(found, metrics[0], learners)}"
    listed = "\n".join(f"| {name} | {sets[name]} |" for name in found)
    parts = [TEXT.format(date=f"{datetime.date.today():%-d %B %Y}", sets=listed, verdict=verdict)]
    parts += [_against_the_floor(found, metric) for metric in metrics]
    parts += [*_tuned(found, metrics[0], budget), *_normalizations(found, metrics[0]), *_auto(found, metrics[0])]
    parts += _test(found, metrics)
    out.write_text("\n".join(parts), encoding="utf-8")


def _when(found: Found) -> str:
    """Return a sentence on when the parts were computed and how features were rescaled then."""
    by_part: dict[str, list[tuple[str, str]]] = {}
    for comparisons in found.values():
        for part, comparison in comparisons.items():
            changed = (comparison.folder / FILE).stat().st_mtime if comparison.folder else 0.0
            when = f"{datetime.datetime.fromtimestamp(changed, datetime.UTC):%-d %B %Y, %H:%M}"
            by_part.setdefault(part, []).append((when, str(comparison.configuration.options.get("normalize"))))
    said = []
    for part, facts in by_part.items():
        first, last = min(facts)[0], max(facts)[0]
        between = first if first == last else f"{first} to {last}"
        said.append(f"{part} {between}, `normalize` {' or '.join(sorted({how for _, how in facts}))}")
    return f"Computed (UTC): {'; '.join(said)}."


def _missing(found: Found, metric: str, learners: Sequence[str]) -> str:
    """Return a sentence on presets that have no figure on some set."""
    sets: dict[tuple[str, ...], list[str]] = {}
    for method in learners:
        without = tuple(name for name in found if method not in _defaults(found, name, metric))
        if without:
            sets.setdefault(without, []).append(f"`{method}`")
    phrases = [
        f"{', '.join(methods)} on {'any set' if len(names) == len(found) else ', '.join(names)}"
        for names, methods in sets.items()
    ]
    return f" Not computed: {'; '.join(phrases)}." if phrases else ""


def _values(found: Found, name: str, part: str, metric: str) -> dict[str, np.ndarray]:
    """Return the values of the metric on each query by method; none if the part was not computed."""
    comparison = found[name].get(part)
    if comparison is None:
        return {}
    return {row.method: comparison.values(row.method, metric) for row in comparison.rows if row.estimates}


def _defaults(found: Found, name: str, metric: str) -> dict[str, np.ndarray]:
    values: dict[str, np.ndarray] = {}
    for part in KINDS:
        values |= _values(found, name, part, metric)
    return values


def _tells(values: Mapping[str, np.ndarray]) -> bool:
    return len({round(float(np.nanmean(v)), 12) for v in values.values()}) > 1


def _mark(values: np.ndarray, floor: np.ndarray) -> str:
    if randomization_test(values, floor) >= LEVEL:
        return ""
    return " ▲" if np.nanmean(values - floor) > 0 else " **▼**"


def _below(found: Found, metrics: Sequence[str]) -> Iterator[str]:
    for name in found:
        for metric in metrics:
            values = _defaults(found, name, metric)
            for method in values:
                if method != "random" and "▼" in _mark(values[method], values[FLOOR]):
                    yield f"{method} on {name} ({metric})"


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    lines = [header, ["---", *["---:"] * (len(header) - 1)], *rows]
    return "\n".join(f"| {' | '.join(row)} |" for row in lines)


def _against_the_floor(found: Found, metric: str) -> str:
    by_set = {name: _defaults(found, name, metric) for name in found}
    by_set = {name: values for name, values in by_set.items() if values and _tells(values)}
    methods = list(dict.fromkeys(method for values in by_set.values() for method in values))
    methods.sort(key=lambda method: method in (FLOOR, "random"))
    floors = (FLOOR, "random")
    rows = [[f"*{name}*" if name in floors else name, *_cells(name, *by_set.values())] for name in methods]
    left_out = [name for name in found if name not in by_set]
    note = f"\n\n{metric} cannot tell methods apart on: {', '.join(left_out)}." if left_out else ""
    return f"## Defaults, {metric}\n\n{table(['preset', *by_set], rows)}{note}\n"


def _difference(values: np.ndarray, other: np.ndarray) -> str:
    low, high = bootstrap_interval(values - other)
    p = randomization_test(values, other)
    return f"{np.nanmean(values - other):+.4f} ({low:+.4f} to {high:+.4f}), p {p:.3f}"


def _brief_difference(values: np.ndarray, other: np.ndarray) -> str:
    low, high = bootstrap_interval(values - other)
    return f"{np.nanmean(values - other):+.4f} ±{(high - low) / 2:.3f}{_mark(values, other)}"


def _tuned(found: Found, metric: str, budget: int) -> Iterator[str]:
    names = [name for name in found if any(f"tuned {kind}" in found[name] for kind in KINDS)]
    if not names:
        return
    yield f"## Tuned minus default, {metric}\n"
    yield (
        f"Each preset at the best, on the validation part of each fold, of its default and {budget} settings drawn "
        "from its search space; ± half of the 95 % bootstrap interval over queries. ▲ and **▼** mark a difference with "
        "p < .05 (not corrected: of twenty true zeros, one gets a mark). *Mean* is over the sets.\n"
    )
    header = ["preset", *names, "mean"]
    rows: dict[str, dict[str, str]] = {}
    means: dict[str, list[float]] = {}
    for name in names:
        default, results = _defaults(found, name, metric), _results(found, name, *KINDS, *_TUNED)
        for method in (tuned.removesuffix(" tuned") for tuned in results if tuned.endswith(" tuned")):
            if method in default:
                best = _best_by_validation([*results[method], *results[f"{method} tuned"]], metric)
                rows.setdefault(method, {})[name] = _brief_difference(best, default[method])
                means.setdefault(method, []).append(float(np.nanmean(best - default[method])))
    complete = [
        [method, *(cells.get(name, "") for name in names), f"{np.mean(means[method]):+.4f}"]
        for method, cells in rows.items()
    ]
    yield table(header, complete) + "\n"


_TUNED = tuple(f"tuned {kind}" for kind in KINDS)


def _results(found: Found, name: str, *parts: str) -> dict[str, list[Result]]:
    """Return what methods reached on each fold, in all of the parts that were computed."""
    by_method: dict[str, list[Result]] = {}
    for part in parts:
        if part in found[name]:
            for result in found[name][part].results:
                by_method.setdefault(result.method, []).append(result)
    return by_method


def _normalizations(found: Found, metric: str) -> Iterator[str]:
    names = [name for name in found if "normalizations" in found[name]]
    if not names:
        return
    yield f"## How features are rescaled, {metric}\n"
    yield "Default settings, but for `normalize`: `robust` for linear models and networks, `none` for trees.\n"
    by_set = {name: _values(found, name, "normalizations", metric) for name in names}
    methods = [method for method in by_set[names[0]] if method not in (FLOOR, "random")]
    rows = [[method, *(f"{np.nanmean(by_set[name][method]):.4f}" for name in names)] for method in sorted(methods)]
    yield table(["preset", *names], rows) + "\n"


def _auto(found: Found, metric: str) -> Iterator[str]:
    names = [name for name in found if "auto" in found[name]]
    if not names:
        return
    yield f"## Auto, {metric}\n"
    yield (
        "`auto` is `podium.Auto()` on training and validation queries together (four fifths), as `podium train "
        "--method auto` would be given them; `validation given` has the validation part as `eval_set`. *Best by "
        "validation* is, in each fold, the preset above with the highest value on the validation part. "
        "LambdaMART and LightGBM's own `lambdarank` have their defaults and all four fifths.\n"
    )
    rows = []
    for name in names:
        chosen = _values(found, name, "auto", metric)
        best = _best_by_validation(chain(*_results(found, name, *KINDS).values()), metric)
        cells = [f"{np.nanmean(v):.4f}" for v in [*_of(chosen, CHOOSERS), best] if len(v)]
        rows.append([name, *cells, _difference(chosen["auto"], best), _difference(chosen["auto"], chosen["LightGBM"])])
    header = ["set", *CHOOSERS, "best by validation", "auto − best by validation", "auto − LightGBM"]
    yield table(header, rows) + "\n"


CHOOSERS = ("auto", "auto, validation given", "lambdamart on all", "LightGBM")


def _of(values: Mapping[str, np.ndarray], names: Sequence[str]) -> list[np.ndarray]:
    return [values[name] for name in names]


def _best_by_validation(results: Iterable[Result], metric: str) -> np.ndarray:
    """Return the values of what is best on the validation part of each fold; among equals, of the first."""
    best: dict[str, tuple[float, list[float]]] = {}
    for result in results:
        if result.validation is not None and result.validation > best.get(result.fold, (-1.0, []))[0]:
            best[result.fold] = result.validation, result.per_query[metric]
    return np.concatenate([np.asarray(best[fold][1], float) for fold in sorted(best)])


def _test(found: Found, metrics: Sequence[str]) -> Iterator[str]:
    for name in found:
        if "test" not in found[name]:
            continue
        yield f"## Test parts of {name}\n"
        yield "Its own folds: training part, validation part as `eval_set`, test part. Defaults, reported once.\n"
        first, *others = (_values(found, name, "test", metric) for metric in metrics)
        methods = sorted(first, key=lambda method: (method in (FLOOR, "random"), -np.nanmean(first[method])))
        yield table(["preset", *metrics], [[method, *_cells(method, first, *others)] for method in methods]) + "\n"


def _cells(method: str, *values: Mapping[str, np.ndarray]) -> Iterator[str]:
    for by_method in values:
        own = by_method.get(method)
        yield "" if own is None else f"{np.nanmean(own):.4f}{_mark(own, by_method[FLOOR])}"
