"""A blend: the average of the rankings of several models.

Documents are ordered by the geometric mean of the ranks they get, which cares most about the top of a list and not
about the scale of scores. With validation queries, shares follow their evidence (:mod:`podium.models.evidence`): where
there are a few dozen of them, the best of many models is mostly luck, and an average of good and middling ones beats
it; where there are many, a few members have it all. Without them, kinds of model (linear, network, trees, single
features) have equal shares, because models of one kind make much the same mistakes; so have the members of a kind.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone

from podium.core.arrays import Arrays, named_under, require_array
from podium.core.parameters import count, require_choice
from podium.core.random_state import consecutive_seeds
from podium.data.queries import Queries
from podium.metrics import metric
from podium.models.evidence import evidence_shares
from podium.numerics.forward import mean_ranks
from podium.rankers.estimator import BaseRanker
from podium.rankers.fitted import was_interrupted
from podium.rankers.inputs import TrainingInput
from podium.rankers.methods import accepted
from podium.rankers.presets.feature_boosting import FeatureBoosting
from podium.scorers.base import Model, Scorer
from podium.training.base import Convergence, Fit

__all__ = ["Blend"]

_KINDS = {"quasi-newton": "weights", "stochastic": "network", "boosting": "trees"}


class Blend(BaseRanker):
    """The average of the rankings that other rankers give.

    Scores are minus the weighted mean of the logarithms of a document's ranks, so they mean nothing across lists, and
    predicting needs query ids.

    Parameters
    ----------
    members : sequence of rankers, or of pairs (name, ranker)
        Each is cloned and fitted on the same data.
    weights : sequence of float or {"evidence", "equal"}, optional
        One per member; only their proportions matter. With ``"evidence"``, the default where ``fit`` is given an
        ``eval_set``, a member's share is that of bootstrap samples of the validation queries in which it is among the
        best three by ``eval_metric``; one that the best beats in nearly all samples has none. With ``"equal"``, the
        default otherwise, each kind of model has an equal share, and so has each member of a kind.
    repeats : int
        Fits of each member on trees or networks, with consecutive seeds from its ``random_state`` on, which divide its
        share among them. Other members do not depend on a seed and are fitted once.

    Attributes
    ----------
    rankers_ : list of (name, fitted ranker)
    weights_ : (n_members,) array

    Examples
    --------
    >>> import podium
    >>> queries = podium.make_queries(n_queries=20, n_documents=6, random_state=0)
    >>> blend = podium.Blend([podium.ListNet(), ("forest", podium.GBDT(n_trees=5))]).fit(queries)
    >>> blend.weights_, [name for name, _ in blend.rankers_]
    (array([0.5, 0.5]), ['listnet', 'forest'])
    """

    members: Sequence[Any]
    weights: Sequence[float] | str | None = None
    repeats: int = count(1)

    normalize: ClassVar[None] = None  # type: ignore[misc]
    random_state: ClassVar[None] = None  # type: ignore[misc]
    verbose: ClassVar[int] = 0  # type: ignore[misc]
    rankers_: list[tuple[str, Any]]
    weights_: np.ndarray

    def _train(self, given: TrainingInput) -> Fit:
        copies = [[(name, copy) for copy in self._copies(ranker)] for name, ranker in self._named()]
        named = [fit for fits in copies for fit in fits]
        given_weights = self._given_weights(len(copies), given)
        options: dict[str, Any] = {"eval_set": given.validation, "eval_metric": given.eval_metric}
        options |= {"sample_weight": given.query_weight, "callback": given.callback}
        used = {name: value for name, value in options.items() if value is not None}
        for name, ranker in named:
            ranker.fit(given.queries, **accepted(ranker.fit, used))
            if was_interrupted(ranker):
                raise KeyboardInterrupt(f"interrupted while fitting {name}: a blend is kept whole or not at all")
        self.rankers_ = named
        shares = self._shares(given, copies) if given_weights is None else given_weights
        counts = [len(fits) for fits in copies]
        self.weights_ = np.repeat(shares / counts, counts)
        convergence = Convergence(None, "all members were fitted", n_iter=len(named), step="member")
        return Fit(_BlendModel(self.rankers_, self.weights_), np.empty(0), convergence)

    def _scorer(self) -> Scorer:
        return _BlendScorer()

    def _named(self) -> Iterator[tuple[str, Any]]:
        """Yield copies of the members with their names."""
        if not self.members:
            raise ValueError("a blend needs at least one member")
        for member in self.members:
            name, ranker = member if isinstance(member, tuple) else (type(member).__name__.lower(), member)
            if not (hasattr(ranker, "fit") and hasattr(ranker, "predict")):
                raise ValueError(f"the member {name!r} of the blend, {ranker!r}, has no fit and predict")
            yield name, clone(ranker, safe=False)

    def _copies(self, ranker: Any) -> list[Any]:
        """Return the rankers to fit for a member: itself, or copies with consecutive seeds."""
        if self.repeats == 1 or not isinstance(ranker, BaseRanker) or kind_of(ranker) not in ("trees", "network"):
            return [ranker]
        seeds = consecutive_seeds(ranker.random_state, self.repeats)
        return [clone(ranker).set_params(random_state=seed) for seed in seeds]

    def _given_weights(self, n: int, given: TrainingInput) -> np.ndarray | None:
        """Return the weights that the user gave, checked before anything is fitted; None for those that are a rule."""
        if self.weights is None or isinstance(self.weights, str):
            if self.weights is not None:
                require_choice("weights", self.weights, ("evidence", "equal"))
            if self.weights == "evidence" and given.validation is None:
                raise ValueError("weights='evidence' needs validation queries to judge the members: give eval_set")
            return None
        weights = np.asarray(self.weights, np.float64)
        if weights.shape != (n,) or not (np.isfinite(weights).all() and (weights >= 0).all() and weights.any()):
            raise ValueError(
                f"weights must be {n} numbers from 0 on, one per member, and not all 0; got {self.weights}"
            )
        return weights

    def _shares(self, given: TrainingInput, copies: Sequence[Sequence[tuple[str, Any]]]) -> np.ndarray:
        """Return the share of each member, given its fitted copies."""
        if given.validation is None or self.weights == "equal":
            return equal_shares([(kind_of(fits[0][1]), i) for i, fits in enumerate(copies)])
        queries, measure = in_rows(given.validation), metric(given.eval_metric)

        def values(ranker: Any) -> np.ndarray:
            return measure.per_query(np.asarray(ranker.predict(queries), np.float64), queries.labels, queries.offsets)

        return evidence_shares(np.array([np.mean([values(r) for _, r in fits], axis=0) for fits in copies]))

    def _stored_fit(self) -> tuple[dict[str, Any], Arrays]:
        fitted, arrays = super()._stored_fit()
        stored = [_stored(name, ranker) for name, ranker in self.rankers_]
        members = {f"members.{i}.{key}": array for i, (_, own) in enumerate(stored) for key, array in own.items()}
        return {**fitted, "members": [own for own, _ in stored]}, {**arrays, **members}

    def _restore_fit(self, fitted: dict[str, Any], arrays: Arrays) -> None:
        super()._restore_fit(fitted, arrays)
        self.rankers_ = [(name, copy) for name, ranker in self._named() for copy in self._copies(ranker)]
        for number, ((_, ranker), own) in enumerate(zip(self.rankers_, fitted["members"], strict=True)):
            ranker._restore_fit(own, named_under(f"members.{number}", arrays))
        self.weights_ = require_array(arrays, "model.weights", (len(self.rankers_),))
        self.model_ = _BlendModel(self.rankers_, self.weights_)


def _stored(name: str, ranker: Any) -> tuple[dict[str, Any], Arrays]:
    if not hasattr(ranker, "_stored_fit"):
        raise ValueError(f"the member {name!r} of the blend, {ranker!r}, cannot be saved: it is no Podium ranker")
    return ranker._stored_fit()


class _BlendModel(Model):
    def __init__(self, rankers: Sequence[tuple[str, Any]], weights: np.ndarray) -> None:
        self.rankers, self.weights = rankers, weights

    def scores(self, queries: Queries) -> np.ndarray:
        queries = in_rows(queries)
        total = np.zeros(queries.n_documents)
        for (_, ranker), weight in zip(self.rankers, self.weights, strict=True):
            if weight > 0:
                total -= weight * np.log(mean_ranks(np.asarray(ranker.predict(queries), np.float64), queries.offsets))
        return total

    def scoring(self) -> dict[str, Any]:
        return {"kind": "blend"}

    def to_arrays(self) -> Arrays:
        return {"weights": self.weights}

    @classmethod
    def from_arrays(cls, scorer: Scorer | None, arrays: Arrays) -> Self:
        return cls([], require_array(arrays, "weights", (None,)))  # the blend restores its members


class _BlendScorer(Scorer, listwise=True, accepts_missing=True, model_class=_BlendModel):
    """Stands for the members, each of which says whether it takes missing values."""


def in_rows(queries: Queries) -> Queries:
    """Return queries whose rows are grouped: rankers answer in the order of the rows they were given."""
    return queries if queries.order is None else queries.take(np.arange(len(queries)))


def kind_of(ranker: Any) -> str:
    """Return the kind of a ranker's models, as the table of methods has it; a user's ranker is a kind of its own."""
    if not isinstance(ranker, BaseRanker):
        return f"own: {id(ranker)}"
    return "features" if isinstance(ranker, FeatureBoosting) else _KINDS[ranker._scorer().trained_by]


def equal_shares(groups: Sequence[tuple[Any, Any]]) -> np.ndarray:
    """Return the share of each (kind, method): equal for kinds, for the methods of a kind, and within a method.

    >>> equal_shares([("weights", "a"), ("weights", "b"), ("weights", "b"), ("trees", "c")]).tolist()
    [0.25, 0.125, 0.125, 0.5]
    """
    within, methods = Counter(groups), Counter(kind for kind, _ in set(groups))
    return np.array([1.0 / (len(methods) * methods[kind] * within[kind, method]) for kind, method in groups])
