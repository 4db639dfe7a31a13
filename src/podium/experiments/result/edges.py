"""Settings that were chosen at the end of their grid, beyond which a better one may lie."""

from collections.abc import Iterable, Mapping, Sequence
from numbers import Real
from typing import Any

from podium.experiments.run.outcomes import Result
from podium.rankers.spaces import LogUniform

LEAST = {"n_leaves": 2}
"""The least value that a count can have, where it is not 1: a tree of one leaf is a constant."""


def at_the_edge(grid: Mapping[str, Sequence[Any]], results: Iterable[Result]) -> list[str]:
    """Return a phrase for each parameter whose chosen value is the lowest or highest number of its grid in some folds.

    An end where the parameter itself ends counts as inside: 0, 1 for a share (all values from 0 to 1, and no
    logarithmic scale), 1 for a count and 2 for leaves. Values that are no numbers, such as None for "no limit", have no
    ends.
    """
    chosen = [result.parameters for result in results if result.parameters and result.error is None]
    phrases = []
    for name, values in grid.items():
        numbers = sorted({value for value in values if _is_number(value)})
        if len(numbers) < 2:
            continue
        whole = all(isinstance(value, int) for value in numbers)
        is_share = not whole and not isinstance(values, LogUniform) and numbers[0] >= 0 and numbers[-1] <= 1
        ends = {"lowest": numbers[0], "highest": numbers[-1]}
        natural = {
            "lowest": numbers[0] == 0 or (whole and numbers[0] == LEAST.get(name, 1)),
            "highest": is_share and numbers[-1] == 1,
        }
        for end, value in ends.items():
            n = sum(parameters.get(name) == value for parameters in chosen)
            if n and not natural[end]:
                phrases.append(f"{name}={value} ({end}, {n} of {len(chosen)})")
    return phrases


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)
