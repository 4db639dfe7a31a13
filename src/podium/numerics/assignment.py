"""The linear assignment of documents to ranks, by shortest augmenting paths: n³ at most."""

import numpy as np

from podium.numerics.compiling import njit


@njit(error_model="numpy")
def assign_ranks(weights: np.ndarray, scores: np.ndarray, discounts: np.ndarray, gains: np.ndarray) -> np.ndarray:
    """Return (n,) the rank, from 0, of each document in the assignment that is worth most.

    Rank r and document i together are worth ``weights[r] * scores[i] - discounts[r] * gains[i]``. One rank after the
    other is added to the assignment along the path that costs least, with prices of ranks and documents that keep
    all reduced costs from falling below 0 (Kuhn, 1955; Jonker and Volgenant, 1987).
    """
    n = len(scores)
    rank_price, price = np.zeros(n), np.zeros(n + 1)
    held_by = np.full(n + 1, -1)  # the rank that each document has; column n stands for "no document yet"
    came_from = np.empty(n, np.int64)
    for rank in range(n):
        held_by[n] = rank
        at = n
        distance, done = np.full(n, np.inf), np.zeros(n + 1, np.bool_)
        while held_by[at] >= 0:
            done[at] = True
            r = held_by[at]
            weight, discount, own = weights[r], discounts[r], rank_price[r]
            nearest, shortest = -1, np.inf
            for i in range(n):
                if not done[i]:
                    there = discount * gains[i] - weight * scores[i] - own - price[i]
                    if there < distance[i]:
                        distance[i], came_from[i] = there, at
                    if distance[i] < shortest:
                        nearest, shortest = i, distance[i]
            for i in range(n):
                if done[i]:
                    rank_price[held_by[i]] += shortest
                    price[i] -= shortest
                else:
                    distance[i] -= shortest
            rank_price[rank] += shortest
            price[n] -= shortest
            at = nearest
        while at != n:
            before = came_from[at]
            held_by[at] = held_by[before]
            at = before
    place = np.empty(n, np.int64)
    for i in range(n):
        place[i] = held_by[i]
    return place
