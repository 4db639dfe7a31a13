"""Default settings against tuned ones and the best single feature, and Auto against what validation picks.

    python tools/defaults.py [--data FOLDER] [--sets ohsumed,mslr,…] [--parts trees,auto,…] [--stored] [--out PAGE]

Every preset takes part with its defaults and, as ``NAME tuned``, with the best of a few settings drawn from its search
space, in five-fold rotation: three fifths of the queries train, one validates (early stopping, choice of settings), one
judges. Of data with a test part only training and validation parts are used, but for the part ``test``, which is
OHSUMED's own five folds and chooses nothing. The part ``attention`` needs PyTorch, and is left out without it. Nothing
is fitted twice: a run that was stopped goes on. With ``--stored``, the page is written of what there is, and says what
is missing.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

import podium
from podium.experiments.result.comparison import Comparison
from podium.rankers.methods import METHODS

sys.path.insert(0, str(Path(__file__).parent))
from defaults_page import KINDS, write_page
from papers.machinery.comparisons import Lines, stored_comparison

ROOT = Path(__file__).parents[1]
METRICS, CONVENTION, SEED = ("ndcg@10", "map"), "standard", 0
BUDGET = 3
"""Settings drawn for each tuned method."""


# ---- data


def ohsumed(data: Path) -> podium.Queries:
    fold = data / "ohsumed" / "Fold1"
    return podium.read_letor([fold / "trainingset.txt.gz", fold / "validationset.txt.gz"])


def mslr(data: Path, part: str = "train") -> podium.Queries:
    return podium.read_letor(data / "mslr-sample" / f"{part}.txt.gz")


def lightgbm_rank(data: Path, part: str = "train") -> podium.Queries:
    from sklearn.datasets import load_svmlight_file

    features, labels = load_svmlight_file(str(data / "lightgbm-rank" / f"rank.{part}.gz"), n_features=300)
    sizes = np.loadtxt(data / "lightgbm-rank" / f"rank.{part}.query", dtype=np.int64)
    return podium.Queries(features.toarray().astype(np.float32), labels, sizes=sizes)


def made(
    n_queries: int,
    n_documents: int = 15,
    n_features: int = 20,
    *,
    shape: str = "linear",
    shares: tuple[float, ...] = (0.5, 0.25, 0.25),
    lowest: int = 0,
    heavy: bool = False,
    noise: float = 0.7,
    seed: int = 1,
) -> podium.Queries:
    """Make lists whose grades depend on half of the features: linearly, or by steps and products of two.

    With ``heavy``, features are what logs have: counts and log-normal values of very different scale, some constant.
    """
    rng = np.random.default_rng(seed)
    sizes = rng.integers(n_documents // 2, n_documents + n_documents // 2 + 1, n_queries)
    n, query = int(sizes.sum()), np.repeat(np.arange(n_queries), sizes)
    raw = rng.standard_normal((n, n_features))
    used = n_features // 2
    if shape == "linear":
        signal = raw[:, :used] @ rng.standard_normal(used)
    else:
        a, b = raw[:, : used // 2], raw[:, used // 2 : 2 * (used // 2)]
        signal = a[:, 0] + np.where(a > 0, b, -0.5 * b).sum(axis=1) + 1.5 * (b > 0.5).sum(axis=1)
    hidden = signal / signal.std() + noise * rng.standard_normal(n) + 0.5 * rng.standard_normal(n_queries)[query]
    labels = lowest + np.searchsorted(np.quantile(hidden, np.cumsum(shares)[:-1]), hidden, side="left")
    features = raw + 0.7 * rng.standard_normal((n_queries, n_features))[query]
    if heavy:
        features = np.exp(2.0 * features)
        features[:, ::3] = np.floor(features[:, ::3])
        features *= 10.0 ** rng.uniform(-4, 5, n_features)
        features[:, -2:] = 7.0
    return podium.Queries(features.astype(np.float32), labels, sizes=sizes)


BINARY, STARS = (0.9, 0.1), (0.1, 0.2, 0.3, 0.25, 0.15)
SETS: dict[str, tuple[str, Callable[[Path], podium.Queries]]] = {
    "linear 25": ("linear, 25 lists, 3 grades", lambda _: made(25)),
    "linear 100": ("linear, 100 lists, 3 grades", lambda _: made(100)),
    "nonlinear 100": ("steps and products, 100 lists, 3 grades", lambda _: made(100, shape="nonlinear")),
    "binary": ("linear, 150 lists, binary grades, one document in ten relevant", lambda _: made(150, shares=BINARY)),
    "heavy tails": ("linear in the logarithm of raw features, 120 lists", lambda _: made(120, heavy=True)),
    "stars": ("grades 1 to 5, 80 lists, steps and products", lambda _: made(80, shape="x", shares=STARS, lowest=1)),
    "nonlinear 1000": ("steps and products, 1,000 lists of about 8", lambda _: made(1000, 8, shape="nonlinear")),
    "lightgbm": ("LightGBM's ranking example, training part, 201 queries, 300 features", lightgbm_rank),
    "mslr": ("the sample of MSLR-WEB10K, training part, 43 queries, 136 features", mslr),
    "ohsumed": ("OHSUMED, training and validation part of Fold1, 84 queries, 25 features", ohsumed),
}


# ---- methods


def defaults(kind: str | None = None) -> dict[str, Any]:
    """Return the presets with their defaults: all, or those whose models are of a kind."""
    return {name: replace(METHODS[name], grid={}) for name in _learners() if kind in (None, _kind(name))}


def tuned(kind: str) -> dict[str, Any]:
    """Return the presets whose models are of a kind, to be tuned."""
    return {f"{name} tuned": METHODS[name] for name in defaults(kind) if METHODS[name].grid}


def attention() -> dict[str, Any]:
    """Return what needs PyTorch, with its defaults; with and without an ``eval_set``."""
    found = defaults("attention")
    return found | {f"{name} without eval_set": Alone(METHODS[name].build(random_state=SEED)) for name in found}


def _kind(name: str) -> str:
    """Return the part that a method belongs to: what its model is, or attention, which needs PyTorch."""
    return "attention" if METHODS[name].package else METHODS[name].kind


def _learners() -> list[str]:
    return [name for name, method in METHODS.items() if method.family != "floor" and _installed(method.package)]


def _installed(package: str) -> bool:
    return not package or find_spec(package) is not None


def normalizations() -> dict[str, Any]:
    """Return some presets with features rescaled in each way."""
    linear = {f"{name} {how}": METHODS[name].build(normalize=how) for name in LINEAR for how in SCALES}
    trees = {"none": None, "minmax": "minmax", "zscore": "zscore"}
    return linear | {f"lambdamart {how}": podium.LambdaMART(normalize=trees[how], random_state=SEED) for how in trees}


LINEAR, SCALES = ("listnet", "ranksvm", "pmop", "regression"), ("robust", "standard", "minmax", "zscore")


class OnAll:
    """A ranker fitted on training and validation queries together, which divides them as it likes."""

    def __init__(self, ranker: Any) -> None:
        self.ranker = ranker

    def fit(self, queries: podium.Queries, eval_set: podium.Queries | None = None, **_: Any) -> OnAll:
        self.ranker.fit(queries if eval_set is None else joined(queries, eval_set))
        return self

    def predict(self, queries: podium.Queries) -> np.ndarray:
        return np.asarray(self.ranker.predict(queries))


class Alone(OnAll):
    """A ranker fitted on the training queries, without an ``eval_set``."""

    def fit(self, queries: podium.Queries, eval_set: podium.Queries | None = None, **_: Any) -> Alone:
        self.ranker.fit(queries)
        return self


def joined(a: podium.Queries, b: podium.Queries) -> podium.Queries:
    features, labels = np.vstack((a.features, b.features)), np.concatenate((a.labels, b.labels))
    return podium.Queries(features, labels, sizes=np.concatenate((a.sizes, b.sizes)))


class PlainLightGBM:
    """LightGBM's own lambdarank with its defaults, on all queries given."""

    def fit(self, queries: podium.Queries, **_: Any) -> PlainLightGBM:
        from lightgbm import LGBMRanker

        self.model = LGBMRanker(random_state=SEED, verbosity=-1, n_jobs=1)
        self.model.fit(queries.features, queries.labels.astype(int), group=queries.sizes)
        return self

    def predict(self, queries: podium.Queries) -> np.ndarray:
        return np.asarray(self.model.predict(queries.features))


