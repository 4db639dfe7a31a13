"""Published figures next to ours: exact where data and protocol are the same, otherwise as context labeled as such.

A data set is recognized by a fingerprint of its test parts (query ids, grades, numbers of documents and features),
which does not depend on the format of its files. The figures come from papers and official tables; each table names
its source and convention.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from podium.experiments.result.comparison import Comparison


@dataclass(frozen=True, slots=True)
class PublishedRow:
    """The published figures of one method."""

    method: str
    """Its published name."""
    ours: str | None
    """Our method of the same kind, as ``podium methods`` lists it; None if we have none."""
    figures: dict[str, float]
    """By metric."""


@dataclass(frozen=True, slots=True)
class PublishedTable:
    """Figures of several methods, published together."""

    title: str
    source: str
    convention: str
    note: str
    """Data and protocol."""
    rows: tuple[PublishedRow, ...]
    exact: bool = False
    """Are these for the same data, folds and convention as the figures next to them?"""

    @property
    def label(self) -> str:
        """The heading of the table next to our figures."""
        return f"published, {self.title}" if self.exact else f"context, other data: {self.title}"

    def best(self, metric: str) -> tuple[str, float] | None:
        """Return the method with the highest figure of a metric, and the figure."""
        found = [(row.figures[metric], row.method) for row in self.rows if metric in row.figures]
        return (max(found)[1], max(found)[0]) if found else None


@dataclass(frozen=True, slots=True)
class _DataSet:
    """A data set for which figures were published."""

    names: tuple[str, ...]
    """A data set whose name contains one of these is related."""
    context: tuple[str, ...]
    fingerprint: str = ""
    exact: tuple[str, ...] = ()


_KNOWN = (
    _DataSet(("ohsumed",), ("ohsumed-letor3",), "c83a2c8d98063ef2", ("ohsumed-letor2",)),
    _DataSet(("yahoo", "ltrc"), ("yahoo-ltr",)),
    _DataSet(("movielens", "ml-100k"), ("movielens-100k-10", "movielens-100k-20", "movielens-100k-50")),
)


def tables() -> list[str]:
    """Return the names of all tables."""
    folder = resources.files("podium.experiments") / "figures"
    return sorted(path.name.removesuffix(".tsv") for path in folder.iterdir() if path.name.endswith(".tsv"))


@cache
def table(name: str) -> PublishedTable:
    """Return a table by name.

    Examples
    --------
    >>> letor = table("ohsumed-letor2")
    >>> letor.convention, letor.best("ndcg@1")
    ('letor', ('MHR-BC', 0.5519))
    """
    if name not in tables():
        raise ValueError(f"no published figures are called {name!r}; there are {', '.join(tables())}")
    lines = (resources.files("podium.experiments") / "figures" / f"{name}.tsv").read_text("utf-8").splitlines()
    about = dict(line[2:].split(": ", 1) for line in lines if line.startswith("# "))
    (_, _, *metrics), *rows = (line.split("\t") for line in lines if not line.startswith("# "))
    return PublishedTable(
        about["title"],
        about["source"],
        about["convention"],
        about["note"],
        tuple(
            PublishedRow(name, ours or None, {m: float(v) for m, v in zip(metrics, values, strict=True) if v})
            for name, ours, *values in rows
        ),
    )


def for_dataset(fingerprint: str, name: str = "") -> list[PublishedTable]:
    """Return the tables for the data with this fingerprint, then those for related data, recognized by name."""
    found: list[PublishedTable] = []
    for data in _KNOWN:
        same = bool(data.fingerprint) and fingerprint == data.fingerprint
        if same:
            found += [replace(table(exact), exact=True) for exact in data.exact]
        if same or any(part in name.lower() for part in data.names):
            found += [table(other) for other in data.context]
    return found


def for_comparison(comparison: Comparison) -> list[PublishedTable]:
    """Return the tables to show next to a comparison, exact ones first.

    Figures under another convention than the comparison's are context, even if the data are the same.
    """
    if comparison.configuration.estimated:
        return []
    data = comparison.configuration.data
    parts = {result.fold: result.test_fingerprint for result in comparison.results if result.error is None}
    fingerprint = combined(parts.values()) if len(parts) == len(comparison.folds) else ""
    found = [
        replace(t, exact=t.exact and comparison.averages_folds and t.convention == comparison.convention)
        for t in for_dataset(fingerprint, data.name)
    ]
    return sorted(found, key=lambda t: not t.exact)


def combined(fingerprints: Iterable[str]) -> str:
    """Return the fingerprint of all test parts together, in any order."""
    return hashlib.blake2b(" ".join(sorted(fingerprints)).encode(), digest_size=8).hexdigest()


@dataclass(frozen=True, slots=True)
class Pair:
    """A published method and our method of the same kind."""

    published: str
    ours: str | None
    """None if we have none, or if it took no part."""
    figures: dict[str, tuple[float | None, float | None]]
    """The published figure and ours by metric; None where there is none."""
    is_summary: bool = False
    """Is this the best published figure of each metric, next to the one method that was picked without test data?"""

    def texts(self, metrics: list[str]) -> list[str]:
        """Return both figures of each metric as text, for formats that have one cell for both."""
        return [" / ".join("–" if f is None else f"{f:.4f}" for f in self.figures[metric]) for metric in metrics]


@dataclass(frozen=True, slots=True)
class PairedTable:
    """A published table and our figures, row by row."""

    table: PublishedTable
    metrics: list[str]
    """Those that both have."""
    pairs: list[Pair]

    @property
    def note(self) -> str:
        """Where the figures are from, and what the last row means."""
        about = self.table
        note = f"Published / ours. Source: {about.source}; convention {about.convention}. {about.note}"
        summary = next((pair for pair in self.pairs if pair.is_summary), None)
        if summary is None:
            return note
        last = f"Last row: the best published figure of each metric, and {summary.ours}, picked without the test parts."
        return f"{note.rstrip('.')}. {last}"


def paired_tables(comparison: Comparison, *, exact: bool) -> list[PairedTable]:
    """Return the published tables that have metrics of ours: those for exactly these data, or only the others."""
    found = []
    for published in comparison.published:
        known = {metric for row in published.rows for metric in row.figures}
        metrics = [metric for metric in comparison.metrics if metric in known]
        if metrics and published.exact == exact:
            found.append(PairedTable(published, metrics, _pairs(comparison, published, metrics)))
    return found


def _pairs(comparison: Comparison, published: PublishedTable, metrics: list[str]) -> list[Pair]:
    ours = {row.method: {m: e.mean for m, e in row.estimates.items()} for row in comparison.rows if row.estimates}
    pairs = []
    for row in published.rows:
        name = row.ours if row.ours in ours else None
        mine = ours[name] if name else {}
        pairs.append(Pair(row.method, name, {m: (row.figures.get(m), mine.get(m)) for m in metrics}))
    picked = comparison.pick
    if published.exact and picked is not None:
        best = {m: (found[1] if (found := published.best(m)) else None, ours[picked].get(m)) for m in metrics}
        pairs.append(Pair("best of each column", picked, best, is_summary=True))
    return pairs
