"""Time per round of AdaRank, RankBoost and FRank, compared with straightforward NumPy programs.

    python benchmarks/feature_boosting.py [--queries 200] [--documents 100] [--features 25] [--rounds 20]

RankLib, the usual implementation, is Java: see benchmarks/ranklib.py. The peer is a straightforward NumPy program:
weights of all pairs of a query as a matrix, thresholds from the same bins, each feature's histogram by
``np.bincount``; for AdaRank it is our own metric of each feature, recomputed in each round. Both choose the same
rules, which is checked. Everything is called once before it is timed; best of the repeats; preparation (bins, groups,
the table of features' metrics) is part of both times.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np

import podium
from podium.metrics import metric
from podium.rankers.single_features.adarank import MetricWeighting, metric_table
from podium.rankers.single_features.loop import BoostingLoop, Rule, first_best, log_odds
from podium.rankers.single_features.pairs import ExponentialWeighting, FidelityWeighting
from podium.rankers.single_features.thresholds import Thresholds

N_THRESHOLDS = 255


class NumPyPairs:
    """All pairs of each query as matrices."""

    def __init__(self, queries: podium.Queries, fidelity: bool) -> None:
        self.slices = list(queries.slices())
        self.better = [queries.labels[q][:, None] > queries.labels[q] for q in self.slices]
        self.share = [1 / max(b.sum(), 1) / len(self.slices) for b in self.better]
        self.bins = Thresholds(queries.features, N_THRESHOLDS)
        self.fidelity = fidelity

    def weigh(self, scores: np.ndarray) -> float:
        self.matrices = []
        self.potential = np.zeros(len(scores))
        for q, better, share in zip(self.slices, self.better, self.share, strict=True):
            odds = np.exp(scores[q] - scores[q][:, None])
            weights = share * better * (odds / (1 + odds) ** 1.5 if self.fidelity else odds)
            self.potential[q] = weights.sum(axis=1) - weights.sum(axis=0)
            self.matrices.append(weights)
        return 0.0

    def best_rule(self) -> Rule:
        edges = np.zeros((len(self.bins.codes), N_THRESHOLDS + 1))
        for codes, row in zip(self.bins.codes, edges, strict=True):
            sums = np.bincount(codes, self.potential, N_THRESHOLDS + 1)
            row[:-1] = sums[::-1].cumsum()[::-1][1:]
        feature, k = divmod(first_best(np.abs(edges).ravel()), edges.shape[1])
        above = self.bins.above(feature, k)
        good = sum(w[above[q]][:, ~above[q]].sum() for q, w in zip(self.slices, self.matrices, strict=True))
        bad = sum(w[~above[q]][:, above[q]].sum() for q, w in zip(self.slices, self.matrices, strict=True))
        if not self.fidelity:
            total, r = sum(w.sum() for w in self.matrices), edges[feature, k]
            good, bad = total + r, total - r
        return Rule(feature, log_odds(good, bad), float(self.bins.values[feature][k]))


class NumPyMetric(MetricWeighting):
    """AdaRank that evaluates every feature in every round."""

    def best_rule(self) -> Rule | None:
        self.merits = metric_table(self.metric, self.queries, self.candidates)
        return super().best_rule()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--documents", type=int, default=100)
    parser.add_argument("--features", type=int, default=25)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    queries = podium.make_queries(options.queries, options.documents, options.features, random_state=0)
    ones, scale = np.ones(len(queries)), np.ones(queries.n_features)
    ndcg = metric("ndcg@10")
    makers: dict[str, tuple[Callable, Callable]] = {
        "AdaRank, ndcg@10": (
            lambda: MetricWeighting(queries, ones, ndcg, scale, True, 1),
            lambda: NumPyMetric(queries, ones, ndcg, scale, True, 1),
        ),
        "RankBoost": (
            lambda: ExponentialWeighting(queries, ones, N_THRESHOLDS, True, True),
            lambda: NumPyPairs(queries, False),
        ),
        "FRank": (
            lambda: FidelityWeighting(queries, ones, N_THRESHOLDS, True, True),
            lambda: NumPyPairs(queries, True),
        ),
    }
    n = queries.n_documents
    print(f"{options.rounds} rounds, {len(queries)} queries, {n:,} documents, {options.features} features")
    print(f"\n{'':20}{'podium ms per round':>20}{'plain ms per round':>20}{'podium is faster by':>21}")
    for name, both in makers.items():
        best, found = [np.inf, np.inf], [[], []]
        for repeat in range(options.repeats + 1):
            for k, make in enumerate(both):
                start = time.perf_counter()
                found[k], _ = BoostingLoop(options.rounds)._boost(make(), queries)
                if repeat:
                    best[k] = min(best[k], (time.perf_counter() - start) / options.rounds * 1e3)
        assert [r.feature for r in found[0]] == [r.feature for r in found[1]]
        np.testing.assert_allclose([r.weight for r in found[0]], [r.weight for r in found[1]], rtol=1e-6)
        print(f"{name:20}{best[0]:20.2f}{best[1]:20.2f}{best[1] / best[0]:19.1f} x")
    print("\nBoth choose the same rules with the same weights.")


if __name__ == "__main__":
    main()
