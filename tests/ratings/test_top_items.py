"""The best items of many users; the oracle sorts all scores of a user."""

import numpy as np
import pytest

from podium.numerics import pool
from podium.ratings.factors import top
from podium.ratings.factors.model import Matrices, pair_scores
from podium.ratings.factors.top import top_items


def sorted_items(matrices: Matrices, seen: list[list[int]], n: int) -> tuple[np.ndarray, np.ndarray]:
    """Sort all items of each user by their scores in double precision, the lower number first among equals."""
    n_users, n_items = len(matrices[0]), len(matrices[2])
    numbers, scores = np.full((n_users, n), -1), np.full((n_users, n), -np.inf)
    for u in range(n_users):
        left = np.setdiff1d(np.arange(n_items), seen[u])
        found = pair_scores(matrices, np.full(len(left), u), left)
        best = np.argsort(-found, kind="stable")[:n]
        numbers[u, : len(best)], scores[u, : len(best)] = left[best], found[best]
    return numbers, scores


CASES = ("normal", "almost equal", "ties", "large", "no factors")


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("n", [1, 7, 90])
def test_best_items_are_those_of_all_scores_sorted(case: str, n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(top, "_BLOCK", 300)  # several blocks
    rng = np.random.default_rng(CASES.index(case))
    users, items, bias = rng.normal(size=(30, 4)), rng.normal(size=(80, 4)), rng.normal(size=80)
    if case == "almost equal":  # differences that single precision does not see
        items, bias = 1.0 + 1e-9 * items, 1e-9 * bias
    elif case == "ties":
        users, items, bias = np.sign(users), np.sign(items), np.zeros(80)
    elif case == "large":  # beyond single precision
        items = 1e60 * items
    elif case == "no factors":
        users, items, bias = users[:, :0], items[:, :0], np.round(bias)
    seen = [rng.permutation(80)[: rng.integers(0, 80)].tolist() for _ in range(30)]
    seen[3], seen[4] = list(range(80)), [-1, 5]  # nothing is left; an unknown item
    offsets = np.concatenate(([0], np.cumsum([len(one) for one in seen])))
    found = [
        top_items((users, items, bias), np.concatenate(seen).astype(np.int64), offsets, n),
    ]
    monkeypatch.setattr(pool, "_available", lambda: 3)
    found.append(top_items((users, items, bias), np.concatenate(seen).astype(np.int64), offsets, n))
    numbers, scores = sorted_items((users, items, bias), seen, n)
    for got in found:
        assert (got[0] == numbers).all()
        assert (got[1] == scores).all()


def test_nobody_and_nothing() -> None:
    one = np.ones((1, 2))
    nothing = np.empty(0, np.int64)
    assert top_items((one[:0], one, one[0, :1]), nothing, np.zeros(1, np.int64), 3)[0].shape == (0, 3)
    assert top_items((one, one[:0], one[0, :0]), nothing, np.zeros(2, np.int64), 2)[0].tolist() == [[-1, -1]]
