"""NeuralNDCG: NDCG of a relaxed permutation."""

from functools import partial

from podium.losses import Loss, NeuralNDCGLoss
from podium.rankers.methods import METHODS
from podium.rankers.presets.boosted import TREES, LossOnTrees
from podium.rankers.presets.stepped import SteppedPreset
from podium.rankers.spaces import LogUniform


class NeuralNDCG(SteppedPreset):
    """A linear scorer on NeuralNDCG by stochastic steps: it is not convex.

    Parameters
    ----------
    temperature
        See :class:`podium.losses.NeuralNDCGLoss`.
    """

    temperature: float = 1.0

    def _loss(self) -> Loss:
        return NeuralNDCGLoss(self.temperature)


METHODS.add(
    "neuralndcg",
    NeuralNDCG,
    "NDCG of a relaxed permutation",
    "Pobrotyn & Białobrzeski, 2021",
    "listwise",
    {
        "temperature": LogUniform(0.1, 1.0),
        "l2": LogUniform(0.0, 1e-3, 3e-2),
        "learning_rate": LogUniform(3e-3, 3e-2, 0.3),
    },
    stochastic=True,
)
_ON_TREES = partial(LossOnTrees, NeuralNDCGLoss(), repeats=None)
METHODS.add_variant("neuralndcg", "neuralndcg-trees", _ON_TREES, "NeuralNDCG's loss on boosted trees", **TREES)
