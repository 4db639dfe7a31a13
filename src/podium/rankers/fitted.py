"""Base class of estimators of lists and of ratings: the result of fitting, and saving it."""

import os
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from podium.core.arrays import Arrays, require_array
from podium.core.fields import Fields
from podium.core.registry import Registered
from podium.files.models import save
from podium.losses.base import Loss
from podium.scorers.base import Model
from podium.training.base import Convergence, Fit


def was_interrupted(ranker: Any) -> bool:
    """Return whether the fit of a ranker, of Podium's or not, was ended early and kept what it had."""
    return bool(getattr(getattr(ranker, "convergence_", None), "interrupted", False))


class FittedEstimator(Fields, Registered, BaseEstimator):  # type: ignore[misc]
    """Base class of scikit-learn estimators whose parameters are fields and which can be saved when fitted.

    A subclass adds what it learns besides its model to ``_stored_fit``, and takes it back in ``_restore_fit``.
    """

    model_: Model
    loss_parameters_: np.ndarray
    convergence_: Convergence
    n_iter_: int
    provenance_: dict[str, Any]
    """Data, command, date and versions, as far as the file of a loaded ranker tells them."""
    distillation_: dict[str, Any]
    """The teacher's figures and its own, if :func:`podium.distill` made this ranker."""

    def _loss(self) -> Loss | None:
        """Return the loss that this ranker's parameters describe; None if it is not trained on one."""
        return None

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        dataset: str | None = None,
        provenance: Mapping[str, Any] | None = None,
    ) -> None:
        """Write the fitted ranker to one file, which :func:`podium.load` reads. No pickle: loading it runs no code.

        Parameters
        ----------
        path : path
            The file.
        dataset : str, optional
            A name, a version, a fingerprint of the training data; in ``provenance_`` after loading.
        provenance : mapping, optional
            Further facts of its origin, in JSON.
        """
        save(self._to_save(), path, dataset=dataset, provenance=provenance)

    def _to_save(self) -> Any:
        """Return the ranker that :meth:`save` writes."""
        return self

    def _set_fit(self, fit: Fit) -> Self:
        """Store the result of training."""
        for of_the_model_before in ("provenance_", "distillation_", "click_share_", "click_shares_", "bias_"):
            self.__dict__.pop(of_the_model_before, None)
        self.model_, self.loss_parameters_, self.convergence_ = fit.model, fit.loss_parameters, fit.convergence
        self.n_iter_ = fit.convergence.n_iter
        return self

    def _stored_fit(self) -> tuple[dict[str, Any], Arrays]:
        """Return the result of fitting: JSON, and arrays and texts by name."""
        model = {f"model.{name}": value for name, value in self.model_.to_arrays().items()}
        fitted: dict[str, Any] = {"convergence": asdict(self.convergence_)}
        if hasattr(self, "distillation_"):
            fitted["distillation"] = self.distillation_
        return fitted, {**model, "loss_parameters": self.loss_parameters_}

    def _restore_fit(self, fitted: dict[str, Any], arrays: Arrays) -> None:
        """Become the ranker that :meth:`_stored_fit` describes; raise ValueError or KeyError if there is none.

        A subclass restores ``model_`` first.
        """
        loss = self._loss()
        loss_parameters = require_array(arrays, "loss_parameters", (0 if loss is None else loss.n_parameters,))
        self._set_fit(Fit(self.model_, loss_parameters, Convergence.from_dict(fitted["convergence"])))
        if "distillation" in fitted:
            self.distillation_ = dict(fitted["distillation"])

    def _require_fitted(self) -> None:
        if not hasattr(self, "model_"):
            raise NotFittedError(f"this {type(self).__name__} is not fitted yet: call fit first")

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")
