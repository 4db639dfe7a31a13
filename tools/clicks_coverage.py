"""Whether intervals from logs of clicks cover what they estimate, and tests by interleaving keep their level.

    python tools/clicks_coverage.py [--logs 500] [--tests 2000] [--only coverage] [--out FOLDER] [--page PAGE]

Clicks are simulated on synthetic lists, so that the truth is known. Each table is printed and, with --page, written
between its two markers of the page. Results are stored in FOLDER as they come, those of logs fifty at a time: after an
interruption, the same command resumes.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import page_tables
from ratings_studies import ROOT, Store

import podium
from podium.clicks import InterleavingResult, evaluate, interleave, plan, simulate
from podium.clicks.rank_weights import rank_weights

METRIC = "dcg@10"
RANKINGS = (1, 2)
"""Features by which the two rankings that are judged rank; the log shows a third."""
ALL_QUERIES = 20_000
AT_A_TIME = 50
"""Logs whose outcomes are stored together."""


class Design(NamedTuple):
    """Logs of one kind."""

    name: str
    drawn: bool
    """Are queries drawn anew for each log?"""
    n_queries: int
    sessions: int
    exponent: float = 1.0
    trust: tuple[float, float] | None = None
    estimators: tuple[str, ...] = ("ips",)

    @property
    def interval(self) -> str:
        return "queries" if self.drawn else "sessions"


DESIGNS = (
    Design("queries fixed", False, 100, 5_000, estimators=("ips", "dr")),
    Design("queries fixed, ten sessions each", False, 500, 5_000),
    Design("queries fixed, bias of exponent 2", False, 100, 5_000, exponent=2.0),
    Design("queries fixed, trust bias", False, 100, 5_000, trust=(0.95, 0.2)),
    Design("queries drawn", True, 300, 6_000, estimators=("ips", "dr")),
    Design("queries drawn, few", True, 50, 1_000),
    Design("queries drawn, bias of exponent 2", True, 300, 6_000, exponent=2.0),
)


class Covered(NamedTuple):
    """What came out of many logs."""

    coverage: float
    coverage_of_difference: float
    bias: float
    """Mean of estimate minus truth, in standard errors of that mean."""
    width: float


@cache
def lists(n_queries: int) -> podium.Queries:
    """Return lists of about ten documents."""
    return podium.make_queries(n_queries=n_queries, n_documents=10, n_features=5, random_state=11)


def covered(design: Design, n_logs: int, of: podium.Queries, store: Store) -> dict[str, Covered]:
    """Return by estimator how often intervals cover the truth, of one ranking and of the difference of two."""
    found: dict[str, list[tuple[float, ...]]] = {name: [] for name in design.estimators}
    for start in range(0, n_logs, AT_A_TIME):
        stop = min(start + AT_A_TIME, n_logs)
        key = "-".join(("coverage", *design.name.replace(",", "").split(), str(len(of)), str(start), str(stop)))
        part = store.get(key, partial(outcomes, design, range(start, stop), of))
        for name in design.estimators:
            found[name] += part[name]
    return {name: _summary(np.array(values)) for name, values in found.items()}


def outcomes(design: Design, seeds: range, of: podium.Queries) -> dict[str, list[tuple[float, ...]]]:
    """Return by estimator what came out of the logs with these seeds."""
    whole = np.array([_true_values(of, feature) for feature in RANKINGS]).mean(axis=1)
    found: dict[str, list[tuple[float, ...]]] = {name: [] for name in design.estimators}
    for seed in seeds:
        chosen = np.arange(design.n_queries)
        if design.drawn:
            chosen = np.random.default_rng((1, seed)).choice(len(of), design.n_queries, replace=False)
        queries = of.take(chosen)
        if queries.labels.max() != of.labels.max():
            raise ValueError("these queries lack the highest grade, on which the simulated clicks depend")
        log = simulate(
            queries,
            queries.features[:, 0],
            exponent=design.exponent,
            trust=design.trust,
            top=int(of.sizes.max()),
            sessions=design.sessions,
            random_state=np.random.default_rng((2, seed)),
        )
        # The truth of fixed queries counts each as often as it was asked.
        truth = whole if design.drawn else _means_over_sessions(queries, log)
        for name, values in found.items():
            values.append(_outcome(log, design, name, truth))
    return found


def _outcome(log: podium.Clicks, design: Design, estimator: str, truth: np.ndarray) -> tuple[float, ...]:
    """Return whether the intervals cover the truth, the error, and the width."""
    how = {"metrics": METRIC, "bias": log.truth, "estimator": estimator, "interval": design.interval}
    one, other = (evaluate(log, log.queries.features[:, feature], **how) for feature in RANKINGS)
    if one.unseen[METRIC] > 0.0:
        raise ValueError("a document was never shown")
    low, high = one.interval[METRIC]
    lowest, highest = one.compare(other, METRIC).interval
    apart = truth[0] - truth[1]
    covers = low <= truth[0] <= high, lowest <= apart <= highest
    return tuple(float(value) for value in (*covers, one.mean[METRIC] - truth[0], high - low))


def _summary(outcomes: np.ndarray) -> Covered:
    coverage, of_difference, error, width = outcomes.mean(axis=0).tolist()
    return Covered(coverage, of_difference, error / (outcomes[:, 2].std(ddof=1) / np.sqrt(len(outcomes))), width)


def _true_values(queries: podium.Queries, feature: int) -> np.ndarray:
    """Return Σ λ(rank) γ of each query, ranked by a feature."""
    gain = np.exp2(queries.labels) - 1.0
    relevance = 0.1 + 0.9 * gain / gain.max()
    weights = rank_weights(METRIC)[METRIC].of_documents(queries.features[:, feature], queries.offsets)
    return np.bincount(queries.query_of_document, weights * relevance, len(queries))


def _means_over_sessions(queries: podium.Queries, log: podium.Clicks) -> np.ndarray:
    number = {qid: q for q, qid in enumerate(queries.qids.tolist())}
    logged = [number[qid] for qid in log.queries.qids.tolist()]
    return np.array([np.average(_true_values(queries, j)[logged], weights=log.n_sessions) for j in RANKINGS])


def coverage_table(n_logs: int, store: Store) -> Iterator[str]:
    """Yield the lines of the table of coverages."""
    yield f"| logs | estimator, interval by | coverage of {METRIC} | of a difference | bias ÷ its error | mean width |"
    yield "|---|---|---:|---:|---:|---:|"
    of = lists(ALL_QUERIES)
    for design in DESIGNS:
        for estimator, found in covered(design, n_logs, of, store).items():
            yield (
                f"| {design.name}: {design.n_queries} queries, {design.sessions:,} sessions | {estimator}, "
                f"{design.interval} | {found.coverage:.3f} | {found.coverage_of_difference:.3f} | "
                f"{found.bias:+.1f} | {found.width:.3f} |"
            )


def leads(method: str, n_sessions: int, generator: np.random.Generator) -> np.ndarray:
    """Return clicks for a minus clicks for b in sessions of two equal rankings.

    People look at place k of five with probability 1/k, click the best document if they see it, and others in one case
    of ten.
    """
    ranking = list(range(10))
    shown = [interleave(ranking, ranking, method, length=5, random_state=generator) for _ in range(n_sessions)]
    documents, teams = (np.array(column) for column in zip(*shown, strict=True))
    chances = np.where(documents == 0, 1.0, 0.1) / np.arange(1, 6)
    clicked = generator.random(documents.shape) < chances
    return (clicked * np.where(teams == "a", 1, -1)).sum(axis=1)


def a_a_tests(method: str, n_tests: int, n_decided: int, seed: int) -> list[InterleavingResult]:
    """Return the outcomes of tests of two equal rankings, each with so many decided sessions."""
    generator = np.random.default_rng(seed)
    results: list[InterleavingResult] = []
    decided = np.empty(0, np.int64)
    while len(results) < n_tests:
        new = leads(method, 20_000, generator)
        decided = np.concatenate((decided, new[new != 0]))
        while len(decided) >= n_decided and len(results) < n_tests:
            wins = int((decided[:n_decided] > 0).sum())
            results.append(InterleavingResult(wins, n_decided - wins, 0))
            decided = decided[n_decided:]
    return results


def level_table(n_tests: int, store: Store) -> Iterator[str]:
    """Yield the lines of the table of A/A tests."""
    yield "| equal rankings, 1,000 decided sessions | tests | share with p ≤ .05 |"
    yield "|---|---:|---:|"
    for method in ("team-draft", "probabilistic"):
        share = store.get(f"level-{method}-{n_tests}", partial(share_significant, method, n_tests))
        yield f"| {method} | {n_tests:,} | {share:.4f} |"


def share_significant(method: str, n_tests: int) -> float:
    """Return the share of tests of equal rankings, with 1,000 decided sessions each, that are significant."""
    return float(np.mean([result.p_value <= 0.05 for result in a_a_tests(method, n_tests, 1000, seed=3)]))


PLANS = ((0.2, 0.8), (0.1, 0.8), (0.05, 0.8), (0.05, 0.9), (0.02, 0.8), (0.02, 0.95), (0.01, 0.5))
"""Differences, and powers to detect them with."""


def power_table(n_tests: int, store: Store) -> Iterator[str]:
    """Yield the lines of the table of planned and met powers."""
    yield "| share of wins − ½ | planned power | decided sessions | power met |"
    yield "|---:|---:|---:|---:|"
    for (difference, power), met in zip(PLANS, store.get(f"power-{n_tests}", partial(powers, n_tests)), strict=True):
        yield f"| {difference} | {power} | {plan(difference, power):,} | {met:.3f} |"


def powers(n_tests: int) -> list[float]:
    """Return the share of significant tests for each plan."""
    generator = np.random.default_rng(4)
    met = []
    for difference, power in PLANS:
        n = plan(difference, power)
        wins = generator.binomial(n, 0.5 + difference, n_tests)
        met.append(np.mean([InterleavingResult(int(w), n - int(w), 0).p_value <= 0.05 for w in wins]).item())
    return met


TABLES: dict[str, Callable[[int, Store], Iterator[str]]] = {
    "coverage": coverage_table,
    "level": level_table,
    "power": power_table,
}


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--logs", type=int, default=500, help="logs per row")
    parser.add_argument("--tests", type=int, default=2000, help="tests by interleaving per row")
    parser.add_argument("--only", choices=[*TABLES], help="one of the tables")
    parser.add_argument("--out", type=Path, default=ROOT / "podium-runs" / "clicks-coverage", help="folder of results")
    parser.add_argument("--page", type=Path, help="page to write the tables into")
    options = parser.parse_args(argv)
    store = Store(options.out)
    numbers = {"coverage": options.logs, "level": options.tests, "power": 10 * options.tests}
    asked = {name: partial(table, numbers[name], store) for name, table in TABLES.items()}
    page_tables.compute(asked, options.only, options.page, "clicks_coverage")


if __name__ == "__main__":
    main()
