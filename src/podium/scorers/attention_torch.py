"""A scorer that looks at the whole list: self-attention over its documents. Needs ``pip install podium-rank[torch]``.

This file imports PyTorch only when a model is made, so that scorers can be listed without it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Self

import numpy as np

from podium.core.arrays import require_moderate
from podium.core.later import required, torch
from podium.core.parameters import choice, count, number
from podium.scorers.base import PLAIN, Arrays, Model, Queries, Scorer, StartOptions
from podium.scorers.linear.scorer import LinearModel
from podium.scorers.torch import TorchModel, drawing_from, seeded

__all__ = ["Attention", "AttentionModel"]

LARGEST_BATCH = 16_384
"""Documents, padding included, that go through the network at once."""
LARGEST_ATTENTION = 4_000_000
"""Pairs of documents that attend to each other at once, in lists of ordinary length; a longer list goes alone."""
SMALL = 4_096
"""So many documents, padding included, go at once whatever the lengths of their lists: calls cost more than padding."""
PADDING = 1.25
"""Otherwise, a list is padded to at most this multiple of its length."""


class AttentionModel(TorchModel):
    """Self-attention over the documents of a list; ``theta`` holds the parameters of its PyTorch module.

    Examples
    --------
    >>> import numpy as np, podium, torch
    >>> queries = podium.make_queries(n_queries=5, n_features=4)
    >>> model = podium.scorers.Attention(layers=1, width=8).start(queries, np.random.default_rng(0))
    >>> module = model.to_module()  # scores the documents of one list
    >>> with torch.no_grad():
    ...     module(torch.zeros(3, 4)).shape
    torch.Size([3])
    """

    @classmethod
    def of(cls, module: Any, scorer: Any, random_state: Any = None) -> Self:
        model = super().of(module, scorer, random_state)
        # Some biases change no ranking: a penalty would be all that moves them, and Adam would take it for a signal.
        model.l2 = scorer.l2 * np.concatenate([np.full(p.numel(), p.ndim > 1, float) for p in module.parameters()])
        return model

    def _call(self, queries: Queries, parameters: dict[str, Any]) -> Any:
        outputs, places = [torch.empty(0, dtype=self._dtype, device=self._device)], [np.empty(0, np.int64)]
        for rows, mask in padded_batches(queries.offsets):
            x = self._documents(queries, rows)
            where = None if mask is None else torch.from_numpy(mask).to(x.device)
            scores = self._output(parameters, x, where)
            outputs.append(scores.reshape(-1) if where is None else scores[where])
            places.append(rows.reshape(-1) if mask is None else rows[mask])
        back = np.empty(queries.n_documents, np.int64)
        back[np.concatenate(places)] = np.arange(queries.n_documents)
        return torch.cat(outputs)[torch.from_numpy(back)]

    def _documents(self, queries: Queries, rows: np.ndarray) -> Any:
        """Return the documents in these rows, (n_lists, longest, n_features)."""
        x = queries.features[rows.reshape(-1)]
        dense = torch.from_numpy(x.toarray() if queries.is_sparse else x)
        return dense.to(device=self._device, dtype=self._dtype).reshape(*rows.shape, -1)

    def continued(self, fitted: Model) -> Self:
        """Return this model with the parameters of a fitted one; of a linear one, as its linear part."""
        if not isinstance(fitted, LinearModel):
            return super().continued(fitted)
        theta = self.theta.copy()
        theta[: fitted.n_features] = fitted.coef  # ``direct`` is the first of the module's parts
        theta[-1] += fitted.intercept  # and the last number is the constant of ``score``
        return self.at(theta)

    @classmethod
    def from_arrays(cls, scorer: Scorer | None, arrays: Arrays) -> Self:
        if not isinstance(scorer, Attention):
            raise ValueError("a model of attention needs its scorer, Attention")
        scorer.check_parameters()
        for name, values in arrays.items():
            if not isinstance(values, np.ndarray) or values.dtype != np.dtype(scorer.dtype):
                raise ValueError(f"the model's {name!r} must be an array of {scorer.dtype}")
            require_moderate(name, values.astype(np.float64))
        embedding = arrays["embed.weight"]
        assert isinstance(embedding, np.ndarray)
        n_layers = sum(name.endswith(".project.weight") for name in arrays)
        if embedding.ndim != 2 or len(embedding) != scorer.width or n_layers != scorer.layers:
            raise ValueError(
                f"its weights are those of {n_layers} layers with an embedding of the shape {embedding.shape}; "
                f"{scorer!r} has {scorer.layers} layers of the width {scorer.width}"
            )
        with torch.device("meta"):  # takes no memory, whatever the file says
            module = scorer.module(embedding.shape[1])
        try:
            weights = {name: torch.from_numpy(np.asarray(values)) for name, values in arrays.items()}
            module.load_state_dict(weights, assign=True)
        except RuntimeError as error:
            raise ValueError(f"the weights do not fit {scorer!r}: {error}") from None
        return cls.of(module.to(scorer.device), scorer)


class Attention(Scorer, trained_by="stochastic", model_class=AttentionModel):
    """Self-attention over the documents of a list: a document's score depends on what else there is.

    Each document becomes a vector; in each layer it asks the others, by ``heads`` weighted means over the whole list,
    and then goes through a small network of its own. A linear function of its features is added to what comes out; all
    scores are equal at the start. There are no positions: another order of the documents gives the same scores, up to
    rounding. Pobrotyn, Bartczak, Synowiec, Białobrzeski, Bojar: Context-aware learning to rank with
    self-attention. SIGIR eCom 2020, whose ranker this is (allRank), with normalization at the entrance of each layer.

    Lists of similar lengths are padded to one length and computed together; padding changes no score. A saved model
    needs no module: these parameters are its architecture. Needs PyTorch, the extra ``torch``.

    Parameters
    ----------
    layers : int
        Rounds of attention.
    heads : int
        Weighted means per round; ``width`` is a multiple of it.
    width : int
        Length of a document's vector. The network within a layer is twice as wide.
    dropout : float
        Share of numbers that training leaves out at random, in what each layer adds.
    dtype : {"float32", "float64"}
        What is computed in.
    device : str
        Where the network runs; features and scores are copied there and back.
    l2 : float
        Penalty ``l2/2 ‖W‖²`` on weights, not on biases and the scales of LayerNorm.

    Examples
    --------
    >>> import podium
    >>> queries = podium.make_queries(n_queries=30, n_documents=8, n_features=4)
    >>> scorer = podium.scorers.Attention(layers=1, heads=2, width=8)
    >>> steps = podium.training.Stochastic(epochs=20, batch_size=8, learning_rate=0.01)
    >>> ranker = podium.Ranker(podium.losses.PMOPLoss(), scorer, steps, random_state=0).fit(queries)
    >>> bool(ranker.score(queries) > 0.7), ranker.predict(queries).shape == (queries.n_documents,)
    (True, True)
    """

    layers: int = count(2, at_most=100)
    heads: int = count(2)
    width: int = count(32, at_most=100_000)
    dropout: float = number(0.1, at_least=0, below=1)
    dtype: str = choice("float32", "float64")
    device: str = "cpu"
    l2: float = number(0.0, at_least=0)

    listwise = True
    # Steps of single lists at the rate of the small networks are too rough for attention, and slow in PyTorch.
    training_options: ClassVar[Mapping[str, Any]] = {"epochs": 50, "batch_size": 8, "learning_rate": 3e-3}

    def check_parameters(self) -> None:
        super().check_parameters()
        if self.width % self.heads:
            raise ValueError(f"width must be a multiple of heads; got width={self.width}, heads={self.heads}")

    def module(self, n_features: int) -> Any:
        """Return a new module for documents with this many features, with random parameters.

        Parameters
        ----------
        n_features : int
            Of a document.

        Returns
        -------
        torch.nn.Module
            Turns the (n, n_features) documents of a list into (n,) scores.
        """
        required("torch", "'podium-rank[torch]'", "the scorer Attention")
        from podium.scorers.set_encoder_torch import SetEncoder

        module = SetEncoder(n_features, self.layers, self.heads, self.width, self.dropout)
        return module.to(getattr(torch, self.dtype))

    def start(self, queries: Queries, rng: np.random.Generator, options: StartOptions = PLAIN) -> AttentionModel:
        self.check_parameters()
        required("torch", "'podium-rank[torch]'", "the scorer Attention")
        random_state = seeded(int(rng.integers(2**62)))
        with drawing_from(random_state):
            module = self.module(queries.n_features)
        return AttentionModel.of(module.to(self.device), self, random_state)


def padded_batches(offsets: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray | None]]:
    """Yield lists of similar length, padded: the numbers of their rows, and which of these are documents.

    Both are (n_lists, longest). In place of padding stand rows of the same list, so that nothing is computed from
    numbers that no document has. The mask is None where nothing is padded. Empty lists are left out.
    """
    sizes = np.diff(offsets)
    order = np.argsort(sizes, kind="stable")[np.count_nonzero(sizes == 0) :]
    sizes, starts = sizes[order], offsets[:-1][order]
    first = 0
    while first < len(sizes):
        stop = first + _batch(sizes[first : first + LARGEST_BATCH])
        own, longest = sizes[first:stop, None], int(sizes[stop - 1])
        places = np.arange(longest)
        rows = starts[first:stop, None] + places % own
        yield rows, None if own[0, 0] == longest else places < own
        first = stop


def _batch(sizes: np.ndarray) -> int:
    """Return how many of these lists, shortest first, make a batch."""
    together = sizes * np.arange(1, len(sizes) + 1)  # documents if this is the last one
    fits = (together <= LARGEST_BATCH) & (together * sizes <= LARGEST_ATTENTION)
    similar = (sizes <= PADDING * sizes[0]) | (together <= SMALL)
    return max(1, int(np.count_nonzero(np.logical_and.accumulate(fits & similar))))
