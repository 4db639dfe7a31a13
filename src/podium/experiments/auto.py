"""Choosing a method and its setting without being asked which: the ranker ``Auto``."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from podium.core.random_state import seed_of
from podium.data.queries import Queries
from podium.experiments.listening import listening
from podium.experiments.run.clock import Clock
from podium.experiments.run.runner import Listener
from podium.experiments.selection import AutoChoice, AutoStudy
from podium.metrics import Metric
from podium.models.blend import in_rows
from podium.rankers.estimator import BaseRanker
from podium.rankers.inputs import TrainingInput
from podium.scorers.base import Model, Scorer
from podium.training.base import Fit

__all__ = ["Auto"]


class Auto(BaseRanker):
    """A method and its setting, or a blend of several, chosen by what they do on queries they were not fitted on.

    A few settings each of methods that are good in general (linear and boosted trees on several losses, some also on
    features rescaled within each query, and single features) race on cross-validation folds of whole queries, weak
    ones being dropped on the way. The pick is a blend whose shares follow the evidence: the share of bootstrap samples
    of the queries in which a candidate is among the best three, and none for one that the best clearly beats. It is
    judged in rehearsal: half of the queries decide shares, the other half judges them, in ten random halvings; where
    the best single candidate, chosen in the same way, is clearly better, that is the pick. The pick is then fitted on
    all queries.

    Parameters
    ----------
    metric : str or Metric, optional
        What candidates are judged by; by default the ``eval_metric`` of ``fit``, NDCG@10. If it cannot tell methods
        apart on these labels, NDCG or MAP takes its place, and that is said. Of several, the first that can tell.
    methods : sequence of str, optional
        Methods to choose from; by default those that are good in general.
    minutes : float, optional
        Time for search and final fit. Without it the same data and seed give the same model.
    target : str, optional
        A format of :func:`podium.export`: only candidates that it can express are tried. The pick is one of them or,
        where that is better, a :class:`podium.LambdaMART` that learned the scores of their blend (podium.distill).
    folds : int
        Folds of the cross-validation, where ``fit`` is given no ``eval_set``.
    repeats : int
        Seeds that trees are fitted with and averaged over in the final fit (except in a blend that is distilled).
    n_jobs : int, optional
        Processes; None is one per core. With more than 1, a script needs ``if __name__ == "__main__":``.
    out : path, optional
        Folder that keeps the trials: a search that was stopped goes on from there.

    Attributes
    ----------
    pick_ : the fitted ranker, which is what :meth:`save` writes: a preset, or a :class:`podium.Blend`
    choice_ : AutoChoice
        What was tried, chosen and left out, with the figures.

    Examples
    --------
    >>> import podium
    >>> queries = podium.make_queries(n_queries=30, n_documents=8, n_features=5, random_state=0)
    >>> auto = podium.Auto(methods=["listnet", "regression"], folds=3, random_state=0).fit(queries)
    >>> type(auto.pick_).__name__, auto.score(queries) > 0.8
    ('Blend', True)
    """

    metric: str | Metric | Sequence[str | Metric] | None = None
    methods: Sequence[str] | None = None
    minutes: float | None = None
    target: str | None = None
    folds: int = 5
    repeats: int = 3
    n_jobs: int | None = 1
    out: str | Path | None = None

    normalize: ClassVar[None] = None  # type: ignore[misc]
    pick_: Any
    choice_: AutoChoice

    def fit(
        self,
        X: Any,
        y: Any = None,
        qid: Any = None,
        *,
        progress: Listener | bool | None = None,
        clock: Clock | None = None,
        **options: Any,
    ) -> Self:
        """Choose and fit.

        Parameters
        ----------
        X, y, qid : array, frame or Queries
            As in :meth:`podium.rankers.BaseRanker.fit`.
        progress : bool or Listener, optional
            As in :func:`podium.tune`; ``verbose=1`` is ``progress=True``.
        clock : Clock, optional
            May have started before this call.
        **options : Any
            Those of :meth:`podium.rankers.BaseRanker.fit`. ``eval_set`` judges candidates in place of cross-validation;
            the pick is fitted on ``X`` alone. Weights of queries count in the evidence and in the final fit.

        Returns
        -------
        self
            The fitted ranker.
        """
        if progress is None and self.verbose:
            progress = True
        with listening(progress) as listener:
            self._guides = listener, clock or Clock(self.minutes)
            try:
                return super().fit(X, y, qid, **options)
            finally:
                del self._guides

    def _train(self, given: TrainingInput) -> Fit:
        listener, clock = self._guides
        study = AutoStudy(self, given, listener, clock, seed_of(self.random_state))
        self.pick_, self.choice_ = study.run()
        return Fit(_PickModel(self.pick_), self.pick_.loss_parameters_, self.pick_.convergence_)

    def _scorer(self) -> Scorer:
        pick = getattr(self, "pick_", None)
        return _PickScorer() if pick is None or not pick._needs_lists() else _ListPickScorer()

    def probabilities(self, X: Any, qid: Any = None) -> Any:
        """Return what the pick says of the ranking of each list, see :meth:`podium.PMOP.probabilities`.

        Parameters
        ----------
        X, qid : array, frame or Queries
            As in ``predict``.

        Returns
        -------
        ListProbabilities
            One per list.

        Raises
        ------
        ValueError
            If the pick is no probability model, as blends and most boosted trees are not; it is named.
        """
        return self._ask_pick("probabilities", X, qid)

    def log_likelihood(self, X: Any, y: Any = None, qid: Any = None) -> float:
        """Return the pick's mean over lists of the log-probability of their labels."""
        return float(self._ask_pick("log_likelihood", X, y, qid))

    def _ask_pick(self, question: str, *given: Any) -> Any:
        self._require_fitted()
        try:
            return getattr(self.pick_, question)(*given)
        except ValueError as error:
            raise ValueError(f"Auto picked {type(self.pick_).__name__}: {error}") from None

    def _to_save(self) -> Any:
        self._require_fitted()
        return self.pick_


class _PickModel(Model):
    def __init__(self, pick: Any) -> None:
        self.pick = pick

    def scores(self, queries: Queries) -> np.ndarray:
        return np.asarray(self.pick.predict(in_rows(queries)), np.float64)


class _PickScorer(Scorer, accepts_missing=True, model_class=_PickModel):
    """Stands for the pick, which says whether it takes missing values."""


class _ListPickScorer(_PickScorer, listwise=True):
    """Stands for a pick that looks at whole lists."""
