"""How near estimates of position bias come to the truth, and what debiasing inside LambdaMART is worth beside them.

    python tools/clicks_debias.py [--seeds 3] [--sessions 20000] [--only propensities] [--page PAGE]

Clicks are simulated on synthetic lists, so that the truth is known. Each table is printed and, with --page, written
between its two markers of the page. The table of rankers needs XGBoost.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import page_tables

import podium
from podium.clicks import PositionBias, simulate

EXPONENTS = (0.5, 1.0, 2.0)
TREES, LEAVES, RATE = 200, 7, 0.05
"""The same for all packages; everything else is at its default."""


def propensities_table(sessions: int, n_seeds: int) -> Iterator[str]:
    """Yield the lines of the table of errors of propensities."""
    yield "| sessions | method | " + " | ".join(f"exponent {exponent:g}" for exponent in EXPONENTS) + " |"
    yield "|---:|---|" + "---:|" * len(EXPONENTS)
    queries = podium.make_queries(n_queries=200, n_documents=20, random_state=0)
    ranking = queries.labels + np.random.default_rng(0).normal(size=queries.n_documents)
    for n in (10_000, 1_000_000):
        cells: dict[str, list[str]] = {"swaps": [], "em": [], "dual": [], "pairwise": []}
        for exponent in EXPONENTS:
            clicks = simulate(queries, ranking, exponent=exponent, sessions=n)
            truth = clicks.truth.propensities
            for method, row in cells.items():
                found = PositionBias(method=method, bootstrap=0).fit(clicks).propensities_
                worst = np.abs(found - truth).max()
                row.append(
                    f"{worst:.3f} ({100 * (found / truth - 1).min():+.0f} to {100 * (found / truth - 1).max():+.0f} %)"
                )
        for method, row in cells.items():
            yield f"| {n:,} | `{method}` | " + " | ".join(row) + " |"


def lambdamart(**options: Any) -> podium.LambdaMART:
    return podium.LambdaMART(n_trees=TREES, n_leaves=LEAVES, learning_rate=RATE, random_state=0, **options)


Scores = Callable[[Any, podium.Queries], np.ndarray]
"""Scores of test queries by a ranker trained on a log."""


def by_podium(bias: Any, **options: Any) -> Scores:
    """Return LambdaMART, trained with a bias or debiased."""

    def train(clicks: Any, test: podium.Queries) -> np.ndarray:
        known = bias
        if bias == "truth":
            known = PositionBias.known(clicks.truth.propensities)
        elif bias not in (None, "naive"):
            known = PositionBias(method=bias, bootstrap=0).fit(clicks)
        return lambdamart(**options).fit(clicks, bias=known).predict(test)

    return train


def by_sessions(clicks: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return features, clicks, sessions and places (from 0), rows of a session from the top."""
    order = np.lexsort((clicks.position, clicks.session))
    features = clicks.queries.features[clicks.row[order]]
    return features, clicks.clicks[order], clicks.session[order], clicks.position[order] - 1


def by_xgboost(norm: int, pairs: str) -> Scores:
    """Return XGBoost's ranker with ``lambdarank_unbiased``."""

    def train(clicks: Any, test: podium.Queries) -> np.ndarray:
        import xgboost

        features, clicked, session, _ = by_sessions(clicks)
        ranker = xgboost.XGBRanker(
            objective="rank:ndcg",
            lambdarank_unbiased=True,
            lambdarank_bias_norm=norm,
            lambdarank_pair_method=pairs,
            n_estimators=TREES,
            max_leaves=LEAVES,
            max_depth=0,
            grow_policy="lossguide",
            learning_rate=RATE,
            random_state=0,
        )
        return ranker.fit(features, clicked, qid=session).predict(test.features)

    return train


