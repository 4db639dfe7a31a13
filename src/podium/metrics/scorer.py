"""Metrics as scorers of scikit-learn, for its searches and cross-validation."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from podium.metrics.conventions import Convention
from podium.metrics.definition import Metric, metric
from podium.metrics.evaluating import evaluate

if TYPE_CHECKING:
    from sklearn.utils.metadata_routing import MetadataRequest

__all__ = ["make_scorer"]


def make_scorer(name: str | Metric, convention: str | Convention | None = None) -> MetricScorer:
    """Return a scikit-learn scorer: the mean of a metric over the queries that an estimator ranks.

    With scikit-learn's metadata routing on, query ids given to the search reach ``fit`` and this scorer. Folds must
    keep queries whole, as ``GroupKFold`` does with the query ids as groups.

    Parameters
    ----------
    name : str or Metric
        What :func:`podium.metric` takes.
    convention : str or Convention, optional
        The rules that the metric follows: those it names itself, else ``standard``.

    Returns
    -------
    scorer
        To be called with an estimator, X, y and ``qid``.

    Examples
    --------
    >>> import podium
    >>> queries = podium.make_queries(n_queries=20, n_documents=5, n_features=3, random_state=0)
    >>> scorer = make_scorer("ndcg@5", convention="letor")
    >>> qid = queries.query_of_document
    >>> ranker = podium.ListNet().fit(queries.features, queries.labels, qid=qid)
    >>> scorer, scorer(ranker, queries.features, queries.labels, qid=qid) > 0.5
    (make_scorer('ndcg@5 (letor)'), True)
    """
    return MetricScorer(metric(name, convention))


@dataclass(frozen=True, repr=False)
class MetricScorer:
    """The mean of a metric over queries, as scikit-learn calls its scorers."""

    metric: Metric

    def __call__(self, estimator: Any, X: Any, y: Any = None, *, qid: Any = None) -> float:
        """Return the mean over the queries that have a value."""
        if qid is None:
            raise ValueError(
                f"{self!r} needs query ids: call sklearn.set_config(enable_metadata_routing=True) and give the search "
                "fit(X, y, qid=qid, groups=qid), with folds that keep queries whole, such as GroupKFold"
            )
        # Rankers that look at whole lists need the ids to predict; other estimators do not know them.
        known = "qid" in inspect.signature(estimator.predict).parameters
        scores = estimator.predict(X, qid=qid) if known else estimator.predict(X)
        (value,) = evaluate(y, scores, qid=qid, metrics=[self.metric]).mean.values()
        return value

    def get_metadata_routing(self) -> MetadataRequest:
        """Return that this scorer asks for query ids."""
        from sklearn.utils.metadata_routing import MetadataRequest

        asked = MetadataRequest(owner=self)
        asked.score.add_request(param="qid", alias=True)
        return asked

    def __repr__(self) -> str:
        return f"make_scorer({str(self.metric)!r})"
