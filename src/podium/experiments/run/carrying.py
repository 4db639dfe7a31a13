"""What the validation part decided within a fit, as parameters for a fit that has no validation part.

With validation queries a ranker keeps the number of trees, epochs or rounds that is best on them, and chooses between
the settings of its restarts. A final fit on all data has no queries left for that. So each trial records what was
decided, and the final fit is given **the median over the folds** of a number, and the most frequent one of other
values. The median is not scaled up, although the final fit has more data (with five folds, a quarter more): too few
trees cost less than too many. Of several restarts, the final fit keeps the one with the lowest training objective.
"""

from collections import Counter
from collections.abc import Sequence
from statistics import median_low
from typing import Any

_PARAMETERS = {"tree": "n_trees", "epoch": "epochs", "round": "n_rounds", "iteration": "max_iter"}
"""The parameter that says how many of its steps a trainer takes."""
_PLACES = ("", "scorer__", "trainer__")


def carried_over(ranker: Any) -> dict[str, Any]:
    """Return the parameters that the validation part decided in the fit of this ranker."""
    found = dict(getattr(ranker, "chosen_", {}))
    convergence = getattr(ranker, "convergence_", None)
    best = getattr(convergence, "best_iter", None)
    step = _PARAMETERS.get(getattr(convergence, "step", ""))
    if best is not None and step is not None:
        known = ranker.get_params() if hasattr(ranker, "get_params") else {}  # one of ratings has none
        found |= {place + step: best for place in _PLACES if place + step in known}
    return found


def over_folds(carried: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return one value of each parameter for those decided on the folds.

    >>> over_folds([{"n_trees": 30}, {"n_trees": 90}, {"n_trees": 40}])
    {'n_trees': 40}
    """
    names = dict.fromkeys(name for decided in carried for name in decided)
    return {name: _one([decided[name] for decided in carried if name in decided]) for name in names}


def _one(values: list[Any]) -> Any:
    if all(isinstance(value, int) and not isinstance(value, bool) for value in values):
        return median_low(values)
    return Counter(values).most_common(1)[0][0]
