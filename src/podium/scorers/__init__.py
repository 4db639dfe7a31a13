"""Scorers: functions from a query's features to its documents' scores."""

from podium.scorers.base import Model, Scorer, SmoothModel
from podium.scorers.kernel import Kernel, KernelModel
from podium.scorers.linear import Linear, LinearModel
from podium.scorers.mlp import MLP, MLPModel
from podium.scorers.potentials import Potentials, PotentialsModel
from podium.scorers.torch import Torch, TorchModel
from podium.scorers.trees import Trees, TreesModel

__all__ = [
    "MLP",
    "Kernel",
    "KernelModel",
    "Linear",
    "LinearModel",
    "MLPModel",
    "Model",
    "Potentials",
    "PotentialsModel",
    "Scorer",
    "SmoothModel",
    "Torch",
    "TorchModel",
    "Trees",
    "TreesModel",
]
