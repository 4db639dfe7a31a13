"""What every ranker must do, done by the method that needs PyTorch."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from . import test_ranker_behavior as behavior
from .test_ranker_behavior import *  # noqa: F403
from .test_ranker_behavior import build, data

NAME = "attention"
SMALL = {"width": 8, "layers": 1, "learning_rate": 0.01, "epochs": 15, "batch_size": 4, "dtype": "float64"}


@pytest.fixture(params=[NAME], name="name")
def _name(request) -> str:
    return request.param


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(behavior.QUICK, NAME, SMALL)


@pytest.fixture(scope="module")
def fitted():
    X, y, qid = data()
    behavior.QUICK[NAME] = SMALL
    return {name: build(name).fit(X, y, qid=qid) for name in (NAME, "random")}


def test_float32_sparse_and_dense_agree(name) -> None:
    """Sparse features are not standardized: that would fill in every zero."""
    X, y, qid = data(n_queries=8)
    X = np.maximum(X - np.median(X), 0.0).astype(np.float32)
    dense = build(name, normalize=None).fit(X, y, qid=qid).predict(X, qid)
    filled = build(name, normalize=None).fit(sparse.csr_matrix(X), y, qid=qid).predict(sparse.csr_matrix(X), qid)
    # ListNet leaves a constant in the scores to rounding, which Adam's steps make larger.
    np.testing.assert_allclose(filled, dense, rtol=1e-9, atol=1e-8)
    with pytest.raises(ValueError, match="normalize=None or dense features"):
        build(name).fit(sparse.csr_matrix(X), y, qid=qid)
