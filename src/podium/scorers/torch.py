"""Any PyTorch module as a scorer: ``pip install podium-rank[torch]``.

This file imports PyTorch only when a model is made, so that scorers can be listed without it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from typing import Any, ClassVar, Self

import numpy as np

from podium.core.arrays import Array
from podium.core.later import torch
from podium.core.parameters import choice, number
from podium.scorers.base import PLAIN, Arrays, Backward, Queries, Scorer, SmoothModel, StartOptions

__all__ = ["Torch", "TorchModel"]


class TorchModel(SmoothModel):
    """A PyTorch module; ``theta`` holds its trainable parameters, in the module's order.

    Parameters
    ----------
    theta : (n_parameters,) array
        The parameters.
    module : torch.nn.Module
        What computes scores.
    per : {"document", "list"}
        What it is called with.
    device : str
        Where it runs.
    l2 : float
        Penalty on the parameters.
    random_state : torch.Tensor, optional
        State of the random numbers that dropout draws.

    Examples
    --------
    >>> import numpy as np, podium, torch
    >>> queries = podium.make_queries(n_queries=5, n_features=4)
    >>> model = podium.scorers.Torch(torch.nn.Linear(4, 1)).start(queries, np.random.default_rng(0))
    >>> model.theta.shape, model.to_module()
    ((5,), Linear(in_features=4, out_features=1, bias=True))
    """

    def __init__(self, theta: Array, module: Any, per: str, device: str, l2: float, random_state: Any = None) -> None:
        self.theta = theta
        self.module = module
        self._per = per
        self._device = device
        self.l2 = l2
        self._random_state = random_state if random_state is not None else seeded(0)
        self._own = _trainable(module)  # looked for once: a small module computes scores in less time than this takes
        self._tied = len(self._own) < sum(p.requires_grad for _, p in module.named_parameters(remove_duplicate=False))

    @classmethod
    def of(cls, module: Any, scorer: Any, random_state: Any = None) -> Self:
        """Return the model with the module's own parameters as they are."""
        theta = np.concatenate([_flat(p) for _, p in _trainable(module)] or [np.empty(0)])
        module.train()  # every part of it, whatever some were when it was given
        return cls(theta, module, getattr(scorer, "per", "list"), str(scorer.device), scorer.l2, random_state)

    def scores(self, queries: Queries) -> Array:
        self._set_training(False)
        with torch.no_grad(), enough_torch_threads(queries):
            return _flat(self._call(queries, self._parameters(self._vector())))

    def forward(self, queries: Queries) -> tuple[Array, Backward]:
        vector = self._vector().requires_grad_()
        self._set_training(True)
        with drawing_from(self._random_state), enough_torch_threads(queries):
            output = self._call(queries, self._parameters(vector))

        def backward(d_scores: Array) -> Array:
            with enough_torch_threads(queries):
                (gradient,) = torch.autograd.grad(output, vector, torch.from_numpy(d_scores).to(output))
            return _flat(gradient)

        return _flat(output), backward

    @property
    def _dtype(self) -> Any:
        return next((p.dtype for _, p in self._own), torch.float32)

    def _set_training(self, training: bool) -> None:
        if self.module.training != training:
            self.module.train(training)

    def _call(self, queries: Queries, parameters: dict[str, Any]) -> Any:
        if queries.is_sparse:
            raise ValueError("a torch module needs dense features: queries.with_features(features.toarray())")
        features = torch.from_numpy(_writable(queries.features)).to(device=self._device, dtype=self._dtype)
        lists = [features] if self._per == "document" else [features[s] for s in queries.slices() if s.start < s.stop]
        outputs = [self._column(self._output(parameters, x), len(x)) for x in lists]
        return torch.cat(outputs) if outputs else features.new_empty(0)

    def _output(self, parameters: dict[str, Any], *arguments: Any) -> Any:
        """Return what the module gives with these parameters."""
        return torch.func.functional_call(self.module, parameters, arguments, tie_weights=self._tied)

    @staticmethod
    def _column(output: Any, n: int) -> Any:
        if tuple(output.shape) not in ((n,), (n, 1)):
            raise ValueError(
                f"the module must turn ({n}, n_features) features into ({n},) or ({n}, 1) scores; "
                f"it gave the shape {tuple(output.shape)}"
            )
        return output.reshape(n)

    def _vector(self) -> Any:
        """Return a copy of ``theta`` for PyTorch, in the type of the parameters if they have one in common."""
        types = {p.dtype for _, p in self._own}
        dtype = types.pop() if len(types) == 1 else torch.float64
        return torch.tensor(self.theta, dtype=dtype, device=self._device)

    def _parameters(self, vector: Any) -> dict[str, Any]:
        """Return the parts of a vector as the module's parameters."""
        parts = vector.split([p.numel() for _, p in self._own])
        return {name: part.reshape(p.shape).to(p.dtype) for (name, p), part in zip(self._own, parts, strict=True)}

    def to_module(self) -> Any:
        """Return a copy of the module with the learned parameters, for use in PyTorch."""
        module = deepcopy(self.module).eval()
        with torch.no_grad():
            own = dict(module.named_parameters())
            for name, values in self._parameters(self._vector()).items():
                own[name].copy_(values)
        return module

    def to_arrays(self) -> Arrays:
        return {name: _to_array(value) for name, value in self.to_module().state_dict().items()}

    @classmethod
    def from_arrays(cls, scorer: Scorer | None, arrays: Arrays) -> Self:
        """Return the model, given a scorer whose module has the architecture of the saved one."""
        if not isinstance(scorer, Torch) or not isinstance(scorer.module, torch.nn.Module):
            raise ValueError("a file holds a module's weights, not its code: give a module of the same architecture")
        module = deepcopy(scorer.module).to(scorer.device)
        try:
            module.load_state_dict({name: torch.from_numpy(np.asarray(value)) for name, value in arrays.items()})
        except RuntimeError as error:
            raise ValueError(f"the module given does not fit the saved weights: {error}") from None
        return cls.of(module, scorer)


