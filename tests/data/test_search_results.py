"""Search results of an invented shop: what the generator promises."""

from __future__ import annotations

import numpy as np
import pytest

from podium import BestFeature, RandomRanker, make_search_results


def test_they_read_like_a_search_log():
    results = make_search_results(n_queries=50, random_state=2)
    assert len(set(results.qids.tolist())) == 50
    assert all(1 <= len(words.split()) <= 4 for words in results.qids.tolist())
    assert len(set(results.document_ids.tolist())) == results.n_documents
    assert results.feature_names[0] == "title_bm25"
    shares = np.bincount(results.labels.astype(int)) / results.n_documents
    assert shares == pytest.approx([0.5, 0.25, 0.15, 0.1], abs=0.01)


def test_same_seed_same_bits():
    one, same, other = (make_search_results(n_queries=5, random_state=seed) for seed in (1, 1, 2))
    assert np.array_equal(one.features, same.features)
    assert one.document_ids.tolist() == same.document_ids.tolist()
    assert one.qids.tolist() != other.qids.tolist()


def test_words_that_match_are_worth_a_grade():
    results = make_search_results(n_queries=80)
    floor = RandomRanker(random_state=0).fit(results).score(results)
    best = BestFeature().fit(results)
    assert best.score(results) > floor + 0.2
    words, titles = results.qids[results.query_of_document], np.char.replace(results.document_ids, ",", "")
    all_in_title = np.array([set(w.split()) <= set(t.split()) for w, t in zip(words, titles, strict=True)])
    assert results.labels[all_in_title].mean() > results.labels[~all_in_title].mean() + 1
    assert np.array_equal(all_in_title, results.features[:, 1] == 1)


def test_more_queries_than_there_are():
    assert len(set(make_search_results(n_queries=1620, n_documents=1).qids.tolist())) == 1620
    with pytest.raises(ValueError, match="1 to the 1,620"):
        make_search_results(n_queries=1621)
    with pytest.raises(ValueError, match="at least 1"):
        make_search_results(n_documents=0)
