"""The parts of ``make reproduce`` about ratings: docs/results/movielens.md, given-n.md and catalogue.md.

The first two are about the order of rated films, as in the papers, the last about recommending from the catalogue.
"""

from __future__ import annotations

import argparse
import datetime
import importlib.util
import subprocess
import sys
from collections.abc import Callable, Mapping
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parent))
from reproduce import ROOT, context, tests, when_and_where, write

if TYPE_CHECKING:
    from podium.experiments import Comparison

OURS = (
    *("pmf", "pmop-factors", "pmop-mix"),
    *("implicit-softmax", "implicit-pmop", "implicit-bpr", "implicit-warp"),
)
PEERS = ("implicit.als", "implicit.bpr", "cornac.bpr", "cornac.wmf", "surprise.svd", "surprise.baseline")
SEED = 1
"""Draws the parts. Grids of other packages were settled with figures of seed 0 in view."""
METRICS = ("ndcg@10", "recall@10", "map@10", "hit@10", "coverage@10", "novelty@10", "popularity@10", "lift@10")
PROTOCOLS = {"random": "A random fifth of each user's ratings", "leave-last-out": "Each user's last rating"}


def reproduce_movielens(data: Path, out: Path, options: argparse.Namespace) -> None:
    """Compare rankers of ratings, trained on 10, 20 and 50 ratings per user."""
    from podium.cli.output import Reporter
    from podium.experiments import Comparison
    from podium.ratings.compare import compare_ratings

    file = next(path for path in (data / "u.data", data / "u.data.gz") if path.exists())
    with Reporter(quiet=False, folder=out) as reporter:
        if options.quick:
            found = compare_ratings(file, [], n=10, replicates=1, out=out, jobs=options.jobs, progress=reporter)
        else:
            found = compare_ratings(file, out=out, jobs=options.jobs, progress=reporter)
    comparisons = {n: Comparison.load(comparison.folder) for n, comparison in found.items() if comparison.folder}
    for comparison in comparisons.values():
        print(comparison)
    root = out if options.quick else ROOT
    write(root / "docs" / "results" / "movielens.md", movielens_page(comparisons, datetime.date.today()))


def opening(title: str, part: str) -> list[str]:
    """Return the first lines of a page."""
    written = f"Written by `make reproduce` (`tools/reproduce.py --only {part}`); all figures are computed."
    return [f"# {title}", "", written, ""]


def versions() -> list[str]:
    """Return the other packages that are installed, with their versions."""
    names = {"implicit": "implicit", "cornac": "cornac", "surprise": "scikit-surprise"}
    return [f"{name} {metadata.version(name)}" for module, name in names.items() if importlib.util.find_spec(module)]


def movielens_page(comparisons: dict[int, Comparison], today: datetime.date) -> str:
    """Return the results page on ratings, with one section per number of training ratings."""
    from podium.experiments.result.table import markdown

    lines = opening("All rankers of ratings on MovieLens 100K", "movielens")
    for n, comparison in comparisons.items():
        _, _, table = markdown(comparison).partition("\n")
        lines += [f"## {n} training ratings per user", "", when_and_where(comparison, today), table]
        own = [part for part in comparison.published if f" {n} training" in part.title]
        lines += [line.replace("## ", "### ", 1) for line in (*tests(comparison), *context(comparison, own))]
    return "\n".join(lines)


def reproduce_given_n(data: Path, out: Path, options: argparse.Namespace) -> None:
    """Write what examples/movielens.py prints; each of its tables is stored, so that an interrupted run resumes."""
    file = next(path for path in (data / "u.data", data / "u.data.gz") if path.exists())
    out.mkdir(parents=True, exist_ok=True)
    lines = opening("Factors and baselines, trained on few ratings of MovieLens 100K", "given-n")
    lines += [
        "The tables that `examples/movielens.py` prints, on which [what factors learn from few ratings](ratings.md) "
        "reports: convention `standard`, seeds 0 to 9, settings chosen on parts of the training ratings. Signs: better "
        "(+) or worse (−) than the row compared with, p < .01 in a paired randomization test over users. "
        f"{datetime.date.today():%d %B %Y}.",
    ]
    for n in ("10",) if options.quick else ("10", "20", "50"):
        for part in ("best",) if options.quick else ("paper", "best"):
            stored = out / f"{part}-{n}.md"
            if not stored.exists():
                few = ["--replicates", "1", "--only", "popularity"] if options.quick else []
                command = [sys.executable, ROOT / "examples" / "movielens.py", file, "--n", n, "--part", part, *few]
                ran = subprocess.run(command, check=True, capture_output=True, text=True)
                write(stored, ran.stdout)
            lines += ["", f"## {'As in the paper' if part == 'paper' else 'The best of each kind'}, N = {n}", ""]
            lines += [line for line in stored.read_text("utf-8").strip().splitlines() if not line.startswith("N = ")]
    write((out if options.quick else ROOT) / "docs" / "results" / "given-n.md", "\n".join(lines) + "\n")


