"""Any loss on any scorer."""

from typing import Any, Self

from podium.losses.base import Loss
from podium.rankers.tree_methods import TreeMethods
from podium.scorers import Linear, Scorer
from podium.training import LBFGS, Boosting, Stochastic, Trainer

__all__ = ["Ranker"]

_TRAINERS: dict[str, type[Trainer]] = {"quasi-newton": LBFGS, "stochastic": Stochastic, "boosting": Boosting}


class Ranker(TreeMethods):
    """A loss, a scorer and a trainer as one scikit-learn estimator.

    Parameters
    ----------
    loss : Loss
        What is minimized, from :mod:`podium.losses` or of your own.
    scorer : Scorer, optional
        The function that is learned, from :mod:`podium.scorers`; :class:`podium.scorers.Linear` if not given.
    trainer : Trainer, optional
        From :mod:`podium.training`; if not given, the one that suits the scorer, or stochastic steps where the loss
        gives directions that are not the gradient of its value.

    Examples
    --------
    >>> import podium
    >>> queries = podium.make_queries(n_queries=50, n_documents=10, n_features=5)
    >>> ranker = podium.Ranker(podium.losses.ListNetLoss()).fit(queries)
    >>> ranker.convergence_.converged, ranker.score(queries) > 0.8
    (True, True)
    """

    loss: Loss
    scorer: Scorer | None = None
    trainer: Trainer | None = None

    def _loss(self) -> Loss:
        if not isinstance(self.loss, Loss):
            raise ValueError(f"loss must be one of podium.losses, such as ListNetLoss(); got {self.loss!r}")
        return self.loss

    def _scorer(self) -> Scorer:
        return Linear() if self.scorer is None else self.scorer

    def _trainer(self) -> Trainer:
        if self.trainer is not None:
            return self.trainer
        scorer = self._scorer()
        trainer = _TRAINERS[scorer.trained_by](**scorer.training_options)
        return trainer if self._loss().has_gradient or not trainer.needs_gradient else Stochastic()

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name.

        Parameters
        ----------
        **params : Any
            New values; ``scorer__l2`` reaches into a part, and makes the default one if none was given.

        Returns
        -------
        self
            The ranker.
        """
        for part in ("scorer", "trainer"):
            reached = part not in params and any(name.startswith(f"{part}__") for name in params)
            if reached and getattr(self, part) is None:
                setattr(self, part, getattr(self, f"_{part}")())
        return super().set_params(**params)
