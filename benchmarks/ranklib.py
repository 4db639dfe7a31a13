"""Podium beside RankLib on OHSUMED: quality, training time and its CPU time, method by method.

    python benchmarks/ranklib.py [--folds 1,2,3,4,5] [--methods rankboost,lambdamart,…] [--metric ndcg@10] [--quick]

Both train with their defaults on the same features, rescaled to [0, 1] within each query, and both keep the model that
is best on the fold's validation part by ``--metric``: ``-metric2t`` of RankLib, where it is also what AdaRank,
coordinate ascent and LambdaMART maximize; ``eval_metric`` of ``fit`` here, and ``metric`` where a method has one. Test
parts are scored by both and evaluated here, ties and all, under one convention: figures are means of the folds' means.

Times are of training alone. RankLib's is a whole process: the line "reading only" says what a start of Java and
reading of the files take, measured by its linear regression. Podium's methods are compiled before they are timed.

Data are read from $PODIUM_DATA or ../shared/data, RankLib's jar from $PODIUM_ENGINES or ../shared/engines; without
either there is nothing to compare, which is said. ``--quick`` is one fold with a few rounds, trees and epochs for both.
With ``--keep FILE``, finished fits are written to a file of JSON lines and not repeated by the next run.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import podium
from podium.data.normalize import normalize

SHARED = Path(__file__).resolve().parents[2] / "shared"
JUDGED = ("map", "ndcg@5", "ndcg@10")
CONVENTION = "letor"
PARTS = {"train": "trainingset", "valid": "validationset", "test": "testset"}


@dataclass(frozen=True)
class Method:
    """A method in both packages."""

    number: int
    """RankLib's ``-ranker``."""
    ours: Callable[..., Any]
    has_metric: bool = False
    """Whether ours maximizes a metric, which is then the one that RankLib is given."""
    few: Mapping[str, int] = field(default_factory=dict)
    """RankLib's parameters with ``--quick``."""
    our_few: Mapping[str, int] = field(default_factory=dict)


METHODS = {
    "listnet": Method(7, podium.ListNet, few={"epoch": 50}),
    "ranknet": Method(1, podium.RankNet, few={"epoch": 2}),
    "rankboost": Method(2, podium.RankBoost, few={"round": 20}, our_few={"n_rounds": 20}),
    "adarank": Method(3, podium.AdaRank, True, {"round": 20}, {"n_rounds": 20}),
    "coordinate-ascent": Method(4, podium.CoordinateAscent, True, {"r": 1, "i": 2}, {"restarts": 1, "sweeps": 2}),
    "mart": Method(0, podium.GBDT, few={"tree": 20}, our_few={"n_trees": 20}),
    "lambdamart": Method(6, podium.LambdaMART, True, {"tree": 20}, {"n_trees": 20}),
    "random-forest": Method(8, podium.RandomForest, few={"bag": 10}, our_few={"n_trees": 10}),
}
READING_ONLY = 9
"""RankLib's linear regression, which takes hardly longer than to read the data."""


READING = "(reading only)"


class Results:
    """What was reached, by package, method and fold: the metrics, then wall and CPU seconds of training."""

    def __init__(self, file: Path | None) -> None:
        self.file, self.found = file, {}
        for line in file.read_text().splitlines() if file is not None and file.exists() else ():
            *key, values = json.loads(line)
            self.found[tuple(key)] = values

    def add(self, package: str, method: str, fold: str, values: list[float]) -> None:
        self.found[package, method, fold] = values
        print(f"{fold} {method} {package}", file=sys.stderr, flush=True)
        if self.file is not None:
            with self.file.open("a") as file:
                print(json.dumps([package, method, fold, values]), file=file)

    def means(self, package: str, method: str, folds: list[str]) -> np.ndarray:
        return np.mean([self.found[package, method, fold] for fold in folds], axis=0)


