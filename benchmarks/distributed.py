"""Training on a Dask cluster against training in one process with as many threads.

Starts clusters of single-threaded workers on this machine and measures one evaluation of ListNet's objective (what
L-BFGS does again and again) and one tree of LambdaMART; for trees, LightGBM's and XGBoost's own Dask rankers run in the
same clusters. *Strong* scaling divides the same documents among more workers, *weak* scaling gives each as many.

    python benchmarks/distributed.py --documents 200000 --workers 1,2,4 --picture docs/images/distributed.svg
    python benchmarks/distributed.py --in-turn --documents 2000000

With ``--in-turn``: evaluations on a cluster of two workers and by two threads of this process, in turn, and what Dask
needs for a task.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
import warnings
from pathlib import Path
from typing import Any

sys.path = [folder for folder in sys.path if Path(folder).resolve() != Path(__file__).resolve().parent]
# A script finds modules beside it first, and this one has the name of the package that it needs.

import numpy as np

import podium
import podium.dask
from podium.losses import LambdaRankLoss, ListNetLoss
from podium.numerics.pool import threads
from podium.scorers import Linear, Trees
from podium.scorers.base import StartOptions
from podium.training.base import Problem

PER_QUERY = 100
LEVELS = 64
"""Different values of a feature."""


def lists(n_documents: int, n_features: int) -> podium.Queries:
    """Make queries of 100 documents with grades 0 to 4 that depend on some of the features."""
    rng = np.random.default_rng(0)
    n = n_documents // PER_QUERY * PER_QUERY
    features = rng.integers(0, LEVELS, (n, n_features), dtype=np.uint8).astype(np.float32)
    utility = features[:, :5] @ np.arange(1, 6) / LEVELS + rng.normal(0, 2, n)
    labels = np.clip(np.digitize(utility, np.quantile(utility, [0.5, 0.75, 0.9, 0.97])), 0, 4).astype(float)
    return podium.Queries(features, labels, sizes=np.full(n // PER_QUERY, PER_QUERY))


def evaluation(queries: Any, repeat: int) -> float:
    """Return the median of seconds that value and gradient of ListNet on a linear scorer take."""
    objective = listnet_objective(queries)
    return statistics.median([seconds_of(objective, i) for i in range(repeat + 1)][1:])


def listnet_objective(queries: Any) -> Any:
    problem = Problem(ListNetLoss(), Linear(), queries)
    model = problem.scorer.start(queries, np.random.default_rng(0), StartOptions(False, None))
    return problem.objective(model)


def seconds_of(objective: Any, i: int) -> float:
    """Return how long the i-th evaluation takes, each at another place."""
    theta = objective.initial() + 1e-3 * i
    start = time.perf_counter()
    objective(theta)
    return time.perf_counter() - start


def in_turn(options: argparse.Namespace) -> None:
    """Print how long evaluations take on two workers, and by two threads of this process, one after the other."""
    from distributed import Client, LocalCluster

    queries = lists(options.documents, options.features)
    cluster_options = {"threads_per_worker": 1, "memory_limit": 0, "dashboard_address": ":0"}
    with LocalCluster(n_workers=2, **cluster_options) as cluster, Client(cluster) as client, threads(2):
        here = listnet_objective(queries)
        there = listnet_objective(podium.dask.from_queries(queries, 8, client=client))
        times = np.array([[seconds_of(one, i) for one in (here, there)] for i in range(options.repeat + 2)][2:])
        median, shortest = 1e3 * np.median(times, axis=0), 1e3 * times.min(axis=0)
        print(f"{queries.n_documents:,} × {options.features}, 8 partitions, two workers against two threads")
        print(f"median of {options.repeat}: {median[1]:.0f} and {median[0]:.0f} ms, ratio {median[1] / median[0]:.2f}")
        print(f"shortest: {shortest[1]:.0f} and {shortest[0]:.0f} ms, ratio {shortest[1] / shortest[0]:.2f}")
        print(f"Dask needs {1e3 * seconds_per_task(client):.2f} ms for a task")


def seconds_per_task(client: Any, few: int = 2, many: int = 202) -> float:
    """Return what one more task costs: of some that do nothing, submitted one by one and gathered together."""

    def batch(n: int) -> float:
        start = time.perf_counter()
        client.gather([client.submit(int, i, pure=False) for i in range(n)])
        return time.perf_counter() - start

    found = [[batch(n) for n in (few, many)] for _ in range(7)]
    return float(np.median(np.diff(found, axis=1))) / (many - few)


def tree(queries: Any, n_trees: int) -> float:
    """Return the median of seconds from one tree of LambdaMART to the next."""
    ends: list[float] = []
    scorer = Trees(n_trees=n_trees + 1, n_leaves=31, query_fraction=1.0, feature_fraction=1.0)
    ranker = podium.Ranker(LambdaRankLoss(), scorer, random_state=0)
    ranker.fit(queries, callback=lambda _: ends.append(time.perf_counter()))
    return statistics.median(np.diff(ends))


def peers(client: Any, queries: podium.Queries, n_parts: int, n_trees: int) -> dict[str, float]:
    """Return seconds per tree of the Dask rankers of other packages: of the longer of two fits what it takes longer."""
    import dask.array as da
    import lightgbm
    from xgboost import dask as xgboost

    n_queries = len(queries) // n_parts * n_parts
    rows = n_queries * PER_QUERY
    chunk = rows // n_parts
    X = da.from_array(queries.features[:rows], chunks=(chunk, -1)).persist()
    y = da.from_array(queries.labels[:rows].astype(np.int32), chunks=chunk).persist()
    group = da.from_array(np.full(n_queries, PER_QUERY), chunks=n_queries // n_parts).persist()
    qid = da.from_array(np.repeat(np.arange(n_queries, dtype=np.uint32), PER_QUERY), chunks=chunk).persist()
    few = max(1, n_trees // 4)

    def with_lightgbm(n: int) -> None:
        options = {"num_leaves": 31, "learning_rate": 0.1, "verbosity": -1, "tree_learner": "data"}
        lightgbm.DaskLGBMRanker(client=client, n_estimators=n, **options).fit(X, y, group=group)

    def with_xgboost(n: int) -> None:
        options: dict[str, Any] = {"max_leaves": 31, "grow_policy": "lossguide", "tree_method": "hist", "max_depth": 0}
        options["allow_group_split"] = True  # no query is split: partitions are of whole ones
        ranker = xgboost.DaskXGBRanker(n_estimators=n, objective="rank:ndcg", **options)
        ranker.client = client
        ranker.fit(X, y, qid=qid)

    found = {}
    for name, fit in (("LightGBM's Dask ranker", with_lightgbm), ("XGBoost's Dask ranker", with_xgboost)):
        seconds = []
        for n in (few, few + n_trees):
            start = time.perf_counter()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                fit(n)
            seconds.append(time.perf_counter() - start)
        found[name] = max(seconds[1] - seconds[0], 0.0) / n_trees
    return found


def bytes_per_evaluation(n_features: int, n_blocks: int, n_workers: int) -> tuple[int, int]:
    """Return bytes sent to and received from all workers together: the numbers, as Dask serializes them."""
    from distributed.protocol import serialize_bytes

    sent = len(serialize_bytes((np.zeros(n_features), np.zeros(0))))
    received = len(serialize_bytes((np.zeros((n_blocks, 1)), np.zeros((n_blocks, n_features)))))
    return n_workers * sent, received


def measure(options: argparse.Namespace) -> list[dict[str, Any]]:
    from distributed import Client, LocalCluster

    rows = []
    for n_workers in options.workers:
        for kind in ("strong", "weak", "empty"):
            n = {"strong": options.documents, "weak": options.documents // 4 * n_workers, "empty": 100 * n_workers}[
                kind
            ]
            queries = lists(n, options.features)
            row: dict[str, Any] = {"workers": n_workers, "scaling": kind, "documents": queries.n_documents}
            with threads(n_workers):
                row["local evaluation"] = evaluation(queries, options.repeat)
                if kind != "empty":
                    row["local tree"] = tree(queries, options.trees)
            cluster_options = {"threads_per_worker": 1, "memory_limit": 0, "dashboard_address": ":0"}
            with LocalCluster(n_workers=n_workers, **cluster_options) as cluster, Client(cluster) as client:
                remote = podium.dask.from_queries(queries, n_workers, client=client)
                row["evaluation"] = evaluation(remote, options.repeat)
                if kind != "empty":
                    row["tree"] = tree(remote, options.trees)
                if kind == "strong" and not options.no_peers:
                    row |= peers(client, queries, n_workers, options.trees)
            rows.append(row)
            print(json.dumps(row), flush=True)
    return rows


def print_tables(rows: list[dict[str, Any]]) -> None:
    names = {"strong": "Strong scaling", "weak": "Weak scaling"}
    for kind, title in names.items():
        chosen = [row for row in rows if row["scaling"] == kind]
        print(
            f"\n{title}, milliseconds\n\n| workers | documents | evaluation, local | cluster | ratio "
            "| tree, local | cluster | ratio | LightGBM's Dask ranker | XGBoost's |"
        )
        print("|" + "---|" * 10)
        for row in chosen:
            cells = [row["workers"], row["documents"]]
            for what in ("evaluation", "tree"):
                here, there = row[f"local {what}"], row[what]
                cells += [f"{1e3 * here:.1f}", f"{1e3 * there:.1f}", f"{there / here:.2f}"]
            others = (row.get("LightGBM's Dask ranker"), row.get("XGBoost's Dask ranker"))
            cells += ["" if other is None else f"{1e3 * other:.0f}" for other in others]
            print("| " + " | ".join(map(str, cells)) + " |")
    empty = [row for row in rows if row["scaling"] == "empty"]
    print("\nOne evaluation of 100 documents per worker, which is all overhead:")
    for row in empty:
        print(f"  {row['workers']} workers: {1e3 * row['evaluation']:.1f} ms")


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
    for axis, kind in zip(axes, ("strong", "weak"), strict=True):
        chosen = [row for row in rows if row["scaling"] == kind]
        workers = [row["workers"] for row in chosen]
        for what, color in (("evaluation", "#1f6fb2"), ("tree", "#b2571f")):
            axis.plot(workers, [1e3 * row[what] for row in chosen], "o-", color=color, label=f"{what}, cluster")
            here = [1e3 * row[f"local {what}"] for row in chosen]
            axis.plot(workers, here, "o--", color=color, alpha=0.5, label=f"{what}, one process with as many threads")
        axis.set(
            xscale="log", yscale="log", xlabel="single-threaded workers", ylabel="milliseconds", title=f"{kind} scaling"
        )
        axis.set_xticks(workers, map(str, workers), minor=False)
        axis.minorticks_off()
    axes[0].legend(fontsize=7)
    figure.savefig(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=200_000)
    parser.add_argument("--features", type=int, default=136)
    parser.add_argument("--workers", type=lambda text: [int(part) for part in text.split(",")], default=[1, 2, 4])
    parser.add_argument("--repeat", type=int, default=20, help="evaluations, of which the median is taken")
    parser.add_argument("--trees", type=int, default=10)
    parser.add_argument("--no-peers", action="store_true", help="leave out the rankers of LightGBM and XGBoost")
    parser.add_argument("--picture", type=Path)
    parser.add_argument("--in-turn", action="store_true", help="two workers against two threads only")
    options = parser.parse_args()
    if options.in_turn:
        in_turn(options)
        return
    rows = measure(options)
    print_tables(rows)
    for n_workers in (*options.workers, 8, 64, 512):
        sent, received = bytes_per_evaluation(options.features, 128, n_workers)
        print(f"bytes of one evaluation with {n_workers} workers: {sent} sent, {received} received")
    if options.picture is not None:
        draw(rows, options.picture)


if __name__ == "__main__":
    main()
