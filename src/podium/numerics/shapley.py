"""Shapley values of a game: each player's mean contribution, over all orders in which players may join.

A coalition is a row of truth values, one per player. Values add up to v(all) − v(none); a player that never changes
the outcome gets 0; two that are alike get the same (Shapley, 1953).
"""

from collections.abc import Callable
from math import comb

import numpy as np

from podium.core.arrays import Array

Game = Callable[[Array], Array]
"""From (m, n_players) coalitions to their (m,) values."""


def exact_shapley(game: Game, n_players: int) -> Array:
    """Return (n_players,) Shapley values from the values of all 2^n_players coalitions.

    >>> exact_shapley(lambda coalitions: coalitions @ [3.0, 4.0], 2).tolist()
    [3.0, 4.0]
    """
    numbers = np.arange(2**n_players)
    coalitions = (numbers[:, None] >> np.arange(n_players)) & 1 == 1
    values, sizes = game(coalitions), coalitions.sum(axis=1)
    # An order in which a player follows exactly this coalition: one of n · C(n − 1, size) equally likely ones.
    weights = np.array([1.0 / (n_players * comb(n_players - 1, size)) for size in range(n_players)])
    result = np.empty(n_players)
    for j in range(n_players):
        without = numbers[~coalitions[:, j]]
        result[j] = weights[sizes[without]] @ (values[without | (1 << j)] - values[without])
    return result


def sampled_shapley(game: Game, n_players: int, n_orders: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Return estimated Shapley values and their standard errors, (n_players,) each, from random orders of the players.

    Each order is used forward and backward, which halves the variance of many games. However few they are, the values
    add up to v(all) − v(none).
    """
    pairs = max(1, n_orders // 2)
    orders = [rng.permutation(n_players) for _ in range(pairs)]
    orders = [order for forward in orders for order in (forward, forward[::-1])]
    joined = np.argsort(orders, axis=1)  # when each player joins, in each order
    coalitions = joined[:, None, :] < np.arange(n_players + 1)[None, :, None]
    values = game(coalitions.reshape(-1, n_players)).reshape(len(orders), n_players + 1)
    gains = np.diff(values, axis=1)[np.arange(len(orders))[:, None], joined]
    means = gains.reshape(pairs, 2, n_players).mean(axis=1)
    error = means.std(axis=0, ddof=1) / np.sqrt(pairs) if pairs > 1 else np.full(n_players, np.nan)
    return means.mean(axis=0), error