class RankLib:
    """RankLib, one process per call."""

    def __init__(self, jar: Path, metric: str, folder: Path) -> None:
        self.jar, self.metric, self.folder = jar, metric.upper(), folder

    def train(self, number: int, options: Mapping[str, int]) -> tuple[float, float]:
        """Train on the files in the folder, and return wall and CPU seconds."""
        words = [word for name, value in options.items() for word in (f"-{name}", str(value))]
        files = ["-train", self._file("train"), "-validate", self._file("valid"), "-save", self._file("model")]
        return self._run(*files, "-ranker", str(number), "-metric2t", self.metric, *words)

    def scores(self, n_documents: int) -> np.ndarray:
        """Return the trained model's scores of the test part, in the order of its file."""
        written = self._file("scores")
        self._run("-load", self._file("model"), "-rank", self._file("test"), "-score", written)
        scores = np.array([float(line.split("\t")[2]) for line in Path(written).read_text().splitlines()])
        if len(scores) != n_documents:
            raise SystemExit(f"RankLib scored {len(scores)} of {n_documents} documents")
        return scores

    def _file(self, name: str) -> str:
        return str(self.folder / f"{name}.txt")

    def _run(self, *arguments: str) -> tuple[float, float]:
        start, cpu = time.perf_counter(), _cpu(resource.RUSAGE_CHILDREN)
        command = ["java", "-jar", str(self.jar), *arguments, "-silent"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise SystemExit(f"{' '.join(command)} failed:\n{(done.stderr or done.stdout)[-2000:]}")
        return time.perf_counter() - start, _cpu(resource.RUSAGE_CHILDREN) - cpu


def _cpu(who: int) -> float:
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


def podium_fit(method: Method, queries: dict[str, podium.Queries], options: argparse.Namespace) -> Any:
    settings = dict(method.our_few) if options.quick else {}
    if method.has_metric:
        settings["metric"] = options.metric
    ranker = method.ours(normalize="minmax", **settings)
    if "random_state" in ranker.get_params():
        ranker.set_params(random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # members that stop at their number of iterations
        return ranker.fit(queries["train"], eval_set=queries["valid"], eval_metric=options.metric)


def judge(queries: podium.Queries, scores: np.ndarray) -> list[float]:
    means = podium.evaluate(queries, scores, metrics=JUDGED, convention=CONVENTION).mean
    return [means[name] for name in JUDGED]


def run(folder: Path, jar: Path, options: argparse.Namespace, results: Results) -> None:
    """Train both packages on a fold as far as there are no results."""
    fold = folder.name
    wanted = [("RankLib", READING), *((package, name) for name in options.methods for package in ("podium", "RankLib"))]
    missing = [(package, name) for package, name in wanted if (package, name, fold) not in results.found]
    if not missing:
        return
    queries = {part: podium.read_letor(next(folder.glob(f"{name}.txt*"))) for part, name in PARTS.items()}
    with tempfile.TemporaryDirectory() as place:
        ranklib = RankLib(jar, options.metric, Path(place))
        for part, of_part in queries.items():
            rescaled = of_part.with_features(normalize(of_part.features, of_part.offsets, "minmax"))
            podium.write_letor(rescaled, Path(place) / f"{part}.txt", comments=False)
        for package, name in missing:
            if package == "podium":
                podium_fit(METHODS[name], queries, options)  # compiles
                start, cpu = time.perf_counter(), time.process_time()
                ranker = podium_fit(METHODS[name], queries, options)
                times = time.perf_counter() - start, time.process_time() - cpu
                scores = ranker.predict(queries["test"])
            else:
                few = METHODS[name].few if options.quick and name != READING else {}
                times = ranklib.train(READING_ONLY if name == READING else METHODS[name].number, few)
                scores = ranklib.scores(queries["test"].n_documents)
            results.add(package, name, fold, [*judge(queries["test"], scores), *times])


def find_jar(given: str | None) -> Path | None:
    place = Path(given or os.environ.get("PODIUM_ENGINES") or SHARED / "engines")
    return next(iter(sorted(place.glob("ranklib/lib/*.jar")) + sorted(place.glob("*.jar"))), None)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder that contains Fold1, Fold2, …")
    parser.add_argument("--engines", help="folder of engines, which contains ranklib/lib, or of RankLib's jar")
    parser.add_argument("--folds", type=lambda text: text.split(","), default=list("12345"))
    parser.add_argument("--methods", type=lambda text: text.split(","), default=list(METHODS), help=", ".join(METHODS))
    parser.add_argument("--metric", default="ndcg@10", help="map, ndcg@k or err@k (RankLib's own default is err@10)")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--keep", type=Path, help="file of finished fits, of one --metric")
    options = parser.parse_args()
    if unknown := [name for name in options.methods if name not in METHODS]:
        parser.error(f"no method {unknown[0]!r}; there are {', '.join(METHODS)}")
    data = options.data or Path(os.environ.get("PODIUM_DATA") or SHARED / "data") / "ohsumed"
    jar = find_jar(options.engines)
    if jar is None or shutil.which("java") is None or not (data / f"Fold{options.folds[0]}").is_dir():
        print("RankLib's jar, Java or the data were not found: give --engines and --data. Nothing was compared.")
        sys.exit(2 if options.engines or options.data else 0)
    folds = [f"Fold{fold}" for fold in (options.folds[:1] if options.quick else options.folds)]
    results = Results(options.keep)
    for fold in folds:
        run(data / fold, jar, options, results)
    print(f"{jar.stem}, {data.name}, {', '.join(folds)}; trained and validated by {options.metric}", end="")
    print(f"{', few rounds' if options.quick else ''}; test figures: convention {CONVENTION}")
    print(f"\n{'':20}{'':9}{''.join(f'{name:>9}' for name in JUDGED)}{'train (s)':>11}{'cpu (s)':>9}")
    for name in options.methods:
        for package in ("podium", "RankLib"):
            *figures, wall, cpu = results.means(package, name, folds)
            print(f"{name:20}{package:9}{''.join(f'{value:9.4f}' for value in figures)}{wall:11.2f}{cpu:9.2f}")
    *_, wall, cpu = results.means("RankLib", READING, folds)
    print(f"\nRankLib, reading only: {wall:.2f} s, cpu {cpu:.2f} s")


if __name__ == "__main__":
    main()
