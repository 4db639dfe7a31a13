"""Measure all methods and write the results pages: ``make reproduce``.

    python tools/reproduce.py [--quick] [--jobs N] [--seeds N] [--methods A,B,…] [--only PART]

Data are read from $PODIUM_DATA or ../shared/data: ohsumed/ (LETOR 2.0) and, if present, movielens-100k/. Finished
trials are stored in podium-runs/: after an interruption, the same command resumes. ``--quick`` runs a few
fast methods and does not change the documentation: its page goes to the folder of the run.
"""

from __future__ import annotations

import argparse
import datetime
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from podium.experiments import Comparison
    from podium.experiments.result.published import PublishedTable

ROOT = Path(__file__).resolve().parents[1]
METRICS = ("ndcg@1", "ndcg@3", "ndcg@5", "ndcg@10", "map")
QUICK = ("listnet", "ranksvm", "regression")
BEGIN, END = "<!-- results: written by make reproduce -->", "<!-- /results -->"
SHOWN_IN_README = 10


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a few fast methods; leave the documentation unchanged")
    parser.add_argument("--jobs", type=int, help="worker processes (default: one per core)")
    parser.add_argument("--seeds", type=int, default=3, help="seeds for methods that depend on one (default: 3)")
    parser.add_argument("--methods", help="names of methods (default: all that `podium methods` lists, and variants)")
    parts = ("ohsumed", "movielens", "given-n", "catalogue", "studies")
    parser.add_argument("--only", choices=parts, help="only this part")
    parser.add_argument("--out", type=Path, help="folder of the runs (default: podium-runs/reproduce)")
    options = parser.parse_args(argv)
    data = find_data()
    if data is None:
        print("reproduce: no data found: set PODIUM_DATA to the folder that contains ohsumed/", file=sys.stderr)
        return 2
    runs = options.out or ROOT / "podium-runs" / ("reproduce-quick" if options.quick else "reproduce")
    if options.only in (None, "ohsumed"):
        reproduce_ohsumed(data / "ohsumed", runs / "ohsumed", options)
    films = data / "movielens-100k"
    for part in ("movielens", "given-n", "catalogue"):
        if options.only in (None, part) and films.is_dir():
            import ratings_pages

            ratings_pages.PARTS[part](films, runs / part, options)
    if options.only in (None, "studies") and any((films / name).exists() for name in ("u.item", "u.item.gz")):
        import ratings_studies

        root = runs if options.quick else ROOT
        page = root / "docs" / "results" / "cold-start.md"
        ratings_studies.study(films, runs / "studies", page, quick=options.quick)
    return 0


def find_data() -> Path | None:
    """Return the folder of data sets, which are not part of the project, or None."""
    places = [os.environ.get("PODIUM_DATA"), ROOT.parent / "shared" / "data"]
    return next((Path(place) for place in places if place and Path(place).is_dir()), None)


def reproduce_ohsumed(data: Path, out: Path, options: argparse.Namespace) -> None:
    import podium
    from podium.cli.output import Reporter
    from podium.experiments import Comparison
    from podium.rankers.methods import METHODS

    methods = options.methods or [*(QUICK if options.quick else METHODS), "blend"]
    with Reporter(quiet=False, folder=out) as reporter:
        podium.compare(
            data,
            methods,
            metrics=METRICS,
            convention="letor",
            normalize="minmax",  # as LETOR's own figures are obtained
            seeds=1 if options.quick else options.seeds,
            rehearse=True,
            out=out,
            jobs=options.jobs,
            progress=reporter,
        )
    comparison = Comparison.load(out)
    print(comparison)
    root = out if options.quick else ROOT
    today = datetime.date.today()
    write(root / "docs" / "results" / "ohsumed.md", ohsumed_page(comparison, today))
    picture(comparison, root / "docs" / "images" / "ohsumed.png")
    if not options.quick:
        readme = ROOT / "README.md"
        write(readme, replaced(readme.read_text("utf-8"), readme_part(comparison, today)))


