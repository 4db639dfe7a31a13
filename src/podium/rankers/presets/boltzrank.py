"""BoltzRank: individual or pairwise potentials trained on the expected value of a metric."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from podium.core.parameters import number
from podium.core.random_state import seed_of
from podium.data.grouping import places_within
from podium.data.queries import Queries
from podium.losses import BoltzRankLoss, Loss
from podium.metrics import Metric
from podium.numerics.ranks.energy import PairWeight
from podium.rankers.methods import METHODS
from podium.rankers.presets.restarted import RestartedPreset
from podium.scorers import MLP, Potentials, Scorer
from podium.training.base import Fit, Problem, Trainer

__all__ = ["BoltzRank"]


class BoltzRank(RestartedPreset):
    """BoltzRank: a small network that maximizes the expected metric under a Boltzmann distribution over rankings.

    Volkovs, Zemel: BoltzRank: learning to maximize expected ranking gain. ICML 2009.

    Parameters
    ----------
    pairwise : bool
        False: a document's score is a function of its features (BoltzRank1). True: a sum over all pairs with the other
        documents of its list is added (BoltzRank2); then ``predict`` needs ``qid``.
    metric : str or Metric
        What is maximized: any metric, under any convention, such as ``"ndcg@5"`` or ``"map (letor)"``.
    weight : float, or several to choose from
        Share λ of the expected metric; the rest goes to a cross entropy with the rankings that the labels make likely.
    n_samples : int
        Rankings per query.
    g : "linear", "sign", "logistic" or a function
        Weight of a pair of documents by their distance in a ranking, see :class:`podium.losses.BoltzRankLoss`.
    redraw : bool
        Draw the rankings anew in each epoch instead of once.
    hidden : int, or several to choose from
        Hidden units of the individual potential; by default the paper's 5, or 3 beside pairwise ones.
    pair_hidden : int, or several to choose from
        Hidden units of the pairwise potential.
    pool : {"mean", "sum"}
        Over the other documents of the list: the mean, which suits lists of different lengths, or the paper's sum.
    l2 : float, or several to choose from
        Penalty on the weights.
    subsample_irrelevant : float
        Share of the documents of grade 0 (or below) of each training query that is left out at random, for lists that
        are nearly all irrelevant. Validation queries keep all theirs.

    Examples
    --------
    >>> import podium
    >>> queries = podium.make_queries(n_queries=60, n_documents=10, n_features=5)
    >>> train, valid = queries.take(range(40)), queries.take(range(40, 60))
    >>> ranker = BoltzRank(hidden=[1, 5], restarts=2, epochs=20, random_state=0).fit(train, eval_set=valid)
    >>> ranker.chosen_["hidden"] in (1, 5), ranker.score(valid) > 0.7
    (True, True)
    """

    pairwise: bool = False
    metric: str | Metric = "ndcg@5"
    weight: float | Sequence[float] = 0.9
    n_samples: int = 100
    g: str | PairWeight = "linear"
    redraw: bool = False
    hidden: int | Sequence[int] | None = None
    pair_hidden: int | Sequence[int] = 5
    pool: str = "mean"
    l2: float | Sequence[float] = 1e-3
    restarts: int = 10
    learning_rate: float = 0.003
    subsample_irrelevant: float = number(0.0, at_least=0, below=1)

    searchable: ClassVar[tuple[str, ...]] = ("weight", "hidden", "pair_hidden", "l2")

    def _loss(self) -> Loss:
        seed = seed_of(self.random_state)
        return BoltzRankLoss(self.metric, self._value("weight"), self.n_samples, self.g, seed, self.redraw)

    def _scorer(self) -> Scorer:
        hidden, l2 = self._value("hidden"), self._value("l2")
        if self.pairwise:
            return Potentials(
                hidden=3 if hidden is None else hidden, pair_hidden=self._value("pair_hidden"), pool=self.pool, l2=l2
            )
        return MLP(hidden=5 if hidden is None else hidden, output="tanh", l2=l2)

    def _settings(self) -> list[dict[str, Any]]:
        if not self.pairwise and isinstance(self.pair_hidden, list | tuple):
            raise ValueError("pair_hidden are the hidden units of pairwise potentials: give pairwise=True")
        return super()._settings()

    def _trainer(self) -> Trainer:
        trainer = super()._trainer()
        return trainer if self.subsample_irrelevant == 0 else _Subsampled(trainer, self.subsample_irrelevant)


class _Subsampled(Trainer):
    """Trainer that first leaves out irrelevant documents; features are normalized by then, over whole lists."""

    trainer: Trainer
    share: float

    def fit(self, problem: Problem) -> Fit:
        (rng,) = problem.rng.spawn(1)
        return self.trainer.fit(replace(problem, queries=drop_irrelevant(problem.queries, self.share, rng)))


def drop_irrelevant(queries: Queries, share: float, rng: np.random.Generator) -> Queries:
    """Return the queries without a random ``share`` (rounded down) of each one's documents of grade 0 or below."""
    irrelevant = queries.labels <= 0
    query = queries.query_of_document
    place = places_within(queries.offsets, ~irrelevant, rng.random(queries.n_documents))  # irrelevant ones first
    n_irrelevant = np.bincount(query, irrelevant, minlength=len(queries))
    return queries.only(~irrelevant | (place >= np.floor(share * n_irrelevant)[query]))


# Networks are trained to their end, as in the paper, and validation queries choose between runs: the best of all epochs
# of all runs on a few queries would be luck.
_HIDDEN = {"hidden": [1, 10, 80, 320]}
for _name, _pairwise, _summary, _grid in (
    ("boltzrank", False, "expected metric under a Boltzmann distribution, on a small network", _HIDDEN),
    ("boltzrank-pairs", True, "BoltzRank with potentials over pairs of documents", {"pool": ["sum", "mean"]}),
):
    METHODS.add(
        _name,
        partial(BoltzRank, pairwise=_pairwise, epochs=50, early_stopping=False, n_jobs=1),
        _summary,
        "Volkovs & Zemel, ICML 2009",
        "listwise",
        {**_grid, "metric": ["ndcg@5", "map"], "weight": [0.0, 0.5, 1.0]},
        stochastic=True,
        variant=_pairwise,
        kind="network",
    )
