"""Podium's losses in PyTorch: ``pip install podium-rank[torch]``.

    criterion = podium.torch.loss("pmop")             # or one of podium.losses
    value = criterion(scores, labels, offsets)        # one row of scores after another, no padding
    value = criterion(scores, labels, mask=mask)      # or padded, (n_lists, longest)
    value.backward()

Value and gradient come from Podium's own compiled loops, on the CPU: scores on another device are copied there, and
their gradient back.
"""

from __future__ import annotations

from typing import Any

import numpy as np

try:
    import torch
except ImportError as error:  # pragma: no cover
    raise ImportError("podium.torch needs PyTorch: pip install 'podium-rank[torch]'") from error

from podium.losses.base import Loss
from podium.losses.bound import BoundLoss
from podium.rankers.named_losses import named_loss

__all__ = ["BoundTorchLoss", "TorchLoss", "loss"]


def loss(podium_loss: Loss | str) -> TorchLoss:
    """Return a Podium loss as a differentiable function of a tensor of scores.

    Parameters
    ----------
    podium_loss : Loss or str
        One of :mod:`podium.losses`, or the name of a method, as ``podium methods`` lists them, that is trained on one:
        ``"pmop"``. A named loss has the method's defaults and the seed 0.

    Returns
    -------
    TorchLoss
        A module to be called with scores and labels.

    Examples
    --------
    >>> import torch, podium, podium.torch
    >>> criterion = podium.torch.loss("pmop")
    >>> scores = torch.tensor([0.5, 1.0, -1.0, 0.0], requires_grad=True)
    >>> value = criterion(scores, labels=[2, 0, 1, 1], offsets=[0, 2, 4])
    >>> value.backward()
    >>> scores.grad.shape
    torch.Size([4])
    """
    return TorchLoss(podium_loss)


class TorchLoss(torch.nn.Module):
    """Mean loss over lists. Parameters that the loss itself learns are in ``own``, for the optimizer to move.

    Parameters
    ----------
    podium_loss : Loss or str
        As in :func:`podium.torch.loss`.

    Examples
    --------
    >>> import torch, podium, podium.torch
    >>> criterion = podium.torch.TorchLoss(podium.losses.RegressionLoss())
    >>> scores, labels = torch.tensor([[1.0, 0.0], [1.0, 9.0]]), torch.tensor([[1.0, 1.0], [0.0, 0.0]])
    >>> criterion(scores, labels, mask=[[True, True], [True, False]]).item()  # the 9 is padding
    0.375
    """

    def __init__(self, podium_loss: Loss | str) -> None:
        super().__init__()
        if isinstance(podium_loss, str):
            podium_loss = named_loss(podium_loss)
        elif not isinstance(podium_loss, Loss):
            raise TypeError(
                "podium.torch.loss takes one of podium.losses, such as ListNetLoss(), or a name, such as 'pmop'; "
                f"got {podium_loss!r}"
            )
        self.podium_loss = podium_loss
        self._epoch: int | None = None
        initial = podium_loss.initial_parameters()
        self.own = torch.nn.Parameter(torch.from_numpy(initial.copy())) if len(initial) else None

    def forward(
        self, scores: torch.Tensor, labels: Any, offsets: Any = None, *, mask: Any = None, query_weight: Any = None
    ) -> torch.Tensor:
        """Return the loss, a scalar of the scores' type and device.

        Parameters
        ----------
        scores : (n_documents,) or (n_lists, longest) tensor
            The latter if lists are padded.
        labels : tensor or array
            Like the scores.
        offsets : (n_lists + 1,) integers, optional
            For scores in one row: list q owns ``offsets[q]:offsets[q + 1]``. Without, all are one list.
        mask : tensor or array, optional
            Like padded scores, True where there is a document. Without, no place is padding.
        query_weight : (n_lists,) array, optional
            Weights of the lists in the mean.

        Returns
        -------
        torch.Tensor
            The mean loss.
        """
        return self.bind(labels, offsets, mask=mask, query_weight=query_weight)(scores)

    def bind(self, labels: Any, offsets: Any = None, *, mask: Any = None, query_weight: Any = None) -> BoundTorchLoss:
        """Return the loss on these labels, as a function of scores alone: the work on labels is then done once.

        Parameters
        ----------
        labels, offsets, mask, query_weight : tensor or array
            As in :meth:`forward`.

        Returns
        -------
        BoundTorchLoss
            A function of scores.
        """
        labels = _to_numpy(labels)
        where = None
        if labels.ndim == 2:
            if offsets is not None:
                raise ValueError("padded lists (two dimensions) have a mask, not offsets")
            where = np.ones(labels.shape, bool) if mask is None else _to_numpy(mask).astype(bool)
            if where.shape != labels.shape:
                raise ValueError(f"mask has shape {where.shape}, labels {labels.shape}")
            offsets = np.concatenate(([0], np.cumsum(where.sum(axis=1))))
            labels = labels[where]
        elif mask is not None:
            raise ValueError("a mask is for padded lists, of two dimensions; lists in one row are told by offsets")
        offsets = [0, len(labels)] if offsets is None else _to_numpy(offsets)
        weight = None if query_weight is None else _to_numpy(query_weight)
        bound = self.podium_loss.bind(labels, offsets, weight)
        if self._epoch is not None:
            bound.start_epoch(self._epoch)
        return BoundTorchLoss(bound, where, self.own)

    def start_epoch(self, epoch: int) -> None:
        """Let a loss that draws at random draw anew in the calls that follow, as Podium's own trainers do per epoch.

        Without it, the draws for the first list of each call are the same, and so on. Other losses do not change.

        Parameters
        ----------
        epoch : int
            Which draws: the same number gives the same ones.
        """
        self._epoch = int(epoch)

    def extra_repr(self) -> str:
        """Return what PyTorch prints within the parentheses."""
        return repr(self.podium_loss)


