"""Table 3: films, under the paper's protocol."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import podium
from podium.losses import ListMLELoss, PMOPLoss
from podium.ratings.evaluation import evaluate_ratings, log_likelihoods
from podium.ratings.splits import given_n
from podium.training import LBFGS, Stochastic

from ..machinery.data import Data
from ..machinery.judging import averaged, difference, verdict_of
from ..machinery.page import FAILS, HOLDS, OPEN, Verdict, beside, section, table
from ..machinery.run import Run

METRICS = ("err", "ndcg@1", "ndcg@5")
GIVEN = (10, 20, 50)
LOSSES: dict[str, Any] = {
    "Plackett-Luce, ties by the sort": ListMLELoss(ties="stable"),
    "Plackett-Luce, ties at random": ListMLELoss(),
    "PMOP-FD": PMOPLoss(),
    "PMOP geometric": PMOPLoss("geometric"),
}
COFIRANK: dict[str, dict[str, Any]] = {
    "CoFiRank, published weights": {"weights": "power", "biases": False},
    "CoFiRank, discounts as weights": {"biases": False},
}
TRAINERS = ("Adam, 50 passes", "L-BFGS")
PRINTED = {
    (10, "PL"): (-430.042, 0.683, 0.556, 0.583),
    (10, "PMOP-FD"): (-159.534, 0.718, 0.604, 0.617),
    (10, "CoFiRank"): (None, 0.721, 0.627, 0.593),
    (20, "PL"): (-463.212, 0.714, 0.594, 0.602),
    (20, "PMOP-FD"): (-179.918, 0.753, 0.660, 0.648),
    (20, "CoFiRank"): (None, 0.715, 0.598, 0.608),
    (50, "PL"): (-505.365, 0.739, 0.633, 0.630),
    (50, "PMOP-FD"): (-202.991, 0.764, 0.670, 0.655),
    (50, "CoFiRank"): (None, 0.703, 0.576, 0.591),
}
PRINTED_NAME = {
    "Plackett-Luce, ties by the sort": "PL",
    "PMOP-FD": "PMOP-FD",
    "CoFiRank, published weights": "CoFiRank",
}


def fit_films(data: Data, n: int, method: str, trainer: str, seed: int) -> dict[str, Any]:
    """Return each user's metrics and, for likelihoods, the log-likelihood of the test ratings."""
    split = given_n(data.ratings(), n, random_state=seed)
    if method in COFIRANK:
        ranker: Any = podium.CoFiRank(n_factors=5, random_state=seed, **COFIRANK[method])
    else:
        few = 3 if data.quick else 50
        adam = Stochastic(epochs=few, batch_size=10, learning_rate=0.01, patience=None)
        how = LBFGS(max_iter=100, tolerance=1e-5) if trainer == "L-BFGS" else adam
        options = {"n_factors": 5, "regularization": 0.0, "biases": False, "init": "uniform", "random_state": seed}
        ranker = podium.FactorRanker(LOSSES[method], trainer=how, **options)
    ranker.fit(split.train)
    found = evaluate_ratings(ranker, split.test, metrics=METRICS, scale=(1.0, 5.0)).per_query
    order = np.argsort(split.test.user_ids)
    values = {name: each[order].tolist() for name, each in zip(METRICS, found.values(), strict=True)}
    if method not in COFIRANK:
        values["LL"] = log_likelihoods(ranker, split.test)[order].tolist()
    return values


def wanted(seeds: tuple[int, ...], given: tuple[int, ...]) -> Iterator[tuple[int, str, str, int]]:
    for n in given:
        for seed in seeds:
            yield from ((n, method, how, seed) for how in TRAINERS for method in LOSSES if method != "PMOP geometric")
            yield from ((n, method, "", seed) for method in COFIRANK)
    # n³ per list, in every iteration: last, and not by L-BFGS
    yield from ((n, "PMOP geometric", TRAINERS[0], seed) for n in given for seed in seeds)


