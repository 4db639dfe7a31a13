"""The boosting loop: weigh, choose the best weak ranker, add it, repeat."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from podium.core.fields import Fields
from podium.core.parameters import count, number
from podium.data.queries import Queries
from podium.scorers.thresholds import by_column, column
from podium.training.base import Convergence, Progress, Validation
from podium.training.monitor import Watch

LARGEST_WEIGHT = 0.5 * np.log(2e6)
"""Largest weight of a rule. A weak ranker without a mistake would have an infinite one, and overrule all others."""
ALIKE = 1e-9
"""Merits that differ by less than this share are equal, so that rounding does not decide between weak rankers."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A weak ranker with its weight: the value of one feature, or whether it is above a threshold."""

    feature: int
    weight: float
    threshold: float | None = None

    def scores(self, values: np.ndarray) -> np.ndarray:
        """Return what the rule adds to the scores of documents with these values of its feature."""
        return self.weight * (values if self.threshold is None else values > self.threshold)


class Weighting(Protocol):
    """The part in which boosting methods differ, made for given training queries."""

    def weigh(self, scores: np.ndarray) -> float:
        """Weigh queries or pairs by how badly these scores rank them, and return the loss."""
        ...

    def best_rule(self) -> Rule | None:
        """Return the weak ranker that is best under the present weights; None if none is better than chance."""
        ...


class BoostingLoop(Fields):
    """Base class of rankers that boost weak rankers on single features: the loop of all methods.

    Parameters
    ----------
    n_rounds : int
        Rules to choose, at most.
    learning_rate : float
        Each rule's weight is multiplied by this; the papers have 1.
    early_stopping : bool
        With validation queries: keep the best round. False keeps all rounds, which is wiser where validation queries
        are few: rankings by few rules are mostly ties, and which of them does best is luck.
    patience : int, optional
        With early stopping: stop after so many rounds without a better one.
    """

    n_rounds: int = count(100)
    learning_rate: float = number(1.0, above=0)
    early_stopping: bool = True
    patience: int | None = count(None)

    def _boost(
        self,
        weighting: Weighting,
        queries: Queries,
        validation: Validation | None = None,
        callback: Callable[[Progress], Any] | None = None,
        verbose: int = 0,
    ) -> tuple[list[Rule], Convergence]:
        """Return the rules, in the order they were chosen, and how the training ended."""
        patience = self.patience if self.early_stopping else None
        watch = Watch(validation, callback, verbose, patience=patience, step="round", total=self.n_rounds)
        ensembles = [_Ensemble(queries)] if validation is None else [_Ensemble(queries), _Ensemble(validation.queries)]
        rules: list[Rule] = []
        with watch.interruptible("feature boosting"):
            weighting.weigh(ensembles[0].scores)
            while len(watch.losses) < self.n_rounds and watch.reason is None:
                rule = weighting.best_rule()
                if rule is None:
                    watch.end("no weak ranker is better than chance anymore", converged=True)
                    break
                rules.append(Rule(rule.feature, self.learning_rate * rule.weight, rule.threshold))
                for ensemble in ensembles:
                    ensemble.add(rules[-1])
                loss = weighting.weigh(ensembles[0].scores)
                watch.record(loss, None if validation is None else validation.judge_scores(ensembles[1].scores))
        best = self.early_stopping and watch.best_iter is not None
        best_rules = rules[: watch.best_iter if best else len(watch.losses)]
        return best_rules, watch.convergence(f"{self.n_rounds} rounds", best=best)


class _Ensemble:
    """Scores of some queries by the rules so far."""

    def __init__(self, queries: Queries) -> None:
        self.features = by_column(queries.features)
        self.scores = np.zeros(queries.n_documents)

    def add(self, rule: Rule) -> None:
        self.scores += rule.scores(column(self.features, rule.feature))


def log_odds(good: float, bad: float) -> float:
    """Return ½ ln(good / bad), within limits: the weight of a rule right with weight ``good``, wrong with ``bad``."""
    if good <= 0 or bad <= 0:
        return LARGEST_WEIGHT if good > 0 else -LARGEST_WEIGHT if bad > 0 else 0.0
    return float(np.clip(0.5 * np.log(good / bad), -LARGEST_WEIGHT, LARGEST_WEIGHT))


def first_best(merits: np.ndarray) -> int:
    """Return where the highest merit is: the first place of those that are equal but for rounding."""
    return int(np.argmax(merits >= merits.max() - ALIKE * abs(merits.max())))