class Torch(Scorer, trained_by="stochastic", model_class=TorchModel):
    """Any ``torch.nn.Module`` as a scorer, trained on any loss.

    Computed in the type of the module's parameters, usually float32. Features are standardized before they reach the
    module (``normalize="robust"``), so a module need not do so. Running statistics, as in BatchNorm, are those of
    the last training step, whichever epoch was best; LayerNorm has none.

    A saved ranker holds the module's weights but not its code: ``podium.load(path, module=...)``.

    Parameters
    ----------
    module : torch.nn.Module
        Turns (n, n_features) features into (n,) or (n, 1) scores. It is copied, never changed.
    per : {"document", "list"}
        ``"document"``: each row's score depends on this row alone; the module is called with many lists at once.
        ``"list"``: it is called with the documents of one list at a time, and may compare them (attention). Predicting
        then needs query ids.
    initialize : {"given", "reset"}
        Start from the module's parameters as given, or first reset every part that has ``reset_parameters``, in each
        run (restart) with other random numbers.
    device : str
        Where the module runs; features and scores are copied there and back.
    l2 : float
        Penalty ``l2/2 ‖parameters‖²``.

    Examples
    --------
    >>> import podium, torch
    >>> queries = podium.make_queries(n_queries=30, n_documents=8, n_features=4)
    >>> net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    >>> scorer = podium.scorers.Torch(net, initialize="reset")
    >>> ranker = podium.Ranker(podium.losses.ListNetLoss(), scorer, random_state=0).fit(queries)
    >>> bool(ranker.score(queries) > 0.7)
    True
    """

    module: Any
    per: str = choice("document", "list")
    initialize: str = choice("given", "reset")
    device: str = "cpu"
    l2: float = number(0.0, at_least=0)

    supplied_when_loading: ClassVar[tuple[str, ...]] = ("module",)

    @property
    def listwise(self) -> bool:  # type: ignore[override]
        """Whether the module is called with one list at a time, and may compare its documents."""
        return self.per == "list"

    def start(self, queries: Queries, rng: np.random.Generator, options: StartOptions = PLAIN) -> TorchModel:
        if not isinstance(self.module, torch.nn.Module):
            raise ValueError(f"module must be a torch.nn.Module, not its class or a function; got {self.module!r}")
        self.check_parameters()
        module = deepcopy(self.module).to(self.device)
        random_state = seeded(int(rng.integers(2**62)))
        if self.initialize == "reset":
            with drawing_from(random_state):
                for inner in module.modules():
                    reset: Any = getattr(inner, "reset_parameters", None)
                    if callable(reset):
                        reset()
        return TorchModel.of(module, self, random_state)


@contextmanager
def drawing_from(state: Any) -> Iterator[None]:
    """Let PyTorch draw from random numbers of one's own, whose state moves on, and leave the program's alone."""
    before = torch.get_rng_state()
    torch.set_rng_state(state)
    try:
        yield
    finally:
        state.copy_(torch.get_rng_state())
        torch.set_rng_state(before)


@contextmanager
def enough_torch_threads(queries: Queries) -> Iterator[None]:
    """Limit PyTorch to one thread, within this context, for a batch too small to be worth sharing.

    Waking its threads can take much longer than a small operation, 90 times as long where another OpenMP library was
    loaded before PyTorch.
    """
    before = torch.get_num_threads()
    small = queries.features.size < 500_000
    if small and before > 1:
        torch.set_num_threads(1)
    try:
        yield
    finally:
        if small and before > 1:
            torch.set_num_threads(before)


def _trainable(module: Any) -> list[tuple[str, Any]]:
    return [(name, p) for name, p in module.named_parameters() if p.requires_grad]


def _flat(tensor: Any) -> Array:
    """Return a tensor as a flat float64 array of its own."""
    return tensor.detach().to("cpu", torch.float64).reshape(-1).clone().numpy()


def _to_array(tensor: Any) -> Array:
    tensor = tensor.detach().cpu()
    return (tensor.float() if tensor.dtype in (torch.float16, torch.bfloat16) else tensor).numpy()


def _writable(features: Array) -> Array:
    return features if features.flags.writeable else features.copy()


def seeded(seed: int) -> Any:
    """Return the state of PyTorch's random numbers that begin with this seed."""
    return torch.Generator().manual_seed(seed).get_state()
