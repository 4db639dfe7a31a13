"""Base class of rankers whose model may be a probability: likelihoods, and probabilities as answers."""

from typing import Any

import numpy as np

from podium.core.random_state import RandomState, seed_of
from podium.data.queries import Queries
from podium.probabilities.base import ListProbabilities
from podium.probabilities.families import family_of
from podium.rankers.fitted import FittedEstimator


class AnsweringEstimator(FittedEstimator):
    """A ranker that can be asked for probabilities, where its loss stands for a model that has them."""

    random_state: RandomState = None

    def _scored_lists(
        self, X: Any, y: Any = None, qid: Any = None, labeled: bool = False
    ) -> tuple[Queries, np.ndarray]:
        """Return the lists given and their scores in the grouped order."""
        raise NotImplementedError

    def log_likelihood(self, X: Any, y: Any = None, qid: Any = None) -> float:
        """Return the mean over lists of the log-probability of their labels, constants included.

        For rankers whose loss is a likelihood: PMOP, ListMLE, PairTies (there, the sum over a list's pairs).

        Parameters
        ----------
        X, y, qid : array, frame or Queries
            As in ``fit``.

        Returns
        -------
        float
            At most 0.
        """
        loss = self._loss()
        likelihood = None if loss is None else loss.likelihood()
        if likelihood is None:
            raise ValueError(f"{type(self).__name__} does not model probabilities of labels")
        queries, scores = self._scored_lists(X, y, qid, labeled=True)
        bound = likelihood.bind(queries.labels, queries.offsets)
        return -bound.value_and_gradient(scores, parameters=self.loss_parameters_).value

    def probabilities(self, X: Any, qid: Any = None) -> Any:
        """Return what the model says of the ranking of each list: who is above whom, tied, or among the first.

        For PMOP, Plackett-Luce (ListMLE, ListNet), BoltzRank and SoftRank; PairTies and StructRank answer for pairs and
        sets of preferences only.

        Parameters
        ----------
        X : (n_documents, n_features) array, CSR matrix or frame, or Queries
            Documents, one per row.
        qid : (n_documents,) array, optional
            Query ids; without them all rows are one list.

        Returns
        -------
        ListProbabilities
            Of one list: ``p.above(i, j)``, ``p.tied(i, j)``, ``p.rank_distribution`` (n, n), ``p.in_top(k)`` (n,),
            ``p.most_probable`` (n,), ``p.expected(metric, labels)``; documents are numbered from 0 in the order given.
            Of several lists: a list of these, in order of first appearance.

        Examples
        --------
        >>> import podium
        >>> queries = podium.make_queries(n_queries=20, n_documents=5, n_features=3, random_state=0)
        >>> p = podium.ListMLE().fit(queries).probabilities(queries.features[:4])
        >>> p.rank_distribution.shape, round(float(p.in_top(2).sum()), 6), p.tied(0, 1)
        ((4, 4), 2.0, 0.0)
        """
        self._require_fitted()
        loss = self._loss()
        family = None if loss is None else family_of(loss, self.loss_parameters_)
        if family is None:
            raise ValueError(
                f"{type(self).__name__} does not model probabilities of rankings: PMOP, ListMLE, ListNet, BoltzRank "
                "and SoftRank do; PairTies and StructRank those of pairs"
            )
        if qid is None and not isinstance(X, Queries):
            qid = np.zeros(np.shape(X)[0], np.int64)
        queries, scores = self._scored_lists(X, qid=qid)
        seed = seed_of(self.random_state)
        lists: list[ListProbabilities] = [family(scores[part], seed) for part in queries.slices()]
        return lists[0] if len(lists) == 1 else lists
