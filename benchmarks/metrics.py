"""Time to compute NDCG@10, MAP and MRR of 720,000 documents, compared with ranx.

    python benchmarks/metrics.py [--queries 6000] [--documents 120] [--repeats 7]

All start from the same arrays of query numbers, labels and scores. ranx is timed four ways: from dictionaries; from
``Qrels`` and ``Run`` made of them; from its typed lists, filled from lists that NumPy has sorted; and its kernels alone
on such lists prepared beforehand, which excludes even the sorting. Every variant is called once before any timing, so
that compilation is not counted, and the variants take turns, so that a busy machine slows all of them. Best and median
of the repeats are printed; ratios are of the best.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import numpy as np

import podium
from podium.metrics import metric

METRICS = ["ndcg@10", "map", "mrr"]


def make_data(n_queries: int, n_documents: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return grades in the proportions of MSLR, and scores correlated with them."""
    generator = np.random.default_rng(0)
    n = n_queries * n_documents
    labels = generator.choice(5, size=n, p=[0.52, 0.32, 0.13, 0.02, 0.01])
    scores = (0.5 * labels + generator.normal(size=n)).astype(np.float32)
    return np.repeat(np.arange(n_queries), n_documents), labels, scores


def ranx_ways(labels: np.ndarray, scores: np.ndarray, shape: tuple[int, int]) -> dict[str, Callable[[], dict]]:
    import ranx
    from numba.typed import List as TypedList

    ids = [f"d{i}" for i in range(shape[1])]

    def dictionaries(values: np.ndarray) -> dict[str, dict[str, float]]:
        rows = values.reshape(shape).tolist()
        return {f"q{q}": dict(zip(ids, row, strict=True)) for q, row in enumerate(rows)}

    def sorted_lists(values: np.ndarray) -> TypedList:
        """Return documents and their values, best first, one array per query: ranx's internal format."""
        table = values.reshape(shape)
        order = np.argsort(-table, axis=1, kind="stable")
        both = np.stack((order, np.take_along_axis(table, order, axis=1)), axis=2)
        return TypedList(list(both.astype(np.float64)))

    def from_dictionaries() -> dict:
        return ranx.evaluate(dictionaries(labels), dictionaries(scores), METRICS)

    def from_qrels() -> dict:
        qrels, run = ranx.Qrels(dictionaries(labels)), ranx.Run(dictionaries(scores))
        return ranx.evaluate(qrels, run, METRICS, save_results_in_run=False)

    def from_lists() -> dict:
        return ranx.evaluate(sorted_lists(labels), sorted_lists(scores), METRICS)

    ready = sorted_lists(labels), sorted_lists(scores)
    return {
        "ranx, from dictionaries": from_dictionaries,
        "ranx, from Qrels and Run": from_qrels,
        "ranx, from lists sorted by NumPy": from_lists,
        "ranx, bare kernels": lambda: ranx.evaluate(*ready, METRICS),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queries", type=int, default=6000)
    parser.add_argument("--documents", type=int, default=120)
    parser.add_argument("--repeats", type=int, default=7)
    options = parser.parse_args()
    shape = options.queries, options.documents
    qid, labels, scores = make_data(*shape)
    offsets = np.arange(0, len(labels) + 1, shape[1])
    wide = scores.astype(np.float64)
    ndcg = metric("ndcg@10")
    ways: dict[str, Callable[[], dict]] = {
        "podium.evaluate": lambda: podium.evaluate(labels, scores, qid=qid, metrics=METRICS).mean,
        "podium.evaluate, float64": lambda: podium.evaluate(labels, wide, qid=qid, metrics=METRICS).mean,
        "podium.evaluate, as trec_eval": lambda: (
            podium.evaluate(labels, scores, qid=qid, metrics=METRICS, convention="trec").mean
        ),
        "podium, ndcg@10 alone, grouped": lambda: {"ndcg@10": float(ndcg.per_query(scores, labels, offsets).mean())},
        **ranx_ways(labels, scores, shape),
    }
    times: dict[str, list[float]] = {name: [] for name in ways}
    results = {name: way() for name, way in ways.items()}
    for _ in range(options.repeats):
        for name, way in ways.items():
            start = time.perf_counter()
            way()
            times[name].append(time.perf_counter() - start)

    best = {name: min(seconds) for name, seconds in times.items()}
    print(f"{', '.join(METRICS)} of {len(labels):,} documents, {shape[0]:,} queries\n")
    print(f"{'':34}{'best ms':>9}{'median':>9}{'M docs/s':>10}{'podium is faster by':>21}")
    for name, seconds in times.items():
        rate = len(labels) / best[name] / 1e6
        ratio = f"{best[name] / best['podium.evaluate']:.1f} x" if name.startswith("ranx") else ""
        print(f"{name:34}{best[name] * 1e3:9.1f}{statistics.median(seconds) * 1e3:9.1f}{rate:10.1f}{ratio:>21}")
    ours, theirs = results["podium.evaluate, as trec_eval"], results["ranx, from Qrels and Run"]
    assert all(abs(ours[name] - theirs[name]) < 1e-9 for name in METRICS), (ours, theirs)
    print("\nFigures agree:", ", ".join(f"{name} {value:.6f}" for name, value in ours.items()), "(trec convention)")


if __name__ == "__main__":
    main()
