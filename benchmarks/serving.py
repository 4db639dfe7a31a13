"""Latency, throughput and start-up of served models, against LightGBM, lleaves and onnxruntime.

    python benchmarks/serving.py [--quick] [--documents 1000000] [--only latency,threads,bulk,start]

Models are trained on synthetic data with 136 features; a query has 100 documents, float32 unless said otherwise. Every
call is made several times before it is timed. Programs take turns, 50 calls each, so that a busy moment of the machine
hits all alike. The first call of a turn finds the caches full of another program's data; it is timed on its own,
because one call in 50 would otherwise be the whole p99. Start-up is timed in processes of its own with a filled compile
cache, best of several.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import lightgbm
import numpy as np

import podium
import podium.serving
from podium.numerics.pool import n_threads, threads
from podium.numerics.trees.evaluate import TreeEvaluator

N_FEATURES, N_DOCUMENTS = 136, 100
SHAPES = ((100, 31), (500, 63), (300, 255))
TURN = 50
OURS, IDLE = "podium.serving, float32", "an idle loop of that length"
PARTS = ("latency", "threads", "bulk", "start")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="only 100 trees of 31 leaves, few repeats")
    parser.add_argument("--documents", type=int, default=1_000_000, help="of the large input")
    parser.add_argument("--only", default=",".join(PARTS), help="some of " + ", ".join(PARTS))
    arguments = parser.parse_args()
    parts = arguments.only.split(",")
    repeats = 200 if arguments.quick else 1000
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        linear, forests = train(folder, SHAPES[:1] if arguments.quick else SHAPES)
        if "latency" in parts:
            latency_linear(linear, repeats)
            for shape, path in forests.items():
                latency_trees(shape, path, repeats)
        if "threads" in parts:
            calling_threads(linear, forests[SHAPES[0]], repeats)
        if "bulk" in parts:
            bulk(forests[SHAPES[0]], arguments.documents)
        if "start" in parts:
            start_up(linear, forests[SHAPES[0]], folder, 3 if arguments.quick else 7)


def train(folder: Path, shapes: tuple[tuple[int, int], ...]) -> tuple[Path, dict[tuple[int, int], Path]]:
    """Save a linear model and trees of each shape."""
    queries = podium.make_queries(n_queries=120, n_documents=100, n_features=N_FEATURES, n_grades=5, random_state=0)
    podium.ListNet().fit(queries).save(folder / "linear.podium")
    paths = {}
    for n_trees, n_leaves in shapes:
        print(f"training {n_trees} trees of {n_leaves} leaves …", file=sys.stderr)
        ranker = podium.GBDT(n_trees=n_trees, n_leaves=n_leaves, min_documents_in_leaf=5, random_state=0).fit(queries)
        paths[n_trees, n_leaves] = folder / f"{n_trees}x{n_leaves}.podium"
        ranker.save(paths[n_trees, n_leaves])
    return folder / "linear.podium", paths


def rows(n: int, dtype: type = np.float32, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, N_FEATURES)).astype(dtype)


def time_in_turn(calls: dict[str, Callable[[], object]], repeats: int) -> dict[str, np.ndarray]:
    """Return the microseconds of each call, one row per turn of :data:`TURN` calls; programs take turns."""
    for call in calls.values():
        for _ in range(5):
            call()
    times: dict[str, list[list[float]]] = {name: [] for name in calls}
    for _ in range(repeats // TURN):
        for name, call in calls.items():
            times[name].append([seconds(call) for _ in range(TURN)])
    return {name: 1e6 * np.array(values) for name, values in times.items()}


def seconds(call: Callable[[], object]) -> float:
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


def report(times: dict[str, np.ndarray]) -> dict[str, float]:
    medians = {name: float(np.median(values[:, 1:])) for name, values in times.items()}
    for name, values in times.items():
        p99, first = np.percentile(values[:, 1:], 99), np.median(values[:, 0])
        print(
            f"  {name:32} p50 {medians[name]:9.1f} µs   p99 {p99:9.1f} µs   p99/p50 {p99 / medians[name]:5.2f}"
            f"   first of a turn {first:9.1f} µs"
        )
    return medians


def target(what: str, value: float, limit: float, *, at_most: bool = False) -> None:
    met = value <= limit if at_most else value >= limit
    print(f"  {'✓' if met else '✗'} {what}: {value:.2f} (target {'≤' if at_most else '≥'} {limit:g})")


def latency_linear(path: Path, repeats: int) -> None:
    print(f"\nOne query of {N_DOCUMENTS} documents × {N_FEATURES}: linear")
    scorer, ranker = podium.serving.load(path), podium.load(path)
    single, double = rows(N_DOCUMENTS), rows(N_DOCUMENTS, np.float64)
    calls = {
        "podium.serving, float64": lambda: scorer.score(double),
        "podium.serving, float32": lambda: scorer.score(single),
        "ranker.predict, float32": lambda: ranker.predict(single),
    }
    medians = report(time_in_turn(calls, repeats))
    target("serving, float64, µs", medians["podium.serving, float64"], 20, at_most=True)


def latency_trees(shape: tuple[int, int], path: Path, repeats: int) -> None:
    n_trees, n_leaves = shape
    print(f"\nOne query of {N_DOCUMENTS} documents × {N_FEATURES}: {n_trees} trees of {n_leaves} leaves, one thread")
    scorer, ranker = podium.serving.load(path), podium.load(path)
    booster, x = ranker.model_.booster, rows(N_DOCUMENTS)
    double = x.astype(np.float64)
    np.testing.assert_array_equal(scorer.score(x), booster.predict(x))
    calls = {
        OURS: lambda: scorer.score(x),
        "podium.serving, float64": lambda: scorer.score(double),
        "ranker.predict, float32": lambda: ranker.predict(x),
        "LightGBM": lambda: booster.predict(x, num_threads=1),
        IDLE: idle_loop(lambda: scorer.score(x)),
        **peers(ranker, x, with_lleaves=shape == SHAPES[0]),
    }
    with threads(1):
        times = time_in_turn(calls, repeats if n_trees * n_leaves < 10_000 else repeats // 5)
    medians = report(times)
    ours = medians[OURS]
    tails = [np.percentile(times[name][:, 1:], 99) / medians[name] for name in (OURS, IDLE)]
    target(f"p99 / p50 (of the idle loop: {tails[1]:.2f})", tails[0], 2, at_most=True)
    target("times faster than LightGBM", medians["LightGBM"] / ours, 6 if shape == SHAPES[0] else 5)
    if shape == SHAPES[0]:
        for name in set(medians) & {"lleaves", "onnxruntime"}:
            target(f"times faster than {name}", medians[name] / ours, 2)


def idle_loop(call: Callable[[], object]) -> Callable[[], object]:
    """Return a loop that touches no memory and takes as long as the call: what its p99 shows is the machine's doing."""
    seconds = min(best(call, 20) for _ in range(3))
    steps = range(1000)
    n = max(1, round(1000 * seconds / best(lambda: [None for _ in steps], 200)))
    return lambda: [None for _ in range(n)]


