"""Probabilities of the orders of noisy scores, by quadrature: for comparisons with means over draws."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import permutations

import numpy as np

from podium.numerics.random import streams

GRID = np.linspace(-14.0, 14.0, 4001)


def orders(scores: np.ndarray, density: Callable[[np.ndarray], np.ndarray]) -> Iterator[tuple[list[int], float]]:
    """Yield every order of a few documents, best first, and its probability if noise of this density is added."""
    densities = [density(GRID - s) for s in scores]
    for order in permutations(range(len(scores))):
        # From the last place up: the probability that all documents so far are in order and below z.
        below = np.ones_like(GRID)
        for i in reversed(order):
            below = _running_integral(densities[i] * below)
        yield list(order), float(below[-1])


def _running_integral(f: np.ndarray) -> np.ndarray:
    """Return the integral of f from the first grid point to each; the trapezoid rule, corrected by the slope of f."""
    h = GRID[1] - GRID[0]
    slope = np.gradient(f, h, edge_order=2)
    pieces = 0.5 * h * (f[1:] + f[:-1]) - h * h / 12.0 * (slope[1:] - slope[:-1])
    return np.concatenate(([0.0], np.cumsum(pieces)))


def uniforms(random_state: int = 0, epoch: int = 0, query: int = 0) -> Iterator[float]:
    """Yield what a query's stream of random numbers gives, SplitMix64 in plain Python."""
    word, mask = int(streams(random_state, epoch, query + 1)[query]), 2**64 - 1
    while True:
        word = (word + 0x9E3779B97F4A7C15) & mask
        z = ((word ^ (word >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        yield (((z ^ (z >> 31)) >> 12) + 0.5) / 2.0**52


def normal(x: np.ndarray) -> np.ndarray:
    return np.exp(-0.5 * x * x) / np.sqrt(2.0 * np.pi)


def logistic(x: np.ndarray) -> np.ndarray:
    return 0.25 / np.cosh(0.5 * x) ** 2


def differences(function: Callable[[np.ndarray], float], x: np.ndarray, step: float) -> np.ndarray:
    """Return central differences of a function of x."""
    result = []
    for i in range(len(x)):
        move = np.zeros(len(x))
        move[i] = step
        result.append((function(x + move) - function(x - move)) / (2.0 * step))
    return np.array(result)


def assert_means(draws: np.ndarray, expected: np.ndarray | float) -> None:
    """Assert that the means over draws, (n_draws, …), are within four standard errors of what is expected."""
    error = draws.std(axis=0) / np.sqrt(len(draws))
    assert (np.abs(draws.mean(axis=0) - expected) < 4.0 * error + 1e-9).all(), (draws.mean(axis=0), expected, error)
