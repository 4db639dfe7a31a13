"""PMOP: the likelihood of ordered partitions, and the probabilities that the model gives."""

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from podium.core.parameters import require_count
from podium.core.random_state import seed_of
from podium.losses import Loss, PMOPLoss
from podium.numerics.random import streams
from podium.numerics.subsets.answers import best_group, sample_partitions
from podium.numerics.subsets.sampling import ARITHMETIC, GEOMETRIC
from podium.rankers.methods import METHODS
from podium.rankers.presets.boosted import TREES, LossOnTrees
from podium.rankers.presets.linear import L2, LinearPreset
from podium.training import LBFGS, Stochastic, Trainer

__all__ = ["PMOP"]


class PairProbabilities(NamedTuple):
    """Probabilities, one per pair, that the first document ranks above, ties with or ranks below the second."""

    above: np.ndarray
    tied: np.ndarray
    below: np.ndarray


class PMOP(LinearPreset):
    """PMOP: likelihood of the ordered partition that the grades make; tied documents are chosen together.

    Truyen, Phung, Venkatesh: Probabilistic models over ordered partitions with applications in document ranking and
    collaborative filtering. SDM 2011.

    Parameters
    ----------
    potential : {"arithmetic", "geometric"}
        How well documents go together: the mean of their e^s, or e to the mean of their s.
    method : {"exact", "gibbs", "mh"}
        The likelihood itself, or the paper's samplers, which are trained with stochastic steps.
    steps : int
        Length of the samplers' chains: sweeps over the list (Gibbs) or proposals (Metropolis-Hastings).
    proposal_correction : bool
        Accept proposals with the ratio that makes the model stationary. False is the ratio printed in the paper.
    average : bool
        Average over all states of a chain, as the paper does, or take the last.
    factorization : {"forward", "backward"}
        Choose the best group first, or eliminate the worst first, see :class:`podium.losses.PMOPLoss`.
    max_iter : int, optional
        Iterations of L-BFGS at most, 1,000 if not given; of the samplers, for which ``tolerance`` has no meaning, the
        number of epochs, 100 if not given.
    learning_rate, schedule : float, {"sqrt", "constant", "exponential"}
        Of the samplers: see :class:`podium.training.Stochastic`. As printed in the paper: ``max_iter=1000,
        learning_rate=0.1, schedule="constant", l2=0, proposal_correction=False``.

    Examples
    --------
    >>> import podium
    >>> queries = podium.make_queries(n_queries=50, n_documents=8, n_features=5)
    >>> ranker = podium.PMOP(l2=0.01).fit(queries)
    >>> first = queries.take([0])
    >>> p = ranker.top_probability(first)
    >>> bool(p[ranker.rank(first) == 1] == p.max())
    True
    """

    potential: str = "arithmetic"
    method: str = "exact"
    steps: int = 1
    proposal_correction: bool = True
    average: bool = True
    factorization: str = "forward"
    max_iter: int | None = None  # type: ignore[assignment]
    learning_rate: float = 0.1
    schedule: str = "sqrt"

    def _loss(self) -> Loss:
        chains = (self.steps, self.proposal_correction, seed_of(self.random_state), self.average)
        return PMOPLoss(self.potential, self.method, *chains, self.factorization)

    def _trainer(self) -> Trainer:
        if self.method == "exact":
            return LBFGS(max_iter=1000 if self.max_iter is None else self.max_iter, tolerance=self.tolerance)
        return Stochastic(
            epochs=100 if self.max_iter is None else self.max_iter,
            learning_rate=self.learning_rate,
            schedule=self.schedule,
            optimizer="sgd",
            patience=None,
        )

    def top_probability(self, X: Any, qid: Any = None) -> np.ndarray:
        """Return the exact probability that each document is in the best group of its list.

        Under the arithmetic potential about half of a long list shares the best group, whatever the scores: only the
        one document that leads it is chosen by score. Under the geometric potential all members are chosen by score.

        Parameters
        ----------
        X, qid : array, frame or Queries
            As in ``predict``.

        Returns
        -------
        numpy.ndarray
            Probabilities (n_documents,).
        """
        queries, scores = self._scored_lists(X, qid=qid)
        return queries.restore(best_group(potential_kind(self._loss()), scores, queries.offsets))

    def pair_probabilities(
        self, X: Any, first: Any, second: Any, qid: Any = None, *, n_samples: int = 10_000
    ) -> PairProbabilities:
        """Return how likely rows ``first`` of X rank above, tie with or rank below rows ``second`` of the same lists.

        Parameters
        ----------
        X : (n_documents, n_features) array, CSR matrix or frame, or Queries
            Documents, one per row.
        first, second : int or array of integers
            Row numbers, single or of equal length.
        qid : (n_documents,) array, optional
            Query ids.
        n_samples : int
            Partitions of each list drawn from the model (exact draws, seeded by ``random_state``), from which the
            probabilities are estimated: the standard error is at most 1/(2√n_samples).

        Returns
        -------
        PairProbabilities
            Arrays ``above``, ``tied`` and ``below``.
        """
        queries, scores = self._scored_lists(X, qid=qid)
        place = queries.restore(np.arange(queries.n_documents))
        i, j = (place[np.atleast_1d(np.asarray(rows, np.int64))] for rows in (first, second))
        return pairs_in_lists(
            potential_kind(self._loss()), scores, queries.offsets, i, j, n_samples, seed_of(self.random_state)
        )


