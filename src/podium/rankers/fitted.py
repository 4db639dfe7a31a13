"""What estimators of lists and of ratings have in common: the result of fitting, and saving it."""

from __future__ import annotations

import os
from typing import Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from podium.core.fields import Fields
from podium.core.registry import Registered
from podium.files.models import save
from podium.scorers.base import Model
from podium.training.base import Convergence, Fit


class FittedEstimator(Fields, Registered, BaseEstimator):  # type: ignore[misc]
    """Base class of scikit-learn estimators whose parameters are fields and whose fits can be saved.

    A subclass has the two methods of the file protocol, ``_fitted_state`` and ``_restore_fitted``.
    """

    model_: Model
    loss_parameters_: np.ndarray
    convergence_: Convergence
    n_iter_: int

    def save(self, path: str | os.PathLike[str], *, dataset: str | None = None) -> None:
        """Write the fitted ranker to one file, which :func:`podium.load` reads. No pickle: loading it runs no code.

        ``dataset`` (a name, a version, a fingerprint) is stored in the file, and is in ``provenance_`` after loading.
        """
        save(self, path, dataset=dataset)

    def _set_fit(self, fit: Fit) -> Self:
        """Store the result of training."""
        self.model_, self.loss_parameters_, self.convergence_ = fit.model, fit.loss_parameters, fit.convergence
        self.n_iter_ = fit.convergence.n_iter
        return self

    def _require_fitted(self) -> None:
        if not hasattr(self, "model_"):
            raise NotFittedError(f"this {type(self).__name__} is not fitted yet: call fit first")

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")
