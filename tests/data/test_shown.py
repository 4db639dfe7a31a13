"""Lists that sessions showed: counted by hand, and nothing lost."""

from collections import Counter

import numpy as np
import pytest

import podium
from podium.data.shown import ShownLists


def log_of(sessions):
    """Return a log of (query, documents, clicks) per session, documents from the top, None where a place is empty."""
    rows = [
        (query, number, place, document, document in clicked)
        for number, (query, documents, clicked) in enumerate(sessions)
        for place, document in enumerate(documents, 1)
        if document is not None
    ]
    query, session, position, document, clicks = zip(*rows, strict=True)
    return podium.Clicks(
        None, np.array(clicks), qid=np.array(query), position=position, document=np.array(document), session=session
    )


def lists_of(found: ShownLists, clicks: podium.Clicks):
    names = clicks.queries.document_ids[found.document]
    made = Counter()
    for k, times in enumerate(found.times):
        here = slice(found.offsets[k], found.offsets[k + 1])
        shown = zip(found.place[here].tolist(), names[here].tolist(), found.clicked[here].tolist(), strict=True)
        made[clicks.queries.qids[found.query[k]], *shown] += times
    return made


def test_lists_that_are_alike_are_counted():
    alike = ("b", "xyz", "y"), ("a", "uv", "u")
    nothing = ("a", "uv", ""), ("a", "uv", "uv")  # compared with nothing
    clicks = log_of([*alike, *alike, ("b", "yxz", "y"), ("b", "xyz", "x"), *nothing])
    found = ShownLists.of(clicks, "a test")
    assert lists_of(found, clicks) == {
        ("b", (0, "x", False), (1, "y", True), (2, "z", False)): 2,
        ("b", (0, "y", True), (1, "x", False), (2, "z", False)): 1,
        ("b", (0, "x", True), (1, "y", False), (2, "z", False)): 1,
        ("a", (0, "u", True), (1, "v", False)): 2,
    }
    assert len(found.query) == 4
    assert (np.diff(found.query) >= 0).all()
    assert found.first_of_queries(2).tolist() == [0, 3, 4]


def test_empty_places_are_not_documents():
    clicks = log_of([("a", ["x", None, "y"], "y"), ("a", ["x", "y"], "y")])
    found = ShownLists.of(clicks, "a test")
    assert lists_of(found, clicks) == {
        ("a", (0, "x", False), (2, "y", True)): 1,
        ("a", (0, "x", False), (1, "y", True)): 1,
    }


def test_no_session_is_lost():
    queries = podium.make_queries(n_queries=8, n_documents=5, n_features=2)
    clicks = podium.clicks.simulate(queries, queries.labels, top=3, sessions=3_000, shuffle=2.0)
    found = ShownLists.of(clicks, "a test")
    order = np.lexsort((clicks.position, clicks.session))
    shown = clicks.row[order].reshape(-1, 3)
    clicked = clicks.clicks[order].reshape(-1, 3)
    telling = (clicked.sum(axis=1) > 0) & (clicked.sum(axis=1) < 3)
    assert found.times.sum() == telling.sum()
    expected = Counter(map(tuple, np.hstack([shown, clicked])[telling].tolist()))
    document, hit = found.document.reshape(-1, 3), found.clicked.reshape(-1, 3)
    made = {tuple(row): n for row, n in zip(np.hstack([document, hit]).tolist(), found.times.tolist(), strict=True)}
    assert made == expected


def test_a_log_of_counts_has_no_lists():
    clicks = podium.Clicks([[1.0], [2.0]], [1, 0], qid=[0, 0], position=[1, 2], document=[0, 1])
    with pytest.raises(ValueError, match="this compares documents that were shown together"):
        ShownLists.of(clicks, "this")
