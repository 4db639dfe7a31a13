"""Rankers that learn from the clicks of a fold's training part."""

from inspect import signature
from typing import Any, Self

import numpy as np

from podium.data.bias import KnownBias
from podium.data.clicked import Answers, ClickedQueries
from podium.data.clicks import Clicks
from podium.data.queries import Queries
from podium.metrics import Metric
from podium.rankers.estimator import BaseRanker
from podium.rankers.methods import accepted
from podium.rankers.presets.floors import BestFeature, RandomRanker

FLOORS = (BestFeature, RandomRanker)
"""What knows no clicks: these look at nothing, or at the validation part's relevance."""


class FromClicks:
    """A ranker, fitted to the log of :class:`~podium.data.clicked.ClickedQueries` with the bias that they bring."""

    def __init__(self, ranker: Any) -> None:
        self.ranker = ranker

    def fit(self, queries: Queries, eval_set: Queries, eval_metric: Metric, callback: Any = None) -> Self:
        fit = self.ranker.fit
        options = {"eval_set": eval_set, "eval_metric": eval_metric, "callback": callback}
        options = accepted(fit, {name: value for name, value in options.items() if value is not None})
        if isinstance(self.ranker, FLOORS):
            fit(queries, **options)
            return self
        if "bias" not in signature(fit).parameters:
            raise ValueError(f"{type(self.ranker).__name__} cannot learn from clicks: its fit has no parameter bias")
        clicks, bias = queries.log() if isinstance(queries, ClickedQueries) else _stand_in(queries)
        fit(clicks, **options, **({} if self._learns_bias() else {"bias": bias}))
        return self

    def _learns_bias(self) -> bool:
        """Return whether the ranker learns what places do by itself, beside its trees."""
        loss = self.ranker._loss() if isinstance(self.ranker, BaseRanker) else None
        return getattr(loss, "debias", None) is not None

    def predict(self, queries: Queries) -> np.ndarray:
        return np.asarray(self.ranker.predict(queries))

    def __getattr__(self, name: str) -> Any:
        """Return what the ranker has learned, for reports; what it has not is missing here, too."""
        if name.startswith("__") or name == "ranker":
            raise AttributeError(name)
        return getattr(self.ranker, name)


def _stand_in(queries: Queries) -> tuple[Clicks, KnownBias]:
    """Return a log of the few lists that code is compiled with, which are no part of any log."""
    n = queries.n_documents
    top = max(float(queries.labels.max(initial=0.0)), 1.0)
    chance = np.clip(queries.labels / top, 0.0, 1.0)
    place = np.arange(n) - queries.offsets[queries.query_of_document] + 1
    once, clicked = np.ones(n, np.int64), (chance > 0.5).astype(np.int64)
    columns = np.arange(n), place, clicked, once, queries.query_of_document
    clicks = Clicks.of_rows(queries.without_labels(), *columns)
    return clicks, Answers(chance, chance)
