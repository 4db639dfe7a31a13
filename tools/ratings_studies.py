"""Studies on ratings: items that nobody has rated, and recommendations from implicit feedback.

    python tools/ratings_studies.py [--quick] [--out FOLDER]

A part of ``make reproduce``. Data are those of MovieLens 100K (u.data and u.item). Each result is stored as soon as it
is there, in FOLDER: after an interruption, the same command resumes. The page is docs/results/cold-start.md.
"""

from __future__ import annotations

import argparse
import datetime
import gzip
import hashlib
import importlib
import importlib.util
import json
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import podium

ROOT = Path(__file__).resolve().parents[1]
SEEDS = range(10, 15)
"""Draws that nothing was chosen on: defaults and settings to search were settled with those from 0 on in view."""
SHARE_COLD = 0.2
FEWEST = 5
"""Ratings of cold items that a user must have: fewer are hardly a list."""
METRIC = "ndcg@10"
FACTORS = [
    {"regularization": own, "feature_regularization": shared}
    for own, shared in ((4.0, 30.0), (5.0, 20.0), (10.0, 10.0), (10.0, 30.0))
]
RIDGES, DAMPINGS = (10.0, 100.0, 1000.0, 10000.0), (1.0, 5.0, 50.0)


class Store:
    """Results by name in a folder, one JSON file each."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def get(self, name: str, compute: Callable[[], Any]) -> Any:
        """Return the stored result; compute and store it if there is none."""
        file = self.folder / f"{name}.json"
        if not file.exists():
            result = compute()
            unfinished = file.with_suffix(".partial")
            unfinished.write_text(json.dumps(result))
            unfinished.replace(file)
            print(f"[studies] {name}", file=sys.stderr, flush=True)
        return json.loads(file.read_text())


class Films:
    """Ratings, and the genres and years of the films."""

    def __init__(self, folder: Path) -> None:
        import podium

        self.ratings = podium.read_ratings(_either(folder, "u.data"))
        file = _either(folder, "u.item")
        content = file.read_bytes()
        content = gzip.decompress(content) if file.suffix == ".gz" else content
        self.digest = hashlib.sha256(content + self.ratings.values.tobytes()).hexdigest()[:12]
        rows = [line.split("|") for line in content.decode("latin-1").splitlines()]
        rows = [row for row in rows if row[0].isdecimal()]  # some copies have a header
        place = {int(row[0]): row for row in rows}
        known = [place[i] for i in self.ratings.item_ids.tolist()]
        self.genres = np.array([row[5:24] for row in known], dtype=np.float64)
        self.years = np.array([float(row[2][-4:]) if row[2] else np.nan for row in known])

    def features(self) -> Any:
        """Return them as what ``fit`` takes: a column of years, one of genres."""
        import polars

        names = [f"genre {k}" for k in range(self.genres.shape[1])]
        lists = [[names[k] for k in np.flatnonzero(row)] for row in self.genres]
        return polars.DataFrame({"item": self.ratings.item_ids, "year": self.years, "genres": lists})


def _either(folder: Path, name: str) -> Path:
    return next(path for path in (folder / name, folder / f"{name}.gz") if path.exists())


# ---- items that nobody has rated


def cold_items(ratings: podium.Ratings, seed: Sequence[int]) -> tuple[podium.Ratings, podium.Ratings]:
    """Return the ratings of four fifths of the rated items, drawn at random, and those of the others."""
    rated = np.flatnonzero(ratings.item_counts())
    drawn = np.random.default_rng(seed).permutation(rated)[: int(SHARE_COLD * len(rated))]
    cold = np.isin(ratings.item, drawn)
    return ratings.take(~cold), ratings.take(cold)


def judged(scores: Callable[[podium.Ratings], np.ndarray], test: podium.Ratings) -> dict[str, float]:
    """Return the metric of each user with enough test ratings, by id."""
    import podium

    lists = test.take_users(test.sizes >= FEWEST)
    values = podium.metric(METRIC).per_query(scores(lists), lists.values, lists.offsets)
    return dict(zip(map(str, lists.user_ids.tolist()), values.tolist(), strict=True))


def constant(films: Films, train: podium.Ratings, setting: dict[str, Any]) -> Callable[..., np.ndarray]:
    return lambda lists: np.zeros(len(lists))


def genre_means(films: Films, train: podium.Ratings, setting: dict[str, Any]) -> Callable[..., np.ndarray]:
    """Return the mean, over the item's genres, of the damped mean rating of films of the genre."""
    of_rating, mean = films.genres[train.item], float(train.values.mean())
    damping = setting["damping"]
    means = (of_rating.T @ train.values + damping * mean) / (of_rating.sum(axis=0) + damping)
    n = films.genres.sum(axis=1)
    scores = np.where(n > 0, films.genres @ means / np.maximum(n, 1), mean)
    return lambda lists: scores[lists.item]


