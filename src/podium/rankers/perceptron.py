"""PRank's pass over documents: a perceptron with thresholds between grades.

Crammer, Singer: Pranking with ranking. NIPS 2001.
"""

from typing import Any, NamedTuple

import numpy as np

from podium.numerics.compiling import compiled
from podium.scorers.linear.rows import add_rows, score_rows


class PerceptronState(NamedTuple):
    """What a pass changes: weights of the features as given, thresholds, and what their means over time need."""

    coef: np.ndarray
    """(n_features + 1,) the constant last: standardized features have one."""
    thresholds: np.ndarray
    """(n_grades − 1,)"""
    late_coef: np.ndarray
    """(n_features + 1,) each change times the number of documents seen before it."""
    late_thresholds: np.ndarray
    counts: np.ndarray
    """(2,) documents seen in all passes; sum of distances between predicted and true grades in the last pass."""

    def averaged(self) -> tuple[np.ndarray, np.ndarray]:
        """Return weights and thresholds as they were on average after each document."""
        seen = max(self.counts[0], 1.0)
        return self.coef - self.late_coef / seen, self.thresholds - self.late_thresholds / seen


def new_state(n_features: int, n_grades: int) -> PerceptronState:
    """Return the state before the first document: all is 0."""
    sizes = (n_features + 1, n_grades - 1, n_features + 1, n_grades - 1, 2)
    return PerceptronState(*(np.zeros(size) for size in sizes))


def _visit_documents(
    rows: Any,
    order: np.ndarray,
    grades: np.ndarray,
    weights: np.ndarray,
    mean: np.ndarray,
    inverse_scale: np.ndarray,
    state: PerceptronState,
) -> None:
    """Visit documents in this order; where a threshold is on the wrong side of a score, move both toward each other.

    ``grades`` are numbers from 0, ``weights`` factors of each document's changes. The perceptron sees features less
    their ``mean`` times ``inverse_scale``.
    """
    n_features = len(mean)
    score, one, values = np.empty(1), np.ones(1), np.zeros(n_features)
    state.counts[1] = 0.0
    for k in range(len(order)):
        i = order[k]
        score_rows(rows, i, i + 1, state.coef[:n_features], state.coef[n_features], score)
        seen = state.counts[0]
        state.counts[0] += 1.0
        change, predicted = 0.0, 0
        for r in range(len(state.thresholds)):
            side = 1.0 if grades[i] > r else -1.0
            predicted += score[0] > state.thresholds[r]
            if (score[0] - state.thresholds[r]) * side <= 0.0:
                change += side * weights[i]
                state.thresholds[r] -= side * weights[i]
                state.late_thresholds[r] -= seen * side * weights[i]
        state.counts[1] += abs(predicted - grades[i])
        if change == 0.0:
            continue
        add_rows(rows, i, i + 1, one, values)
        for j in range(n_features):
            moved = change * inverse_scale[j] * inverse_scale[j] * (values[j] - mean[j])
            state.coef[j] += moved
            state.coef[n_features] -= mean[j] * moved
            state.late_coef[j] += seen * moved
            state.late_coef[n_features] -= seen * mean[j] * moved
            values[j] = 0.0


visit_documents = compiled(_visit_documents)
