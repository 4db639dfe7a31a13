"""The rules that a boosted ranker has learned, for reading."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import overload


@dataclass(frozen=True, slots=True)
class WeightedRule:
    """A term of a score: ``weight`` times a feature's value, or ``weight`` if the value is above the threshold."""

    feature: int
    name: str
    weight: float
    threshold: float | None = None

    @property
    def condition(self) -> str:
        return self.name if self.threshold is None else f"{self.name} > {self.threshold:.6g}"


class Explanation(Sequence[WeightedRule]):
    """The rules of a ranker, the features that matter most first; a document's score is their sum.

    A sequence of :class:`WeightedRule`; printing it gives a table.
    """

    def __init__(self, rules: Sequence[WeightedRule], *, scaled: str = "") -> None:
        self._rules = tuple(rules)
        self._scaled = scaled

    def __len__(self) -> int:
        return len(self._rules)

    @overload
    def __getitem__(self, index: int) -> WeightedRule: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[WeightedRule, ...]: ...
    def __getitem__(self, index: int | slice) -> WeightedRule | tuple[WeightedRule, ...]:
        return self._rules[index]

    def __iter__(self) -> Iterator[WeightedRule]:
        return iter(self._rules)

    def __str__(self) -> str:
        if not self._rules:
            return "no rules: all documents have the score 0"
        values = self._rules[0].threshold is None
        heading = "score = sum of weight × feature" if values else "score = sum of the weights of the rules that hold"
        lines = [f"{rule.weight:+12.6g}  {rule.condition}" for rule in self._rules]
        return "\n".join([heading + self._scaled, *lines])

    def __repr__(self) -> str:
        return f"<Explanation of {len(self)} rules>"
