"""Click models of users who read a list from the top: what they looked at is hidden, and found by EM.

After the last click nobody knows how far a user read on. With γ the attractiveness of documents and ζ the probability
of going on after a document that is not clicked, v_j = (1 − γ_j)(1 − ζ + ζ v_{j+1}) is the probability of no click from
place j on, given that j is looked at; Bayes' rule with it says how likely each place was looked at.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from podium.data.clicks import Clicks


@dataclass(frozen=True)
class Sessions:
    """Sessions as matrices (n_sessions, n_places): documents, -1 where there is none, and clicks."""

    rows: np.ndarray
    clicked: np.ndarray
    query: np.ndarray
    """(n_sessions,) number of each session's query."""

    @classmethod
    def of(cls, clicks: Clicks) -> Sessions:
        """Return the sessions of a log; raise if it has none."""
        if clicks.session is None:
            raise ValueError(
                "users who read from the top are told by whole sessions, and this log has none: give session= with it"
            )
        shape = int(clicks.session.max()) + 1, clicks.n_places
        rows, clicked, query = np.full(shape, -1), np.zeros(shape, bool), np.zeros(shape[0], np.int64)
        rows[clicks.session, clicks.position - 1] = clicks.row
        clicked[clicks.session, clicks.position - 1] = clicks.clicks > 0
        query[clicks.session] = clicks.query
        return cls(rows, clicked, query)

    def until_first_click(self) -> Sessions:
        """Return the sessions without the clicks after their first."""
        return Sessions(self.rows, self.clicked & (np.cumsum(self.clicked, axis=1) == 1), self.query)


@dataclass(frozen=True)
class Looks:
    """What EM expects of sessions, (n_sessions, n_places) each."""

    looked: np.ndarray
    """Probability that the place was looked at."""
    went_on: np.ndarray
    """Probability that it was, and the next one, too."""
    has_next: np.ndarray
    """Whether there is a next place."""
    last_click: np.ndarray
    """Whether this is the last click of the session."""
    unclicked_below: np.ndarray
    """v of the next place: probability of no further click if it is looked at."""


def expected_looks(sessions: Sessions, gamma: np.ndarray, after_click: np.ndarray, persistence: float) -> Looks:
    """Return what users probably looked at.

    ``after_click`` is the probability, per session and place, that a user goes on after a click there.
    """
    there, clicked = sessions.rows >= 0, sessions.clicked
    g = np.where(there, gamma[sessions.rows], 0.0)
    n, k = there.shape
    below = np.ones((n, k + 1))
    for j in range(k - 1, -1, -1):
        below[:, j] = np.where(there[:, j], (1 - g[:, j]) * (1 - persistence + persistence * below[:, j + 1]), 1.0)
    last = k - 1 - np.argmax(clicked[:, ::-1], axis=1)
    last = np.where(clicked.any(axis=1), last, -1)
    has_next = np.column_stack([there[:, 1:], np.zeros(n, bool)])
    looked, went_on = np.zeros((n, k)), np.zeros((n, k))
    looking = np.ones(n)
    for j in range(k):
        looked[:, j] = looking * there[:, j]
        v, stay = below[:, j + 1], np.where(clicked[:, j], after_click[:, j], persistence)
        on = np.where(j < last, 1.0, stay * v / np.maximum(1 - stay + stay * v, 1e-300))
        looking = looked[:, j] * on
        went_on[:, j] = looking * has_next[:, j]
    return Looks(looked, went_on, has_next, np.arange(k) == last[:, np.newaxis], below[:, 1:])
