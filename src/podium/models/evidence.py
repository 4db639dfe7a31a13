"""Shares in a blend that follow the evidence of validation queries.

With few validation queries the best of many models is mostly luck, and an average is better; with many, the best is
known, and the average should be of few. The share of a model is the share of bootstrap samples of the queries in which
it is among the best three: close to equal for models that few queries cannot tell apart, close to a choice on many. A
model that is below the best one in nearly all samples has no share, even if it is the second best.
"""

import numpy as np

BEST = 3
"""Places that count."""
N_SAMPLES = 1000
BEATEN = 0.975
"""A model that is below the best one in so many of the samples has no share."""
SMALL = 0.1
"""Nor has one whose share would be smaller than this part of the largest: fitting it would be worth little."""


def evidence_shares(values: np.ndarray, query_weight: np.ndarray | None = None, random_state: int = 0) -> np.ndarray:
    """Return the share of each model, (n_models,); the sum is 1.

    Parameters
    ----------
    values : (n_models, n_queries)
        A metric on each query; a query without a value (NaN) is left out.
    query_weight : (n_queries,), optional
    random_state : int

    Examples
    --------
    >>> values = np.array([[0.9, 0.8, 0.9, 0.7] * 50, [0.5, 0.4, 0.5, 0.4] * 50])
    >>> evidence_shares(values)
    array([1., 0.])
    >>> evidence_shares(np.array([[0.9, 0.2], [0.1, 1.0], [0.5, 0.5]]))
    array([0.33333333, 0.33333333, 0.33333333])
    """
    defined = ~np.isnan(values).any(axis=0)
    values = values[:, defined]
    n_models, n_queries = values.shape
    if n_queries == 0:
        return np.full(n_models, 1.0 / n_models)
    weights = np.ones(n_queries) if query_weight is None else query_weight[defined]
    totals = bootstrap_totals(values, weights, random_state)
    best = int(np.argmax(values @ weights))
    beaten = (totals < totals[:, [best]]).mean(axis=0) >= BEATEN
    # Models with equal totals share their places: the order in which models are given decides nothing.
    above = (totals[:, None, :] > totals[:, :, None]).sum(axis=2)
    equal = (totals[:, None, :] == totals[:, :, None]).sum(axis=2)
    shares = np.clip((BEST - above) / equal, 0.0, 1.0).sum(axis=0)
    shares[beaten] = 0.0
    return without_small(shares)


def without_small(shares: np.ndarray) -> np.ndarray:
    """Return shares whose sum is 1, without those that are too small to be worth a fit."""
    kept = np.where(shares < SMALL * shares.max(), 0.0, shares)
    return kept / kept.sum()


def bootstrap_totals(values: np.ndarray, weights: np.ndarray, random_state: int) -> np.ndarray:
    """Return the weighted sum of each row over bootstrap samples of the columns, (n_samples, n_rows).

    Where there are many queries, which vary less, fewer samples are drawn; and a few at a time, for they are large.
    """
    n = values.shape[1]
    n_samples, at_once = int(np.clip(5_000_000 // n, 200, N_SAMPLES)), max(1, 1_000_000 // n)
    rng = np.random.default_rng(random_state)
    parts = []
    for start in range(0, n_samples, at_once):
        draws = rng.multinomial(n, np.full(n, 1 / n), min(at_once, n_samples - start))
        parts.append((draws * weights) @ values.T)
    return np.concatenate(parts)