def ridge(films: Films, train: podium.Ratings, setting: dict[str, Any]) -> Callable[..., np.ndarray]:
    """Return a ridge regression of the ratings on the features that the factors have."""
    from podium.ratings.features import Encoding, FeatureTable

    table = FeatureTable(films.features())
    features = Encoding.of(table)(table)
    x, y = features[train.item], train.values - train.values.mean()
    weights = np.linalg.solve(x.T @ x + setting["penalty"] * np.eye(x.shape[1]), x.T @ y)
    scores = features @ weights
    return lambda lists: scores[lists.item]


def factors(films: Films, train: podium.Ratings, setting: dict[str, Any]) -> Callable[..., np.ndarray]:
    """Return PMOP's factors with features."""
    import podium

    ranker = podium.PMOPFactors(random_state=0, **setting).fit(train, features={"items": films.features()})
    return lambda lists: ranker.predict(lists.users, lists.items)


COLD: dict[str, tuple[Callable[..., Any], list[dict[str, Any]]]] = {
    "factors with features": (factors, FACTORS),
    "factors with features, all defaults": (factors, [{}]),
    "ridge regression on the same features": (ridge, [{"penalty": p} for p in RIDGES]),
    "damped mean of the item's genres": (genre_means, [{"damping": d} for d in DAMPINGS]),
    "a constant": (constant, [{}]),
}


def cold_result(films: Films, name: str, seed: int) -> dict[str, Any]:
    """Choose a setting on cold items within the training part; return it and users' figures on the test part."""
    build, settings = COLD[name]
    train, test = cold_items(films.ratings, (seed, 0))
    chosen = settings[0]
    if len(settings) > 1:
        rest, validation = cold_items(train, (seed, 1))
        found = [np.mean(list(judged(build(films, rest, s), validation).values())) for s in settings]
        chosen = settings[int(np.argmax(found))]
    return {"setting": chosen, "users": judged(build(films, train, chosen), test)}


def by_user(runs: Sequence[dict[str, Any]]) -> dict[str, float]:
    """Return each user's mean over the splits in which the user was judged."""
    users: dict[str, list[float]] = {}
    for run in runs:
        for user, value in run["users"].items():
            users.setdefault(user, []).append(value)
    return {user: float(np.mean(values)) for user, values in users.items()}


def rows_of(found: dict[str, list[dict[str, Any]]], first: str) -> list[str]:
    """Return a row per method: the mean over users, its interval, and its difference from the first method."""
    from podium.metrics.significance import bootstrap_interval, randomization_test

    best = by_user(found[first])
    lines = []
    for name, runs in found.items():
        own = by_user(runs)
        users = sorted(set(own) & set(best))
        a, b = np.array([best[u] for u in users]), np.array([own[u] for u in users])
        low, high = bootstrap_interval(b)
        test = "" if name == first else f"{b.mean() - a.mean():+.4f} | {p_value(randomization_test(b, a))}"
        chosen = {", ".join(f"{k} {v:g}" for k, v in run["setting"].items()) for run in runs}
        lines.append(
            f"| {name} | {b.mean():.4f} | {low:.4f} – {high:.4f} | {test or ' | '} | {'; '.join(sorted(chosen))} |"
        )
    return lines


def p_value(p: float) -> str:
    return "< .001" if p < 0.001 else f"{p:.3f}".removeprefix("0")


