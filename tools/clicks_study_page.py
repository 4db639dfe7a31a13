"""The page and the picture of the study of learning from clicks."""

from __future__ import annotations

import datetime
import importlib.metadata
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
from clicks_study import (
    CURVES,
    DEBIASING,
    METHODS,
    MOST_FOR_DEBIASING,
    MOST_FOR_PEERS,
    NOISE,
    PEERS,
    RANKERS,
    SHUFFLE,
    STEEP,
    TABLE,
    TOP,
    Log,
    wanted,
)
from defaults_page import table

from podium.metrics.significance import bootstrap_interval, randomization_test

Values = Mapping[tuple[Log, str, str], np.ndarray]
"""The metric of each test list, by log, ranker and how it learned."""
ALLOWED, LEVEL = -0.005, 0.05
NAMES = {"ohsumed": "OHSUMED", "mslr": "MSLR sample"}
COLORS = {
    "naive": "tab:red",
    "swaps": "tab:blue",
    "em": "tab:cyan",
    "dual": "tab:purple",
    "pairwise": "tab:pink",
    "true": "black",
    "debias pairwise": "tab:olive",
    "debias additive": "tab:brown",
    "LightGBM position": "tab:green",
    "XGBoost unbiased": "tab:orange",
}

TEXT = """\
# Learning from simulated clicks

```
make clicks-study     # python tools/clicks_study.py; goes on where it was stopped
```

What is an estimate of the bias worth? Clicks are simulated on training lists (`podium.clicks.simulate`: the first
{top} documents are shown, by the score of a production ranker plus {shuffle} times Gumbel noise; place k is looked at
with probability k^−exponent; noise {noise}). Rankers learn from the log, and NDCG@10 (`standard`) is on the grades of
test lists, which nothing was chosen on. All rankers and packages have their defaults, one setting each; the seeds of
logs and rankers are 0 to 4.

- *naive*: clicks per impression as they are. *swaps*, *em*, *dual*, *pairwise*: `PositionBias(method=…)`, estimated
  from the same log. *true*: the propensities of the simulation. *grades*: the grades of the training lists instead of
  clicks.
- *debias pairwise*, *debias additive*: `podium.LambdaMART(debias=…)`, which learns the bias beside its trees.
- *LightGBM position*: lambdarank with `position`. *XGBoost unbiased*: rank:ndcg with `lambdarank_unbiased`. Both learn
  from one list per session, 100 trees, one thread, all else at its default.

Differences are means over test lists, with 95 % bootstrap intervals and the p of a paired randomization test.
{date}; {versions}.

## Synthetic lists

`podium.make_queries(n_queries=1200, n_documents=30)`: 200 training lists, 1,000 test lists. The production ranker is
linear and learned from the grades of two training lists. {sessions:,} sessions, seed 0.

{verdict}

{synthetic}

## OHSUMED and MSLR

The production ranker is the feature that ranks the training lists best, by their grades. OHSUMED has its own five
folds; the two parts of the MSLR sample together are split into five. Seed k tests on fold k, so each list is tested
once; columns say how many lists that makes. LightGBM and XGBoost take part up to {for_peers:,} sessions and debiasing
inside LambdaMART up to {for_debiasing:,}, as they learn from each list by itself. On the 136 features of MSLR, `dual`
and `pairwise` take minutes per log and are left out.

![NDCG@10 against sessions](../images/clicks.svg)

{counted}

Some hundred lists leave wide intervals. LambdaMART draws queries, features and labels at random: where logs are long,
`swaps` and *true* are the same propensities but for the third digit, and what they differ by is noise of that kind.

{real}
"""


def page(found: Values) -> str:
    """Return the page of what was found."""
    installed = {found.name: found.version for found in importlib.metadata.distributions()}
    packages = ("podium-rank", "lightgbm", "xgboost", "xgboost-cpu")
    versions = ", ".join(f"{name} {installed[name]}" for name in packages if name in installed)
    return TEXT.format(
        top=TOP,
        shuffle=SHUFFLE,
        noise=NOISE,
        date=f"{datetime.date.today():%-d %B %Y}",
        versions=versions,
        sessions=TABLE[0].sessions,
        for_peers=MOST_FOR_PEERS,
        for_debiasing=MOST_FOR_DEBIASING,
        verdict="\n".join(_verdict(found)),
        synthetic="\n\n".join(_synthetic(found)),
        counted="\n".join(_counted(found)),
        real="\n\n".join(_real(found)),
    )