def choosers() -> dict[str, Any]:
    """Return Auto and what it is compared with, beside the presets."""
    return {
        "auto": OnAll(podium.Auto(random_state=SEED)),
        "auto, validation given": podium.Auto(random_state=SEED),
        "LightGBM": OnAll(PlainLightGBM()),
        "lambdamart on all": OnAll(podium.LambdaMART(random_state=SEED)),
    }


PARTS: dict[str, Callable[[], dict[str, Any]]] = {kind: partial(defaults, kind) for kind in KINDS}
PARTS |= {f"tuned {kind}": partial(tuned, kind) for kind in KINDS}
PARTS |= {"attention": attention, "auto": choosers, "normalizations": normalizations, "test": defaults}
ONLY_ON: dict[str, tuple[str, ...]] = {"normalizations": ("heavy tails", "mslr", "ohsumed"), "test": ("ohsumed",)}
"""Parts that are not computed on all sets, for their cost or since there is nothing to compute."""


def wanted(options: argparse.Namespace) -> Iterator[tuple[str, str]]:
    """Yield sets and parts, the parts in the outer loop: what every set needs first."""
    for part in options.parts:
        for name in options.sets:
            if name in ONLY_ON.get(part, SETS):
                yield name, part


def compared(name: str, part: str, options: argparse.Namespace) -> Comparison | None:
    """Return the comparison of a part on a set: computed as far as it is not stored, or None if it may not be."""
    folders = [runs / f"{name}-{part}".replace(" ", "-") for runs in options.runs]
    if options.stored:
        return next(filter(None, map(stored_comparison, folders)), None)
    rotation: dict[str, Any] = {"protocol": "letor"} if part == "test" else {"folds": 5}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # members that stop at their default number of iterations
        return podium.compare(
            options.data / "ohsumed" if part == "test" else SETS[name][1](options.data),
            PARTS[part](),
            metrics=METRICS,
            convention=CONVENTION,
            primary="ndcg@10",
            search="random",
            budget=BUDGET,
            random_state=SEED,
            out=folders[0],
            jobs=1,
            progress=Lines(f"{name}, {part}"),
            **rotation,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    data = os.environ.get("PODIUM_DATA") or ROOT.parent / "shared" / "data"
    parser.add_argument("--data", type=Path, default=Path(data), help="folder of ohsumed, mslr-sample, lightgbm-rank")
    parser.add_argument("--sets", type=_names(SETS), default=list(SETS), help=", ".join(SETS))
    parser.add_argument(
        "--parts",
        type=_names(PARTS),
        default=[part for part, methods in PARTS.items() if methods()],
        help=", ".join(PARTS),
    )
    several = "folders of runs; with --stored, the first that has a set and part"
    parser.add_argument("--runs", type=Path, nargs="+", default=[ROOT / "podium-runs" / "defaults"], help=several)
    parser.add_argument("--stored", action="store_true", help="compute nothing: write the page of what is stored")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "results" / "defaults.md")
    options = parser.parse_args()
    found: dict[str, dict[str, Comparison]] = {}
    for name, part in wanted(options):
        if (comparison := compared(name, part, options)) is not None:
            found.setdefault(name, {})[part] = comparison
    in_order = {name: found[name] for name in SETS if name in found}
    write_page(options.out, in_order, {name: text for name, (text, _) in SETS.items()}, METRICS, BUDGET, _learners())


def _names(known: dict[str, Any]) -> Callable[[str], list[str]]:
    def parse(text: str) -> list[str]:
        names = [name.strip() for name in text.split(",")]
        if unknown := [name for name in names if name not in known]:
            raise argparse.ArgumentTypeError(f"no {unknown[0]!r}; there are {', '.join(known)}")
        return names

    return parse


if __name__ == "__main__":
    main()