def by_lightgbm(clicks: Any, test: podium.Queries) -> np.ndarray:
    """Return the scores of LightGBM's lambdarank with the field ``position``."""
    features, clicked, session, place = by_sessions(clicks)
    data = lightgbm.Dataset(features, clicked, group=np.bincount(session), position=place)
    settings = {"objective": "lambdarank", "num_leaves": LEAVES, "learning_rate": RATE, "verbosity": -1, "seed": 0}
    return np.asarray(lightgbm.train(settings, data, TREES).predict(test.features))


RANKERS: dict[str, Scores | None] = {
    "grades instead of clicks": None,
    '`fit(clicks, bias="naive")`': by_podium("naive"),
    "`fit(clicks, bias=b)`, the true bias": by_podium("truth"),
    "the same, by swaps": by_podium("swaps"),
    "the same, by dual learning": by_podium("dual"),
    "the same, by pairwise debiasing": by_podium("pairwise"),
    '`debias="pairwise"`': by_podium(None, debias="pairwise"),
    '`debias="pairwise"`, penalty 2': by_podium(None, debias="pairwise", debias_penalty=2.0),
    '`debias="additive"`': by_podium(None, debias="additive"),
    "XGBoost, its default, bias norm 2": by_xgboost(2, "topk"),
    "XGBoost, bias norm 0": by_xgboost(0, "topk"),
    "XGBoost, bias norm 0, pairs at random": by_xgboost(0, "mean"),
    "LightGBM, positions": by_lightgbm,
}


def rankers_table(sessions: int, n_seeds: int) -> Iterator[str]:
    """Yield the lines of the table of rankers."""
    yield "| NDCG@10 (standard) on grades | " + " | ".join(f"exponent {exponent:g}" for exponent in EXPONENTS) + " |"
    yield "|---|" + "---:|" * len(EXPONENTS)
    for name, ranker in RANKERS.items():
        cells = []
        for exponent in EXPONENTS:
            figures = []
            for seed in range(n_seeds):
                queries = podium.make_queries(n_queries=1200, n_documents=20, n_features=10, random_state=seed)
                train, test = queries.take(range(200)), queries.take(range(200, 1200))
                clicks = simulate(train, train.features[:, 0], exponent=exponent, sessions=sessions, random_state=seed)
                scores = lambdamart().fit(train).predict(test) if ranker is None else ranker(clicks, test)
                figures.append(podium.evaluate(test, scores, metrics=["ndcg@10"]).mean["ndcg@10"])
            cells.append(f"{np.mean(figures):.4f}".removeprefix("0"))
        yield f"| {name} | " + " | ".join(cells) + " |"


def time_table(sessions: int, n_seeds: int) -> Iterator[str]:
    """Yield the lines of the table of processor times, of all threads together."""
    yield "| sessions of ten documents | `debias` | once | per tree |"
    yield "|---:|---|---:|---:|"
    queries = podium.make_queries(n_queries=200, n_documents=20, n_features=10, random_state=0)
    for n in (100_000, 1_000_000):
        clicks = simulate(queries, queries.features[:, 0], sessions=n)
        for debias in ("pairwise", "additive"):
            seconds = []
            for n_trees in (1, 1, 21):  # the first may compile
                start = time.process_time()
                podium.LambdaMART(n_trees=n_trees, n_leaves=LEAVES, debias=debias, random_state=0).fit(clicks)
                seconds.append(time.process_time() - start)
            per_tree = (seconds[2] - seconds[1]) / 20
            yield f"| {n:,} | `{debias}` | {seconds[1] - per_tree:.1f} s | {per_tree:.2f} s |"


TABLES = {"propensities": propensities_table, "rankers": rankers_table, "time": time_table}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3, help="logs per figure of the table of rankers")
    parser.add_argument("--sessions", type=int, default=20_000, help="sessions of each of these logs")
    parser.add_argument("--only", choices=[*TABLES], help="one of the tables")
    parser.add_argument("--page", type=Path, help="page to write the tables into")
    options = parser.parse_args()
    asked = {name: partial(table, options.sessions, options.seeds) for name, table in TABLES.items()}
    page_tables.compute(asked, options.only, options.page, "clicks_debias")


if __name__ == "__main__":
    main()
