"""Settings that were chosen at the end of their grid, beyond which a better one may lie."""

from collections.abc import Iterable, Mapping, Sequence
from numbers import Real
from typing import Any

from podium.experiments.run.outcomes import Result
from podium.rankers.spaces import LogUniform

LEAST = {"n_leaves": 2, "feature_fraction": 0.01, "learning_rate": 0.001, "sigma": 0.001}
"""The least values that change a model, where they are not 0, or 1 for a count. A tree of one leaf is a constant; a
hundredth of the features is one of them, if there are 100 or fewer; all trees together make less than one full step at
a rate of a thousandth, and lower rates only rescale their sum; SoftRank's ranks are all but certain with noise of a
thousandth."""
MOST = {"learning_rate": 1.0, "regression": 1000.0, "strength": 3.0}
"""The largest values: a rate of 1 takes the full step, and a regression with a thousand times the weight of the loss is
all that is left; under three times the level of noise, factors vanish."""
FLAT = 1e-3
"""A metric that changes less than this over the last step of a grid has reached its limit there."""


def at_the_edge(grid: Mapping[str, Sequence[Any]], results: Iterable[Result]) -> list[str]:
    """Return a phrase for each parameter whose chosen value is the lowest or highest number of its grid in some folds.

    An end where the parameter itself ends counts as inside: 0, 1 for a share (all values from 0 to 1, and no
    logarithmic scale), 1 for a count, and what is in ``LEAST`` and ``MOST``. So does one before which the validation
    metric has stopped changing: the order that a linear model gives has a limit as its penalty grows. Values that are
    no numbers, such as None for "no limit", have no ends.
    """
    usable = [result for result in results if result.parameters and result.error is None]
    phrases = []
    for name, values in grid.items():
        numbers = sorted({value for value in values if _is_number(value)})
        if len(numbers) < 2:
            continue
        whole = all(isinstance(value, int) for value in numbers)
        is_share = not whole and not isinstance(values, LogUniform) and numbers[0] >= 0 and numbers[-1] <= 1
        ends = {"lowest": numbers[:2], "highest": numbers[:-3:-1]}
        natural = {
            "lowest": numbers[0] in (0, LEAST.get(name, 1 if whole else 0)),
            "highest": numbers[-1] == MOST.get(name, 1 if is_share else None),
        }
        for end, (value, inner) in ends.items():
            chosen = [result for result in usable if result.parameters.get(name) == value]
            n = sum(not _is_flat(result, name, inner) for result in chosen)
            if n and not natural[end]:
                phrases.append(f"{name}={value} ({end}, {n} of {len(usable)})")
    return phrases


def _is_flat(result: Result, name: str, inner: Any) -> bool:
    """Return whether the chosen setting is hardly better than the one with this value one step inside."""
    beside = {**result.parameters, name: inner}
    best = result.validation
    return best is not None and any(
        trial.parameters == beside and abs(trial.validation - best) < FLAT for trial in result.trials
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)
