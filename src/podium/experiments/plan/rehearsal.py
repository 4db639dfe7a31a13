"""A rehearsal: picking a method without the test parts, in the way the test parts will judge later.

A method's figure on the validation part is too high, and the more so the more was selected there: settings, number of
trees, the best of several starts. Methods that select much look better than those that select little. In a rehearsal no
query judges what it helped to select: each fold becomes two folds without its test part; in each, one half of the
validation queries selects and the other half judges, as the test part does later.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from podium.experiments.plan.protocol import Average, ProtocolFacts
from podium.experiments.plan.sources import Parts, Source

if TYPE_CHECKING:
    from podium.experiments.result.comparison import Comparison

REHEARSAL = "rehearsal"
"""Name of the folder, in that of the comparison, where the rehearsal has its trials and tables."""


class RehearsalFolds:
    """Two folds for each fold of a source."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._halves = {f"{fold}, half {half + 1}": (fold, half) for fold in source.folds for half in (0, 1)}
        self.folds = list(self._halves)
        self.name = f"rehearsal of {source.name}"
        self.description = f"{source.description}, without test parts"
        self.fingerprint = f"{source.fingerprint} rehearsal"
        how = f"{source.protocol.describe()}; without test parts: half of each validation part chooses, half judges"
        self.protocol = ProtocolFacts(f"rehearsal of {source.protocol}", how)
        self.average: Average = source.average

    def load(self, fold: str) -> Parts:
        """Return the training part, the half of the validation part that selects, and the half that judges."""
        name, half = self._halves[fold]
        train, validation, _ = self._source.load(name)
        if len(validation) < 2:
            raise ValueError(f"{name}: a rehearsal needs two validation queries or more; there is {len(validation)}")
        numbers = np.arange(len(validation))
        return train, validation.take(numbers[numbers % 2 == half]), validation.take(numbers[numbers % 2 != half])


def pick(rehearsal: Comparison) -> str | None:
    """Return the method with the highest mean of all metrics, which varies less than any one of them. Never a floor."""
    best = max(rehearsal.learners, key=lambda row: row.mean_of_metrics, default=None)
    return None if best is None else best.method
