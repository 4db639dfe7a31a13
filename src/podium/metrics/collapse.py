"""Lists that show only a limited number of documents per group (a host, a seller, an author).

A search engine that finds five pages of one host shows two of them. To evaluate that, each list is cut before it is
measured: of each group, the documents with the highest scores stay, and the others are neither shown nor found. The
list is compared with the best one that could have been shown: of each group, as many documents with the highest grades.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from podium.core.parameters import require_count
from podium.data.grouping import number_by_first_appearance
from podium.metrics.checks import LABEL_NOT_FINITE, SCORE_IS_NAN, as_column


class Collapse(NamedTuple):
    """The group of each document, and how many documents of a group are shown."""

    groups: np.ndarray
    """(n_documents,) numbers."""
    limit: int


class Shown(NamedTuple):
    """Lists as they are shown, and the best ones that could have been."""

    scores: np.ndarray
    labels: np.ndarray
    offsets: np.ndarray
    keys: np.ndarray
    pool: np.ndarray
    """(n_documents,) the highest grades of as many documents of each group; in any order within a query."""


def as_collapse(collapse: Any, n: int) -> Collapse:
    """Check ``(group ids, limit)`` as given by the caller, for ``n`` documents."""
    try:
        ids, limit = collapse
    except (TypeError, ValueError):
        raise ValueError(
            "collapse must be a pair: the group id of each document, and how many of a group are shown"
        ) from None
    require_count("the limit of collapse", limit)
    ids = as_column(ids, n, "the group ids of collapse")
    missing = np.flatnonzero([x is None for x in ids] if ids.dtype == object else ids != ids)
    if len(missing):
        raise ValueError(
            f"the group id of row {missing[0]} is missing ({len(missing)} such rows); a document that belongs to no "
            "group needs an id of its own"
        )
    return Collapse(number_by_first_appearance(ids)[0], int(limit))


def trouble(scores: np.ndarray, labels: np.ndarray, offsets: np.ndarray) -> tuple[int, int]:
    """Return the first query that cannot be cut because it cannot be ordered, and why; why is 0 if there is none."""
    for bad, why in ((np.isnan(scores), SCORE_IS_NAN), (~np.isfinite(labels), LABEL_NOT_FINITE)):
        if bad.any():
            return int(np.searchsorted(offsets, np.argmax(bad), side="right")) - 1, why
    return 0, 0


def show(
    collapse: Collapse,
    scores: np.ndarray,
    labels: np.ndarray,
    offsets: np.ndarray,
    keys: np.ndarray,
    choice: np.ndarray,
) -> Shown:
    """Cut each list. Of documents of one group and score, those with the lowest ``choice`` (or the first, if it is
    empty) are shown. ``keys`` are cut along."""
    query = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    by_choice = (choice, -scores) if len(choice) else (-scores,)
    shown = np.sort(_first_of_groups(query, collapse, by_choice))
    best = _first_of_groups(query, collapse, (-labels,))
    sizes = np.bincount(query[shown], minlength=len(offsets) - 1)
    return Shown(
        scores[shown],
        labels[shown],
        np.concatenate(([0], np.cumsum(sizes))),
        keys[shown] if len(keys) else keys,
        labels[np.sort(best)],
    )


def _first_of_groups(query: np.ndarray, collapse: Collapse, keys: tuple[np.ndarray, ...]) -> np.ndarray:
    """Return the documents among the first ``limit`` of their query and group, sorted by these keys, the last first."""
    order = np.lexsort((*keys, collapse.groups, query))
    group, of_query = collapse.groups[order], query[order]
    starts = np.flatnonzero(np.append(True, (group[1:] != group[:-1]) | (of_query[1:] != of_query[:-1])))[: len(order)]
    place = np.arange(len(order)) - np.repeat(starts, np.diff(np.append(starts, len(order))))
    return order[place < collapse.limit]
