"""Why one document is above another, for reading."""

from dataclasses import asdict, dataclass
from typing import Any

__all__ = ["Explanation"]

SHOWN = 20


@dataclass(frozen=True, slots=True)
class Contribution:
    """One feature's part in a difference of scores."""

    feature: int
    """Its column, from 0."""
    name: str
    contribution: float
    values: tuple[float, float]
    """The feature's value in the first document and in the second, or its mean over the list."""


@dataclass(frozen=True, slots=True)
class Explained:
    """A document of an explanation, or the list's mean."""

    name: str
    score: float
    row: int | None = None
    """In the data given, from 0; None for the mean."""
    place: int | None = None
    """In the ranking, from 1."""

    def __str__(self) -> str:
        place = "" if self.place is None else f"place {self.place}, "
        return f"{self.name} ({place}score {self.score:.6g})"


@dataclass(frozen=True, slots=True, repr=False)
class Explanation:
    """Contributions of features to the difference between the scores of two documents, or of one and its list's mean.

    Printing it gives a table; :meth:`to_html` a picture, which notebooks show; :meth:`to_dict` plain values.

    Parameters
    ----------
    first, second : Explained
        The two documents: ``name``, ``score``, ``row`` and ``place``.
    contributions : tuple of Contribution
        The contributions of all features, largest first. They add up to the difference.
    method : str
        How they were found.
    query : str, optional
        Id of the query.
    n_documents : int
        The length of the list.
    rules : tuple of tuples
        For rules on single features, those that hold for one document only: the condition, what it adds to the
        difference, and whether it holds for the first.
    standard_error : float
        At most, where contributions are estimated from sampled orders of the features.
    note : str
        What else the reader should know.

    Examples
    --------
    >>> import podium
    >>> queries = podium.make_queries(n_queries=20, n_documents=5, n_features=3, random_state=0)
    >>> why = podium.ListNet().fit(queries).explain(queries, query=0)
    >>> why.difference > 0, len(why.contributions), why.remarks
    (True, 3, ['Exact: the model is linear.'])
    """

    first: Explained
    second: Explained
    contributions: tuple[Contribution, ...]
    method: str
    query: str | None
    n_documents: int
    rules: tuple[tuple[str, float, bool], ...] = ()
    standard_error: float = 0.0
    note: str = ""

    @property
    def difference(self) -> float:
        """The first score minus the second."""
        return self.first.score - self.second.score

    @property
    def title(self) -> str:
        """Which document is above which, in a sentence."""
        where = "" if self.query is None else f"Query {self.query}: "
        if self.second.row is None:
            return f"{where}{self.first} against {self.second}"
        word = "is level with" if self.difference == 0 else "is above" if self.difference > 0 else "is below"
        return f"{where}{self.first} {word} {self.second}"

    @property
    def remarks(self) -> list[str]:
        """How the contributions were found, in sentences."""
        error = f" (standard error at most {self.standard_error:.2g})" if self.standard_error else ""
        method = self.method[:1].upper() + self.method[1:]
        return [f"{method}{error}.", *([self.note] if self.note else [])]

    def shown(self, n: int | None = SHOWN) -> tuple[tuple[Contribution, ...], int, float]:
        """Return the largest contributions, the number of the others, and what these add up to."""
        some = tuple(c for c in self.contributions if c.contribution != 0)
        kept = some if n is None or len(some) <= n else some[:n]
        return kept, len(self.contributions) - len(kept), sum(c.contribution for c in some[len(kept) :])

    def to_text(self, n: int | None = SHOWN) -> str:
        """Return a table of contributions.

        Parameters
        ----------
        n : int, optional
            How many, the largest first; None shows all that are not 0.

        Returns
        -------
        str
            Several lines.
        """
        kept, n_others, others = self.shown(n)
        names = [self.first.name, self.second.name]
        rows = [[c.name, *(f"{value:.6g}" for value in c.values), f"{c.contribution:+.6g}"] for c in kept]
        if n_others:
            rows.append([f"{n_others} other{'s' * (n_others > 1)}", "", "", f"{others:+.6g}"])
        rows.append(["difference", "", "", f"{self.difference:+.6g}"])
        table = [["feature", *names, "contribution"], *rows]
        widths = [max(len(row[i]) for row in table) for i in range(4)]
        bars = ["", *(text_bar(c.contribution, kept[0].contribution) for c in kept)]
        lines = []
        for i, row in enumerate(table):
            cells = [
                row[0].ljust(widths[0]),
                *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)),
            ]
            bar = bars[i] if i < len(bars) else ""
            lines.append("  ".join([*cells, bar]).rstrip())
        lines.insert(-1, "-" * (sum(widths) + 6))
        held = [f"{weight:+12.6g}  {self.rule_text(i)}" for i, (_, weight, _) in enumerate(self.rules[:n])]
        held = ["", "rules that hold for one of the two:", *held] if held else []
        if n is not None and len(self.rules) > n:
            held.append(f"{'':12}  … and {len(self.rules) - n} more")
        return "\n".join([self.title, "", *lines, *held, "", *self.remarks])

    def rule_text(self, i: int) -> str:
        """Return a rule and the document that it holds for."""
        condition, _, first = self.rules[i]
        return f"{condition} ({(self.first if first else self.second).name})"

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        return f"Explanation({self.title})"

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values, for JSON."""
        return {
            "query": self.query,
            "documents": [asdict(document) for document in (self.first, self.second)],
            "difference": self.difference,
            "method": self.method,
            "standard_error": self.standard_error,
            "note": self.note,
            "contributions": [asdict(c) | {"values": list(c.values)} for c in self.contributions],
            "rules": [{"rule": r, "contribution": weight, "holds_for_first": first} for r, weight, first in self.rules],
        }

    def to_html(self, n: int | None = SHOWN) -> str:
        """Return a complete page, without links to anything else, with a bar per feature.

        Parameters
        ----------
        n : int, optional
            As in :meth:`to_text`.

        Returns
        -------
        str
            HTML.
        """
        from podium.core.showing.html import page
        from podium.rankers.explaining.picture import figure

        return page(self.title, figure(self, n))

    def _repr_html_(self) -> str:
        from podium.rankers.explaining.picture import figure

        return figure(self)


def text_bar(value: float, largest: float, width: int = 16) -> str:
    """Return a bar to the right for a positive contribution, to the left of the middle for a negative one."""
    length = round(abs(value / largest) * width / 2) if largest else 0
    left, right = (" " * (width // 2), "█" * length) if value >= 0 else (("░" * length).rjust(width // 2), "")
    return f"{left}|{right}"