def cold_part(films: Films, store: Store, seeds: Sequence[int]) -> list[str]:
    """Return the section on items without ratings."""
    found = {
        name: [
            store.get(f"cold-{slug(name)}-{seed}-{films.digest}", partial(cold_result, films, name, seed))
            for seed in seeds
        ]
        for name in COLD
    }
    return [
        "## Items that nobody has rated",
        "",
        f"A random fifth of the items ({len(seeds)} draws) has no training rating; judged is how the ranker orders "
        f"these items for each user by the test ratings ({METRIC}, convention `standard`, users with at least {FEWEST} "
        "of them; a user's figure is the mean over the draws). Features are the genres and the year. Settings are "
        "chosen on cold items within the training part; *all defaults* chooses nothing. Intervals are bootstrapped "
        "over users (95%), p is that of a paired randomization test over users against the first row.",
        "",
        f"| | {METRIC} | interval | difference | p | settings chosen |",
        "|---|---|---|---|---|---|",
        *rows_of(found, "factors with features"),
        "",
        f"These are draws {seeds[0]} to {seeds[-1]}; the form of the model, its defaults and the settings to search "
        "were settled on validation parts of draws 0 to 3 (and after a look at the test parts of draws 0 to 4, where "
        "an earlier form was level with the ridge regression). A film that is cold in one draw is rated in others.",
        "",
    ]


# ---- implicit feedback


def implicit_part(films: Films, store: Store, seeds: Sequence[int], epochs: int) -> list[str]:
    """Return the section on implicit feedback; peers that are not installed are left out."""
    sys.path.insert(0, str(ROOT / "benchmarks"))
    bench = importlib.import_module("implicit_feedback")
    liked = bench.seen_items(films.ratings, 4.0)
    has_peer = importlib.util.find_spec("implicit") is not None
    names = [name for name in bench.ENTRIES if has_peer or not name.startswith("implicit ")]
    found = {
        name: [
            store.get(
                f"implicit-{slug(name)}-{seed}-{epochs}-{films.digest}",
                partial(bench.measure, name, liked, seed, epochs),
            )
            for seed in seeds
        ]
        for name in names
    }
    first = max(names[:4], key=lambda name: np.mean([np.max(run["validation"]) for run in found[name]]))
    rows = []
    for line, runs in zip(rows_of(found, first), found.values(), strict=True):
        more = [float(np.mean([run["means"][metric] for run in runs])) for metric in ("recall@10", "coverage@10")]
        rows.append(f"{line} {more[0]:.4f} | {more[1]:.3f} |")
    return [
        "## Implicit feedback",
        "",
        "What was rated 4 or higher was seen; a random fifth of each user's seen items is for testing "
        f"({len(seeds)} splits). All items that the user has not seen in training are ranked, none is sampled. Every "
        f"method that learns has {bench.N_FACTORS} factors, {epochs} epochs (for ALS: rounds) and six settings, chosen "
        f"by {METRIC} on a fifth of the training part; one thread. Differences are from the loss of Podium that was "
        "best on the validation parts"
        + ("." if has_peer else "; the package `implicit` was not installed, so its rows are missing."),
        "",
        f"| | {METRIC} | interval | difference | p | settings chosen | recall@10 | coverage@10 |",
        "|---|---|---|---|---|---|---|---|",
        *rows,
        "",
        "What is the same in all of Podium's settings (`scaling`, the rate, the number of epochs) was chosen in some "
        "thirty runs on the validation part of another random split of the same ratings, the settings of ALS after "
        "thirty-six on that split.",
        "",
    ]


def slug(name: str) -> str:
    return "-".join("".join(c if c.isalnum() else " " for c in name.lower()).split())


def study(data: Path, out: Path, page: Path, *, quick: bool = False) -> None:
    """Compute what is missing and write the page; ``quick`` tries everything on little."""
    films, store = Films(data), Store(out)
    seeds = SEEDS[:1] if quick else SEEDS
    lines = [
        "# Items without ratings, and implicit feedback",
        "",
        f"Written by `make reproduce` (`python tools/ratings_studies.py`), {datetime.date.today():%d %B %Y}; all "
        f"figures are computed. MovieLens 100K: {len(films.ratings):,} ratings of {films.ratings.n_items:,} films by "
        f"{films.ratings.n_users} users.",
        "",
        *cold_part(films, store, seeds),
        *implicit_part(films, store, seeds[:1] if quick else SEEDS[:3], 2 if quick else 30),
    ]
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")
    print(page)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--quick", action="store_true", help="one draw and two epochs; leave the documentation unchanged"
    )
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data" / "movielens-100k")
    parser.add_argument("--out", type=Path, help="folder of results (default: podium-runs/studies)")
    options = parser.parse_args(argv)
    out = options.out or ROOT / "podium-runs" / ("studies-quick" if options.quick else "studies")
    page = (out if options.quick else ROOT / "docs" / "results") / "cold-start.md"
    study(options.data, out, page, quick=options.quick)
    return 0


if __name__ == "__main__":
    sys.exit(main())
