"""How many sessions of interleaved lists a sign test needs."""

import math

import numpy as np

from podium.core.parameters import require_number

__all__ = ["plan"]

SMALLEST = 1e-4
"""Smaller differences need hundreds of millions of sessions."""


def plan(difference: float, power: float = 0.8, *, significance: float = 0.05, decided: float = 1.0) -> int:
    """Return how many sessions of interleaved lists are needed to see a difference.

    Exact, by the binomial distribution: the lowest number of sessions with which the two-sided sign test of
    :func:`podium.clicks.interleaving_result` finds the difference with at least this probability. (Wins are whole
    numbers, so that a few sessions more may do slightly worse.)

    Parameters
    ----------
    difference : float
        The share of wins minus ½ among decided sessions, at least 0.0001 in size: 0.05 if the better ranking wins 55 %
        of them.
    power : float
        The probability to find it.
    significance : float
        What the test's p-value must not exceed.
    decided : float
        The share of sessions that are decided, if the number of all sessions is wanted; by default the number returned
        is that of decided sessions.

    Returns
    -------
    int
        Sessions.

    Examples
    --------
    >>> from podium.clicks import plan
    >>> plan(0.05, power=0.8), plan(0.05, power=0.8, decided=0.25)
    (786, 3144)
    """
    require_number("difference", difference, at_least=-0.5, at_most=0.5)
    size = abs(float(difference))
    if size < SMALLEST:
        raise ValueError(f"difference must be at least {SMALLEST:g} in size; got {difference!r}")
    require_number("power", power, above=0.0, below=1.0)
    require_number("significance", significance, at_least=1e-12, below=1.0)
    require_number("decided", decided, above=0.0, at_most=1.0)
    return math.ceil(_decided_sessions(size, power, significance) / decided)


def _decided_sessions(size: float, power: float, significance: float) -> int:
    """Return the lowest number of decided sessions with this power."""
    too_few, enough = 0, 1
    while _power(np.array([enough]), size, significance)[0] < power:
        too_few, enough = enough, 2 * enough
    while enough - too_few > 1:
        middle = (too_few + enough) // 2
        if _power(np.array([middle]), size, significance)[0] < power:
            too_few = middle
        else:
            enough = middle
    # The power rises in teeth, of less than 3/size sessions: bisection has found the edge of one, maybe not the first.
    before = np.arange(max(enough - math.ceil(3 / size), 1), enough + 1)
    return int(before[np.argmax(_power(before, size, significance) >= power)])


def _power(sessions: np.ndarray, size: float, significance: float) -> np.ndarray:
    """Return the probability that the sign test of so many decided sessions is significant."""
    from scipy.special import bdtrik

    # The most wins of the loser with which the test is significant: first by a continuous inverse, which may be off by
    # one, then exactly. None at all (−1) if even no win would not do.
    wins = np.floor(np.nan_to_num(bdtrik(significance / 2.0, sessions, 0.5), nan=-1.0))
    wins = np.where(_tail(wins + 1, sessions) <= significance / 2.0, wins + 1, wins)
    wins = np.where((wins >= 0) & (_tail(np.maximum(wins, 0), sessions) > significance / 2.0), wins - 1, wins)
    return _tail(wins, sessions, 0.5 - size) + _tail(wins, sessions, 0.5 + size)


def _tail(wins: np.ndarray, sessions: np.ndarray, probability: float = 0.5) -> np.ndarray:
    """Return the probability of at most so many wins; 0 for fewer than none."""
    from scipy.special import bdtr

    return np.where(wins < 0, 0.0, bdtr(np.clip(wins, 0, sessions), sessions, probability))
