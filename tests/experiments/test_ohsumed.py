"""A comparison on real data: what the linear ListNet is known to reach on OHSUMED, chosen on validation alone."""

from __future__ import annotations

import podium


def test_listnet_reaches_what_is_published(shared_data):
    comparison = podium.compare(
        shared_data / "ohsumed",
        ["listnet"],
        metrics=["ndcg@1", "ndcg@5", "map"],
        convention="letor",
        normalize="minmax",  # as LETOR does
        jobs=1,
    )
    means = {row.method: {name: e.mean for name, e in row.estimates.items()} for row in comparison.rows}
    # Bounds of our own; the table published with LETOR 2.0 has .5231, .4662 and .4496 for ListNet. On 21 validation
    # queries the choice among nine penalties is partly luck: one fold takes 10, a hair above .001, at .01 of NDCG@5.
    assert means["listnet"]["ndcg@1"] >= 0.53
    assert means["listnet"]["ndcg@5"] >= 0.455
    assert means["listnet"]["map"] >= 0.445
    assert means["random"]["map"] < means["best-feature"]["map"] < means["listnet"]["map"]
    assert comparison.n_queries == 106