def ohsumed_page(comparison: Comparison, today: datetime.date) -> str:
    """Return the results page: tables, the pick, tests, and what is needed to reproduce them."""
    from podium.experiments.result.table import markdown

    _, _, table = markdown(comparison).partition("\n")
    return "\n".join(
        [
            "# All methods on OHSUMED",
            "",
            "Written by `make reproduce`; all figures in tables are computed. " + when_and_where(comparison, today),
            "",
            "LETOR 2.0 OHSUMED: 106 queries, 16,140 documents, 25 features, grades 0 to 2, the five official folds. "
            f"Methods are ordered by {comparison.primary} on the test parts; [below](#picked-without-the-test-parts) "
            "is the method that would have been picked without them.",
            table,
            *picked(comparison),
            *tests(comparison),
            *ranks(comparison),
            *seeds(comparison),
            *context(comparison, comparison.published),
        ]
    )


def when_and_where(comparison: Comparison, today: datetime.date) -> str:
    about, machine = comparison.run_facts, comparison.run_facts.get("machine", {})
    versions = ", ".join(f"{name} {version}" for name, version in about.get("versions", {}).items())
    fitted = sum(row.search_seconds for row in comparison.rows)
    return (
        f"{today:%d %B %Y}; {machine.get('cores')} cores, {machine.get('cpu') or machine.get('processor')}; "
        f"{versions}; Podium {comparison.configuration.podium}; seeds {', '.join(map(str, comparison.seeds))}; "
        f"convention `{comparison.convention}`; wall time {duration(about.get('total_seconds', comparison.seconds))}; "
        f"total time of all {comparison.trials.height} fits {duration(fitted)} (training alone)."
    )


def picked(comparison: Comparison) -> list[str]:
    """Return the section about the method that the rehearsal picks, with the best official figures."""
    best, rehearsal = comparison.pick, comparison.rehearsal
    if best is None or rehearsal is None:
        raise ValueError("this page needs a comparison with a rehearsal: compare(…, rehearse=True)")
    lines = [
        "",
        "## Picked without the test parts",
        "",
        "By a [rehearsal](../compare.md#picking-a-method): settings are chosen on half of each fold's validation part "
        "and evaluated on the other half, both ways. Mean of the five metrics there: "
        f"{ranking(rehearsal, 'mean_of_metrics')}, … "
        f"So the pick is **{best}** (by {comparison.primary} there, {rehearsal.best}). "
        "No choice on a fold used its own test part; but the folds rotate: "
        "a test query of one fold is a validation query of another. "
        f"The rehearsal took {duration(rehearsal.run_facts.get('total_seconds', 0.0))}.",
        "",
        *beside_official(comparison, best),
    ]
    flattered = max(comparison.learners, key=lambda row: row.validation).method
    lines += [
        f"For comparison, {comparison.primary} on the full validation parts, which favors methods that make many "
        "choices there: " + ranking(comparison, "validation") + ", …",
        "",
    ]
    if flattered != best:
        lines += [f"By this figure, the pick would be {flattered}:", "", *beside_official(comparison, flattered)]
    return [*lines, *HISTORY]


HISTORY = [
    "**Caveats.** The first version of the blend averaged the chosen models and gave more weight to those that "
    "improved the validation metric. It was evaluated on the test parts: NDCG@1 .5457, NDCG@3 .4908, NDCG@5 .4737, "
    "NDCG@10 .4565, MAP .4524, three of five. The second version (all settings, equal weights for kinds of model, "
    "nothing chosen) and the rehearsal were made after that was known. No version in between was evaluated on test "
    "parts: about two hundred ways to average were compared on the validation parts and on out-of-fold scores of the "
    "training parts, where those that chose least were best. That kernel regression counts as one kind with the "
    "linear models was decided there too; as a kind of its own it was slightly worse. Differences of a few "
    "thousandths are far inside the intervals above: they apply to these 106 queries only.",
    "",
]


def beside_official(comparison: Comparison, method: str) -> list[str]:
    official = next((table for table in comparison.published if table.exact), None)
    mine = next((row for row in comparison.rows if row.method == method), None)
    if official is None or mine is None:
        return []
    lines = [f"| metric | best official | whose | {method} | higher? |", "|---|---:|---|---:|---|"]
    wins = 0
    for metric in comparison.metrics:
        whose, figure = official.best(metric) or ("", float("nan"))
        higher = mine.estimates[metric].mean > figure
        wins += higher
        value = f"{mine.estimates[metric].mean:.4f}"
        lines.append(f"| {metric} | {figure:.4f} | {whose} | {value} | {'yes' if higher else 'no'} |")
    return [*lines, "", f"Higher in {wins} of {len(comparison.metrics)}.", ""]


