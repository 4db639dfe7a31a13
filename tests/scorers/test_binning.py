"""Bins made of some rows at a time. Oracle: LightGBM itself, given the whole matrix."""

from typing import Any

import numpy as np
import pytest

import podium
from podium.scorers.trees import binning

RNG = np.random.default_rng(0)
DENSE = RNG.normal(size=(600, 6)).round(1)
DENSE[RNG.random(DENSE.shape) < 0.05] = np.nan
RARE = np.where(RNG.integers(0, 6, (600, 1)) == np.arange(6), RNG.normal(size=(600, 6)), 0.0)
"""One column per row is not 0: LightGBM bundles them all."""
LEVELS = np.column_stack([RNG.integers(0, 5, 600), DENSE[:, :2]]).astype(float)


def queries(features: np.ndarray) -> podium.Queries:
    labels = np.digitize(np.nan_to_num(features[:, 0]) + features[:, 1] * (features[:, 1] > 0), [0, 1])
    return podium.Queries(features, labels, sizes=[20] * 30)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("features", "options"),
    [
        (DENSE, {}),
        (DENSE, {"lightgbm_params": {"bin_construct_sample_cnt": 100, "max_bin": 15}}),
        (RARE, {}),
        (LEVELS, {"categorical": [0]}),
    ],
    ids=["dense", "sampled", "bundled", "categorical"],
)
def test_trees_are_those_of_the_whole_matrix(
    features: np.ndarray, options: dict[str, Any], dtype: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = queries(features.astype(dtype))
    train, valid = data.between(0, 20), data.between(20, 30)
    scorer = podium.scorers.Trees(n_trees=3, n_leaves=8, min_documents_in_leaf=5, **options)
    ranker = podium.Ranker(podium.losses.LambdaRankLoss(), scorer, random_state=0)
    expected = ranker.fit(train, eval_set=valid).model_.text, ranker.convergence_
    monkeypatch.setattr(binning, "LARGE", 0)
    monkeypatch.setattr(binning, "_VALUES_AT_ONCE", 300)
    pushed = []
    monkeypatch.setattr(
        binning, "_blocks", lambda parts, real=binning._blocks: (pushed.append(1) or rows for rows in real(parts))
    )
    assert (ranker.fit(train, eval_set=valid).model_.text, ranker.convergence_) == expected
    assert len(pushed) >= 9
    assert "split_feature=" in expected[0]
