"""Queries as notebooks show them: sizes, grades and the first lists."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from podium.core.showing.html import Html, histogram, output, remarks, share, table

if TYPE_CHECKING:
    from podium.data.queries import Queries

SHOWN = 5
"""Queries of which a line is shown."""
GRADES = 12
"""The most distinct grades that are counted one by one."""


def html(queries: Queries) -> str:
    """Return the sizes of the lists, the counts of the grades and the first queries."""
    return output(
        _title(queries),
        sizes_table("documents per query", queries.sizes),
        grades_table("grade", queries.labels) if queries.has_labels else Html(),
        _first(queries),
    )


def _title(queries: Queries) -> str:
    labels = "" if queries.has_labels else ", no labels"
    if queries.preferences is not None:
        labels = f", {len(queries.preferences):,} preferences"
    kind = "sparse features" if queries.is_sparse else "features"
    return (
        f"Queries: {len(queries):,} queries, {queries.n_documents:,} documents, {queries.n_features:,} {kind} "
        f"({queries.dtype}){labels}"
    )


def sizes_table(what: str, sizes: np.ndarray) -> Html:
    """Return smallest, median and largest length of lists, with a histogram."""
    if not len(sizes):
        return Html()
    figures = (f"{value:,g}" for value in (sizes.min(), np.median(sizes), sizes.max()))
    drawn = histogram(sizes, f"{what}: histogram from {sizes.min()} to {sizes.max()}")
    return table(["", "least", "median", "most", ""], [[what, *figures, drawn]], numbers=(1, 2, 3))


def grades_table(what: str, labels: np.ndarray) -> Html:
    """Return how often each grade occurs, or a histogram if there are many."""
    if not len(labels):
        return Html()
    grades, counts = np.unique(labels, return_counts=True)
    if len(grades) > GRADES:
        drawn = histogram(labels, f"{what}s: histogram from {grades[0]:g} to {grades[-1]:g}")
        return table(
            ["", "least", "most", ""], [[f"{len(grades):,} {what}s", f"{grades[0]:g}", f"{grades[-1]:g}", drawn]]
        )
    shares = counts / counts.sum()
    rows = [
        [f"{grade:g}", f"{count:,}", f"{100 * part:.1f} %", share(part, f"{100 * part:.1f} %")]
        for grade, count, part in zip(grades, counts.tolist(), shares.tolist(), strict=True)
    ]
    return table([what, "count", "share", ""], rows, numbers=(1, 2))


def _first(queries: Queries) -> Html:
    n = min(SHOWN, len(queries))
    rows = []
    for q in range(n):
        some = slice(int(queries.offsets[q]), int(queries.offsets[q + 1]))
        grades = " ".join(f"{grade:g}" for grade in queries.labels[some][:20].tolist()) if queries.has_labels else "–"
        more = " …" if queries.has_labels and some.stop - some.start > 20 else ""
        rows.append([str(queries.qids[q]), f"{some.stop - some.start:,}", grades + more])
    if not rows:
        return Html()
    rest = [f"… and {len(queries) - n:,} more"] if len(queries) > n else []
    return Html(table(["query", "documents", "grades"], rows, numbers=(1,)) + remarks(rest))
