"""What raters are asked for: worth by hand, the best set by brute force, files that come back as judgments."""

from itertools import combinations

import numpy as np
import pytest

import podium
from podium.clicks.grades import by_grades
from podium.clicks.judged import gains_of
from podium.clicks.logged import read_log
from podium.clicks.relevance import relevance

BIAS = np.array([1.0, 0.5, 0.25])


@pytest.fixture(scope="module")
def log():
    """Ten queries, one asked twice as often; every document at every place; ids that queries share."""
    queries = podium.make_queries(n_queries=10, n_documents=6, n_features=3, vary_sizes=False, random_state=0)
    queries = queries.with_document_ids(list("abcdef") * 10)
    return podium.clicks.simulate(queries, queries.features[:, 0], top=3, shuffle=3.0, sessions=2_000, random_state=0)


def known(log):
    return relevance(read_log(log, None, *(log.truth.alpha, log.truth.beta)))


def weights(scores, queries, depth=3):
    """Return 1/log₂(1 + rank) of the first documents, by a loop."""
    found = np.zeros(len(scores))
    for a, b in zip(queries.offsets[:-1], queries.offsets[1:], strict=True):
        for rank, i in enumerate(a + np.argsort(-scores[a:b], kind="stable")[:depth], 1):
            found[i] = 1 / np.log2(1 + rank)
    return found


def test_worth_is_that_of_the_formula(log):
    queries, told = log.queries, known(log)
    one, other = queries.features[:, 1], queries.features[:, 2]
    share = (log.n_sessions / log.n_sessions.sum())[queries.query_of_document]
    slope = share * (weights(one, queries) - weights(other, queries))
    found = podium.clicks.ask(one, log, 12, against=other, bias=log.truth, metric="dcg@3")
    variance = (slope * told.deviation) ** 2
    best = np.argsort(-variance, kind="stable")[:12]
    np.testing.assert_allclose(found.worth, variance[best] / variance.sum())
    assert found.documents.tolist() == queries.document_ids[best].tolist()
    assert found.qids.tolist() == queries.qids[queries.query_of_document[best]].tolist()
    np.testing.assert_allclose(found.mean, slope @ told.mean)
    np.testing.assert_allclose(found.error**2, variance.sum())
    np.testing.assert_allclose(found.error_after**2, variance.sum() - variance[best].sum())
    alone = podium.clicks.ask(one, log, 5, bias=log.truth, metric="dcg@3")
    np.testing.assert_allclose(alone.mean, (share * weights(one, queries)) @ told.mean)
    assert alone.ranks.shape == (5, 1)


def test_no_other_set_leaves_less_uncertain(log):
    """By trying all pairs of documents."""
    queries, told = log.queries, known(log)
    one, other = queries.features[:, 1], queries.features[:, 2]
    share = (log.n_sessions / log.n_sessions.sum())[queries.query_of_document]
    left = (share * (weights(one, queries) - weights(other, queries)) * told.deviation) ** 2
    found = podium.clicks.ask(one, log, 2, against=other, bias=log.truth, metric="dcg@3")
    least = min(left.sum() - left[list(pair)].sum() for pair in combinations(range(len(left)), 2))
    np.testing.assert_allclose(found.error_after**2, least)


def test_probability_is_that_of_drawn_relevance(log):
    queries, told = log.queries, known(log)
    one, other = queries.features[:, 1], queries.features[:, 2]
    found = podium.clicks.ask(one, log, 5, against=other, bias=log.truth, metric="dcg@3")
    share = (log.n_sessions / log.n_sessions.sum())[queries.query_of_document]
    slope = share * (weights(one, queries) - weights(other, queries))
    drawn = np.random.default_rng(0).normal(told.mean, told.deviation, (20_000, len(slope))) @ slope
    assert abs((drawn > 0).mean() - found.probability) < 0.02
    turned = podium.clicks.ask(other, log, 5, against=one, bias=log.truth, metric="dcg@3")
    assert turned.probability == pytest.approx(1 - found.probability)
    assert turned.documents.tolist() == found.documents.tolist()


def test_only_documents_that_matter_are_asked_for(log):
    scores = log.queries.features[:, 1]
    assert len(podium.clicks.ask(scores, log, 100, against=scores, bias=log.truth)) == 0
    assert len(podium.clicks.ask(scores, log, 100, bias=log.truth, metric="p@1")) == 10
    same = podium.clicks.ask(scores, log, 100, against=2 * scores, bias=log.truth)
    assert (same.mean, same.error, same.probability) == (0.0, 0.0, 0.5)


