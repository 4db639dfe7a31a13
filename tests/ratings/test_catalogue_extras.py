"""Whole-catalogue metrics beside those of ranx, where it is installed (benchmarks/requirements.txt)."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import podium

NAMES = {"recall@10": "recall@10", "ndcg@10": "ndcg@10", "map@10": "map@10", "hit@10": "hit_rate@10", "map": "map"}


def test_recall_ndcg_map_and_hit_rate_are_those_of_ranx() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ranx = pytest.importorskip("ranx")
    ratings = podium.make_ratings(30, 60, 900, random_state=5)
    train, test = podium.random_split(ratings, 0.3)
    ranker = podium.PMF(4, random_state=0).fit(train)
    found = podium.evaluate_catalogue(ranker, test, metrics=list(NAMES), convention="trec")
    scores = np.round(ranker.score_matrix(test.user_ids), 5)  # so that single precision makes no ties
    seen = train.to_csr(np.ones(len(train))).toarray() > 0
    run = {
        str(u): {str(i): s for i, s, rated in zip(train.item_ids, row, own, strict=True) if not rated}
        for u, row, own in zip(test.user_ids, scores, seen, strict=True)
    }
    qrels: dict[str, dict[str, int]] = {str(u): {} for u in test.user_ids}
    for user, item, value in zip(test.users, test.items, test.values, strict=True):
        if value >= 4:
            qrels[str(user)][str(item)] = int(value)
    qrels = {user: relevant for user, relevant in qrels.items() if relevant}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = ranx.evaluate(ranx.Qrels(qrels), ranx.Run({u: run[u] for u in qrels}), list(NAMES.values()))
    judged = np.array([str(u) in qrels for u in found.qids])
    for ours, name in NAMES.items():
        assert found.per_query[ours][judged].mean() == pytest.approx(theirs[name], rel=1e-9), name
