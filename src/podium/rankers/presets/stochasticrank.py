"""StochasticRank: the expected NDCG of a ranking by noisy scores.

Its ``sigma`` is not searched: both scorers choose the scale of their scores, and noise only gives it a unit.
"""

from functools import partial

from podium.losses import StochasticRankLoss
from podium.rankers.methods import METHODS
from podium.rankers.presets.boosted import TREES, LossOnTrees
from podium.rankers.presets.stepped import STEPS, LossBySteps

METHODS.add(
    "stochasticrank",
    partial(LossBySteps, StochasticRankLoss()),
    "expected NDCG of a ranking by noisy scores",
    "Ustimenko & Prokhorenkova, ICML 2020",
    "listwise",
    STEPS,
    stochastic=True,
)
_ON_TREES = partial(LossOnTrees, StochasticRankLoss())
METHODS.add_variant(
    "stochasticrank", "stochasticrank-trees", _ON_TREES, "StochasticRank's loss on boosted trees", **TREES
)
