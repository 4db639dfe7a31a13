"""A fitted model of every kind, and data for them."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import podium

CATEGORY = 3
"""The column that holds categories."""


@pytest.fixture(scope="session")
def matrix() -> ModuleType:
    """Return ``tools/export_matrix.py``."""
    path = Path(__file__).parents[2] / "tools" / "export_matrix.py"
    spec = importlib.util.spec_from_file_location("export_matrix", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def queries() -> podium.Queries:
    """Return lists with float32 features, one of which is a category."""
    made = podium.make_queries(n_queries=25, n_documents=16, n_features=6, n_grades=3, random_state=4)
    rng = np.random.default_rng(4)
    features = made.features.astype(np.float32)
    features[:, CATEGORY] = rng.integers(0, 40, made.n_documents)
    labels = made.labels + 2.0 * np.isin(features[:, CATEGORY] % 7, (1, 2, 5))
    return podium.Queries(features, labels, sizes=made.sizes)


@pytest.fixture(scope="session")
def fitted(matrix: ModuleType, queries: podium.Queries) -> Callable[[str], Any]:
    """Return a function that fits the ranker of a kind, once."""

    @cache
    def fit(kind: str) -> Any:
        ranker = matrix.KINDS[kind]()
        if "ratings" in kind:
            return ranker  # refused whether it is fitted or not
        if "PyTorch" in kind:
            import torch

            torch.manual_seed(0)
            module = torch.nn.Sequential(torch.nn.Linear(6, 4), torch.nn.LayerNorm(4), torch.nn.Linear(4, 1))
            ranker = ranker.set_params(scorer=podium.scorers.Torch(module))
            ranker.set_params(trainer=podium.training.Stochastic(epochs=3))
        return ranker.fit(queries)

    return fit