def test_judged_documents_are_known_and_not_asked_for_again(log):
    queries = log.queries
    labels = np.arange(queries.n_documents) % 3.0
    asked = podium.clicks.ask(queries.features[:, 1], log, 20, bias=log.truth, metric="dcg@3")
    pairs = set(zip(asked.qids.tolist(), asked.documents.tolist(), strict=True))
    ids = zip(queries.qids[queries.query_of_document].tolist(), queries.document_ids.tolist(), strict=True)
    mask = np.array([pair in pairs for pair in ids])
    judged = queries.with_labels(labels).only(mask)
    judged = judged.take(judged.sizes > 0)
    told = podium.clicks.ask(queries.features[:, 1], log, 20, bias=log.truth, metric="dcg@3", judged=judged)
    assert told.n_judged == 20
    assert told.error < asked.error
    assert not pairs & set(zip(told.qids.tolist(), told.documents.tolist(), strict=True))
    logged = read_log(log, None, log.truth.alpha, log.truth.beta)
    after = relevance(logged, gains_of(queries, judged))
    assert after.judged.tolist() == mask.tolist()
    assert not after.deviation[mask].any()
    assert all(len(set(after.mean[mask & (labels == y)])) == 1 for y in (0, 1, 2))


def test_grades_are_told_by_clicks():
    """Three grades of known attractiveness: from a fifth of the documents judged, γ of each and the others' means."""
    rng = np.random.default_rng(0)
    grade = rng.integers(3, size=5_000)
    gamma, gain = np.array([0.1, 0.3, 0.8]), np.array([0.0, 1 / 3, 1.0])
    looks = rng.gamma(2.0, 5.0, 5_000)
    looks[:500] = 0.0
    clicks = rng.poisson(gamma[grade] * looks)
    # Judged are those that were clicked as if they were in the middle: a choice that plain shares would not survive.
    chosen = np.argsort(np.abs(clicks / np.maximum(looks, 1e-9) - 0.3))[:1_000]
    gains = np.full(5_000, np.nan)
    gains[chosen] = gain[grade[chosen]]
    mean, deviation = by_grades(gains, clicks, looks, np.full(5_000, 0.4))
    found = [mean[chosen][grade[chosen] == y][0] for y in range(3)]
    np.testing.assert_allclose(found, gamma, atol=0.03)
    shares = [clicks[chosen][grade[chosen] == y].sum() / looks[chosen][grade[chosen] == y].sum() for y in range(3)]
    assert shares[0] > 0.2
    assert shares[2] < 0.5
    assert not deviation[chosen].any()
    error = (mean - gamma[grade])[500:]
    others = np.isnan(gains)[500:]
    assert abs(error[others].mean()) < 0.01
    np.testing.assert_allclose((error[others] ** 2).mean(), (deviation[500:][others] ** 2).mean(), rtol=0.1)
    np.testing.assert_allclose(mean[:500], mean[:500].mean(), atol=1e-9)  # never shown, and alike


def test_grades_that_nobody_gave_exist_nevertheless():
    """All judged documents are irrelevant; those that are often clicked are not for that."""
    clicks, looks = np.array([1.0, 1.0, 9.0, 9.0]), np.full(4, 10.0)
    mean, _ = by_grades(np.array([0.0, np.nan, np.nan, np.nan]), clicks, looks, np.full(4, 0.5))
    assert mean[0] == pytest.approx(mean[1], abs=0.05)
    assert mean[2] > 0.7
    continuous = by_grades(np.linspace(0, 1, 50), np.arange(50.0), np.full(50, 50.0), np.full(50, 0.5))[0]
    assert (np.diff(continuous) >= 0).all()
    assert len(set(continuous)) == 20


def test_documents_never_shown_are_as_uncertain_as_the_regression(log):
    few = log.take(range(9))
    ids = log.queries.document_ids
    found = podium.clicks.ask(
        log.queries.features[:, 1], few, 60, bias=log.truth, candidates=log.queries, metric="dcg@3"
    )
    assert 9 not in found.qids  # no session asked it
    unseen = log.queries.only(np.arange(log.queries.n_documents) != 4)
    less = podium.Clicks.with_features(log, unseen, missing="drop")
    told = relevance(read_log(less, log.queries, log.truth.alpha, log.truth.beta))
    seen = np.arange(len(ids)) != 4
    assert told.deviation[4] > 2 * told.deviation[seen].mean()


