"""The plot of a comparison."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure


def test_one_mean_per_method_best_first(make_comparison):
    comparison = make_comparison(methods=("plain", "listnet", "pmop"), broken=("pmop",))
    ax = Figure().subplots()
    assert comparison.plot("ndcg@1", ax) is ax
    rows = sorted((r for r in comparison.rows if r.estimates), key=lambda r: -r.estimates["ndcg@1"].mean)
    np.testing.assert_allclose(np.asarray(ax.lines[0].get_xdata(), float), [r.estimates["ndcg@1"].mean for r in rows])
    assert [label.get_text() for label in ax.get_yticklabels()] == [r.method for r in rows]
    assert comparison.convention in ax.get_xlabel()
