"""A loss of one's own, as a function of one list.

Three kinds of function will do:

    def squares(scores, labels):              # NumPy: returns the value and its gradient
        difference = scores - labels
        return 0.5 * difference @ difference, difference

    squares = numba.njit(squares)             # the same, compiled: at the speed of Podium's own losses

    def squares(scores, labels):              # PyTorch: returns the value alone; autograd finds the gradient
        return 0.5 * ((scores - labels) ** 2).sum()

A function that returns a pair is a NumPy function. One that does not, or cannot compute with arrays, is given tensors.
"""

import sys
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numba.extending import is_jitted

from podium.core.later import torch
from podium.losses.base import Derivatives, Kernel, LabeledLists, Loss, OneList, njit, own
from podium.numerics.compiling import unbound, uncompiled, with_globals
from podium.numerics.elementary import all_finite

__all__ = ["FunctionLoss"]


class FunctionLoss(Loss, visits_pairs=True, cost="the function's"):
    """The mean over queries of a function of one list's scores and labels.

    An exception in the function, a wrong shape and a value that is not finite are errors that name the query. A model
    trained with it can be saved if the function is defined in a module that can be imported; ``podium.load`` must then
    be given the function: ``podium.load(path, parts={"mine:squares": mine.squares})``.

    Parameters
    ----------
    function : callable
        ``function(scores, labels)`` of two (n,) float64 arrays, n ≥ 1, returns the value and its gradient (n,): a NumPy
        function, or the same compiled by ``numba.njit``. Or a PyTorch function of two (n,) float64 tensors that returns
        the value alone. It must not change its arguments.
    convex : bool
        Whether it is convex in the scores.
    shift_invariant : bool
        Is it unchanged when a constant is added to all scores? A linear scorer then needs no intercept.
    has_curvature : bool
        Does the function return ``(value, gradient, curvature)``, with a second derivative (n,) per document, 0 or
        more? Trees make use of it.

    Examples
    --------
    >>> def squares(scores, labels):
    ...     difference = scores - labels
    ...     return 0.5 * difference @ difference, difference
    >>> loss = FunctionLoss(squares).value_and_gradient([0.5, 0.0, -1.0], labels=[1, 2, 0], offsets=[0, 3])
    >>> loss.value, loss.d_scores.tolist()
    (2.625, [-0.5, -2.0, -1.0])
    """

    function: Callable[..., Any]
    convex: bool = False  # type: ignore[misc]
    shift_invariant: bool = False  # type: ignore[misc]
    has_curvature: bool = False  # type: ignore[misc]

    def choose_kernel(self) -> Kernel:
        if not callable(self.function):
            raise TypeError(f"function must be a function of scores and labels; got {self.function!r}")
        if is_jitted(self.function):
            return _compiled_kernel(self.function, self.has_curvature)
        return _PythonKernel(self.function, self.has_curvature)

    def prepare(self, data: LabeledLists) -> tuple[Any, ...]:
        return (data.labels,)


class _PythonKernel:
    """A kernel that calls a NumPy or a PyTorch function; which of them it is shows when it is called first."""

    def __init__(self, function: Callable[..., Any], has_curvature: bool) -> None:
        self.function = function
        self.n_results = 3 if has_curvature else 2
        self.evaluate: Callable[..., Any] = self._evaluate_first

    def __call__(self, given: OneList, prepared: tuple[np.ndarray], out: Derivatives) -> float:
        scores, labels = given.scores.view(), uncompiled(own)(prepared[0], given)
        scores.flags.writeable = labels.flags.writeable = False
        value, *derivatives = self.evaluate(scores, labels)
        value = float(value)
        for name, result, into in zip(("gradient", "curvature"), derivatives, out, strict=False):
            array = np.asarray(result, dtype=np.float64)
            if array.shape != scores.shape:
                raise ValueError(f"the {name} has shape {array.shape}; expected {scores.shape}, one entry per document")
            if not np.isfinite(array).all():
                raise ValueError(f"the {name} is not finite: {array}")
            into[:] = array[: len(into)]
        if not np.isfinite(value):
            raise ValueError(f"the value is {value}, not a finite number")
        return value

    def _evaluate_first(self, scores: np.ndarray, labels: np.ndarray) -> Any:
        """Evaluate the function and find out what kind it is."""
        trouble, result = None, None
        try:
            result = self.function(scores, labels)
        except Exception as error:
            if "torch" not in sys.modules:
                raise
            trouble = error
        if isinstance(result, tuple | list):
            self.evaluate = self._evaluate_numpy
            return self._checked(result)
        if "torch" in sys.modules:
            try:
                result = self._evaluate_torch(scores, labels)
            except Exception as error:
                if trouble is None or "Tensor" in f"{trouble}":
                    raise
                raise trouble from error
            self.evaluate = self._evaluate_torch
            return result
        return self._checked(result)

    def _evaluate_numpy(self, scores: np.ndarray, labels: np.ndarray) -> Any:
        return self._checked(self.function(scores, labels))

    def _checked(self, result: Any) -> Any:
        if not isinstance(result, tuple | list) or len(result) != self.n_results:
            expected = "value, gradient, curvature" if self.n_results == 3 else "value, gradient"
            raise TypeError(
                f"the function must return ({expected}), or be written with PyTorch and return a tensor; "
                f"it returned {result!r}"
            )
        return result

    def _evaluate_torch(self, scores: np.ndarray, labels: np.ndarray) -> Any:
        at = torch.tensor(scores, requires_grad=True)
        value = self.function(at, torch.tensor(labels))
        if not isinstance(value, torch.Tensor) or value.numel() != 1:
            return self._checked(value)
        if not value.requires_grad:  # a list that says nothing may have a constant loss
            return value.item(), np.zeros(len(scores))
        (gradient,) = torch.autograd.grad(value.reshape(()), at)
        return value.item(), gradient.numpy()


function: Kernel = unbound


def _call_function(given: OneList, prepared: Any, out: Derivatives) -> float:
    value, gradient = function(given.scores, own(prepared[0], given))
    if len(gradient) != len(given.scores):
        raise ValueError("the gradient must have one entry per document")
    out.gradient[:] = gradient
    return _require_finite(value, gradient)


def _call_function_with_curvature(given: OneList, prepared: Any, out: Derivatives) -> float:
    value, gradient, curvature = function(given.scores, own(prepared[0], given))
    if len(gradient) != len(given.scores) or len(curvature) != len(given.scores):
        raise ValueError("gradient and curvature must have one entry per document")
    out.gradient[:] = gradient
    if len(out.curvature) > 0:
        out.curvature[:] = curvature
    return _require_finite(value + 0.0 * curvature.sum(), gradient)


@njit(error_model="numpy")
def _require_finite(value: float, gradient: np.ndarray) -> float:
    if not np.isfinite(value):
        raise ValueError("the value is not a finite number")
    if not all_finite(gradient):
        raise ValueError("the gradient is not finite")
    return value


@cache
def _compiled_kernel(user_function: Kernel, has_curvature: bool) -> Kernel:
    template = _call_function_with_curvature if has_curvature else _call_function
    name = {"__name__": user_function.__module__}  # not Podium's: compiled in each process, never cached on disk
    return njit(error_model="numpy")(with_globals(template, function=user_function, **name))
