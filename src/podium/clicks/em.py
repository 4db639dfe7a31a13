"""Propensities by expectation maximization: places and documents explain the clicks together.

A document of attractiveness γ is relevant to a user with probability γ. At place k a relevant one is clicked with
probability A_k and any other with probability B_k: A = θ and B = 0 in the position-based model, and both are free with
trust bias. The expectation step is Bayes' rule: of those who did not click, γ (1 − A) / (1 − γ A − (1 − γ) B) found the
document relevant. The maximization step counts; γ is per document, shrunk to a regression on features.

This is the regression EM of Wang, Golbandi, Bendersky, Metzler and Najork (*Position bias estimation for unbiased
learning to rank in personal search*, WSDM 2018). There, being seen is a second hidden variable: the likelihood is the
same, and climbed more slowly.
"""

import numpy as np

from podium.clicks.attraction import Attraction
from podium.clicks.cells import Cells
from podium.data.features import Features

_ROUNDS = 3
"""How often the regression and its strength are fitted anew."""
_LEAST = 1e-9
_MOST_STEPS, _TOLERANCE = 2000, 1e-8


def em_propensities(
    cells: Cells, features: Features, *, trust: bool = False
) -> tuple[np.ndarray, np.ndarray, np.ndarray, Attraction]:
    """Return A and B of each place, A_1 = 1; γ of each document; and the distribution that γ is shrunk to."""
    rate = cells.by_place(cells.clicks) / np.maximum(cells.by_place(cells.impressions), _LEAST)
    relevant = np.clip(rate / max(rate[0], _LEAST), 0.01, 1.0)
    other = 0.1 * relevant if trust else np.zeros_like(relevant)
    relevant[0] = 1.0
    for _ in range(_ROUNDS):
        unbiased = cells.by_document(cells.clicks - cells.impressions * other[cells.place])
        looks = cells.by_document(cells.impressions * (relevant - other)[cells.place])
        prior = Attraction.fit(features, unbiased, looks)
        means = prior.means(features)
        gamma = prior.shrunk(unbiased, looks, means)
        relevant, other, gamma = climb(cells, relevant, other, gamma, prior.strength, means)
    return relevant, other, gamma, prior


def climb(
    cells: Cells,
    relevant: np.ndarray,
    other: np.ndarray,
    gamma: np.ndarray,
    strength: float | np.ndarray,
    means: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return A, B and γ of the largest posterior, from these on; B that is 0 everywhere stays so.

    The prior of γ counts like ``strength`` impressions of which a share of ``means`` was relevant.

    EM with the extrapolation of Varadhan and Roland (*Simple and globally convergent methods for accelerating the
    convergence of any EM algorithm*, 2008), on logarithms.
    """
    k = cells.n_places
    trust = bool(other.any())
    skips, shown = cells.impressions - cells.clicks, cells.by_document(cells.impressions)

    def step(state: np.ndarray) -> np.ndarray:
        a, b, g = state[:k][cells.place], state[k : 2 * k][cells.place], state[2 * k :][cells.row]
        clicked = g * a + (1 - g) * b
        of_clicks = cells.clicks * g * a / np.maximum(clicked, _LEAST)
        interested = of_clicks + skips * g * (1 - a) / np.maximum(1 - clicked, _LEAST)
        new_a = cells.by_place(of_clicks) / np.maximum(cells.by_place(interested), _LEAST)
        new_a[0] = 1.0
        new_b = np.zeros(k)
        if trust:
            bored = cells.by_place(cells.impressions - interested)
            new_b = np.minimum(cells.by_place(cells.clicks - of_clicks) / np.maximum(bored, _LEAST), new_a)
        new_g = (cells.by_document(interested) + strength * means) / np.maximum(shown + strength, _LEAST)
        return np.concatenate([new_a, new_b, new_g])

    def logs(state: np.ndarray) -> np.ndarray:
        return np.log(np.clip(state, _LEAST, 1.0))

    state = np.concatenate([relevant, other, gamma])
    for _ in range(_MOST_STEPS):
        one = step(state)
        two = step(one)
        first, second = logs(one) - logs(state), logs(two) - 2 * logs(one) + logs(state)
        if np.abs(two - one)[: 2 * k].max() < _TOLERANCE:
            break
        length = max(1.0, float(np.linalg.norm(first)) / max(float(np.linalg.norm(second)), 1e-300))
        far = np.exp(np.clip(logs(state) + 2 * length * first + length**2 * second, np.log(_LEAST), 0.0))
        far[k : 2 * k] *= trust
        state = step(far)
    return state[:k], state[k : 2 * k], state[2 * k :]
