"""Base class of all rankers: the scikit-learn estimator around a loss, a scorer and a trainer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from podium.core.parameters import choice
from podium.core.random_state import RandomState, as_generator
from podium.data.normalize import WITHIN_QUERY
from podium.data.preferences import Preferences
from podium.data.queries import Queries
from podium.data.remote import RemoteQueries
from podium.data.rescaled import rescaled
from podium.metrics import Metric, metric
from podium.metrics.telling import watched_metric
from podium.rankers.clicked import clicked_lists, fit_with_best_share, is_mixed
from podium.rankers.continuing import start_of
from podium.rankers.elsewhere import name_query, part_scorer, remote_values, require_remote_trainer
from podium.rankers.inputs import (
    GROUPED,
    TrainingInput,
    as_features,
    as_queries,
    as_validation_queries,
    check_features,
    query_weights,
)
from podium.rankers.standardizing import learned_standardization
from podium.rankers.stored import StoredRanker
from podium.scorers import Linear, Scorer
from podium.scorers.standardization import Standardization
from podium.training.bar import fit_shown
from podium.training.base import Fit, Problem, Progress, Trainer, Validation

if TYPE_CHECKING:
    from podium.rankers.explaining.explanation import Explanation

__all__ = ["BaseRanker"]


class BaseRanker(StoredRanker):
    """A scikit-learn estimator that learns from lists and gives scores.

    A subclass declares its parameters as annotated attributes, and names its parts in ``_loss``, ``_scorer``
    and ``_trainer``; one that is not trained on a loss overrides ``_train``.

    Parameters
    ----------
    normalize : {"robust", "standard", "minmax", "zscore", None}
        ``"robust"``: mean 0 and deviation 1 over the training documents, after logarithms of features with heavy
        tails, if there are any (``podium.scorers.standardization``). ``"standard"``: the same without logarithms.
        ``"minmax"`` and ``"zscore"`` rescale within each query; then ``predict`` needs ``qid``.
    random_state : int, optional
        The same number gives the same bits, whatever the number of threads.
    verbose : int
        1 shows fits longer than a second as a bar in terminals and notebooks, else as lines; 2 prints lines only.

    Attributes
    ----------
    model_ : Model
        The learned function from features to scores.
    coef_, intercept_ : (n_features,) array, float
        Weights of the features as given (linear models only), or of their logarithms where
        ``standardization_.log_scale`` is not 0.
    loss_parameters_ : (n_parameters,) array
        Parameters of the loss that were learned; often empty.
    convergence_ : Convergence
        How the training ended, with its curves.
    n_iter_, n_features_in_, n_queries_, n_documents_ : int
        Iterations, features, training queries and their documents.
    feature_names_in_ : (n_features,) array of str
        Names of the features, where they have some.
    click_share_, click_shares_ : float, dict
        Of judged and clicked queries together: the share of the clicked ones in the loss and, where validation queries
        chose it, the metric on them for each share that was tried.

    Examples
    --------
    >>> import podium
    >>> class Margin(podium.rankers.BaseRanker):
    ...     margin: float = 1.0
    ...
    ...     def _loss(self):
    ...         return podium.losses.RankSVMLoss(squared=True, margin=self.margin)
    ...
    ...     def _trainer(self):
    ...         return podium.training.LBFGS()
    >>> queries = podium.make_queries(n_queries=50, n_documents=10, n_features=5)
    >>> ranker = Margin(margin=2.0).fit(queries)
    >>> ranker.coef_.shape, ranker.score(queries) > 0.8
    ((5,), True)
    """

    # With scikit-learn's metadata routing on, query ids reach a ranker without being asked for in every script.
    __metadata_request__fit = {"qid": True}  # noqa: RUF012
    __metadata_request__predict = {"qid": True}  # noqa: RUF012
    __metadata_request__score = {"qid": True}  # noqa: RUF012

    normalize: str | None = choice("robust", None, "standard", *WITHIN_QUERY)
    random_state: RandomState = None
    verbose: int = 0

    def _scorer(self) -> Scorer:
        return Linear()

    def _trainer(self) -> Trainer:
        raise NotImplementedError

    def fit(
        self,
        X: Any,
        y: Any = None,
        qid: Any = None,
        *,
        preferences: Preferences | None = None,
        sample_weight: Any = None,
        eval_set: Any = None,
        eval_qid: Any = None,
        eval_metric: str | Metric = "ndcg@10",
        callback: Callable[[Progress], Any] | None = None,
        init: Any = None,
        bias: Any = None,
        click_share: float | None = None,
    ) -> Self:
        """Learn from lists.

        Parameters
        ----------
        X : (n_documents, n_features) array, CSR matrix or frame; Queries, Clicks, or [Queries, Clicks]
            Documents, one per row; queries bring ``y`` and ``qid``. Clicks need ``bias``.
        y : (n_documents,) array or Preferences
            Grades, higher is better, or pairs.
        qid : (n_documents,) array
            The query of each document: any type, any order. Required: without it there are no lists.
        preferences : Preferences, optional
            Pairs of rows beside the grades, which may then be NaN where unknown. For StructRank, RankNet and PairTies.
        sample_weight : (n_queries,) array, optional
            Weights of queries in order of first appearance; or one per document, equal within each query.
        eval_set : (X, y) or Queries, optional
            Validation queries: early stopping, choice between iterations and restarts.
        eval_qid : (n_validation_documents,) array, optional
            Their query ids, where ``eval_set`` is a pair.
        eval_metric : str or Metric
            What is watched on them; ``"ndcg@5 (letor)"`` names a convention, else it is ``standard``.
        callback : callable, optional
            Called with a :class:`podium.training.Progress` after each iteration or epoch; returning True stops the
            training.
        init : fitted ranker or path of a saved one, optional
            Training goes on from there: trees are added to its trees, or weights start at its weights. It must have
            the same features and the same kind of model, and may be this ranker itself.
        bias : bias of :mod:`podium.clicks` or "naive", optional
            What places did to the clicks; ``"naive"`` takes clicks per impression as they are.
        click_share : float, optional
            Of ``[Queries, Clicks]``: the share of the clicked queries in the loss. If not given, ``eval_set`` chooses.

        Returns
        -------
        self
            The fitted ranker.
        """
        if click_share is None and is_mixed(X):
            how = {"sample_weight": sample_weight, "callback": callback, "init": init, "bias": bias}
            return fit_with_best_share(self, X, how, (eval_set, eval_qid, eval_metric))
        clicked = clicked_lists(self, X, bias, click_share)
        if clicked is not None:
            X, sample_weight = clicked.queries, clicked.weights(sample_weight)
        queries = as_queries(X, y, qid, labeled=True, preferences=preferences)
        if isinstance(queries, RemoteQueries):
            require_remote_trainer(self)
        if len(queries) == 0 or queries.n_documents == 0:
            raise ValueError("0 sample(s): there is no document to learn from, and a minimum of 1 is required.")
        self.check_parameters()
        start = None if init is None else start_of(self, init, queries)
        self._set_features(queries)
        self._check(queries, X)
        self.standardization_ = None
        weights = query_weights(sample_weight, queries)
        validation = None if eval_set is None else as_validation_queries(eval_set, eval_qid)
        if validation is not None:
            self._check(validation, eval_set if isinstance(eval_set, GROUPED) else eval_set[0])
            watched = watched_metric(eval_metric, validation)
            validation, eval_metric = (None, eval_metric) if watched is None else (validation, watched)
        try:
            with fit_shown(self.verbose, callback) as told:
                given = TrainingInput(queries, weights, validation, eval_metric, told, start)
                given = given if clicked is None else replace(given, drawing=clicked.drawing)
                self._set_fit(self._train(given))
                if clicked is not None:
                    clicked.keep_bias(self)
        except Exception as error:
            name_query(error, queries)
            raise
        self.n_queries_, self.n_documents_ = len(queries), queries.n_documents
        self._expose_model()
        if click_share is not None:
            self.click_share_ = click_share
        return self

    def _train(self, given: TrainingInput) -> Fit:
        loss, scorer = self._loss(), self._scorer()
        assert loss is not None
        queries, folded = self._prepared(given)
        if given.init is not None:
            loss = given.init.continued(loss)
        if given.drawing is not None:
            loss = given.drawing.around(loss, self.random_state)
        problem = Problem(
            loss=loss,
            scorer=scorer,
            queries=queries,
            query_weight=given.query_weight,
            standardization=folded,
            validation=self._validation(given),
            rng=as_generator(self.random_state),
            callback=given.callback,
            verbose=self.verbose,
            init=None if given.init is None else given.init.model,
        )
        return self._trainer().fit(problem)

    def predict(self, X: Any, qid: Any = None) -> np.ndarray:
        """Return the scores of documents, higher is better.

        Parameters
        ----------
        X : (n_documents, n_features) array, CSR matrix or frame, or Queries
            Documents, one per row.
        qid : (n_documents,) array, optional
            Query ids, needed only where a score depends on the other documents of its list: features normalized within
            each query, or a listwise scorer.

        Returns
        -------
        numpy.ndarray
            Scores (n_documents,), in the order of the rows given; a Dask array, computed when asked for, of queries on
            a cluster.
        """
        queries = self._to_score(X, qid)
        if isinstance(queries, RemoteQueries):
            return queries.vector(part_scorer(self))
        return queries.restore(self._scores(queries))

    def rank(self, X: Any, qid: Any = None) -> np.ndarray:
        """Return the rank of each document in its query.

        Parameters
        ----------
        X : (n_documents, n_features) array, CSR matrix or frame, or Queries
            Documents, one per row.
        qid : (n_documents,) array, optional
            Query ids.

        Returns
        -------
        numpy.ndarray
            Ranks (n_documents,), 1 is best, in the order of the rows given. Documents with equal scores are ranked in
            this order, too.
        """
        queries, scores = self._scored_lists(X, qid=qid)
        query = queries.query_of_document
        best_first = np.lexsort((-scores, query))  # stable: ties keep their order
        ranks = np.empty(queries.n_documents, np.int64)
        ranks[best_first] = np.arange(queries.n_documents) - queries.offsets[:-1][query] + 1
        return queries.restore(ranks)

    def score(self, X: Any, y: Any = None, qid: Any = None, sample_weight: Any = None) -> float:
        """Return the mean NDCG@10 over the queries under the convention ``standard``.

        Parameters
        ----------
        X, y, qid, sample_weight : array, frame or Queries
            As in :meth:`fit`.

        Returns
        -------
        float
            From 0 to 1.
        """
        if isinstance(X, RemoteQueries):
            values = remote_values(self, self._to_score(as_queries(X, y, qid, labeled=True), None))
            return float(np.average(values, weights=query_weights(sample_weight, X)))
        queries, scores = self._scored_lists(X, y, qid, labeled=True)
        values = metric("ndcg@10").per_query(scores, queries.labels, queries.offsets)
        return float(np.average(values, weights=query_weights(sample_weight, queries)))

    def explain(
        self, X: Any, qid: Any = None, *, query: Any = None, documents: Sequence[int] | None = None
    ) -> Explanation:
        """Return why one document's score is above another's: what each feature contributes to the difference.

        The contributions add up to the difference. How they are found depends on the scorer: exactly for linear models
        and rules on single features; SHAP values for trees; for all others Shapley values between the two documents,
        exact if they differ in at most 12 features, else integrated gradients (networks) or estimated from sampled
        orders. Where scores depend on the whole list, the other documents are held fixed.

        Parameters
        ----------
        X : (n_documents, n_features) array, CSR matrix or frame, or Queries
            Documents, one per row.
        qid : (n_documents,) array, optional
            Query ids; without them all rows are one list.
        query : Any, optional
            The id of the query to explain.
        documents : (a, b) or (a,), optional
            Rows of X, from 0: why is a above b? One row is compared with the mean of its list. By default, the first
            and the second of the query's ranking.

        Returns
        -------
        Explanation
            Contributions of all features, which can be printed.

        Examples
        --------
        >>> import podium
        >>> queries = podium.make_queries(n_queries=20, n_documents=5, n_features=3, random_state=0)
        >>> why = podium.ListNet().fit(queries).explain(queries, documents=(0, 1))
        >>> why.method, abs(sum(c.contribution for c in why.contributions) - why.difference) < 1e-9
        ('exact: the model is linear', True)
        """
        from podium.rankers.explaining.explain import explain

        self._require_fitted()
        named = qid is not None or isinstance(X, Queries)
        rows = X if named else as_features(X)
        queries = as_queries(X, qid=qid, labeled=False) if named else Queries(rows, sizes=[np.shape(rows)[0]])
        return explain(self, self._check(queries, X), query, documents, named=named)

    # ---- parts of the methods above

    def _needs_lists(self) -> bool:
        """Return whether a document's score depends on the other documents of its query."""
        return self.normalize in WITHIN_QUERY or self._scorer().listwise

    def _to_score(self, X: Any, qid: Any) -> Any:
        self._require_fitted()
        if qid is not None or isinstance(X, GROUPED):
            return self._check(as_queries(X, qid=qid, labeled=False), X)
        if self._needs_lists():
            why = f"normalize={self.normalize!r}" if self.normalize in WITHIN_QUERY else "its scorer"
            raise ValueError(
                f"this {type(self).__name__} looks at whole lists ({why}): give predict the query ids, qid="
            )
        rows = as_features(X)
        return self._check(Queries(rows, sizes=[np.shape(rows)[0]]), X)

    def _scored_lists(
        self, X: Any, y: Any = None, qid: Any = None, labeled: bool = False
    ) -> tuple[Queries, np.ndarray]:
        """Return the lists given and their scores in the grouped order."""
        self._require_fitted()
        if isinstance(X, RemoteQueries):
            raise ValueError("for queries on a cluster there are predict, score and podium.evaluate, not this")
        queries = self._check(as_queries(X, y, qid, labeled=labeled), X)
        return queries, self._scores(queries)

    def _scores(self, queries: Queries) -> np.ndarray:
        """Return the model's scores; raise ValueError if one is not finite, which would have no place in a ranking."""
        return part_scorer(self)(queries)

    def _as_trained(self, queries: Any) -> Any:
        """Return the queries with features as the model sees them."""
        return self._standardized(self._within_query(queries))

    def _within_query(self, queries: Any) -> Any:
        return rescaled(queries, self.normalize) if self.normalize in WITHIN_QUERY else queries

    def _prepared(self, given: TrainingInput) -> tuple[Any, Standardization | None]:
        """Learn the scale of features; return the training queries with it, and what of it the model takes in."""
        queries = self._within_query(given.queries)
        self.standardization_, folded = learned_standardization(self.normalize, queries, self._scorer(), given.init)
        return self._standardized(queries), folded

    def _standardized(self, queries: Any) -> Any:
        return queries if self.standardization_ is None else self.standardization_.apply(queries)

    def _validation(self, given: TrainingInput) -> Validation | None:
        found = given.validation
        return None if found is None else Validation(self._as_trained(found), metric(given.eval_metric))

    def _check(self, queries: Any, given: Any) -> Any:
        """Return the queries made from ``given`` if they have the features fitted on, and no values missing."""
        names = getattr(self, "feature_names_in_", None)
        check_features(queries, self.n_features_in_, names, given=given, estimator=type(self).__name__)
        if not self._scorer().accepts_missing:
            queries.require_finite()
        return queries

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = self.normalize not in WITHIN_QUERY
        tags.input_tags.allow_nan = self._scorer().accepts_missing
        return tags