def peers(ranker: podium.GBDT, x: np.ndarray, *, with_lleaves: bool) -> dict[str, Callable[[], object]]:
    """Return the calls of the packages that are installed."""
    found: dict[str, Callable[[], object]] = {}
    folder = Path(tempfile.mkdtemp())
    try:
        import onnxruntime

        podium.export(ranker, folder / "model.onnx", format="onnx")
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        session = onnxruntime.InferenceSession(folder / "model.onnx", options, providers=["CPUExecutionProvider"])
        name = session.get_inputs()[0].name
        found["onnxruntime"] = lambda: session.run(None, {name: x})
    except ImportError:
        print("  onnxruntime is not installed")
    if with_lleaves:
        try:
            import lleaves

            text = ranker.model_.text.replace("label_index=0\n", "label_index=0\nobjective=regression\n")
            sizes = " ".join(["1"] * ranker.model_.n_trees)  # only counted
            text = text.replace("\n\nTree=0", f"\ntree_sizes={sizes}\n\nTree=0", 1)
            (folder / "model.txt").write_text(f"{text}\npandas_categorical:null\n")
            compiled = lleaves.Model(model_file=str(folder / "model.txt"))
            compiled.compile()
            np.testing.assert_allclose(compiled.predict(x, n_jobs=1), ranker.predict(x))
            found["lleaves"] = lambda: compiled.predict(x, n_jobs=1)
        except (ImportError, AttributeError) as error:  # it needs an llvmlite older than 0.45
            print(f"  lleaves does not work here: {error}")
    return found


