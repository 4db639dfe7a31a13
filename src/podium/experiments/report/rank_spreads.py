"""How sure a model is of a document's rank: quantiles of the distribution over rankings that its loss stands for.

They follow from the scores that a run keeps, for built-in methods whose distribution has no learned parameters.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from podium.experiments.plan.configuration import MethodFacts
from podium.experiments.result.summary import MethodSummary, one_per_fold
from podium.experiments.run.outcomes import Result
from podium.probabilities.boltzmann import LONGEST_EXACT
from podium.probabilities.families import Family, family_of
from podium.probabilities.tally import places
from podium.rankers.fitted import FittedEstimator
from podium.rankers.methods import METHODS, accepted

if TYPE_CHECKING:
    from podium.experiments.result.comparison import Comparison

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
DRAWS = 1000
LONGEST = 300
"""Documents of the longest list whose rankings are drawn: the page should not take longer than the comparison."""
_SLOW = {"boltzmann": LONGEST_EXACT, "partitions, geometric": 60}
"""… where drawing takes chains, or n³ per ranking."""


class Spread:
    """The distribution of a method's rankings, of its result on one fold."""

    def __init__(self, family: Family, longest: int) -> None:
        self.family, self.longest = family, longest

    def ranks(self, scores: np.ndarray, documents: np.ndarray) -> list[list[int]] | None:
        """Return the quantiles of each document's rank, from 1; None if the list is too long."""
        if len(scores) > self.longest:
            return None
        ahead, _ = places(self.family(np.asarray(scores, np.float64), 0).draw(DRAWS))
        found = np.quantile(ahead[:, documents], QUANTILES, axis=0, method="inverted_cdf").T + 1
        return found.astype(int).tolist()


def spreads(comparison: Comparison, rows: list[MethodSummary]) -> list[list[Spread | None]]:
    """Return, per fold and method, how its rankings are distributed; None where that is not known."""
    facts = comparison.configuration.methods
    by_method = [[_spread(row.method, facts[row.method], r) for r in one_per_fold(row.results)] for row in rows]
    return [list(fold) for fold in zip(*by_method, strict=True)]


def _spread(name: str, facts: MethodFacts, result: Result) -> Spread | None:
    if facts.family == "own" or name not in METHODS or result.parameters is None:
        return None
    build = METHODS[name].build
    ranker = build(**accepted(build, {**facts.fixed, **result.parameters}))
    loss: Any = ranker._loss() if isinstance(ranker, FittedEstimator) else None
    if loss is None or loss.n_parameters or loss.rankings in (None, "network"):
        return None
    try:
        family = family_of(loss, np.empty(0))
    except ValueError:  # a form of the loss that has none
        return None
    kind = f"{loss.rankings}, {loss.potential}" if loss.rankings == "partitions" else loss.rankings
    return None if family is None else Spread(family, _SLOW.get(kind, LONGEST))
