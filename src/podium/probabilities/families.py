"""Which distribution over rankings a loss stands for."""

from collections.abc import Callable
from typing import Any

import numpy as np

from podium.losses.base import Loss
from podium.numerics.ranks.energy import PAIR_WEIGHTS
from podium.probabilities.arriving import GaussianScores, PlackettLuce
from podium.probabilities.base import ListProbabilities
from podium.probabilities.boltzmann import boltzmann
from podium.probabilities.partitions import ArithmeticPartitions, GeometricPartitions
from podium.probabilities.preferences import PreferenceNetwork, TiedPairs

Family = Callable[[np.ndarray, int], ListProbabilities]
"""From the scores of one list and a seed."""


def family_of(loss: Loss, parameters: np.ndarray) -> Family | None:
    """Return the distribution of rankings that a loss with these learned parameters stands for; None if it has none.

    Raises
    ------
    ValueError
        If this form of the loss has none, saying which has.
    """
    return None if loss.rankings is None else _FAMILIES[loss.rankings](loss, parameters)


def _partitions(loss: Any, _: np.ndarray) -> Family:
    if loss.potential not in ("arithmetic", "geometric") or loss.factorization != "forward":
        raise ValueError(
            "probabilities are known for the arithmetic and the geometric potential only, with the best group chosen "
            'first (factorization="forward")'
        )
    return GeometricPartitions if loss.potential == "geometric" else ArithmeticPartitions


def _boltzmann(loss: Any, _: np.ndarray) -> Family:
    g = PAIR_WEIGHTS[loss.g] if isinstance(loss.g, str) else loss.g
    return lambda scores, seed: boltzmann(scores, seed, g)


_FAMILIES: dict[str, Callable[[Any, np.ndarray], Family]] = {
    "plackett-luce": lambda loss, _: PlackettLuce,
    "partitions": _partitions,
    "boltzmann": _boltzmann,
    "normal-scores": lambda loss, own: lambda scores, seed: GaussianScores(scores, seed, loss.sigma_at(own)),
    "davidson": lambda _, own: lambda scores, seed: TiedPairs(scores, seed, "davidson", float(own[0])),
    "rao-kupper": lambda _, own: lambda scores, seed: TiedPairs(scores, seed, "rao-kupper", float(own[0])),
    "network": lambda loss, own: (
        lambda scores, seed: PreferenceNetwork(scores, seed, loss.topology, own, loss.function_names, loss.correlation)
    ),
}
