"""Stochastic training of factors from what users have seen."""

from dataclasses import dataclass

import numpy as np

from podium.core.arrays import Array
from podium.numerics.blas import quiet_blas
from podium.numerics.compiling import njit
from podium.numerics.pool import share
from podium.ratings.factors.model import FactorModel
from podium.ratings.implicit.batches import Gradients


@dataclass(frozen=True)
class Steps:
    """AdaGrad: each number of a row moves by its gradient over the root of the sum of squares of all so far.

    Duchi, Hazan and Singer: Adaptive subgradient methods for online learning and stochastic optimization. JMLR 2011.
    """

    rows: np.ndarray
    """(n_rows, width), moved in place."""
    squares: np.ndarray
    """(n_rows, width) sums of squared gradients."""
    rates: np.ndarray
    """(width,) learning rates; 0 for what stays."""
    penalty: np.ndarray
    """(width,) of each number's square."""
    scales: np.ndarray
    """(n_rows,) by which the penalty of each row is multiplied."""

    @classmethod
    def start(cls, rows: np.ndarray, rates: np.ndarray, penalty: np.ndarray, scales: np.ndarray) -> "Steps":
        """Return steps from these rows on."""
        return cls(rows, np.zeros_like(rows), rates, penalty, scales)

    def take(self, which: np.ndarray, gradient: np.ndarray, share_of_penalty: float = 1.0) -> None:
        """Move the rows numbered ``which``, of which none is twice, by their ``gradient`` and penalties."""
        arrays = which, self.rows, gradient, self.squares, share_of_penalty * self.penalty, self.scales, self.rates
        share(_adagrad, len(which), *arrays, work=8.0 * gradient.size)

    def size(self) -> float:
        """Return the sum of all penalties."""
        return 0.5 * float(self.scales @ (self.rows**2 @ self.penalty))


@njit(cache=True, nogil=True, error_model="numpy")
def _adagrad(
    first: int,
    stop: int,
    which: Array,
    rows: Array,
    gradient: Array,
    squares: Array,
    penalty: Array,
    scales: Array,
    rates: Array,
) -> None:
    for k in range(first, stop):
        row, square, scale = rows[which[k]], squares[which[k]], scales[which[k]]
        for d in range(len(row)):
            slope = gradient[k, d] + scale * penalty[d] * row[d]
            square[d] += slope * slope
            row[d] -= rates[d] * slope / np.sqrt(square[d] + 1e-10)


class Run:
    """Rows of users and items, and epochs that improve them; ``batches`` says what is in the rows."""

    def __init__(self, gradients: Gradients, users: Steps, items: Steps) -> None:
        self.gradients, self.users, self.items = gradients, users, items

    def epoch(self, number: int, order: np.ndarray, batch_size: int, *, items_too: bool = True) -> float:
        """Pass over the users in this order; return the mean of their losses and penalties, each as it was met."""
        self.gradients.start_epoch(number)
        users, items, n_users = self.users.rows, self.items.rows, len(self.users.rows)
        every_item = np.arange(len(items))
        total = 0.0
        with quiet_blas():
            for first in range(0, len(order), batch_size):
                batch = order[first : first + batch_size]
                values, d_users, d_items = self.gradients(batch, users[batch], items)
                total += float(values.sum())
                self.users.take(batch, d_users)
                if items_too:
                    self.items.take(every_item, d_items, len(batch) / n_users)
        return (total + self.users.size() + self.items.size()) / n_users

    def model(self) -> FactorModel:
        """Return the factors and biases."""
        users, items = self.users.rows, self.items.rows
        return FactorModel(users[:, :-1].copy(), items[:, :-1].copy(), items[:, -1].copy())


def start(n_users: int, n_items: int, n_factors: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of users and items to start from: small factors at random, biases 0."""
    users, items = (rng.normal(0.0, 0.1, (n, n_factors + 1)) for n in (n_users, n_items))
    users[:, -1], items[:, -1] = 1.0, 0.0
    return users, items
