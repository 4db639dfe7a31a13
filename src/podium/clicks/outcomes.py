"""What a log of interleaved lists says: which of two rankings people prefer."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from podium.core.parameters import require_number
from podium.data.frames import as_table, as_values, is_frame, require_columns
from podium.data.grouping import as_column, as_ids, number_by_first_appearance

__all__ = ["InterleavingResult", "interleaving_result"]

COLUMNS = ("session", "document", "team", "clicked")


@dataclass(frozen=True)
class InterleavingResult:
    """How often each of two rankings won, as :func:`podium.clicks.interleaving_result` counts it.

    A session is won by the ranking with more clicks on its documents; others, such as those without a click, are
    undecided and say nothing.

    Parameters
    ----------
    wins_a, wins_b : int
        Sessions won by either ranking.
    undecided : int
        Sessions with as many clicks for the one as for the other.

    Examples
    --------
    >>> from podium.clicks import InterleavingResult
    >>> result = InterleavingResult(wins_a=9, wins_b=1, undecided=5)
    >>> result.share, result.p_value  # 2 · (1 + 10) / 2¹⁰
    (0.9, 0.021484375)
    >>> print(result)
    a wins 9 of 10 decided sessions, 90.0 % [55.5 %, 99.7 %]; sign test p = 0.021; 5 of 15 sessions undecided
    """

    wins_a: int
    wins_b: int
    undecided: int

    @property
    def decided(self) -> int:
        """How many sessions one of the rankings won."""
        return self.wins_a + self.wins_b

    @property
    def sessions(self) -> int:
        """How many sessions there are, undecided ones included."""
        return self.decided + self.undecided

    @property
    def share(self) -> float:
        """The share of the decided sessions that ``a`` won; NaN if none is decided."""
        return self.wins_a / self.decided if self.decided else float("nan")

    @property
    def difference(self) -> float:
        """The share minus ½: what :func:`podium.clicks.plan` plans for."""
        return self.share - 0.5

    @cached_property
    def p_value(self) -> float:
        """Two-sided p-value of the exact sign test; 1 if no session is decided."""
        from scipy.special import bdtr

        return min(1.0, 2.0 * float(bdtr(min(self.wins_a, self.wins_b), self.decided, 0.5))) if self.decided else 1.0

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return the exact interval of the share (Clopper and Pearson 1934).

        At 95 % it leaves ½ out if the p-value is below .05, and only then.

        Parameters
        ----------
        level : float
            Coverage, at least.

        Returns
        -------
        tuple of float
            Lower and upper end; 0 and 1 if no session is decided.
        """
        from scipy.special import betaincinv

        require_number("level", level, above=0.0, below=1.0)
        tail, a, b = (1.0 - level) / 2.0, self.wins_a, self.wins_b
        low = float(betaincinv(a, b + 1, tail)) if a else 0.0
        return low, float(betaincinv(a + 1, b, 1.0 - tail)) if b else 1.0

    def __str__(self) -> str:
        if not self.decided:
            return f"none of {self.sessions} sessions is decided"
        low, high = self.interval()
        return (
            f"a wins {self.wins_a} of {self.decided} decided sessions, {self.share:.1%} [{low:.1%}, {high:.1%}]; "
            f"sign test p = {self.p_value:.2g}; {self.undecided} of {self.sessions} sessions undecided"
        ).replace("%", " %")


def interleaving_result(log: Any) -> InterleavingResult:
    """Count which of two interleaved rankings won how many sessions.

    Parameters
    ----------
    log : frame or mapping of arrays
        One row per document shown, in any order, with the columns ``session`` and ``document`` (ids of any type),
        ``team`` (``"a"``, ``"b"``, or nothing for documents that count to neither: None, NaN or an empty text) and
        ``clicked`` (0 or 1, False or True). A pandas, polars or pyarrow frame, or a dictionary. Rows without a click
        may be missing: they only add undecided sessions.

    Returns
    -------
    InterleavingResult
        Wins, share, interval and sign test over the decided sessions.

    Examples
    --------
    >>> from podium.clicks import interleaving_result
    >>> log = {"session": [1, 1, 2, 2, 3], "document": ["x", "y", "y", "x", "x"]}
    >>> log |= {"team": ["a", "b", "a", "b", "a"], "clicked": [1, 0, 1, 1, 1]}
    >>> interleaving_result(log)
    InterleavingResult(wins_a=2, wins_b=0, undecided=1)
    """
    columns = _columns(log)
    if len(columns["session"]) == 0:
        raise ValueError("the log has no rows")
    session, first = number_by_first_appearance(columns["session"])
    _require_shown_once(session, columns)
    # 1 for a click on a document of a, −1 for one of b.
    worth = _signs(columns["team"]) * _clicked(columns["clicked"])
    lead = np.bincount(session, worth, minlength=len(first))
    return InterleavingResult(int((lead > 0).sum()), int((lead < 0).sum()), int((lead == 0).sum()))


def _columns(log: Any) -> dict[str, np.ndarray]:
    if is_frame(log):
        table = as_table(log)
        require_columns(table, COLUMNS)
        columns = {name: as_values(table[name]) for name in COLUMNS}
        return columns | {name: as_ids(columns[name], name) for name in ("session", "document")}
    if not isinstance(log, Mapping):
        raise TypeError(f"log must be a frame or a dictionary of columns; got {type(log).__name__}")
    if missing := [name for name in COLUMNS if name not in log]:
        raise ValueError(f"the log has no column {missing[0]!r}; it needs {', '.join(COLUMNS)}")
    n = len(log["session"])
    teams = np.empty(len(log["team"]), object)  # NumPy would make the text "nan" of a NaN among texts
    teams[:] = list(log["team"])
    ids = {name: as_column(as_ids(log[name], name), n, name) for name in ("session", "document")}
    return ids | {"team": as_column(teams, n, "team"), "clicked": as_column(log["clicked"], n, "clicked")}


def _require_shown_once(session: np.ndarray, columns: dict[str, np.ndarray]) -> None:
    document, _ = number_by_first_appearance(columns["document"])
    pairs = session * (document.max() + 1) + document
    order = np.argsort(pairs, kind="stable")
    again = order[1:][pairs[order[1:]] == pairs[order[:-1]]]
    if len(again):
        row = int(again.min())
        shown, where = columns["document"][row : row + 1].tolist()[0], columns["session"][row : row + 1].tolist()[0]
        raise ValueError(
            f"row {row} (from 0): document {shown!r} is in session {where!r} a second time ({len(again)} such rows); "
            "keep one row per document shown, clicked if any of them is"
        )


def _signs(teams: np.ndarray) -> np.ndarray:
    """Return 1 for documents of a, −1 for those of b and 0 for those of neither."""
    number, first = number_by_first_appearance(teams)
    return np.array([_sign(teams[row : row + 1].tolist()[0], int(row)) for row in first])[number]


def _sign(team: Any, row: int) -> int:
    if team in ("a", "b"):
        return 1 if team == "a" else -1
    if team is None or team == "" or team != team:  # NaN is not equal to itself
        return 0
    raise ValueError(f"row {row} (from 0): team must be 'a', 'b' or missing; got {team!r}")


def _clicked(values: np.ndarray) -> np.ndarray:
    try:
        clicked = values.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"clicked must be 0 or 1: {error}") from None
    bad = np.flatnonzero((clicked != 0.0) & (clicked != 1.0))
    if len(bad):
        row = int(bad[0])
        raise ValueError(f"row {row} (from 0): clicked must be 0 or 1; got {clicked[row]:g} ({len(bad)} such rows)")
    return clicked
