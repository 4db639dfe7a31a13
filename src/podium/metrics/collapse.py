"""Lists that show only a limited number of documents per group (a host, a seller, an author).

A search engine that finds five pages of one host shows two of them. To evaluate that, each list is cut before it is
measured: of each group, the documents with the highest scores stay, and the others are neither shown nor found. The
list is compared with the best one that could have been shown: of each group, as many documents with the highest grades.
"""

from typing import Any, NamedTuple

import numpy as np

from podium.core.parameters import require_count
from podium.data.grouping import as_column, as_ids, number_by_first_appearance
from podium.metrics.kernel import Shown


class Collapse(NamedTuple):
    """The group of each document, and how many documents of a group are shown."""

    groups: np.ndarray
    """(n_documents,) numbers."""
    limit: int


def as_collapse(collapse: Any, n: int) -> Collapse:
    """Check ``(group ids, limit)`` as given by the caller, for ``n`` documents."""
    try:
        ids, limit = collapse
    except (TypeError, ValueError):
        raise ValueError(
            "collapse must be a pair: the group id of each document, and how many of a group are shown"
        ) from None
    require_count("the limit of collapse", limit)
    ids = as_column(as_ids(ids, "group id"), n, "the group ids of collapse")
    return Collapse(number_by_first_appearance(ids)[0], int(limit))


def show(collapse: Collapse, lists: Shown, choice: np.ndarray) -> Shown:
    """Cut each list. Of documents of one group and score, those with the lowest ``choice`` (or the first, if it is
    empty) are shown."""
    scores, labels, offsets, keys, _ = lists
    query = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    by_choice = (choice, -scores) if len(choice) else (-scores,)
    shown = np.sort(_first_of_groups(query, collapse, by_choice))
    best = np.sort(_first_of_groups(query, collapse, (-labels,)))
    ends = np.searchsorted(query[shown], np.arange(len(offsets)))
    return Shown(scores[shown], labels[shown], ends, keys[shown] if len(keys) else keys, labels[best])


def _first_of_groups(query: np.ndarray, collapse: Collapse, keys: tuple[np.ndarray, ...]) -> np.ndarray:
    """Return the documents among the first ``limit`` of their query and group, sorted by these keys, the last first."""
    order = np.lexsort((*keys, collapse.groups, query))
    group, of_query = collapse.groups[order], query[order]
    starts = np.flatnonzero(np.append(True, (group[1:] != group[:-1]) | (of_query[1:] != of_query[:-1])))[: len(order)]
    place = np.arange(len(order)) - np.repeat(starts, np.diff(np.append(starts, len(order))))
    return order[place < collapse.limit]