def potential_kind(loss: Any) -> int:
    """Return the number by which the samplers know a loss's potential; raise ValueError if they do not."""
    if loss.potential not in ("arithmetic", "geometric") or loss.factorization != "forward":
        raise ValueError(
            "probabilities are known for the arithmetic and the geometric potential only, with the best group chosen "
            'first (factorization="forward")'
        )
    return GEOMETRIC if loss.potential == "geometric" else ARITHMETIC


def pairs_in_lists(
    kind: int, scores: np.ndarray, offsets: np.ndarray, i: np.ndarray, j: np.ndarray, n_samples: int, seed: int
) -> PairProbabilities:
    """Return how rows ``i`` of grouped scores compare with rows ``j`` of the same lists, from drawn partitions."""
    require_count("n_samples", n_samples)
    query = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    if len(i) != len(j) or (query[i] != query[j]).any():
        raise ValueError("first and second must be row numbers of documents of the same lists, pair by pair")
    above, tied = np.empty(len(i)), np.empty(len(i))
    for q in np.unique(query[i]):
        start, stop = offsets[q], offsets[q + 1]
        groups = sample_partitions(kind, scores[start:stop], n_samples, streams(seed, int(q), n_samples))
        asked = np.flatnonzero(query[i] == q)
        mine, other = groups[:, i[asked] - start], groups[:, j[asked] - start]
        above[asked], tied[asked] = (mine < other).mean(axis=0), (mine == other).mean(axis=0)
    return PairProbabilities(above, tied, 1.0 - above - tied)


METHODS.add(
    "pmop", PMOP, "likelihood of the ordered partition, ties included", "Truyen et al., SDM 2011", "listwise", L2
)
for _name, _method, _inference in (
    ("pmop-geometric", "exact", "exact"),
    ("pmop-gibbs", "gibbs", "sampled: Gibbs"),
    ("pmop-mh", "mh", "sampled: Metropolis-Hastings"),
):
    METHODS.add_variant(
        "pmop",
        _name,
        partial(PMOP, potential="geometric", method=_method),
        f"PMOP with the geometric potential, {_inference}",
        grid=L2,
        stochastic=_method != "exact",
    )
METHODS.add_variant("pmop", "pmop-trees", partial(LossOnTrees, PMOPLoss()), "PMOP's loss on boosted trees", **TREES)