class BoundTorchLoss:
    """A loss bound to labels: a function of scores.

    Parameters
    ----------
    bound : BoundLoss
        The loss on its labels.
    where : (n_lists, longest) bool array, optional
        Where padded scores are documents.
    own : torch.Tensor, optional
        Parameters of the loss itself.

    Examples
    --------
    >>> import torch, podium, podium.torch
    >>> bound = podium.torch.loss(podium.losses.RegressionLoss()).bind([1.0, 0.0, 1.0], offsets=[0, 2, 3])
    >>> bound(torch.tensor([1.0, 0.0, 0.0])).item()
    0.25
    """

    def __init__(self, bound: BoundLoss, where: np.ndarray | None, own: torch.Tensor | None) -> None:
        self.bound = bound
        self.own = own
        self._where = None if where is None else torch.from_numpy(where)
        self.shape = (int(bound.offsets[-1]),) if where is None else where.shape

    def __call__(self, scores: torch.Tensor) -> torch.Tensor:
        if tuple(scores.shape) != tuple(self.shape):
            raise ValueError(
                f"scores must have the shape of the labels, {tuple(self.shape)}; got {tuple(scores.shape)}"
            )
        documents = scores if self._where is None else scores[self._where.to(scores.device)]
        own = torch.empty(0) if self.own is None else self.own
        return _Loss.apply(documents, own, self.bound)


class _Loss(torch.autograd.Function):
    """Forward computes the gradient too, as Podium's kernels do; backward only scales it."""

    @staticmethod
    def forward(ctx: Any, scores: torch.Tensor, own: torch.Tensor, bound: BoundLoss) -> torch.Tensor:
        result = bound.value_and_gradient(_to_numpy(scores), parameters=_to_numpy(own).astype(np.float64))
        d_scores, d_own = torch.from_numpy(result.d_scores).to(scores), torch.from_numpy(result.d_parameters).to(own)
        ctx.save_for_backward(scores, own, d_scores, d_own)
        return scores.new_tensor(result.value)

    @staticmethod
    def backward(ctx: Any, d_value: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, None]:
        return *_Gradient.apply(d_value, *ctx.saved_tensors), None


class _Gradient(torch.autograd.Function):
    """The gradient, which depends on scores in a way that PyTorch does not know.

    It takes the scores as inputs for this reason only: to PyTorch, a gradient that depends on nothing is a constant,
    and a penalty on it would be ignored without a word.
    """

    @staticmethod
    def forward(ctx: Any, d_value: torch.Tensor, *tensors: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        _scores, _own, d_scores, d_own = tensors
        return d_value * d_scores, d_value.to(d_own) * d_own

    @staticmethod
    def backward(ctx: Any, *_: torch.Tensor) -> Any:
        raise RuntimeError(
            "Podium's losses have first derivatives only: the gradient of a loss cannot be differentiated again. "
            "For penalties on gradients or Hessians, write the loss in PyTorch's own operations"
        )


def _to_numpy(values: Any) -> np.ndarray:
    """Return an array on the CPU; half precision, which compiled loops do not have, becomes float32."""
    if not isinstance(values, torch.Tensor):
        return np.asarray(values)
    tensor = values.detach().cpu()
    return (tensor.float() if tensor.dtype in (torch.float16, torch.bfloat16) else tensor).numpy()
