"""Collaborative filtering, which section 5 leaves open: factors of users and films, trained on BoltzRank's loss."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import podium
from podium.losses import BoltzRankLoss, ListMLELoss, ListNetLoss, PMOPLoss
from podium.ratings.evaluation import evaluate_ratings
from podium.ratings.splits import given_n

from ..machinery.data import Data
from ..machinery.judging import averaged, difference, verdict_of
from ..machinery.page import OPEN, Verdict, section, table
from ..machinery.run import Run

METRICS = ("err", "ndcg@1", "ndcg@5", "ndcg@10")
LOSSES: dict[str, Any] = {
    "BoltzRank": BoltzRankLoss(),
    "ListNet": ListNetLoss(),
    "PMOP": PMOPLoss(),
    "Plackett-Luce": ListMLELoss(),
}
SHARES = (0.1, 0.3, 1.0, 3.0, 10.0)
"""Penalties that are tried, as multiples of 2 for losses that are sums over a list and of 0.05 for means."""
GIVEN = (10, 20, 50)


def fitted_films(data: Data, n: int, method: str, seed: int) -> dict[str, Any]:
    """Return each user's metrics on test films, the penalty chosen on three tenths of the training ratings."""
    split = given_n(data.ratings(), n, random_state=seed)
    part = given_n(split.train, round(0.7 * n), random_state=seed, min_test=1)

    def fit(ratings: podium.Ratings, share: float) -> Any:
        loss = LOSSES[method]
        usual = 2.0 if loss.likelihood() is not None and not getattr(loss, "normalize", False) else 0.05
        return podium.FactorRanker(
            loss,
            regularization=share * usual,
            bias_regularization=usual,
            bias_center="zero",
            random_state=seed,
        ).fit(ratings)

    def judged(ranker: Any, ratings: podium.Ratings, metrics: tuple[str, ...]) -> dict[str, np.ndarray]:
        found = evaluate_ratings(ranker, ratings, metrics=metrics, scale=(1.0, 5.0)).per_query
        order = np.argsort(ratings.user_ids)
        return {name: each[order] for name, each in zip(metrics, found.values(), strict=True)}

    valid = [float(judged(fit(part.train, share), part.test, ("ndcg@5",))["ndcg@5"].mean()) for share in SHARES]
    best = SHARES[int(np.argmax(valid))]
    values = judged(fit(split.train, best), split.test, METRICS)
    return {"share": best, "values": {name: each.tolist() for name, each in values.items()}}


@section(
    "Collaborative filtering",
    films=("§5", "open: collaborative filtering"),
)
def collaborative_filtering(run: Run) -> Iterator[str | Verdict]:
    yield (
        "The paper has no experiment; this one is ours. MovieLens 100K, N ratings of each user for training, the "
        "others for testing, three draws; ten factors with film biases by L-BFGS, 100 rankings of a user's films drawn "
        "once. The penalty is chosen among "
        f"{', '.join(f'{share:g}' for share in SHARES)} times the default by NDCG@5 on three tenths of the training "
        "ratings. ERR counts stars from 0; convention `standard`."
    )
    given = GIVEN[:1] if run.quick else GIVEN
    found = run.results(fitted_films, [(n, method, seed) for n in given for method in LOSSES for seed in run.seeds])
    said, signs = [], []
    for n in given:
        users = {method: averaged([found[n, method, seed]["values"] for seed in run.seeds]) for method in LOSSES}
        chosen = {m: ", ".join(f"{found[n, m, seed]['share']:g}" for seed in run.seeds) for m in LOSSES}
        yield f"### N = {n}"
        rows = [[m, *(float(values[name].mean()) for name in METRICS), chosen[m]] for m, values in users.items()]
        yield table(["", *METRICS, "penalties"], rows)
        a, b = users["BoltzRank"]["ndcg@5"], users["ListNet"]["ndcg@5"]
        said.append(f"N = {n}: {difference(a, b)}")
        signs.append(verdict_of(a, b))
    verdict = signs[0] if len(set(signs)) == 1 else OPEN
    yield Verdict("films", verdict, f"above ListNet's loss in NDCG@5? {'; '.join(said)}")
