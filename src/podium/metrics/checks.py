"""Checks of what is evaluated, and the messages when it cannot be."""

from collections.abc import Callable

import numpy as np

from podium.core.wording import advice
from podium.metrics.conventions import Convention
from podium.metrics.kernel import Shown, Wanted

LARGEST_GRADE = 1000.0
"""2^y of anything above would leave the range of float64."""

NameQuery = Callable[[int], str]


def require_numbers(scores: np.ndarray, labels: np.ndarray, offsets: np.ndarray, name_query: NameQuery) -> None:
    """Raise if a score is NaN or a label is not finite."""
    # Extremes pass NaN on, and are much quicker to find than bad entries.
    if np.isnan(scores.min(initial=0.0)):
        row, what, problem = np.isnan(scores).argmax(), "score", "NaN; metrics need numbers to rank by"
    elif not np.isfinite([labels.min(initial=0.0), labels.max(initial=0.0)]).all():
        row, what = (~np.isfinite(labels)).argmax(), "label"
        problem = f"{labels[row]}; labels must be finite: give unjudged documents a grade" + advice(
            ", or name them with judged=mask", ""
        )
    else:
        return
    q = _query_of(row, offsets)
    raise ValueError(f"{name_query(q)}: the {what} of document {row - offsets[q]} of that query is {problem}")


def require_grades(shown: Shown, wanted: Wanted, rules: Convention, max_grade: float, name_query: NameQuery) -> None:
    """Raise if a metric cannot take one of the grades."""
    labels, gains, stops = shown.labels, wanted.gain_depth > 0, wanted.stops
    lowest, highest = labels.min(initial=0.0), labels.max(initial=0.0)
    is_power = (gains and rules.gain == "exponential") or (stops and rules.stop == "graded")
    too_low = lowest < 0.0 and (gains or stops) and rules.negative == "error"
    if too_low:
        problem = (
            f"the grade {lowest:g}, but metrics made of gains (ndcg, dcg, err) have none below 0 "
            f"(convention {rules}): shift the grades, or count them as worth nothing with {rules}+negative=zero"
        )
    elif highest > max_grade and stops and rules.stop == "label":
        problem = f"the label {highest:g}; err takes labels as probabilities under {rules}: 0 to 1"
    elif highest > max_grade and stops:
        problem = f"the grade {highest:g}, above max_grade = {max_grade:g} of err (convention {rules})"
    elif highest > LARGEST_GRADE and is_power:
        way_out = f"rescale the grades or use the convention {rules}+gain=linear"
        problem = f"the grade {highest:g}: 2^grade is out of range; {way_out}"
    else:
        return
    row = labels.argmin() if too_low else labels.argmax()
    raise ValueError(f"{name_query(_query_of(row, shown.offsets))} has {problem}")


def _query_of(row: np.intp, offsets: np.ndarray) -> int:
    return int(np.searchsorted(offsets, row, side="right")) - 1
