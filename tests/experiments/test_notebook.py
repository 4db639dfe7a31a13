"""A comparison in a notebook."""

from __future__ import annotations

import re

import pytest


def test_the_table_has_every_method_with_its_interval(make_comparison):
    comparison = make_comparison(methods=("plain", "listnet", "pmop"), broken=("pmop",))
    text = comparison._repr_html_()
    rows = re.findall(r"<tr>(.*?)</tr>", text, re.DOTALL)[1:]
    assert len(rows) == 3
    for row, html in zip(comparison.rows, rows, strict=True):
        assert f"<th>{row.method}</th>" in html
        if row.estimates:
            estimate = row.estimates[comparison.primary]
            assert f"{estimate.mean:.4f} ±{estimate.half_width:.3f}".replace("±0.", "±.") in html
            assert f"interval {estimate.low:.4f} to {estimate.high:.4f}" in html
        else:
            assert html.count("failed") == len(comparison.metrics)
    assert "Convention of all metrics" in text
    assert "Failed" in text
    assert "<script" not in text
    assert "http" not in text


def test_what_was_not_compared_cannot_be_plotted(small_comparison):
    with pytest.raises(ValueError, match="'mrr' was not compared; the metrics are ndcg@1"):
        small_comparison.plot("mrr")
