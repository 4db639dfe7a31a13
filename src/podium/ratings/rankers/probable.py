"""What a model of a user's lists says of them: probabilities of groups, pairs and places, and their likelihood."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from podium.core.random_state import seed_of
from podium.losses import Loss, PMOPLoss
from podium.numerics.subsets.answers import best_group
from podium.probabilities.base import ListProbabilities
from podium.probabilities.families import family_of
from podium.rankers.presets.pmop import PairProbabilities, pairs_in_lists, potential_kind
from podium.ratings.estimator import IterativeRatingRanker, RatingData, as_ratings
from podium.ratings.evaluation import log_likelihoods


class ProbableRatingRanker(IterativeRatingRanker):
    """A ranker of ratings trained on a loss, which may stand for a distribution of rankings."""

    def _loss(self) -> Loss:
        """Return the loss of a user's list."""
        raise NotImplementedError

    def log_likelihood(self, ratings: RatingData, *, per_user: bool = False) -> float | np.ndarray:
        """Return the log-probability of the users' lists under the model: the mean over users, or one per user.

        For losses that are likelihoods. Users are in order of their first appearance in ``ratings``.
        """
        self._require_fitted()
        values = log_likelihoods(self, as_ratings(ratings))
        return values if per_user else float(values.mean())

    def top_probability(self, user: Any, items: ArrayLike) -> np.ndarray:
        """(n_items,) probability that each of the items is in the user's best group of them; exact, for PMOP losses."""
        return best_group(*self._one_list(user, items))

    def pair_probabilities(
        self, user: Any, items: ArrayLike, first: ArrayLike, second: ArrayLike, *, n_samples: int = 10_000
    ) -> PairProbabilities:
        """Return the probabilities that the user ranks ``first`` above, ties it with or ranks it below ``second``.

        Both are positions in ``items``, single ones or arrays of equal length. For PMOP losses; estimated from
        ``n_samples`` partitions of the items drawn from the model, as in :meth:`podium.PMOP.pair_probabilities`.
        """
        i, j = (np.atleast_1d(np.asarray(places, np.int64)) for places in (first, second))
        return pairs_in_lists(*self._one_list(user, items), i, j, n_samples, seed_of(self.random_state))

    def probabilities(self, user: Any, items: ArrayLike) -> ListProbabilities:
        """Return what the model says of the user's ranking of these items: which is above which, tied, or first.

        As :meth:`podium.PMOP.probabilities`, for losses that stand for a distribution; items are numbered from 0.

        Examples
        --------
        >>> import podium
        >>> ratings = podium.make_ratings(30, 20, 600)
        >>> ranker = podium.PMOPFactors(n_factors=2, random_state=0).fit(ratings)
        >>> p = ranker.probabilities(ratings.user_ids[0], ratings.item_ids[:4])
        >>> p.rank_distribution.shape, round(float(p.in_top(2).sum()), 6)
        ((4, 4), 2.0)
        """
        self._require_fitted()
        loss = self._loss()
        if (family := family_of(loss, self.loss_parameters_)) is None:
            raise ValueError(
                f"factors trained on {type(loss).__name__} do not model probabilities of rankings: PMOPLoss, "
                "ListMLELoss, ListNetLoss, BoltzRankLoss, SoftRankLoss do; DavidsonLoss, RaoKupperLoss those of pairs"
            )
        return family(np.atleast_1d(self.predict(user, items)), seed_of(self.random_state))

    def _one_list(self, user: Any, items: ArrayLike) -> tuple[int, np.ndarray, np.ndarray]:
        """Return the kind of potential, the user's scores of the items, and the offsets of this one list."""
        self._require_fitted()
        loss = self._loss()
        if not isinstance(loss, PMOPLoss):
            raise ValueError(f"probabilities of groups need PMOPLoss; this ranker has {loss!r}")
        scores = np.atleast_1d(self.predict(user, items))
        return potential_kind(loss), scores, np.array([0, len(scores)])
