"""Podium's losses for the cross encoders of sentence-transformers: ``pip install podium-rank[sentence-transformers]``.

    model = CrossEncoder(…, num_labels=1)
    trainer = CrossEncoderTrainer(model, arguments, lists, loss=ListLoss(model, "pmop"))
    trainer.train()

A row of the data set is a query, its documents and their grades; lists may be of different lengths.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

try:
    from sentence_transformers import CrossEncoder
    from sentence_transformers.util import batch_to_device, fullname
except ImportError as error:  # pragma: no cover
    raise ImportError(
        "podium.sentence_transformers needs sentence-transformers: pip install 'podium-rank[sentence-transformers]'"
    ) from error

from podium.core.parameters import require_count
from podium.losses.base import Loss
from podium.torch import TorchLoss

__all__ = ["ListLoss"]


class ListLoss(torch.nn.Module):
    """One of Podium's losses for ``CrossEncoderTrainer``: the mean over the lists of a batch.

    A loss that draws at random draws anew in each training step, from its own seed.

    Parameters
    ----------
    model : sentence_transformers.CrossEncoder
        The model that is trained; it gives one number per pair of texts (``num_labels=1``).
    loss : Loss or str
        One of :mod:`podium.losses`, or a name as in :func:`podium.torch.loss`.
    activation_fn : callable, optional
        Applied to the model's outputs before the loss, which needs none: scores are any numbers. The model's own
        ``activation_fn``, a sigmoid if not set otherwise, is for predicting, and does not change an order.
    mini_batch_size : int, optional
        How many pairs of texts go through the model at once; all of a batch if not given.

    Examples
    --------
    >>> import torch, podium.sentence_transformers
    >>> class Lengths(torch.nn.Linear):  # in place of a CrossEncoder, which would have to be downloaded
    ...     num_labels, device = 1, "cpu"
    ...     def preprocess(self, pairs, prompt=None, task=None):
    ...         return {"lengths": torch.tensor([[float(len(q)), float(len(d))] for q, d in pairs])}
    ...     def forward(self, features):
    ...         return {"scores": super().forward(features["lengths"])}
    >>> model = Lengths(2, 1)
    >>> loss = podium.sentence_transformers.ListLoss(model, "pmop", mini_batch_size=2)
    >>> queries, documents = ["boots", "desk"], [["red boots", "wallet", "black boots"], ["oak desk", "lantern"]]
    >>> loss([queries, documents], [torch.tensor([1, 0, 1]), torch.tensor([1, 0])]).backward()
    >>> model.weight.grad.shape
    torch.Size([1, 2])
    """

    def __init__(
        self,
        model: CrossEncoder,
        loss: Loss | str,
        activation_fn: Callable[[torch.Tensor], torch.Tensor] | None = None,
        mini_batch_size: int | None = None,
    ) -> None:
        super().__init__()
        if model.num_labels != 1:
            raise ValueError(f"ListLoss is for a model with one output per pair; this one has {model.num_labels}")
        if mini_batch_size is not None:
            require_count("mini_batch_size", mini_batch_size)
        self.model = model
        self.criterion = TorchLoss(loss)
        self.activation_fn = torch.nn.Identity() if activation_fn is None else activation_fn
        self.mini_batch_size = mini_batch_size
        self._n_steps = 0

    def forward(
        self, inputs: Sequence[Any], labels: Sequence[torch.Tensor], prompt: str | None = None, task: str | None = None
    ) -> torch.Tensor:
        """Return the mean loss over the lists of a batch.

        Parameters
        ----------
        inputs : (queries, documents)
            One text per list, and the texts of its documents.
        labels : sequence of tensors
            The grades of each list's documents; equal ones are ties.
        prompt, task : str, optional
            For the model's preprocessing of texts.

        Returns
        -------
        torch.Tensor
            A scalar.
        """
        pairs, grades, offsets = _lists(inputs, labels)
        outputs = [self._scores(part, prompt, task) for part in _parts(pairs, self.mini_batch_size or len(pairs))]
        if self.training:
            self.criterion.start_epoch(self._n_steps)
            self._n_steps += 1
        return self.criterion(self.activation_fn(torch.cat(outputs).float()), grades, offsets)

    def _scores(self, pairs: Sequence[tuple[str, str]], prompt: str | None, task: str | None) -> torch.Tensor:
        features = self.model.preprocess(pairs, prompt=prompt, task=task)
        return self.model(batch_to_device(features, self.model.device))["scores"].reshape(-1)

    def get_config_dict(self) -> dict[str, Any]:
        """Return what the model's card says of the loss."""
        return {
            "loss": repr(self.criterion.podium_loss),
            "activation_fn": fullname(self.activation_fn),
            "mini_batch_size": self.mini_batch_size,
        }


def _lists(
    inputs: Sequence[Any], labels: Sequence[torch.Tensor]
) -> tuple[list[tuple[str, str]], np.ndarray, np.ndarray]:
    """Return the pairs of texts of all lists, one after the other, their grades, and where lists begin and end."""
    if len(inputs) != 2:
        raise ValueError(f"expected two columns besides the labels, query and documents; there are {len(inputs)}")
    if labels is None or isinstance(labels, torch.Tensor):
        raise ValueError(
            "expected a column of labels (named label, labels, score or scores) with a list of grades per query, one "
            "grade per document; there is " + ("none" if labels is None else "one number per query")
        )
    queries, documents = inputs
    sizes = np.array([len(texts) for texts in documents])
    for number, (size, grades) in enumerate(zip(sizes, labels, strict=True)):
        if isinstance(documents[number], str):
            raise ValueError(f"the documents of list {number} of the batch are one text; expected a list of texts")
        if len(grades) != size:
            raise ValueError(f"list {number} of the batch has {size} documents and {len(grades)} grades")
    if not sizes.sum():
        raise ValueError("no list of the batch has a document")
    pairs = [(query, text) for query, texts in zip(queries, documents, strict=True) for text in texts]
    grades = np.concatenate([np.asarray(tensor.cpu(), np.float64) for tensor in labels])
    return pairs, grades, np.concatenate(([0], np.cumsum(sizes)))


def _parts(pairs: Sequence[tuple[str, str]], size: int) -> list[Sequence[tuple[str, str]]]:
    return [pairs[first : first + size] for first in range(0, len(pairs), size)]
