"""The rules that a boosted ranker has learned, for reading."""

from collections import UserList
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class WeightedRule:
    """A term of a score: ``weight`` times a feature's value, or ``weight`` if the value is above the threshold."""

    feature: int
    """Its column, from 0."""
    name: str
    weight: float
    threshold: float | None = None

    @property
    def condition(self) -> str:
        return self.name if self.threshold is None else f"{self.name} > {self.threshold:.6g}"


class Rules(UserList[WeightedRule]):
    """The rules of a ranker, the features that matter most first; a document's score is their sum.

    A list of :class:`WeightedRule`; printing it gives a table.
    """

    def __init__(self, rules: Iterable[WeightedRule] = (), scaled: str = "") -> None:
        super().__init__(rules)
        self._scaled = scaled

    def __str__(self) -> str:
        if not self:
            return "no rules: all documents have the score 0"
        values = self[0].threshold is None
        heading = "score = sum of weight × feature" if values else "score = sum of the weights of the rules that hold"
        lines = [f"{rule.weight:+12.6g}  {rule.condition}" for rule in self]
        return "\n".join([heading + self._scaled, *lines])

    def __repr__(self) -> str:
        return f"<{len(self)} rules>"