@section(
    "Table 3: films",
    likelihood=("§6.2, Table 3", "handling ties invariably improves the likelihood of test data over Plackett-Luce"),
    metrics=("§6.2, Table 3", "… and ERR, NDCG@1 and NDCG@5"),
    cofirank=("§6.2, Table 3", "PMOP competes well with CoFiRank-NDCG: above it for N = 20 and 50"),
)
def table_3(run: Run) -> Iterator[str | Verdict]:
    yield (
        "MovieLens 100K. For each user N = 10, 20 or 50 ratings drawn for training, the others for testing, users "
        "with fewer than N + 10 left out; each seed is a draw. Five factors, initial entries uniform in [0, 0.5], no "
        "biases, no penalty. The paper does not say when training stops, which without a penalty matters most: two "
        "rules are here. LL is the log-likelihood of a user's test ratings, mean over users, constants included; that "
        "of Plackett-Luce is of one order of the ties, and so of another event than PMOP's. CoFiRank has the default "
        "penalty of 10, its paper's. NDCG: convention `standard`; ERR counts stars from 0. Printed figures in italics."
    )
    given = GIVEN[:1] if run.quick else GIVEN
    found = run.results(fit_films, wanted(run.seeds, given), some=True)
    users: dict[tuple[int, str, str], dict[str, np.ndarray]] = {}
    for key in dict.fromkeys(key[:3] for key in found):
        users[key] = averaged([value for each, value in found.items() if each[:3] == key])
    for n in given:
        rows = []
        for (at, method, trainer), values in users.items():
            if at != n:
                continue
            printed = PRINTED.get((n, PRINTED_NAME.get(method, "")), ()) if trainer != "L-BFGS" else ()
            likelihood = f"{values['LL'].mean():.1f}" if "LL" in values else ""
            if printed and printed[0] is not None and likelihood:
                likelihood += f" *{printed[0]:.1f}*"
            cells = [
                beside(float(values[metric].mean()), printed[k + 1] if printed else None)
                for k, metric in enumerate(METRICS)
            ]
            rows.append([f"{method}, {trainer}".removesuffix(", "), likelihood, *cells])
        yield f"### N = {n}"
        yield table(["", "LL", *METRICS], rows)
    yield from verdicts(users, given)


def verdicts(users: dict[tuple[int, str, str], dict[str, np.ndarray]], given: tuple[int, ...]) -> Iterator[Verdict]:
    said: dict[str, list[str]] = {"LL": [], "err": [], "ndcg@1": [], "ndcg@5": []}
    signs: dict[str, list[str]] = {name: [] for name in said}
    against, beats = [], []
    for n in given:
        for trainer in TRAINERS:
            mine = users.get((n, "PMOP-FD", trainer))
            others = [users[n, name, trainer] for name in list(LOSSES)[:2] if (n, name, trainer) in users]
            if mine is None or not others:
                continue
            for metric in said:
                other = max(others, key=lambda values: values[metric].mean())
                signs[metric].append(verdict_of(mine[metric], other[metric]))
                gain = float(np.mean(mine[metric] - other[metric]))
                said[metric].append(f"{gain:+.{1 if metric == 'LL' else 3}f}")
        published = users.get((n, "CoFiRank, published weights", ""))
        pmop = users.get((n, "PMOP-FD", TRAINERS[0]))
        if published and pmop:
            beats.append((n, verdict_of(pmop["ndcg@5"], published["ndcg@5"])))
            against.append(f"N = {n}: {difference(pmop['ndcg@5'], published['ndcg@5'])}")
    above = (
        f"over the better way to break ties, for N = {', '.join(map(str, given))}, each by {' and by '.join(TRAINERS)}"
    )
    all_of = {
        name: (HOLDS if set(each) == {HOLDS} else FAILS if FAILS in each else OPEN) for name, each in signs.items()
    }
    yield Verdict("likelihood", all_of["LL"], f"{', '.join(said['LL'])} {above}")
    metrics = {all_of[name] for name in METRICS}
    verdict = metrics.pop() if len(metrics) == 1 else FAILS if FAILS in metrics else OPEN
    text = "; ".join(f"{name} {', '.join(said[name])}" for name in METRICS)
    yield Verdict("metrics", verdict, f"{text}; {above}")
    later = [sign for n, sign in beats if n > 10]
    verdict = HOLDS if later and set(later) == {HOLDS} else FAILS if FAILS in later else OPEN
    yield Verdict("cofirank", verdict, f"NDCG@5, PMOP-FD by {TRAINERS[0]} − CoFiRank, published: {'; '.join(against)}")