# ---- synthetic lists


def _verdict(found: Values) -> Iterator[str]:
    """Yield what holds of the estimates by swaps and by EM, the two that do not learn a ranker beside the bias."""
    logs = [log for log in TABLE if _complete(found, log)]
    pairs = [(log, ranker, how) for log in logs for ranker in RANKERS for how in ("swaps", "em")]
    for against, what in (
        ("naive", "above *naive* (p < .01)"),
        ("true", "within .01 of *true*"),
        ("LightGBM position", "no worse than LightGBM (mean difference at least −.005, not significantly below)"),
        ("XGBoost unbiased", "no worse than XGBoost"),
    ):
        held = 0
        for log, ranker, how in pairs:
            values = found[log, ranker, how]
            other = found[log, against if against in PEERS else ranker, against]
            difference, p = float(np.nanmean(values - other)), randomization_test(values, other)
            if against == "naive":
                held += difference > 0 and p < 0.01
            elif against == "true":
                held += abs(difference) <= 0.01
            else:
                held += difference >= ALLOWED and not (difference < 0 and p < LEVEL)
        yield f"- with `swaps` or `em`, {what}: {held} of {len(pairs)}"


def _synthetic(found: Values) -> Iterator[str]:
    for log in TABLE:
        if not _complete(found, log):
            continue
        rows = []
        for ranker, how in wanted(log):
            values = found[log, ranker, how]
            row = [ranker, how if how != ranker else "", f"{np.nanmean(values):.4f}"]
            if how in METHODS or how in DEBIASING:
                row += [_difference(values, found[log, ranker, other]) for other in ("naive", "true")]
                row += [_difference(values, found[log, other, other]) for other in PEERS]
            else:
                row += [""] * 4
            rows.append(row)
        header = ["ranker", "learned with", "NDCG@10", "− naive", "− true", *(f"− {name.split()[0]}" for name in PEERS)]
        yield f"### Exponent {log.exponent:g}\n\n{table(header, rows)}"


def _difference(values: np.ndarray, other: np.ndarray) -> str:
    difference, p = values - other, randomization_test(values, other)
    low, high = bootstrap_interval(difference)
    shown = f"{np.nanmean(difference):+.4f} [{low:+.4f}, {high:+.4f}] p {p:.4f}"
    return shown.replace("0.", ".").replace("-", "−").replace("p .0001", "p ≤ .0001")


# ---- real lists


def _complete(found: Values, log: Log) -> bool:
    return all((log, ranker, how) in found for ranker, how in wanted(log))


def _pooled(found: Values, logs: list[Log], ranker: str, how: str) -> np.ndarray | None:
    """Return the metric of the test lists of all seeds; None if the ranker took no part."""
    if not logs or (logs[0], ranker, how) not in found:
        return None
    return np.concatenate([found[log, ranker, how] for log in logs])


def _columns(found: Values, name: str) -> list[list[Log]]:
    """Return the logs of each number of sessions and exponent, as far as they are complete."""
    given: dict[tuple[float, int], list[Log]] = {}
    for log in CURVES[name] + STEEP[name]:
        if _complete(found, log):
            given.setdefault((log.exponent, log.sessions), []).append(log)
    return list(given.values())


def _rows(name: str) -> Iterator[tuple[str, str]]:
    shown = {pair for log in CURVES[name] for pair in wanted(log)}
    yield from sorted(shown, key=lambda pair: ((*RANKERS, *PEERS).index(pair[0]), ("grades", *COLORS).index(pair[1])))


def _counted(found: Values) -> Iterator[str]:
    """Yield how often estimates of the bias are above naive clicks and near the true bias."""
    for name in CURVES:
        signs, near = [], []
        for logs in _columns(found, name):
            for ranker in RANKERS:
                for how in ("swaps", "em"):
                    values, naive, true = (_pooled(found, logs, ranker, one) for one in (how, "naive", "true"))
                    assert values is not None
                    assert naive is not None
                    assert true is not None
                    difference = float(np.nanmean(values - naive))
                    signs.append(np.sign(difference) * (2 if randomization_test(values, naive) < LEVEL else 1))
                    near.append(abs(float(np.nanmean(values - true))) <= 0.01)
        above, certain = sum(sign > 0 for sign in signs), sum(sign == 2 for sign in signs)
        below = sum(sign == -2 for sign in signs)
        yield (
            f"- {NAMES[name]}, `swaps` and `em`, {len(signs)} cases: above *naive* in {above}, with p < .05 in "
            f"{certain}; below it with p < .05 in {below}; within .01 of *true* in {sum(near)}."
        )