def ranking(comparison: Comparison, figure: str, n: int = 8) -> str:
    """Return the names of the best methods by an attribute of their summaries."""
    rows = sorted(comparison.learners, key=lambda row: -getattr(row, figure))
    return ", ".join(f"{row.method} {getattr(row, figure):.4f}" for row in rows[:n])


def tests(comparison: Comparison) -> list[str]:
    """Return the section with paired tests of every method against the pick."""
    reference = comparison.pick
    unit = {"query": "queries"}.get(comparison.configuration.unit, "users")
    lines = [
        f"## Against {reference}",
        "",
        f"Differences of {comparison.primary} over the {comparison.n_queries} test {unit}, method minus {reference}, "
        "with 95 % bootstrap interval; d is Cohen's d of paired values; p is from the paired randomization test, "
        "Holm-corrected.",
        "",
        "| method | difference | interval | d | wins / ties / losses | p |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for name, pair in comparison.against(reference).items():
        lines.append(
            f"| {name} | {pair.difference:+.4f} | {pair.low:+.4f} to {pair.high:+.4f} | {pair.effect:+.2f} | "
            f"{pair.wins} / {pair.ties} / {pair.losses} | {pair.p_value:.3f} |"
        )
    return [*lines, ""]


def ranks(comparison: Comparison) -> list[str]:
    found = comparison.critical_difference()
    lines = [
        "## Mean ranks",
        "",
        f"Rank on each query by {comparison.primary}, mean over queries. Friedman's test that all are equal: "
        f"p = {found.p_value:.2g}. Nemenyi's critical difference at {found.level:g} is {found.distance:.2f}.",
        "",
        "- " + ", ".join(f"{name} {rank:.2f}" for name, rank in found.ranks.items()),
    ]
    lines += [
        f"- No significant difference: {group[0]} to {group[-1]} ({len(group)} methods)" for group in found.groups
    ]
    return [*lines, ""]


def seeds(comparison: Comparison) -> list[str]:
    """Return the section on the spread over seeds, next to that over queries."""
    rows = [row for row in comparison.rows if row.seed_spread]
    if not rows:
        return []
    metric = comparison.primary
    lines = [
        "## Seeds",
        "",
        f"Standard deviation of {metric} over {len(comparison.seeds)} seeds, next to half of the 95 % interval over "
        "queries.",
        "",
        "| method | over seeds | over queries |",
        "|---|---:|---:|",
        *(f"| {row.method} | {row.seed_spread[metric]:.4f} | {row.estimates[metric].half_width:.4f} |" for row in rows),
    ]
    return [*lines, ""]


def context(comparison: Comparison, tables: Sequence[PublishedTable]) -> list[str]:
    """Return sections with figures published for related data, marked as not comparable."""
    lines: list[str] = []
    for table in tables:
        metrics = [m for m in comparison.metrics if any(m in row.figures for row in table.rows)]
        if table.exact or not metrics:
            continue
        lines += [
            f"## {table.label[0].upper()}{table.label[1:]}",
            "",
            f"Not comparable with ours: {table.note}. Source: {table.source}; convention {table.convention}.",
            "",
            "| method | " + " | ".join(metrics) + " |",
            "|---|" + "---:|" * len(metrics),
        ]
        for row in table.rows:
            cells = [f"{row.figures[m]:.4f}" if m in row.figures else "–" for m in metrics]
            lines.append(f"| {row.method} | " + " | ".join(cells) + " |")
        lines.append("")
    return lines


def readme_part(comparison: Comparison, today: datetime.date) -> str:
    """Return the README's short table and picture."""
    official = next((table for table in comparison.published if table.exact), None)
    best = comparison.pick
    rows = [row for row in comparison.rows if row.estimates][:SHOWN_IN_README]
    lines = [
        "| OHSUMED (LETOR 2.0), convention `letor` | " + " | ".join(comparison.metrics) + " |",
        "|---|" + "---:|" * len(comparison.metrics),
    ]
    for row in rows:
        name = f"**{row.method}** (picked without the test parts)" if row.method == best else row.method
        lines.append(f"| {name} | " + " | ".join(f"{row.estimates[m].mean:.4f}" for m in comparison.metrics) + " |")
    if official is not None:
        cells = [f"{found[1]:.4f} ({found[0]})" if (found := official.best(m)) else "–" for m in comparison.metrics]
        lines.append("| *best official baseline of each column* | " + " | ".join(cells) + " |")
    shown = (
        f"The best {len(rows)} of {len(comparison.methods)} methods" if len(rows) < len(comparison.methods) else "All"
    )
    lines += [
        "",
        f"{shown} by {comparison.primary}; five folds, hyper-parameters chosen on validation, {today:%d %B %Y}. "
        "[All methods, intervals, tests](docs/results/ohsumed.md); `make reproduce` computes them again.",
        "",
        "![Our methods and the official baselines on OHSUMED](docs/images/ohsumed.png)",
    ]
    return "\n".join(lines)


def replaced(text: str, part: str) -> str:
    """Return the text with the part between its markers replaced; raise ValueError if it has no markers."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"README.md has no lines {BEGIN} and {END} to put the results between")
    return f"{before}{BEGIN}\n\n{part}\n\n{END}{after}"


def picture(comparison: Comparison, path: Path) -> None:
    """Draw NDCG@10 and the primary metric of each method with intervals, and the official baselines as diamonds."""
    try:
        import matplotlib
    except ModuleNotFoundError:
        print("reproduce: no picture: pip install 'podium-rank[report]'", file=sys.stderr)
        return
    matplotlib.use("Agg")
    from matplotlib import pyplot

    rows = [row for row in comparison.rows if row.estimates and row.method != "random"][::-1]
    official = next((table for table in comparison.published if table.exact), None)
    metrics = list(dict.fromkeys(["ndcg@10", comparison.primary]))
    figure, axes = pyplot.subplots(1, len(metrics), sharey=True, figsize=(9, 1.2 + 0.24 * len(rows)), squeeze=False)
    for axis, metric in zip(axes[0], metrics, strict=True):
        means = [row.estimates[metric].mean for row in rows]
        errors = [
            [r.estimates[metric].mean - r.estimates[metric].low for r in rows],
            [r.estimates[metric].high - r.estimates[metric].mean for r in rows],
        ]
        axis.errorbar(means, range(len(rows)), xerr=errors, fmt="o", color="#1f4e79", ecolor="#b8c7d9", label="ours")
        if official is not None:
            by_ours = {row.ours: row.figures.get(metric) for row in official.rows}
            pairs = [(by_ours[row.method], i) for i, row in enumerate(rows) if by_ours.get(row.method) is not None]
            axis.plot(*zip(*pairs, strict=True), "D", color="#c55a11", label="official, same method") if pairs else None
            if best := official.best(metric):
                axis.axvline(best[1], color="#c55a11", linestyle=":", linewidth=1, label=f"best official ({best[0]})")
        axis.set_title(f"{metric} ({comparison.convention})", fontsize=10)
        axis.grid(axis="x", color="#e5e5e5")
        axis.spines[["top", "right"]].set_visible(False)
    axes[0][0].set_yticks(range(len(rows)), [row.method for row in rows])
    handles, labels = axes[0][-1].get_legend_handles_labels()
    figure.legend(handles, labels, fontsize=8, ncols=3, loc="lower center", frameon=False)
    figure.tight_layout(rect=(0, 0.02, 1, 1))
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
    pyplot.close(figure)


def duration(seconds: float) -> str:
    minutes = round(seconds / 60)
    return f"{seconds:.0f} s" if seconds < 90 else f"{minutes} min" if minutes < 90 else f"{minutes / 60:.1f} h"


def write(path: Path, text: str) -> None:
    from podium.core.atomic import atomic_write

    with atomic_write(path) as file:
        file.write(text.rstrip() + "\n")
    print(f"wrote {path}")


if __name__ == "__main__":
    sys.exit(main())
