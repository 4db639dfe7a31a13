"""Protocols: how queries become training, validation and test parts. A query is never cut in two.

Each protocol is a value that can be printed, compared and parsed: ``KFold(5)`` is ``kfold:5`` on the command line.
"""

import typing
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Literal

import numpy as np

from podium.data.splits import k_folds

__all__ = ["KFold", "Letor", "RepeatedHoldout", "TimeSplit"]

Numbers = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Numbers of the queries that train, validate and test."""
Average = Literal["folds", "queries", "repeats"]
"""What a figure is the mean of: the folds' means, all test queries, or each query's mean over the repeats it is in."""


@dataclass(frozen=True, slots=True)
class Letor:
    """The folds that a folder has, as LETOR publishes them; figures are means of the folds' means.

    Examples
    --------
    >>> str(Letor()), Letor().describe()
    ('letor', 'folds as the data set has them')
    """

    average: ClassVar[Average] = "folds"

    def __str__(self) -> str:
        return "letor"

    def describe(self) -> str:
        """Return the protocol in words."""
        return "folds as the data set has them"


@dataclass(frozen=True, slots=True)
class KFold:
    """Queries dealt at random into parts, which rotate: one tests, the one before validates, the others train.

    Parameters
    ----------
    k : int
        Number of parts.

    Examples
    --------
    >>> {fold: [len(part) for part in parts] for fold, parts in KFold(3).parts(9, None, random_state=0).items()}
    {'fold 1': [3, 3, 3], 'fold 2': [3, 3, 3], 'fold 3': [3, 3, 3]}
    """

    k: int = 5

    average: ClassVar[Average] = "queries"

    def __str__(self) -> str:
        return f"kfold:{self.k}"

    def describe(self) -> str:
        """Return the protocol in words."""
        return f"dealt into {self.k} folds"

    def parts(self, n_queries: int, times: np.ndarray | None, random_state: int) -> dict[str, Numbers]:
        """Return the numbers of the queries that train, validate and test, by the name of the fold."""
        folds = k_folds(n_queries, self.k, random_state=random_state)
        return {f"fold {i}": (train, valid, test) for i, (train, valid, test) in enumerate(folds, 1)}


@dataclass(frozen=True, slots=True)
class RepeatedHoldout:
    """Random divisions, each with a share of the queries to test and another to validate.

    Parameters
    ----------
    n : int
        Number of divisions.
    test, valid : float
        Shares of the queries.

    Examples
    --------
    >>> protocol = RepeatedHoldout(2, test=0.25)
    >>> {fold: [len(part) for part in parts] for fold, parts in protocol.parts(20, None, random_state=0).items()}
    {'repeat 1': [11, 4, 5], 'repeat 2': [11, 4, 5]}
    """

    n: int = 10
    test: float = 0.2
    valid: float = 0.2

    average: ClassVar[Average] = "repeats"

    def __post_init__(self) -> None:
        _check_shares(self.test, self.valid, self.n, "repeats")

    def __str__(self) -> str:
        return f"holdout:{self.n},{self.test:g},{self.valid:g}"

    def describe(self) -> str:
        """Return the protocol in words."""
        return f"{self.n} random holdouts, {self.valid:.0%} to validate and {self.test:.0%} to test"

    def parts(self, n_queries: int, times: np.ndarray | None, random_state: int) -> dict[str, Numbers]:
        """Return the numbers of the queries that train, validate and test, by the name of the fold."""
        rng = np.random.default_rng(random_state)
        n_test, n_valid = _counts(n_queries, self.test, self.valid)
        found = {}
        for i in range(1, self.n + 1):
            order = rng.permutation(n_queries)
            test, valid, train = np.split(order, [n_test, n_test + n_valid])
            found[f"repeat {i}"] = np.sort(train), np.sort(valid), np.sort(test)
        return found


@dataclass(frozen=True, slots=True)
class TimeSplit:
    """The past trains, what follows validates, the latest queries test.

    Parameters
    ----------
    column : str, optional
        Column of a table with the times: numbers, dates or ISO strings; a query's time is that of its latest row.
        Without it, queries are taken to be in order of time. Queries with equal times keep their order.
    test, valid : float
        Shares of the queries.
    n : int
        Number of windows: with more than one, the last ``n`` stretches of ``test`` are tested one after another, each
        by models that saw only what came before it.

    Examples
    --------
    >>> train, valid, test = TimeSplit(test=0.2).parts(10, None, random_state=0)["latest"]
    >>> train.tolist(), valid.tolist(), test.tolist()
    ([0, 1, 2, 3, 4, 5], [6, 7], [8, 9])
    """

    column: str | None = None
    test: float = 0.2
    valid: float = 0.2
    n: int = 1

    average: ClassVar[Average] = "queries"

    def __post_init__(self) -> None:
        _check_shares(self.n * self.test, self.valid, self.n, "windows")

    def __str__(self) -> str:
        return f"time:{self.column or ''},{self.test:g},{self.valid:g},{self.n}"

    def describe(self) -> str:
        """Return the protocol in words."""
        by = f"the column {self.column!r}" if self.column else "their order"
        windows = f", {self.n} windows" if self.n > 1 else ""
        return f"divided in time by {by}, {self.valid:.0%} to validate and {self.test:.0%} to test{windows}"

    def parts(self, n_queries: int, times: np.ndarray | None, random_state: int) -> dict[str, Numbers]:
        """Return the numbers of the queries that train, validate and test, by the name of the fold."""
        order = np.arange(n_queries) if times is None else np.argsort(times, kind="stable")
        n_test, n_valid = _counts(n_queries, self.test, self.valid)
        found = {}
        for window in range(1, self.n + 1):
            end = n_queries - (self.n - window) * n_test
            if end - n_test - n_valid < 1:
                raise ValueError(
                    f"{n_queries} queries are too few for {self}: the first window has nothing to train on"
                )
            train, valid, test = np.split(order[:end], [end - n_test - n_valid, end - n_test])
            found["latest" if self.n == 1 else f"window {window}"] = train, valid, test
        return found


Protocol = Letor | KFold | RepeatedHoldout | TimeSplit


class Described(typing.Protocol):
    """Something that says in a sentence what it is."""

    def describe(self) -> str: ...


@dataclass(frozen=True, slots=True)
class ProtocolFacts:
    """A protocol by its name and a sentence: one that is stored, or that users cannot ask for."""

    name: str = ""
    text: str = ""

    def __str__(self) -> str:
        return self.name

    def describe(self) -> str:
        """Return the protocol in words."""
        return self.text


FORMS = "letor, kfold[:K], holdout[:N[,TEST[,VALID]]], time[:COLUMN[,TEST[,VALID[,WINDOWS]]]]"


def parse_protocol(text: str | Protocol) -> Protocol:
    """Return the protocol that a string names.

    Examples
    --------
    >>> parse_protocol("kfold:10"), parse_protocol("holdout:20,0.1")
    (KFold(k=10), RepeatedHoldout(n=20, test=0.1, valid=0.2))
    >>> str(parse_protocol("time:day"))
    'time:day,0.2,0.2,1'
    """
    if not isinstance(text, str):
        return text
    name, _, rest = text.strip().partition(":")
    kinds: dict[str, Any] = {"letor": Letor, "kfold": KFold, "holdout": RepeatedHoldout, "time": TimeSplit}
    kind, values = kinds.get(name.lower()), rest.split(",") if rest else []
    if kind is None or len(values) > len(fields(kind)):
        raise ValueError(f"{text!r} is no protocol; there are {FORMS}")
    options: dict[str, Any] = {}
    try:
        for field, value in zip(fields(kind), values, strict=False):
            read: Any = str if field.default is None else type(field.default)
            options |= {field.name: read(value)} if value.strip() else {}
    except ValueError:
        raise ValueError(f"{text!r} is no protocol: a number cannot be read; the forms are {FORMS}") from None
    return kind(**options)


def _check_shares(test: float, valid: float, n: int, what: str) -> None:
    if n < 1:
        raise ValueError(f"{what} must be a whole number from 1 on; got {n}")
    if not (0 < test < 1 and 0 < valid < 1 and test + valid < 1):
        raise ValueError(
            f"test and validation parts are shares of the queries that leave some to train; got {test:g} and {valid:g}"
        )


def _counts(n_queries: int, test: float, valid: float) -> tuple[int, int]:
    n_test, n_valid = round(n_queries * test), round(n_queries * valid)
    if min(n_test, n_valid, n_queries - n_test - n_valid) < 1:
        raise ValueError(
            f"{n_queries} queries are too few to train, to validate ({valid:.0%}) and to test ({test:.0%})"
        )
    return n_test, n_valid