def _real(found: Values) -> Iterator[str]:
    for name in CURVES:
        columns = _columns(found, name)
        if not columns:
            continue
        titles = []
        for logs in columns:
            pooled = _pooled(found, logs, RANKERS[0], "naive")
            assert pooled is not None
            titles.append(f"{logs[0].sessions:,} sessions, exponent {logs[0].exponent:g} ({len(pooled)} lists)")
        means = []
        for ranker, how in _rows(name):
            cells = [_pooled(found, logs, ranker, how) for logs in columns]
            means.append(_label(ranker, how) + ["" if cell is None else f"{np.nanmean(cell):.4f}" for cell in cells])
        header = ["ranker", "learned with", *titles]
        yield f"### {NAMES[name]}\n\n{_missing(found, name)}{table(header, means)}"
        for other in ("naive", "true"):
            yield f"Differences from *{other}*:\n\n{table(header, _differences(found, name, columns, other))}"


def _label(ranker: str, how: str) -> list[str]:
    return [ranker, how if how != ranker else ""]


def _differences(found: Values, name: str, columns: list[list[Log]], other: str) -> list[list[str]]:
    """Return the rows of what estimates of the bias are worth, compared with another bias."""
    rows = []
    for ranker, how in _rows(name):
        if how not in (*METHODS, *DEBIASING):
            continue
        row = _label(ranker, how)
        for logs in columns:
            values, compared = (_pooled(found, logs, ranker, one) for one in (how, other))
            row.append("" if values is None or compared is None else _difference(values, compared))
        rows.append(row)
    return rows


def _missing(found: Values, name: str) -> str:
    """Return a paragraph on the logs that were not computed; nothing if there are none."""
    missing: dict[str, list[str]] = {}
    for log in CURVES[name] + STEEP[name]:
        if not _complete(found, log):
            kind = f"{log.sessions:,} sessions with exponent {log.exponent:g}"
            missing.setdefault(kind, []).append(str(log.seed))
    if not missing:
        return ""
    listed = "; ".join(f"{kind}: seeds {', '.join(seeds)}" for kind, seeds in missing.items())
    return f"**Not computed, and in no figure here:** {listed}. The same command computes them.\n\n"


# ---- the picture


def draw(found: Values, file: Path) -> None:
    """Draw NDCG@10 against the number of sessions, one panel per set of lists and ranker."""
    import matplotlib.pyplot as plt

    plt.rcParams.update({"svg.hashsalt": "podium", "font.size": 9})
    figure, axes = plt.subplots(len(CURVES), len(RANKERS), figsize=(9.5, 5.6), sharex=True, sharey="row")
    for row, name in zip(axes, CURVES, strict=True):
        columns = [logs for logs in _columns(found, name) if logs[0].exponent == 1.0]
        for ax, ranker in zip(row, RANKERS, strict=True):
            for how, color in COLORS.items():
                who = how if how in PEERS and ranker == "LambdaMART" else ranker
                points = [(logs[0].sessions, _pooled(found, logs, who, how)) for logs in columns]
                known = [(x, np.nanmean(values)) for x, values in points if values is not None]
                if known:
                    style = "--" if how in PEERS or how in DEBIASING else "-"
                    ax.plot(*zip(*known, strict=True), style, color=color, marker="o", markersize=3, label=how)
            pooled = [_pooled(found, logs, ranker, "grades") for logs in columns]
            if pooled:
                level = np.nanmean(max((one for one in pooled if one is not None), key=len))
                ax.axhline(level, color="gray", linestyle=":", label="grades")
            ax.set(xscale="log", title=f"{NAMES[name]}: {ranker}")
        row[0].set_ylabel("NDCG@10")
    for ax in axes[-1]:
        ax.set_xlabel("sessions")
    handles: dict[str, object] = {}
    for ax in axes.flat:
        handles.update({label: handle for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)})
    figure.legend(handles.values(), handles.keys(), loc="lower center", ncols=6, frameon=False)
    figure.tight_layout(rect=(0, 0.09, 1, 1))
    figure.savefig(file, metadata={"Date": None})
    plt.close(figure)
