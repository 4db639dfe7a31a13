"""Published figures, to be set beside ours: exactly where the data are the same, else as labelled context.

A data set is known by a fingerprint of its test parts (query ids, grades, numbers of documents and features), which
does not depend on the format of its files. The figures are facts from papers and official tables; each table says where
they are from and under which convention.
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
    """What was published of one method."""

    method: str
    """By its published name."""
    ours: str | None
    """Our method of the same kind, as ``podium methods`` lists it; None if we have none."""
    figures: dict[str, float]
    """By metric."""


@dataclass(frozen=True, slots=True)
class PublishedTable:
    """Figures that belong together."""

    title: str
    source: str
    convention: str
    note: str
    """Data and protocol."""
    rows: tuple[PublishedRow, ...]
    exact: bool = False
    """Are these for the very data, folds and convention they are shown beside?"""

    @property
    def label(self) -> str:
        """How the table is to be announced beside our figures."""
        return f"published, {self.title}" if self.exact else f"context, other data: {self.title}"

    def best(self, metric: str) -> tuple[str, float] | None:
        """The highest figure for a metric, and whose it is."""
        found = [(row.figures[metric], row.method) for row in self.rows if metric in row.figures]
        return (max(found)[1], max(found)[0]) if found else None


@dataclass(frozen=True, slots=True)
class _DataSet:
    """A data set that figures were published for."""

    names: tuple[str, ...]
    """What the names of its relatives contain."""
    context: tuple[str, ...]
    fingerprint: str = ""
    exact: tuple[str, ...] = ()


_KNOWN = (
    _DataSet(("ohsumed",), ("ohsumed-letor3",), "c83a2c8d98063ef2", ("ohsumed-letor2",)),
    _DataSet(("yahoo", "ltrc"), ("yahoo-ltr",)),
    _DataSet(("movielens", "ml-100k"), ("movielens-100k-10", "movielens-100k-20", "movielens-100k-50")),
)


def tables() -> list[str]:
    """Names of all tables."""
    folder = resources.files("podium.experiments") / "figures"
    return sorted(path.name.removesuffix(".tsv") for path in folder.iterdir() if path.name.endswith(".tsv"))


@cache
def table(name: str) -> PublishedTable:
    """A table by name.

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
    """The tables for the data of a fingerprint, exact ones first; then context for its relatives, known by name."""
    found: list[PublishedTable] = []
    for data in _KNOWN:
        same = bool(data.fingerprint) and fingerprint == data.fingerprint
        if same:
            found += [replace(table(exact), exact=True) for exact in data.exact]
        if same or any(part in name.lower() for part in data.names):
            found += [table(other) for other in data.context]
    return found


def for_comparison(comparison: Comparison) -> list[PublishedTable]:
    """The tables to be shown beside a comparison.

    Figures under another convention than the comparison's are context, however same the data are.
    """
    data = comparison.configuration.data
    parts = {result.fold: result.test_fingerprint for result in comparison.results if result.error is None}
    fingerprint = combined(parts.values()) if len(parts) == len(comparison.folds) else ""
    comparable = comparison.averages_folds
    found = for_dataset(fingerprint, data.name)
    found = [replace(t, exact=t.exact and comparable and t.convention == comparison.convention) for t in found]
    return sorted(found, key=lambda t: not t.exact)


def combined(fingerprints: Iterable[str]) -> str:
    """Of all test parts together, in any order."""
    return hashlib.blake2b(" ".join(sorted(fingerprints)).encode(), digest_size=8).hexdigest()
