"""The position-based model: a document is clicked if it is seen, which depends on its place, and attractive."""

import warnings
from typing import Any, Self

import numpy as np

from podium.clicks.attraction import compared_within
from podium.clicks.bias import Bias
from podium.clicks.cells import Cells
from podium.clicks.dual import DualLearning
from podium.clicks.em import climb, em_propensities
from podium.clicks.pairwise import PairwiseDebiasing
from podium.clicks.swaps import swap_propensities
from podium.core.parameters import choice, number
from podium.data.clicks import Clicks

__all__ = ["PositionBias"]

_LARGEST_ERROR = 0.25
"""Standard errors of log θ from which on a warning is raised: an interval of a factor of 1.6 to either side."""


class PlaceBias(Bias):
    """Base class of biases that depend on the place alone: estimates, intervals, and the warning."""

    alpha_: np.ndarray
    beta_: np.ndarray

    def fit(self, clicks: Clicks) -> Self:
        self.check_parameters()
        cells = Cells.of(clicks)
        if not cells.clicks.any():
            raise ValueError("the log has no clicks, from which nothing can be estimated")
        self.alpha_, self.beta_ = self._estimate(cells, clicks)
        self.propensities_ = self._propensities(self.alpha_, self.beta_)
        self.intervals_ = self._bootstrap(cells, clicks) if self.bootstrap else None
        self._forget()
        _warn_if_unidentified(cells)
        self.attractiveness_ = self.attractiveness(clicks)
        return self

    def _estimate(self, cells: Cells, clicks: Clicks) -> tuple[np.ndarray, np.ndarray]:
        """Return α and β of each place."""
        raise NotImplementedError

    def _again(self, cells: Cells, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return them for the same log with weights of documents, which its counts have already."""
        raise NotImplementedError

    def _forget(self) -> None:
        """Let go of what only the bootstrap needed."""

    def _propensities(self, alpha: np.ndarray, beta: np.ndarray) -> np.ndarray:
        return alpha

    def _bootstrap(self, cells: Cells, clicks: Clicks) -> np.ndarray:
        """Return bounds of the propensities: quantiles over samples of queries."""
        rng = np.random.default_rng(self.random_state)
        n, query = len(clicks.queries), clicks.queries.query_of_document
        samples = []
        for _ in range(self.bootstrap):
            times = np.bincount(rng.integers(n, size=n), minlength=n).astype(float)
            samples.append(self._propensities(*self._again(cells.weighted(times[query]), times[query])))
        tail = (1 - self.confidence) / 2
        return np.quantile(samples, [tail, 1 - tail], axis=0).T


class PositionBias(PlaceBias):
    """The position-based model: a document of attractiveness γ is clicked at place k with probability θ_k γ.

    θ_k, the propensity, is the probability that place k is looked at; θ_1 = 1 fixes the scale. A document must be shown
    at several places, or nothing tells attractive documents from attractive places; a warning says where the log does
    not tell.

    Parameters
    ----------
    method : {"swaps", "em", "dual", "pairwise"}
        ``"swaps"``: from click rates of the same document at several places, all places in one likelihood, without a
        model of relevance (after Agarwal et al., WSDM 2019). ``"em"``: regression EM (Wang et al., WSDM 2018), in which
        the attractiveness of a document is shrunk to a regression on features; with few impressions per document it is
        biased toward what the features tell. ``"dual"``: dual learning (Ai et al., SIGIR 2018), a ranker and
        propensities, each learned from clicks that are weighted with the inverse of the other. ``"pairwise"``: pairwise
        debiasing (Hu et al., WWW 2019), in which pairs of a clicked document and one that was not tell of both places;
        biased also in long logs. A log without sessions does not say which pairs there were; then they are those
        expected if documents move independently of each other. In both, the ranker is linear in the features, with a
        deviation of each document that is penalized.
    norm : float
        Of ``"pairwise"``: factors of places are taken to the power 1 / (1 + norm), which draws them to 1.

    Attributes
    ----------
    negative_propensities_ : (n_places,) array or None
        Of ``"pairwise"``: t⁻, how much more the pairs that were not clicked at a place weigh than those at the first.

    Examples
    --------
    >>> import podium
    >>> queries = podium.make_queries(n_queries=50, n_documents=10)
    >>> c = podium.clicks.simulate(queries, queries.labels, top=4, sessions=100_000, aggregate=True)
    >>> b = podium.clicks.PositionBias().fit(c)
    >>> b.propensities_.round(2).tolist(), c.truth.propensities.round(2).tolist()
    ([1.0, 0.5, 0.33, 0.25], [1.0, 0.5, 0.33, 0.25])
    """

    method: str = choice("swaps", "em", "dual", "pairwise")
    norm: float = number(0.0, at_least=0)

    negative_propensities_: np.ndarray | None = None
    _optional = ("negative_propensities_",)
    _learner: DualLearning | PairwiseDebiasing | None = None

    @classmethod
    def known(cls, propensities: Any) -> Self:
        """Return a bias with propensities that are known, such as from an experiment; the first is 1.

        Parameters
        ----------
        propensities : (n_places,) array
            Positive numbers; they are divided by the first.

        Returns
        -------
        PositionBias
            As if fitted, without intervals.
        """
        theta = np.asarray(propensities, float)
        if theta.ndim != 1 or not len(theta) or not np.isfinite(theta).all() or (theta <= 0).any():
            raise ValueError(f"propensities must be positive numbers, one per place; got {propensities!r}")
        self = cls(bootstrap=0)
        self.alpha_, self.beta_ = theta / theta[0], np.zeros(len(theta))
        self.propensities_, self.intervals_ = self.alpha_, None
        return self

    def _estimate(self, cells: Cells, clicks: Clicks) -> tuple[np.ndarray, np.ndarray]:
        nothing = np.zeros(cells.n_places)
        self.negative_propensities_ = None
        if self.method == "swaps":
            return swap_propensities(cells)[0], nothing
        if self.method == "dual":
            self._learner = DualLearning(cells, clicks.queries)
            return self._learner.estimate(cells), nothing
        if self.method == "pairwise":
            self._learner = PairwiseDebiasing(cells, clicks, self.norm)
            theta, self.negative_propensities_ = self._learner.estimate()
            return theta, nothing
        features = compared_within(clicks.queries)
        theta, nothing, self._gamma, prior = em_propensities(cells, features)
        self._strength, self._means = prior.strength, prior.means(features)
        return theta, nothing

    def _again(self, cells: Cells, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if self.method == "swaps":
            return swap_propensities(cells, self.alpha_)[0], self.beta_
        if self._learner is not None:
            return self._learner.again(cells, weights), self.beta_
        strength = self._strength * weights  # a query drawn twice is two queries
        theta, nothing, _ = climb(cells, self.alpha_, self.beta_, self._gamma, strength, self._means)
        return theta, nothing

    def _forget(self) -> None:
        self._learner = None


def _warn_if_unidentified(cells: Cells) -> None:
    """Warn, naming the places, if the moves of documents hardly tell propensities."""
    _, errors = swap_propensities(cells)
    unknown = np.flatnonzero(errors > _LARGEST_ERROR) + 1
    if not len(unknown):
        return
    moved = cells.by_document(np.ones(len(cells.row)))[cells.row] > 1
    share = cells.impressions[moved].sum() / cells.impressions.sum()
    listed = ", ".join(map(str, unknown[:10].tolist())) + (", …" if len(unknown) > 10 else "")
    warnings.warn(
        f"the log hardly tells the propensities of places {listed}: too few clicks on documents that were also shown "
        f"at other places ({100 * share:.3g} % of the impressions are of documents shown at several places). Let "
        "rankings vary, by some random swaps, or collect a longer log",
        stacklevel=3,
    )
