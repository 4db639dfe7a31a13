"""Two rankings shown as one list, each document credited to the ranking that brought it."""

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np

from podium.core.parameters import require_choice, require_count, require_number
from podium.core.random_state import RandomState, as_generator

__all__ = ["InterleavedList", "interleave"]


class InterleavedList(NamedTuple):
    """A list to show, as :func:`podium.clicks.interleave` makes it.

    Parameters
    ----------
    documents : list
        Ids, in the order to be shown.
    teams : list
        For each document ``"a"`` or ``"b"``, the ranking to which a click on it counts; None if to neither.

    Examples
    --------
    >>> from podium.clicks import interleave
    >>> documents, teams = interleave(["x"], ["x", "y"], random_state=0)
    >>> documents, teams[1]
    (['x', 'y'], None)
    """

    documents: list[Hashable]
    teams: list[str | None]


def interleave(
    a: Sequence[Hashable],
    b: Sequence[Hashable],
    method: str = "team-draft",
    *,
    length: int | None = None,
    exponent: float = 3.0,
    random_state: RandomState = None,
) -> InterleavedList:
    """Merge two rankings of the same request into one list to show.

    Log the session, each document shown, its team and whether it was clicked:
    :func:`podium.clicks.interleaving_result` tells from such a log which ranking people prefer.

    Parameters
    ----------
    a, b : sequence of ids
        Documents, best first, each at most once; ids of any hashable type. The rankings may hold different documents.
    method : {"team-draft", "probabilistic"}
        Team draft (Radlinski, Kurup and Joachims 2008) goes in rounds: in each, a coin decides which ranking is first
        to bring its best document that is not yet shown, and then the other does. Probabilistic interleaving (Hofmann,
        Whiteson and de Rijke 2011) throws a coin for each place, and the ranking chosen draws one of its documents
        that are not yet shown, that of its rank r with a weight of r^−exponent: every list can come out.
    length : int, optional
        Documents to show; by default all. What is beyond it is never computed.
    exponent : float
        That of probabilistic interleaving: the higher, the closer the lists are to the rankings.
    random_state : int, generator or None
        Seed of the coins. None, a new one each time, is right for serving; a generator is faster than an integer.

    Returns
    -------
    InterleavedList
        Documents and teams, two lists of equal length, which can be unpacked. Once every document of one ranking is
        shown, what is left of the other follows and counts to neither: it had no rival.

    Examples
    --------
    >>> from podium.clicks import interleave
    >>> documents, teams = interleave(["x", "y", "z"], ["y", "z", "x"], random_state=1)
    >>> documents, teams
    (['y', 'x', 'z'], ['b', 'a', 'a'])
    >>> interleave([1, 2, 3, 4], [4, 3, 2, 1], "probabilistic", length=2, random_state=1).documents
    [4, 1]
    """
    require_choice("method", method, ("team-draft", "probabilistic"))
    first, second = _ids("a", a), _ids("b", b)
    n_places = len(first) + len(second)
    if length is not None:
        require_count("length", length)
        n_places = min(length, n_places)
    generator = as_generator(random_state)
    coins = generator.random(n_places) < 0.5
    if method == "team-draft":
        # The second of a round is the ranking that was not first: a coin and its opposite.
        coins[1::2] = ~coins[: len(coins) - 1 : 2]
    else:
        require_number("exponent", exponent, at_least=0.0, at_most=100.0)
        first, second = _drawn(first, exponent, generator), _drawn(second, exponent, generator)
    return _merged(first, second, coins.tolist())


def _merged(a: list[Hashable], b: list[Hashable], coins: list[bool]) -> InterleavedList:
    """Return as many documents as there are coins, each of which says whether ``a`` brings the next, or ``b``."""
    documents: list[Hashable] = []
    teams: list[str | None] = []
    shown: set[Hashable] = set()
    i = j = 0
    for of_a in coins:
        while i < len(a) and a[i] in shown:
            i += 1
        while j < len(b) and b[j] in shown:
            j += 1
        if i == len(a) or j == len(b):
            break
        documents.append(a[i] if of_a else b[j])
        teams.append("a" if of_a else "b")
        shown.add(documents[-1])
    rest = [document for document in (*a[i:], *b[j:]) if document not in shown][: len(coins) - len(documents)]
    return InterleavedList(documents + rest, teams + [None] * len(rest))


def _drawn(ids: list[Hashable], exponent: float, generator: np.random.Generator) -> list[Hashable]:
    """Return an order in which documents are drawn one after the other, with weights rank^−exponent.

    Exponential times divided by the weights come in this order; and what is left of it once the other ranking has
    taken some documents away is as if the rest were drawn without these.
    """
    times = np.log(generator.standard_exponential(len(ids))) + exponent * np.log(np.arange(1, len(ids) + 1))
    return [ids[i] for i in np.argsort(times).tolist()]


def _ids(name: str, ranking: Any) -> list[Hashable]:
    if isinstance(ranking, str | bytes):
        raise ValueError(f"{name} must be a sequence of document ids; got the text {ranking!r}")
    ids = ranking.tolist() if isinstance(ranking, np.ndarray) else list(ranking)
    if len(set(ids)) < len(ids):
        twice = next(document for i, document in enumerate(ids) if document in set(ids[:i]))
        raise ValueError(f"{name} lists document {twice!r} twice; each may be in a ranking once")
    return ids
