"""Plots of results."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure

import podium
from podium.training.base import Convergence


@pytest.fixture
def ax():
    return Figure().subplots()


def test_the_means_of_an_evaluation(ax):
    evaluation = podium.evaluate([0, 1, 2, 1], [3.0, 1.0, 2.0, 0.5], sizes=[2, 2], metrics=["ndcg@2", "map"])
    assert evaluation.plot(ax=ax) is ax
    np.testing.assert_allclose(np.asarray(ax.lines[0].get_xdata(), float), list(evaluation.mean.values()))
    assert [label.get_text() for label in ax.get_yticklabels()] == ["ndcg@2 (standard)", "map (standard)"]


def test_the_values_of_the_queries(ax):
    evaluation = podium.evaluate([0, 1, 2, 1], [3.0, 1.0, 2.0, 0.5], sizes=[2, 2], metrics=["ndcg@2"])
    evaluation.plot("ndcg@2", ax=ax)
    assert sum(bar.get_height() for bar in ax.patches) == 2
    with pytest.raises(KeyError, match="mrr was not computed"):
        evaluation.plot("mrr")


def test_a_training_history(ax):
    run = Convergence(True, "", 3, losses=(3.0, 2.0, 1.5), validation=(0.1, 0.4, 0.3), metric="ndcg@10", best_iter=2)
    assert run.plot(ax) is ax
    assert ax.lines[0].get_ydata().tolist() == [3.0, 2.0, 1.5]
    assert ax.lines[1].get_xdata() == [2, 2]  # the iteration that was kept
    (other,) = (axes for axes in ax.figure.axes if axes is not ax)
    assert other.lines[0].get_ydata().tolist() == [0.1, 0.4, 0.3]
    with pytest.raises(ValueError, match="recorded no losses"):
        Convergence(True, "", 0).plot(ax)


def test_a_figure_of_its_own():
    import matplotlib

    matplotlib.use("agg")
    axes = Convergence(True, "", 2, losses=(1.0, 0.0)).plot()
    assert axes.get_yscale() == "linear"  # 0 has no logarithm
    matplotlib.pyplot.close(axes.figure)