def calling_threads(linear: Path, trees: Path, repeats: int) -> None:
    print("\nThreads calling at once (100 documents each; trees 100 × 31)")
    x = rows(N_DOCUMENTS)
    for name, path in (("linear", linear), ("trees", trees)):
        scorer = podium.serving.load(path)
        scorer.score(x)

        def call(n: int, scorer: podium.serving.LoadedScorer = scorer) -> list[float]:
            times = []
            for _ in range(n):
                started = time.perf_counter()
                scorer.score(x)
                times.append(1e6 * (time.perf_counter() - started))
            return times

        for n in (1, 2, 4, 8):
            with ThreadPoolExecutor(n) as pool:
                started = time.perf_counter()
                times = np.concatenate(list(pool.map(call, [repeats] * n)))
                rate = len(times) / (time.perf_counter() - started)
            print(
                f"  {name:7} {n} threads  {rate:9,.0f} queries/s   "
                f"p50 {np.median(times):8.1f} µs   p99 {np.percentile(times, 99):8.1f} µs"
            )


def bulk(path: Path, n: int) -> None:
    print(f"\n{n:,} documents at once, 100 trees of 31 leaves")
    ranker = podium.load(path)
    x, booster, evaluator = rows(n), ranker.model_.booster, TreeEvaluator(ranker.model_.forest)
    evaluator.scores(x[:1000])
    for how, count in (("one thread", 1), ("all threads", n_threads())):
        with threads(count):
            ours = best(lambda: evaluator.scores(x), 3)
        theirs = best(lambda count=count: booster.predict(x, num_threads=count), 2)
        print(f"  {how:12} podium {1e9 * ours / n:7.0f} ns/document   LightGBM {1e9 * theirs / n:7.0f}")
        target("times faster than LightGBM", theirs / ours, 10)


def best(call: Callable[[], object], repeats: int) -> float:
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        call()
        times.append(time.perf_counter() - started)
    return min(times)


SERVE = "import sys, numpy, podium.serving; podium.serving.load(sys.argv[1]).score(numpy.zeros((100, 136), 'f'))"
LIGHTGBM = "import sys, numpy, lightgbm; lightgbm.Booster(model_file=sys.argv[1]).predict(numpy.zeros((100, 136), 'f'))"


def start_up(linear: Path, trees: Path, folder: Path, repeats: int) -> None:
    print(f"\nFrom the start of the process to the first scores (best of {repeats}, in turn)")
    podium.load(trees).export_lightgbm(folder / "model.txt")
    commands = {
        "python alone": ["pass"],
        "import numpy": ["import numpy"],
        "podium.serving, linear": [SERVE, str(linear)],
        "podium.serving, trees": [SERVE, str(trees)],
        "LightGBM": [LIGHTGBM, str(folder / "model.txt")],
    }
    times: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(repeats):
        for name, command in commands.items():
            started = time.perf_counter()
            subprocess.run([sys.executable, "-c", *command], check=True)
            times[name].append(time.perf_counter() - started)
    fastest = {name: min(values) for name, values in times.items()}
    for name, value in fastest.items():
        print(f"  {name:32} {value:6.2f} s")
    target("linear / import numpy", fastest["podium.serving, linear"] / fastest["import numpy"], 3, at_most=True)
    target("trees / LightGBM", fastest["podium.serving, trees"] / fastest["LightGBM"], 0.5, at_most=True)


if __name__ == "__main__":
    print(f"podium {podium.__version__}, lightgbm {lightgbm.__version__}, {n_threads()} threads")
    main()
