"""ApproxNDCG, ApproxMRR and ApproxNDCG of noisy scores: metrics of smooth ranks."""

from functools import partial

from podium.core.random_state import seed_of
from podium.losses import ApproxMRRLoss, ApproxNDCGLoss, Loss
from podium.rankers.methods import METHODS
from podium.rankers.presets.boosted import TREES, LossOnTrees
from podium.rankers.presets.stepped import STEPS, LossBySteps, SteppedPreset
from podium.rankers.spaces import LogUniform


class ApproxNDCG(SteppedPreset):
    """A linear scorer on ApproxNDCG by stochastic steps: it is not convex.

    Parameters
    ----------
    temperature, truncation, gumbel, gumbel_scale
        See :class:`podium.losses.ApproxNDCGLoss`.
    """

    temperature: float = 0.1
    truncation: int | None = None
    gumbel: int = 0
    gumbel_scale: float = 1.0

    def _loss(self) -> Loss:
        noise = self.gumbel, self.gumbel_scale, seed_of(self.random_state)
        return ApproxNDCGLoss(self.temperature, self.truncation, *noise)


_QIN, _BRUCH = "Qin et al., Information Retrieval 2010", "Bruch et al., WSDM 2020"
_GRID = {
    "temperature": LogUniform(0.1, 1.0),
    "l2": LogUniform(0.0, 1e-3, 3e-2),
    "learning_rate": LogUniform(3e-3, 3e-2, 0.3, 1.0),
}
METHODS.add("approxndcg", ApproxNDCG, "NDCG of smooth ranks", _QIN, "listwise", _GRID, stochastic=True)
METHODS.add_variant(
    "approxndcg",
    "gumbel-approxndcg",
    partial(ApproxNDCG, gumbel=8),
    "NDCG of smooth ranks of noisy scores",
    reference=_BRUCH,
)
METHODS.add_variant(
    "approxndcg",
    "approxmrr",
    partial(LossBySteps, ApproxMRRLoss()),
    "mean reciprocal of smooth ranks",
    grid=STEPS,
)
_ON_TREES = partial(LossOnTrees, ApproxNDCGLoss(), repeats=None)
METHODS.add_variant("approxndcg", "approxndcg-trees", _ON_TREES, "ApproxNDCG's loss on boosted trees", **TREES)
