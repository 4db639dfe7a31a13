"""RankBoost and FRank: boosting of thresholds on features by a loss on pairs."""

from collections.abc import Callable
from functools import partial

import numpy as np

from podium.core.parameters import choice, count
from podium.data.queries import Queries
from podium.rankers.methods import METHODS
from podium.rankers.presets.feature_boosting import FeatureBoosting
from podium.rankers.single_features.loop import Rule, Weighting
from podium.rankers.single_features.pairs import ExponentialWeighting, FidelityWeighting, PairWeighting
from podium.scorers.base import Model, Scorer
from podium.scorers.thresholds import StepModel, Steps

__all__ = ["FRank", "RankBoost"]

MOST_THRESHOLDS = 65_535
DECIDED = {"loss": 16, "exact": None, "gradient": 0}
"""Rules between which FRank decides by the loss; None for all."""


class ThresholdBoosting(FeatureBoosting):
    """Rules of the form "feature above threshold", learned from pairs of documents of one query.

    ``"robust"`` and ``"standard"`` change nothing: thresholds move along. Nothing here is random.

    Parameters
    ----------
    n_thresholds : int
        Candidates for each feature, at most; a feature with more distinct values has them at equal shares of the
        training documents. 65,535 is the most.
    weigh : {"queries", "pairs"}
        What counts alike: every query, whatever its number of pairs, or every pair.
    """

    n_rounds: int = 300
    n_thresholds: int = count(255, at_most=MOST_THRESHOLDS)
    weigh: str = choice("queries", "pairs")
    normalize: str | None = None

    def _weighting(self, queries: Queries, query_weight: np.ndarray) -> Weighting:
        both, by_query = self.direction == "both", self.weigh == "queries"
        return self._pair_weighting()(queries, query_weight, self.n_thresholds, both, by_query)

    def _pair_weighting(self) -> Callable[..., PairWeighting]:
        raise NotImplementedError

    def _model(self, rules: list[Rule], queries: Queries) -> tuple[Model, np.ndarray]:
        feature = np.array([rule.feature for rule in rules], np.int64)
        threshold = np.array([rule.threshold for rule in rules], np.float64)
        model = StepModel(queries.n_features, feature, threshold, np.array([rule.weight for rule in rules]))
        return model, np.bincount(model.feature, np.abs(model.weight), queries.n_features)

    def _scorer(self) -> Scorer:
        return Steps()


class RankBoost(ThresholdBoosting):
    """RankBoost: rules that order the pairs which are in the wrong order so far, by their exponential loss.

    Freund, Iyer, Schapire, Singer: An efficient boosting algorithm for combining preferences. JMLR 4, 2003.

    Examples
    --------
    >>> import podium
    >>> queries = podium.make_queries(n_queries=50, n_documents=10, n_features=3)
    >>> ranker = RankBoost(n_rounds=50).fit(queries)
    >>> ranker.score(queries) > 0.9, ranker.rules()[0].threshold is not None
    (True, True)
    """

    def _pair_weighting(self) -> Callable[..., PairWeighting]:
        return ExponentialWeighting


class FRank(ThresholdBoosting):
    """FRank: as RankBoost, with the fidelity loss of a pair, which is bounded: hopeless pairs do not take over.

    Tsai, Liu, Qin, Chen, Ma: FRank: a ranking method with fidelity loss. SIGIR 2007.

    Parameters
    ----------
    choose : {"loss", "exact", "gradient"}
        How a round chooses its rule. ``"loss"``: by the loss that it leads to with its own weight, as in the paper,
        between the 16 that promise most by their weights. ``"exact"``: the same between all rules, which takes hundreds
        of times as long. ``"gradient"``: by steepest descent, without computing losses.

    Examples
    --------
    >>> import podium
    >>> queries = podium.make_queries(n_queries=50, n_documents=10, n_features=3)
    >>> ranker = podium.FRank(n_rounds=30).fit(queries)
    >>> ranker.score(queries) > 0.8, len(ranker.rules()) <= 30
    (True, True)
    """

    choose: str = choice(*DECIDED)

    def _pair_weighting(self) -> Callable[..., PairWeighting]:
        return partial(FidelityWeighting, decided=DECIDED[self.choose])


for _name, _ranker, _loss, _reference in (
    ("rankboost", RankBoost, "exponential", "Freund et al., JMLR 2003"),
    ("frank", FRank, "fidelity", "Tsai et al., SIGIR 2007"),
):
    METHODS.add(
        _name,
        partial(_ranker, early_stopping=False),
        f"rules on single features, boosted by the {_loss} loss of pairs",
        _reference,
        "pairwise",
        {"direction": ["up", "both"], "n_rounds": [10, 30, 100, 300, 1000]},
        kind="features",
    )
