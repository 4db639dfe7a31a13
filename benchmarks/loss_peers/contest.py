"""One row of the benchmark: a loss of Podium's, and the same in other packages."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from podium.losses import Loss

Formula = Callable[..., Any]


@dataclass(frozen=True)
class Contest:
    """A loss and its peers."""

    loss: Loss
    torch: Formula | None = None
    """``(scores, labels, mask)``, tensors of one shape (lists, places), to the sum of the lists' losses."""
    rax: Formula | None = None
    """``(scores, labels, where=mask)``, arrays of that shape, to a number."""
    lightgbm: Mapping[str, Any] = field(default_factory=dict)
    """LightGBM's parameters, ``objective`` among them, if it has this loss."""
    pairwise: bool = False
    """Do the peers make tensors of pairs? They then run in small batches, whose tensors fit into the cache."""
    curvature: bool = False
    """Does Podium compute second derivatives, too, as LightGBM does?"""
    draws: bool = False
    """Does Podium draw its random numbers anew in every run, as in every tree?"""
    hundred: bool = True
    """On lists of 100 documents, or on lists of 20 to 215?"""
