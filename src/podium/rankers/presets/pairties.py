"""PairTies: pairs that may be tied, under the model of Davidson or of Rao and Kupper."""

from __future__ import annotations

from typing import Any

from podium.core.parameters import require_choice
from podium.losses import DavidsonLoss, RaoKupperLoss
from podium.losses.base import Loss
from podium.rankers.presets.linear import LinearPreset

_LOSSES = {"davidson": DavidsonLoss, "rao-kupper": RaoKupperLoss}


class PairTies(LinearPreset):
    """Likelihood of every pair of a list, tied ones included, with a learned propensity to tie.

    Rao & Kupper, JASA 1967; Davidson, JASA 1970; for documents: Truyen, Phung & Venkatesh, SDM 2011.

    Parameters
    ----------
    model : {"davidson", "rao-kupper"}
    l2, l1, max_iter, tolerance, normalize, random_state, verbose
        See :class:`LinearPreset`.

    ``loss_parameters_`` holds what was learned of ties: β (ν = e^β) or α (θ = 1 + e^α).
    """

    def __init__(
        self,
        model: str = "davidson",
        l2: float = 1e-3,
        l1: float = 0.0,
        max_iter: int = 1000,
        tolerance: float = 1e-8,
        normalize: str | None = "standard",
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(l2, l1, max_iter, tolerance, normalize, random_state, verbose)
        self.model = model

    def _loss(self) -> Loss:
        require_choice("model", self.model, tuple(_LOSSES))
        return _LOSSES[self.model]()
