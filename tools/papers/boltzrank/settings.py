"""What all of BoltzRank's experiments share."""

from __future__ import annotations

from typing import Any

import podium

METRICS = ("ndcg@1", "ndcg@2", "ndcg@3", "ndcg@4", "ndcg@5", "map")
PROTOCOL = {"normalize": "minmax", "early_stopping": False}
"""Networks are trained to their end; validation queries choose between random starts."""


def ranker(seed: int, quick: bool, *, restarts: int = 10, **options: Any) -> podium.BoltzRank:
    """Return a ranker as in the paper: λ = .9, 100 rankings, 5 hidden units, or 3 and 5 with pairs."""
    epochs = 3 if quick else 50
    return podium.BoltzRank(
        restarts=2 if quick else restarts, epochs=epochs, random_state=seed, **{**PROTOCOL, **options}
    )
