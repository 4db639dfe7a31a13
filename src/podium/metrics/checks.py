"""Checks of what is evaluated, and the messages when it cannot be."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from podium.metrics.conventions import Convention

GOOD, SCORE_IS_NAN, LABEL_NOT_FINITE, NEGATIVE_GRADE, ABOVE_MAX_GRADE, HUGE_GRADE = range(6)
"""What the kernel may find wrong with a query."""
COMPILED_FOR: tuple[Literal["C", "A", "W"], ...] = ("C", "A", "W")
"""For any other kind of array, such as a read-only column of a frame, kernels would be compiled again, for seconds."""


def as_column(values: Any, n: int, name: str) -> np.ndarray:
    """Return an array with one entry per document."""
    array = np.asarray(values)
    if array.shape != (n,):
        raise ValueError(f"{name} must have one entry for each of the {n} documents; got shape {array.shape}")
    return array


def as_labels(labels: np.ndarray) -> np.ndarray:
    """Return labels as float64."""
    return np.require(labels, np.float64, COMPILED_FOR)


def as_scores(scores: np.ndarray) -> np.ndarray:
    """Return scores as float32 or float64, without a copy where they are that already."""
    dtype = scores.dtype if scores.dtype in (np.float32, np.float64) else np.dtype(np.float64)
    return np.require(scores, dtype, COMPILED_FOR)


def as_judged(judged: Any, n: int) -> np.ndarray:
    """Return which documents were judged, as booleans."""
    mask = as_column(judged, n, "judged")
    if mask.dtype != np.bool_:
        raise ValueError(f"judged must be True or False for each document; got {mask.dtype}")
    return mask


def explain(
    trouble: int, query: str, scores: np.ndarray, labels: np.ndarray, max_grade: float, rules: Convention
) -> str:
    """Return what is wrong with this query and what to do about it."""
    if trouble == SCORE_IS_NAN:
        document = int(np.flatnonzero(np.isnan(scores))[0])
        return f"{query}: the score of document {document} of that query is NaN; metrics need numbers to rank by"
    if trouble == LABEL_NOT_FINITE:
        document = int(np.flatnonzero(~np.isfinite(labels))[0])
        return (
            f"{query}: the label of document {document} of that query is {labels[document]}; "
            "labels must be finite: give unjudged documents a grade, or name them with judged=mask"
        )
    if trouble == NEGATIVE_GRADE:
        return (
            f"{query} has the grade {labels.min():g}, but metrics made of gains (ndcg, dcg, err) have none below 0 "
            f"(convention {rules}): shift the grades, or count them as worth nothing with {rules}+negative=zero"
        )
    if trouble == ABOVE_MAX_GRADE and rules.stop == "label":
        return f"{query} has the label {labels.max():g}; err takes labels as probabilities under {rules}: 0 to 1"
    if trouble == ABOVE_MAX_GRADE:
        return f"{query} has the grade {labels.max():g}, above max_grade = {max_grade:g} of err (convention {rules})"
    assert trouble == HUGE_GRADE
    return f"{query} has the grade {labels.max():g}: 2^grade is out of range; rescale the grades or use gain='linear'"
