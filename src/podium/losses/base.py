"""The contract of a loss: one query's scores and labels in, a value and its gradient out.

What every loss is written with can be imported from here.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from podium.core.arrays import Array as Array
from podium.core.parameters import Parameterized
from podium.data.grouping import as_offsets
from podium.data.preferences import Preferences
from podium.losses.bound import BoundLoss, LossValue
from podium.losses.checks import as_column, as_labels
from podium.losses.labeled import LabeledLists as LabeledLists
from podium.numerics.compiling import Kernel as Kernel
from podium.numerics.compiling import njit as njit
from podium.numerics.kernels import Derivatives as Derivatives
from podium.numerics.kernels import OneList as OneList
from podium.numerics.kernels import own as own

__all__ = ["Loss"]


class Loss(Parameterized):
    """Base class of all losses.

    A subclass declares its facts, as attributes or as keywords of the class, names its compiled ``kernel`` (see
    ``podium.numerics.loop``) and, in ``prepare``, does whatever depends on the labels alone. It holds parameters,
    never data. :class:`podium.losses.FunctionLoss` makes one of a plain function.

    Examples
    --------
    >>> from podium.losses import Loss, RankRegressLoss
    >>> loss = RankRegressLoss(normalize=False)
    >>> isinstance(loss, Loss), loss.convex, loss.cost, loss.n_parameters
    (True, True, 'n', 0)
    >>> loss.bind(labels=[1, 0], offsets=[0, 2]).value_and_gradient([0.5, 0.0]).value
    0.25
    """

    kernel: ClassVar[Kernel]
    convex: ClassVar[bool] = False
    """Convex in the scores?"""
    shift_invariant: ClassVar[bool] = True
    """Unchanged when a constant is added to all scores of a query?"""
    has_gradient: ClassVar[bool] = True
    """Is ``d_scores`` the derivative of ``value``? (LambdaRank's is one with some factors held fixed.)"""
    has_curvature: ClassVar[bool] = False
    """Can it give a second derivative per document (``d2_scores``)?"""
    exact_curvature: ClassVar[bool] = False
    """Is that the exact diagonal of the Hessian, rather than a positive stand-in for it?"""
    accepts_preferences: ClassVar[bool] = False
    """Can its labels be :class:`podium.Preferences` instead of grades?"""
    keeps_float32: ClassVar[bool] = False
    """Is its kernel also compiled for float32 scores? Worth it where the arithmetic is all there is; others compute in
    float64 whatever they are given."""
    sums_documents: ClassVar[bool] = False
    """Does a list's value grow with its number of documents, as a likelihood's does? Penalties then grow with it."""
    guarded: ClassVar[bool] = True
    """Is its kernel guarded from scores that are not finite? In others, these make the value NaN by themselves."""
    visits_pairs: ClassVar[bool] = False
    """Does a list of ordinary length, a few hundred documents, take time that grows with its number of pairs? It
    decides when a loop is worth sharing between threads, and so does:"""
    ns_per_document: ClassVar[float] = 10.0
    """About how many nanoseconds a document takes, in a list of a hundred, if that is not so."""
    linear_in: ClassVar[str | None] = None
    """Is its gradient linear in the labels themselves, ``"labels"``, or, times their sum, ``"shares"`` of it? Then
    unbiased weights of clicks can be its labels, which need not be drawn."""
    looks: ClassVar[int | None] = None
    """Where labels are drawn from what clicks tell: a label counts the clicks in this many looks at the document. None:
    it says whether the document is relevant."""
    rankings: ClassVar[str | None] = None
    """The distribution over rankings that its scores stand for, as ``podium.probabilities.families`` names it."""
    cost: ClassVar[str] = "n"
    """Operations for a list of n documents, for readers."""

    @property
    def is_random(self) -> bool:
        """Whether its value depends on random numbers, a stream for each query's number."""
        return False

    @property
    def n_parameters(self) -> int:
        """How many parameters the loss itself learns."""
        return len(self.initial_parameters())

    def initial_parameters(self) -> Array:
        """Return where learning of the loss's own parameters starts, (n_parameters,) float64."""
        return np.empty(0)

    def parameter_bounds(self) -> list[tuple[float | None, float | None]]:
        """Return the smallest and largest value of each of the loss's own parameters; by default they are free."""
        return [(None, None)] * self.n_parameters

    def renewed(self, parameters: Array, derivatives: Array) -> Array | None:
        """Return the loss's own parameters after a tree, if the loss has a rule of its own for them.

        ``derivatives`` is what the kernel wrote as theirs when the tree was grown. Without a rule, by default, None:
        the trainer takes quasi-Newton steps.
        """
        return None if len(parameters) else parameters

    def prepare(self, data: LabeledLists) -> tuple[Any, ...]:
        """Return what the kernel needs to know of labels and parameters, computed (and checked) once per fit."""
        raise NotImplementedError(f"{type(self).__name__} does not say how to prepare labels")

    def prepare_epoch(self, prepared: Any, data: LabeledLists, epoch: int) -> Any:
        """Return ``prepared`` for another pass over the data (fresh samples, reshuffled ties); by default the same."""
        return prepared

    def likelihood(self) -> Loss | None:
        """Return the loss whose value is exactly −log of the labels' probability under this model, or None."""
        return None

    def seeded(self, seed: int) -> Loss:
        """Return the same with this seed of its random numbers; itself if it draws none."""
        parameters = self.get_params(deep=False)
        return type(self)(**{**parameters, "random_state": seed}) if "random_state" in parameters else self

    def around(self, loss: Loss) -> Loss:
        """Return another loss, with around it what is around the one that this loss wraps, if it wraps one."""
        return loss

    def choose_kernel(self) -> Kernel:
        """Return the compiled function of one query; a loss with variants picks by its parameters."""
        return type(self).kernel

    def kernel_for(self, data: LabeledLists) -> Kernel:
        """Return the compiled function for these labels; a loss that has one of its own for preferences says so."""
        return self.choose_kernel()

    def bind(
        self, labels: Any, offsets: Any, query_weight: Any = None, query_numbers: Any = None, highest_grade: Any = None
    ) -> BoundLoss:
        """Return the loss on given labels; evaluating it at many scores then does the label work once.

        Parameters
        ----------
        labels : (n_documents,) array or Preferences
            Grades, higher is better, or pairs, for losses that accept them.
        offsets : (n_queries + 1,) integers
            From 0 to n_documents: query q owns the slice ``offsets[q]:offsets[q + 1]``.
        query_weight : (n_queries,) array, optional
            Non-negative weights of the queries in the mean; a weight of 2 equals the query given twice.
        query_numbers : (n_queries,) integers, optional
            The queries' numbers in a larger data set of which these are a part.
        highest_grade : float, optional
            The highest grade in that larger set.

        Returns
        -------
        BoundLoss
            The loss as a function of scores.
        """
        self.check_parameters()
        offsets = as_offsets(offsets)
        if not isinstance(labels, Preferences):
            labels = as_labels(labels, offsets)
        elif not self.accepts_preferences:
            raise ValueError(
                f"{type(self).__name__} learns from grades, not from preference pairs; StructRankLoss, RankNetLoss, "
                "RaoKupperLoss and DavidsonLoss take both"
            )
        numbers = np.arange(len(offsets) - 1)
        if query_numbers is not None:
            numbers = as_column("query_numbers", query_numbers, len(numbers), "queries", np.int64)
        return BoundLoss(self, LabeledLists(labels, offsets, numbers, highest_grade), query_weight)

    def value_and_gradient(
        self,
        scores: Any,
        labels: Any,
        offsets: Any,
        *,
        query_weight: Any = None,
        parameters: Any = None,
        curvature: bool = False,
    ) -> LossValue:
        """Return the mean loss over queries and its gradient with respect to each score.

        Parameters
        ----------
        scores : (n_documents,) array
            Float32 or float64.
        labels, offsets, query_weight : array
            As in :meth:`bind`.
        parameters : (n_parameters,) array, optional
            The loss's own parameters; :meth:`initial_parameters` if not given.
        curvature : bool
            Also return ``d2_scores``, for losses that have it.

        Returns
        -------
        LossValue
            Value and derivatives.
        """
        if parameters is not None:
            for number, parameter in enumerate(np.ravel(parameters)):
                if not math.isfinite(parameter):
                    raise ValueError(f"parameter {number} of {type(self).__name__} is {parameter}; it must be finite")
        return self.bind(labels, offsets, query_weight).value_and_gradient(
            scores, parameters=parameters, curvature=curvature
        )
