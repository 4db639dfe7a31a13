"""Biases of users who read from the top: the cascade model, dependent clicks, and the dynamic Bayesian network."""

import warnings
from typing import ClassVar, Self

import numpy as np

from podium.clicks.attraction import Attraction, compared_within
from podium.clicks.bias import Bias
from podium.clicks.reading import Looks, Sessions, expected_looks
from podium.core.parameters import count, number
from podium.data.clicks import Clicks
from podium.data.features import Features

__all__ = ["DBN", "Cascade", "DependentClicks"]

_FEWEST_LOOKS = 30
_ROUNDS = 4
"""How often the regression that attractiveness is shrunk to is fitted."""


class ReadingBias(Bias):
    """Base class of models in which users read from the top and may stop after a click.

    Whether a place is looked at depends on what is above it, so clicks have no weights by places alone: rankings are
    learned from ``attractiveness``, and not judged by inverse propensities.

    Parameters
    ----------
    bootstrap : int
        Samples of queries for the intervals of the propensities; 0: no intervals.
    max_iter : int
        Steps of EM at most.
    tol : float
        EM ends when no share of looks changes by more.
    """

    bootstrap: int = count(20, at_least=0)
    max_iter: int = count(300)
    tol: float = number(1e-6, above=0)

    _all_clicks: ClassVar[bool] = True
    """Whether clicks after the first are part of the model."""

    def fit(self, clicks: Clicks) -> Self:
        self.check_parameters()
        if not clicks.clicks.any():
            raise ValueError("the log has no clicks, from which nothing can be estimated")
        sessions = self._sessions(clicks)
        self.alpha_ = self.beta_ = None
        self._start(sessions, clicks.queries.n_documents)
        self.attractiveness_, self.propensities_ = self._climb(sessions, compared_within(clicks.queries), learn=True)
        self._warn_of_unread_places(sessions)
        self.intervals_ = self._bootstrap(sessions, clicks) if self.bootstrap else None
        return self

    def attractiveness(self, clicks: Clicks) -> np.ndarray:
        self._require_fitted()
        sessions = self._sessions(clicks)
        if sessions.rows.shape[1] > len(self.propensities_):
            raise ValueError(
                f"the log has {clicks.n_places} places, but the bias was fitted to a log with {len(self.propensities_)}"
            )
        return self._climb(sessions, compared_within(clicks.queries), learn=False)[0]

    def _sessions(self, clicks: Clicks) -> Sessions:
        sessions = Sessions.of(clicks)
        return sessions if self._all_clicks else sessions.until_first_click()

    def _start(self, sessions: Sessions, n_documents: int) -> None:
        """Set the parameters of the model from which EM starts."""

    def _goes_on(self, sessions: Sessions, satisfaction: np.ndarray) -> tuple[np.ndarray, float]:
        """Return how likely users go on after a click, (n_sessions, n_places), and after a document not clicked."""
        raise NotImplementedError

    def _learn(
        self, sessions: Sessions, looks: Looks, satisfaction: np.ndarray, weights: np.ndarray, all_of_it: bool
    ) -> np.ndarray:
        """Return the satisfaction of documents that fits what was looked at, and set the model's other parameters.

        These stay as they are unless ``all_of_it`` is to be learned.
        """
        return satisfaction

    def _climb(
        self, sessions: Sessions, features: Features, *, learn: bool, weights: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the attractiveness of documents and the shares of looks, at which EM no longer changes them."""
        n, there = features.shape[0], sessions.rows >= 0
        w = np.ones((len(there), 1)) if weights is None else weights[sessions.query][:, np.newaxis]
        documents, shown = sessions.rows[there], (w * there).sum(axis=0)
        clicked = np.bincount(documents, (w * sessions.clicked)[there], n)
        gamma, satisfaction, rounds = np.full(n, 0.5), np.full(n, 0.5), _ROUNDS
        before, means = np.zeros(there.shape[1]), None
        for _ in range(self.max_iter):
            looks = expected_looks(sessions, gamma, *self._goes_on(sessions, satisfaction))
            satisfaction = self._learn(sessions, looks, satisfaction, w, learn)
            looked = np.bincount(documents, (w * looks.looked)[there], n)
            shares = (w * looks.looked).sum(axis=0) / np.maximum(shown, 1e-300)
            settled = np.abs(shares - before).max() < self.tol
            if settled and rounds == 0:
                break
            if settled or means is None:  # what attractiveness is shrunk to follows what was looked at
                prior = Attraction.fit(features, clicked, looked)
                means, rounds = prior.means(features), rounds - 1
            gamma = np.minimum(prior.shrunk(clicked, looked, means), 1 - 1e-9)
            before = shares
        if learn and weights is None:
            self._keep(satisfaction)
        return gamma, shares / max(shares[0], 1e-300)

    def _keep(self, satisfaction: np.ndarray) -> None:
        """Keep what is known of the documents of the log."""

    def _bootstrap(self, sessions: Sessions, clicks: Clicks) -> np.ndarray:
        rng, n = np.random.default_rng(self.random_state), len(clicks.queries)
        kept, samples, features = dict(self.__dict__), [], compared_within(clicks.queries)
        for _ in range(self.bootstrap):
            times = np.bincount(rng.integers(n, size=n), minlength=n).astype(float)
            samples.append(self._climb(sessions, features, learn=True, weights=times)[1])
        self.__dict__.update(kept)
        tail = (1 - self.confidence) / 2
        return np.quantile(samples, [tail, 1 - tail], axis=0).T

    def _warn_of_unread_places(self, sessions: Sessions) -> None:
        expected = self.propensities_ * (sessions.rows >= 0).sum(axis=0)
        unread = np.flatnonzero(expected < _FEWEST_LOOKS) + 1
        if len(unread):
            listed = ", ".join(map(str, unread[:10].tolist())) + (", …" if len(unread) > 10 else "")
            warnings.warn(
                f"users hardly reach places {listed}: fewer than {_FEWEST_LOOKS} looks are expected there, so the log "
                "does not tell how attractive documents are that are shown nowhere else",
                stacklevel=3,
            )


class Cascade(ReadingBias):
    """The cascade model: users read from the top to the first click (Craswell et al., WSDM 2008).

    What is above the first click was looked at and not clicked, what is below it was not looked at; clicks after the
    first are left out. The log must have sessions.

    Examples
    --------
    >>> import podium
    >>> queries = podium.make_queries(n_queries=50, n_documents=10)
    >>> c = podium.clicks.simulate(queries, queries.labels, model="cascade", top=3, sessions=20_000)
    >>> b = podium.clicks.Cascade(bootstrap=0).fit(c)
    >>> bool(abs(b.propensities_ - c.truth.propensities).max() < 1e-9)
    True
    """

    _all_clicks = False

    def _goes_on(self, sessions: Sessions, satisfaction: np.ndarray) -> tuple[np.ndarray, float]:
        return np.zeros(sessions.rows.shape), 1.0


class DependentClicks(ReadingBias):
    """The dependent click model: after a click at place k users go on with probability λ_k, otherwise always.

    Guo, Liu and Wang: *Efficient multiple-click models in web search*, WSDM 2009; λ by EM, which also counts those who
    went on and did not click again. The log must have sessions.

    Attributes
    ----------
    continuation_ : (n_places,) array
        λ of each place; of the last, which nothing follows, that of the one before.

    Examples
    --------
    >>> import podium
    >>> queries = podium.make_queries(n_queries=50, n_documents=10)
    >>> c = podium.clicks.simulate(queries, queries.labels, model="cascade", top=3, sessions=20_000)
    >>> b = podium.clicks.DependentClicks(bootstrap=0).fit(c)
    >>> bool(b.continuation_.max() < 0.01)
    True
    """

    continuation_: np.ndarray
    _stored = (*Bias._stored, "continuation_")

    def _start(self, sessions: Sessions, n_documents: int) -> None:
        self.continuation_ = np.full(sessions.rows.shape[1], 0.5)

    def _goes_on(self, sessions: Sessions, satisfaction: np.ndarray) -> tuple[np.ndarray, float]:
        return np.broadcast_to(self.continuation_[: sessions.rows.shape[1]], sessions.rows.shape), 1.0

    def _learn(
        self, sessions: Sessions, looks: Looks, satisfaction: np.ndarray, weights: np.ndarray, all_of_it: bool
    ) -> np.ndarray:
        if not all_of_it:
            return satisfaction
        clicks = weights * (sessions.clicked & looks.has_next)
        total = clicks.sum(axis=0)
        found = (clicks * looks.went_on).sum(axis=0) / np.maximum(total, 1e-300)
        found = np.where(total > 0, found, self.continuation_)
        if len(found) > 1:
            found[-1] = found[-2]
        self.continuation_ = found
        return satisfaction


class DBN(ReadingBias):
    """The dynamic Bayesian network: users go on with probability ζ, unless a click has satisfied them.

    P(look at k + 1 | looked at k) = ζ (1 − σ c_k) with σ the satisfaction of the document and c_k its click (Chapelle
    and Zhang: *A dynamic Bayesian network click model for web search ranking*, WWW 2009). The log must have sessions.

    Attributes
    ----------
    persistence_ : array of one number
        ζ.
    satisfaction_ : (n_documents,) array
        σ of the documents of the log, shrunk to their mean as by one click; not in the file.

    Examples
    --------
    >>> import podium
    >>> queries = podium.make_queries(n_queries=50, n_documents=10)
    >>> c = podium.clicks.simulate(queries, queries.labels, model="dbn", persistence=0.8, top=4, sessions=20_000)
    >>> b = podium.clicks.DBN(bootstrap=0).fit(c)
    >>> bool(abs(b.persistence_ - 0.8) < 0.05)
    True
    """

    persistence_: np.ndarray
    satisfaction_: np.ndarray
    _stored = (*Bias._stored, "persistence_")

    def _start(self, sessions: Sessions, n_documents: int) -> None:
        self.persistence_ = np.array(0.9)

    def _goes_on(self, sessions: Sessions, satisfaction: np.ndarray) -> tuple[np.ndarray, float]:
        zeta = float(self.persistence_)
        return zeta * (1 - satisfaction[sessions.rows]), zeta

    def _learn(
        self, sessions: Sessions, looks: Looks, satisfaction: np.ndarray, weights: np.ndarray, all_of_it: bool
    ) -> np.ndarray:
        sigma, zeta = satisfaction[sessions.rows], float(self.persistence_)
        unsatisfied = (1 - sigma) * (1 - zeta + zeta * looks.unclicked_below)
        # Only the last click can have satisfied, and only where something follows would anyone notice.
        satisfied = looks.last_click * sigma / np.maximum(sigma + unsatisfied, 1e-300)
        told = weights * looks.has_next
        if all_of_it:
            asked = (told * (looks.looked - satisfied)).sum()
            self.persistence_ = np.clip((told * looks.went_on).sum() / max(float(asked), 1e-300), 1e-6, 1 - 1e-9)
        clicked = sessions.clicked & looks.has_next
        documents, n = sessions.rows[clicked], len(satisfaction)
        times = np.bincount(documents, told[clicked], n)
        pleased = np.bincount(documents, (told * satisfied)[clicked], n)
        mean = pleased.sum() / max(float(times.sum()), 1e-300)
        return (pleased + mean) / (times + 1)

    def _keep(self, satisfaction: np.ndarray) -> None:
        self.satisfaction_ = satisfaction
