"""Scorers: functions from a query's features to its documents' scores."""

from podium.scorers.base import Model, Scorer, SmoothModel, StartOptions
from podium.scorers.function import FunctionModel, FunctionScorer
from podium.scorers.kernel_regression import Kernel, KernelModel
from podium.scorers.linear.scorer import Linear, LinearModel
from podium.scorers.network.mlp import MLP, MLPModel
from podium.scorers.network.potentials import Potentials, PotentialsModel
from podium.scorers.torch import Torch, TorchModel
from podium.scorers.trees.model import TreesModel
from podium.scorers.trees.scorer import Trees

__all__ = [
    "MLP",
    "FunctionModel",
    "FunctionScorer",
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
    "StartOptions",
    "Torch",
    "TorchModel",
    "Trees",
    "TreesModel",
]