def reproduce_catalogue(data: Path, out: Path, options: argparse.Namespace) -> None:
    """Compare rankers of ratings and those of other packages over the whole catalogue, under each protocol."""
    from podium.cli.output import Reporter
    from podium.experiments import Comparison
    from podium.ratings.compare import compare_ratings

    file = next(path for path in (data / "u.data", data / "u.data.gz") if path.exists())
    peers = [name for name in PEERS if all(map(importlib.util.find_spec, needed(name)))]
    methods = options.methods.split(",") if options.methods else [] if options.quick else [*OURS, *peers]
    comparisons = {}
    for protocol in PROTOCOLS:
        with Reporter(quiet=False, folder=out) as reporter:
            (found,) = compare_ratings(
                *(file, methods),
                protocol=protocol,
                candidates="catalogue",
                replicates=1,
                random_state=SEED,
                metrics=METRICS,
                out=out,
                jobs=options.jobs,
                progress=reporter,
            ).values()
        assert found.folder is not None
        comparisons[protocol] = Comparison.load(found.folder)
        print(comparisons[protocol])
    target = (out if options.quick else ROOT) / "docs" / "results" / "catalogue.md"
    write(target, catalogue_page(comparisons, datetime.date.today()))


def needed(method: str) -> list[str]:
    """Return the modules that a method of another package needs."""
    return [method.partition(".")[0], *(["tensorflow"] if method == "cornac.wmf" else [])]


def catalogue_page(comparisons: Mapping[str, Comparison], today: datetime.date) -> str:
    """Return the results page, with one section per protocol."""
    from podium.experiments.result.table import markdown

    lines = [
        *opening("Recommending from the whole catalogue: MovieLens 100K", "catalogue"),
        "For each user, all films that the user has not rated in training are ranked, none is sampled; to be found are "
        "those rated 4 or 5 in the test part, with their stars as grades. Methods whose names have a point are those "
        "of other packages, by name of the package, with one thread; all learned methods search six settings on a "
        "validation part (pmop-mix has one) that is divided off the training part in the same way, and are then fitted "
        "on all of it. Methods that learn from what users chose (implicit-…, implicit.…, cornac.…) take ratings of 4 "
        "and 5 for it. coverage, novelty, popularity and lift say what users get to see, not how good it is; "
        "[their formulas](../metrics.md#what-users-get-to-see-of-a-catalogue). coverage is one figure for all users "
        "and has no interval. Iterations of other packages are their defaults. Times are of one run with whatever else "
        f"the machine did, and compare nothing. Parts are drawn with seed {SEED}: the settings of implicit and Cornac "
        "to search were changed once after a look at the tables of seed 0 (better for ALS, worse for BPR). Each user's "
        "last rating is the same under both seeds, but for equal times.",
        "",
        f"Other packages: {', '.join(versions())}.",
    ]
    for protocol, comparison in comparisons.items():
        _, _, table = markdown(comparison).partition("\n")
        lines += ["", f"## {PROTOCOLS[protocol]}", "", when_and_where(comparison, today), ""]
        lines += [f"`{comparison.configuration.protocol.name}`: {comparison.configuration.protocol.text}.", table]
        lines += [line.replace("## ", "### ", 1) for line in tests(comparison)]
    return "\n".join(lines)


PARTS: dict[str, Callable[[Path, Path, argparse.Namespace], None]] = {
    "movielens": reproduce_movielens,
    "given-n": reproduce_given_n,
    "catalogue": reproduce_catalogue,
}
