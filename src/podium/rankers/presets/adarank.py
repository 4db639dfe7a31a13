"""AdaRank: boosting of features by a metric."""

from functools import partial

import numpy as np

from podium.core.parameters import choice, count
from podium.data.queries import Queries
from podium.metrics import Metric, metric
from podium.rankers.methods import METHODS
from podium.rankers.presets.feature_boosting import FeatureBoosting
from podium.rankers.single_features.adarank import MetricWeighting
from podium.rankers.single_features.loop import Rule, Weighting
from podium.scorers import LinearModel, Model
from podium.scorers.standardization import Standardization

__all__ = ["AdaRank"]


class AdaRank(FeatureBoosting):
    """AdaRank: features weighted by how well they rank the queries that are ranked badly so far, by any metric.

    Xu, Li: AdaRank: a boosting algorithm for information retrieval. SIGIR 2007. Weak rankers are the features,
    scaled as ``normalize`` says. Nothing here is random.

    Parameters
    ----------
    metric : str or Metric
        What a ranking is worth, at most 1, under any convention: ``"map"``, say, or ``"ndcg@10 (letor)"``.
    repeats : int
        How often a feature may be chosen in a row. A feature that is added to itself ranks as before, so the weights
        stay and it is chosen forever; the paper leaves this open.
    levels : {"all", "one"}
        For metrics that only know relevant documents, such as MAP, on graded labels: ``"one"`` takes the grade from
        which on the convention calls a document relevant, as in the paper; ``"all"`` the mean over all grades not below
        it, without which MAP hardly tells features apart where most documents are relevant.

    Examples
    --------
    >>> import podium
    >>> queries = podium.make_queries(n_queries=50, n_documents=10, n_features=3)
    >>> ranker = AdaRank(n_rounds=20).fit(queries)
    >>> len(ranker.rules()), ranker.score(queries) > 0.8
    (2, True)
    """

    metric: str | Metric = "map"
    n_rounds: int = 100
    repeats: int = count(1)
    levels: str = choice("all", "one")

    def _weighting(self, queries: Queries, query_weight: np.ndarray) -> Weighting:
        both, all_levels = self.direction == "both", self.levels == "all"
        scale = self._scale(queries)
        return MetricWeighting(queries, query_weight, metric(self.metric), scale, both, self.repeats, all_levels)

    def _model(self, rules: list[Rule], queries: Queries) -> tuple[Model, np.ndarray]:
        coef = np.bincount([rule.feature for rule in rules], [rule.weight for rule in rules], queries.n_features)
        scale = self._scale(queries)
        return LinearModel.from_coefficients(coef), np.abs(coef) / np.where(scale > 0, scale, 1.0)

    def _scale(self, queries: Queries) -> np.ndarray:
        """Return what features are multiplied by as weak rankers. Their means do not matter to a ranking."""
        if self.normalize in ("robust", "standard"):
            return Standardization.fit(queries.features).inverse_scale
        return np.ones(queries.n_features)


for _metric in ("map", "ndcg@10"):
    METHODS.add(
        f"adarank-{_metric.partition('@')[0]}",
        partial(AdaRank, metric=_metric),
        f"features weighted by the {_metric} of badly ranked queries",
        "Xu & Li, SIGIR 2007",
        "listwise",
        {"direction": ["up", "both"], **({"levels": ["all", "one"]} if _metric == "map" else {})},
        variant=_metric != "map",
        kind="features",
    )