def test_filled_in_it_is_a_file_of_judgments(log, tmp_path):
    queries = log.queries
    questions = podium.clicks.ask(queries.features[:, 1], log, 25, bias=log.truth, metric="dcg@3")
    path = tmp_path / "pairs.csv"
    questions.save(path)
    header, *rows = path.read_text().splitlines()
    assert header.startswith("query,document,label,rank,")
    with pytest.raises(ValueError, match="none of its 25 rows has a grade"):
        podium.join_judgments(queries, path)
    filled = [row.split(",") for row in rows]
    for i, row in enumerate(filled[:20]):
        row[2] = str(i % 3)
    path.write_text("\n".join([header, *map(",".join, filled)]) + "\n")
    with pytest.warns(UserWarning, match="5 of 25 rows have no grade"):
        judged = podium.join_judgments(queries, path).queries
    assert judged.n_documents == 20
    grades = dict(zip(zip(questions.qids, questions.documents, strict=True), np.arange(20) % 3.0, strict=False))
    assert all(
        grades[pair] == label
        for *pair, label in zip(judged.qids[judged.query_of_document], judged.document_ids, judged.labels, strict=True)
        for pair in [tuple(pair)]
    )
    bias = podium.clicks.PositionBias.known(log.truth.propensities)
    mixed = podium.ListNet(random_state=0).fit([judged, log], bias=bias, click_share=0.5)
    within = podium.ListNet(random_state=0).fit(log, bias=podium.clicks.WithJudgments(bias, judged))
    assert np.isfinite([mixed.coef_, within.coef_]).all()


def test_with_judgments_is_the_bias_elsewhere(log):
    queries = log.queries
    first = queries.with_labels(np.arange(queries.n_documents) % 3.0).take([0])
    bias = podium.clicks.PositionBias.known(log.truth.propensities)
    both = podium.clicks.WithJudgments(bias, first)
    judged = queries.query_of_document == 0
    weights, before = both.weights(log), bias.weights(log)
    np.testing.assert_array_equal(weights[~judged], before[~judged])
    shown = np.bincount(log.row, log.impressions)
    np.testing.assert_allclose(weights[judged] / shown[judged], both.attractiveness(log)[judged])
    near = np.abs(both.attractiveness(log) - bias.attractiveness(log))
    assert near[~judged].max() < 0.2 < near[judged].max()
    for loss in (podium.losses.ListNetLoss(), podium.losses.SoftmaxLoss()):
        podium.Ranker(loss, random_state=0).fit(log, bias=both)


def test_mistakes(log):
    queries, scores = log.queries, log.queries.features[:, 1]
    how = {"bias": log.truth}
    with pytest.raises(ValueError, match="n must be"):
        podium.clicks.ask(scores, log, 0, **how)
    with pytest.raises(TypeError, match=r"clicks must be a podium\.Clicks"):
        podium.clicks.ask(scores, queries, **how)
    with pytest.raises(ValueError, match="cannot be told from clicks"):
        podium.clicks.ask(scores, log, metric="ndcg@10", **how)
    with pytest.raises(ValueError, match=r"scores must be one number for each of the 60 documents"):
        podium.clicks.ask(scores[1:], log, **how)
    with pytest.raises(ValueError, match="have no ids"):
        podium.clicks.ask([1.0], podium.Clicks([[1.0]], [1], qid=[0], position=[1]), bias=[1.0])
    with pytest.raises(TypeError, match=r"judged must be podium\.Queries"):
        podium.clicks.ask(scores, log, judged="pairs.csv", **how)
    nothing = queries.with_labels(np.zeros(60)).take([0])
    with pytest.raises(ValueError, match="no document was judged relevant"):
        podium.clicks.ask(scores, log, judged=nothing, **how)
    assert podium.clicks.ask(scores, log, judged=nothing, highest=2.0, **how).n_judged == 6
    with pytest.raises(ValueError, match="highest must be"):
        podium.clicks.ask(scores, log, judged=queries.with_labels(np.full(60, 3.0)), highest=2.0, **how)
    with pytest.raises(ValueError, match="depends on the place alone"):
        podium.clicks.WithJudgments(podium.clicks.DBN(bootstrap=0).fit(log), nothing, highest=2.0).attractiveness(log)
    strangers = podium.Queries(np.ones((2, 3)), [1, 0], qid=["x", "x"], document_ids=["a", "b"])
    with pytest.raises(ValueError, match="none of the judged documents is among those that are ranked"):
        podium.clicks.ask(scores, log, judged=strangers, **how)
    with pytest.raises(ValueError, match="none of the candidates' queries is in the log"):
        podium.clicks.ask([1.0, 2.0], log, candidates=strangers, **how)
