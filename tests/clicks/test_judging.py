"""Judging rankings from a log: hand arithmetic, brute force over sessions, identities, coverage, refusals."""

import numpy as np
import pytest

import podium
from podium.clicks import evaluate, simulate
from podium.clicks.rank_weights import rank_weights

# Two queries; x and y of query 1 are shown in three sessions, u alone of query 2 in one.
LOG = podium.Clicks(
    None,
    [1, 0, 0, 1, 1, 0, 1],
    qid=[1, 1, 1, 1, 1, 1, 2],
    position=[1, 2, 1, 2, 1, 2, 2],
    document=["x", "y", "y", "x", "x", "y", "u"],
    session=[1, 1, 2, 2, 3, 3, 4],
)
THETA = np.array([1.0, 0.5])
SECOND = 1 / np.log2(3)


@pytest.fixture(scope="module")
def simulated() -> podium.Clicks:
    queries = podium.make_queries(n_queries=40, n_documents=8, n_features=4, random_state=1)
    queries = queries.with_document_ids(np.arange(queries.n_documents))
    return simulate(queries, queries.features[:, 0], top=12, sessions=2000, trust=(0.9, 0.1), random_state=1)


def by_sessions(log: podium.Clicks, weights: np.ndarray, alpha: np.ndarray, beta: np.ndarray) -> np.ndarray:
    """Return Σ λ (c − β)/ρ of each session, in plain loops, ρ the mean of α over all sessions of the query."""
    rho = np.zeros(log.queries.n_documents)
    for row, place, query in zip(log.row, log.position, log.query, strict=True):
        rho[row] += alpha[place - 1] / log.n_sessions[query]
    values = np.zeros(log.session.max() + 1)
    for row, place, click, session in zip(log.row, log.position, log.clicks, log.session, strict=True):
        values[session] += weights[row] * (click - beta[place - 1]) / rho[row]
    return values


def test_hand_arithmetic() -> None:
    # x: 3 clicks, looks 1 + ½ + 1; y: none; u: 1 click in ½ looks. Query 1 was asked three times, query 2 once.
    e = evaluate(LOG, [1.0, 2.0, 0.0], metrics=["dcg@10", "dcg@1", "p@2", "rbp.5", "arp"], bias=THETA)
    assert e.qids.tolist() == [1, 2]
    assert e.per_query["dcg@10"] == pytest.approx([1.2 * SECOND, 2.0])
    assert e.mean["dcg@10"] == pytest.approx((3 * 1.2 * SECOND + 2.0) / 4)
    assert e.per_query["dcg@1"] == pytest.approx([0.0, 2.0])
    assert e.per_query["p@2"] == pytest.approx([0.6, 1.0])
    assert e.per_query["rbp.5"] == pytest.approx([0.25 * 1.2, 0.5 * 2.0])
    assert e.per_query["arp"] == pytest.approx([2.4, 2.0])
    # w = 1/ρ: 1.2 for each click on x, 2 for that on u; dcg@1 looks at y and u.
    assert e.effective_size["dcg@10"] == pytest.approx((3 * 1.2 + 2) ** 2 / (3 * 1.2**2 + 4))
    assert e.effective_size["dcg@1"] == pytest.approx(1.0)
    # By queries: residuals 3 (V₁ − V) and (V₂ − V) over 4 sessions, times √2, Student's quantile with 1 degree: 12.706.
    deviation = np.sqrt(2 * ((3 * (1.2 * SECOND - e.mean["dcg@10"])) ** 2 + (2 - e.mean["dcg@10"]) ** 2)) / 4
    low, high = e.interval["dcg@10"]
    assert (high - low) / 2 == pytest.approx(12.7062 * deviation, rel=1e-4)


def test_self_normalized_is_per_unit_of_relevance() -> None:
    e = evaluate(LOG, [1.0, 2.0, 0.0], metrics=["dcg@10", "arp"], bias=THETA, estimator="snips")
    assert e.per_query["dcg@10"] == pytest.approx([SECOND, 1.0])
    assert e.per_query["arp"] == pytest.approx([2.0, 1.0])  # the average rank of what was clicked
    assert "dcg@10 per unit of relevance" in str(e)
    nothing = podium.Clicks(None, [1, 0], qid=[1, 2], position=[1, 1], document=["x", "y"])
    e = evaluate(nothing, [1.0, 1.0], bias=[1.0], estimator="snips")
    assert np.isnan(e.per_query["dcg@10"][1])
    assert e.mean["dcg@10"] == 1.0
    assert "1 queries without clicks left out" in str(e)


@pytest.mark.parametrize("estimator", ["ips", "dr"])
def test_brute_force_over_sessions(simulated: podium.Clicks, estimator: str) -> None:
    scores = simulated.queries.features[:, 1]
    e = evaluate(simulated, scores, metrics="dcg@5", bias=simulated.truth, estimator=estimator)
    weights = rank_weights("dcg@5")["dcg@5"].of_documents(scores, simulated.queries.offsets)
    truth = simulated.truth
    assert e.mean["dcg@5"] == pytest.approx(by_sessions(simulated, weights, truth.alpha, truth.beta).mean())


def test_clipping_takes_ips_toward_zero_and_doubly_robust_toward_the_guess(simulated: podium.Clicks) -> None:
    scores = simulated.queries.features[:, 1]

    def mean(estimator: str, clip: float | None) -> float:
        e = evaluate(simulated, scores, metrics="dcg@5", bias=simulated.truth, estimator=estimator, clip=clip)
        return e.mean["dcg@5"]

    whole = mean("ips", None)
    assert mean("ips", 1e6) == pytest.approx(whole)
    assert mean("ips", 2.0) < whole - 0.1
    assert abs(mean("dr", 2.0) - whole) < abs(mean("ips", 2.0) - whole) / 2
    e = evaluate(simulated, scores, metrics="dcg@5", bias=simulated.truth, clip=2.0)
    assert "weights above 2 clipped" in str(e)


def test_aggregated_logs_say_the_same(simulated: podium.Clicks) -> None:
    scores, bias = simulated.queries.features[:, 1], simulated.truth
    for estimator in ("ips", "snips", "dr"):
        for interval in ("queries", "sessions"):
            how = {"bias": bias, "estimator": estimator, "interval": interval}
            one, other = evaluate(simulated, scores, **how), evaluate(simulated.aggregated(), scores, **how)
            assert one.mean == pytest.approx(other.mean)
            assert one.effective_size == pytest.approx(other.effective_size)
            # Clicks of a session are independent here, so summing them by session first changes little.
            width, aggregated = (np.ptp(e.interval["dcg@10"]) for e in (one, other))
            assert aggregated == pytest.approx(width, rel=0.1)
    assert "impressions are taken to be independent" in str(other)


def test_row_order_is_no_information(simulated: podium.Clicks) -> None:
    q = simulated.queries
    order = np.random.default_rng(0).permutation(len(simulated))
    shuffled = podium.Clicks(
        q.features[simulated.row[order]],
        simulated.clicks[order],
        qid=q.qids[simulated.query[order]],
        position=simulated.position[order],
        document=q.document_ids[simulated.row[order]],
        session=simulated.session[order],
    )
    for interval in ("queries", "sessions"):
        # Few different scores: tied documents share their ranks.
        one, other = (
            evaluate(log, np.round(log.queries.features[:, 1]), bias=simulated.truth, interval=interval)
            for log in (simulated, shuffled)
        )
        assert one.mean == pytest.approx(other.mean)
        assert one.interval["dcg@10"] == pytest.approx(other.interval["dcg@10"])


def test_ties_share_the_mean_of_their_weights_and_what_is_not_retrieved_weighs_nothing() -> None:
    weight = rank_weights(["dcg@2"])["dcg@2"]
    assert weight.of_documents(np.array([1.0, 3.0, 1.0, 1.0, 5.0]), np.array([0, 4, 5])) == pytest.approx(
        [SECOND / 3, 1.0, SECOND / 3, SECOND / 3, 1.0]
    )
    assert weight.of_documents(np.array([-np.inf, 2.0, -np.inf]), np.array([0, 3])).tolist() == [0.0, 1.0, 0.0]
    average = rank_weights("arp")["arp"]
    assert average.of_documents(np.array([-np.inf, 2.0, -np.inf]), np.array([0, 3])).tolist() == [2.5, 1.0, 2.5]


def test_metrics_agree_with_those_of_judgments() -> None:
    """With γ as labels and linear gains, Σ λ γ is what podium.metrics computes."""
    scores, gamma, offsets = np.array([0.3, 0.1, 0.8, 0.2, 0.7]), np.array([0.0, 1.0, 1.0, 1.0, 0.0]), np.array([0, 5])
    for name in ("dcg@3", "dcg", "p@2", "rbp.9", "rbp@3"):
        found = rank_weights(name)[name].of_documents(scores, offsets) @ gamma
        assert found == pytest.approx(podium.metric(name).per_query(scores, gamma, offsets)[0]), name


def test_candidates_are_found_by_ids_and_may_be_others(simulated: podium.Clicks) -> None:
    q = simulated.queries
    # Other order of queries and documents, ids as texts, and one query that nobody asked.
    order = np.random.default_rng(1).permutation(q.n_documents)
    other = podium.Queries(
        np.vstack([q.features[order], np.zeros((1, q.n_features))]),
        qid=[*map(str, q.qids[q.query_of_document[order]].tolist()), "new"],
        document_ids=[*map(str, q.document_ids[order].tolist()), "0"],
    )
    scores = np.append(q.features[order, 1], 0.0)
    expected = evaluate(simulated, q.features[:, 1], bias=simulated.truth)
    found = evaluate(simulated, scores, other, bias=simulated.truth)
    assert found.mean == pytest.approx(expected.mean)
    assert found.interval["dcg@10"] == pytest.approx(expected.interval["dcg@10"])
    assert "1 queries without sessions do not count" in str(found)


def test_documents_that_were_never_shown(simulated: podium.Clicks) -> None:
    q = simulated.queries
    extra = np.arange(len(q))  # one more document per query

    def with_extra(score: float) -> tuple[np.ndarray, podium.Queries]:
        candidates = podium.Queries(
            np.vstack([q.features, np.zeros((len(q), q.n_features))]),
            qid=np.concatenate([q.qids[q.query_of_document], q.qids]),
            document_ids=np.concatenate([q.document_ids, -1 - extra]),
        )
        return np.concatenate([q.features[:, 1], np.full(len(q), score)]), candidates

    highest, lowest = q.features[:, 1].max() + 1, q.features[:, 1].min() - 1
    with pytest.raises(ValueError, match=r"never showed hold (\d+\.\d) % of the weight of dcg@10"):
        evaluate(simulated, *with_extra(highest), bias=simulated.truth)
    with pytest.raises(ValueError, match=r"100\.0 % of the weight of p@1"):
        evaluate(simulated, *with_extra(highest), metrics=["p@1"], bias=simulated.truth, estimator="dr")
    without = evaluate(simulated, q.features[:, 1], metrics="dcg@3", bias=simulated.truth).mean["dcg@3"]
    assert evaluate(simulated, *with_extra(lowest), metrics="dcg@3", bias=simulated.truth).mean["dcg@3"] == without
    # At the end of the list their share is small: worth nothing by IPS, something by the guess.
    few = {"metrics": "dcg", "bias": simulated.truth}
    scores, candidates = with_extra(lowest)
    scores[q.n_documents + 10 :] = -np.inf
    ips, robust = (evaluate(simulated, scores, candidates, estimator=name, **few) for name in ("ips", "dr"))
    assert 0 < ips.unseen["dcg"] < 0.05
    assert robust.mean["dcg"] > ips.mean["dcg"]
    assert "count as worth nothing" in str(ips)
    assert "what the regression says" in str(robust)


def test_differences_are_paired(simulated: podium.Clicks) -> None:
    q, how = simulated.queries, {"bias": simulated.truth, "metrics": ["dcg@5", "p@1"]}
    for interval in ("queries", "sessions"):
        a, b = (evaluate(simulated, q.features[:, j], interval=interval, **how) for j in (0, 1))
        difference = a.compare(b, "dcg@5")
        assert difference.mean == pytest.approx(a.mean["dcg@5"] - b.mean["dcg@5"])
        low, high = difference.interval
        assert (low > 0 or high < 0) == (difference.p_value < 0.05)
        same = a.compare(a, "dcg@5")
        assert (same.mean, same.interval, same.p_value) == (0.0, (0.0, 0.0), 1.0)
        # Twice the same weights but for one place: the interval is far narrower than those of the two.
        swapped = q.features[:, 0].copy()
        first = slice(q.offsets[0], q.offsets[1])
        swapped[first] = -swapped[first]
        near = a.compare(evaluate(simulated, swapped, interval=interval, **how), "dcg@5").interval
        assert np.ptp(near) < 0.6 * np.ptp(a.interval["dcg@5"])
    with pytest.raises(ValueError, match="same log, with the same candidates, bias, estimator"):
        a.compare(evaluate(simulated, q.features[:, 0], estimator="dr", **how), "p@1")
    with pytest.raises(KeyError, match="has no dcg@7; it has dcg@5, p@1"):
        a.compare(b, "dcg@7")


def test_an_estimated_bias_does(simulated: podium.Clicks) -> None:
    scores = simulated.queries.features[:, 1]
    known = podium.clicks.PositionBias.known(1 / np.arange(1, 13))
    expected = evaluate(simulated, scores, bias=1 / np.arange(1, 13))
    assert evaluate(simulated, scores, bias=known).mean == expected.mean
    with pytest.raises(ValueError, match="bias must be fitted"):
        evaluate(simulated, scores, bias=podium.clicks.PositionBias())


def test_a_ranker_may_stand_for_scores(simulated: podium.Clicks) -> None:
    queries = podium.make_queries(n_queries=30, n_documents=8, n_features=4, random_state=2)
    ranker = podium.Regression().fit(queries)
    expected = evaluate(simulated, ranker.predict(simulated.queries), bias=simulated.truth)
    assert evaluate(simulated, ranker, bias=simulated.truth).mean == expected.mean


@pytest.mark.parametrize("drawn", [False, True])
def test_intervals_cover_what_they_estimate(drawn: bool) -> None:
    """A short form of tools/clicks_coverage.py, which has 500 logs and states the coverages."""
    of = podium.make_queries(n_queries=400, n_documents=6, n_features=3, vary_sizes=False, random_state=5)
    gain = np.exp2(of.labels) - 1
    weights = rank_weights("dcg@10")["dcg@10"].of_documents(of.features[:, 1], of.offsets)
    value = (weights * (0.1 + 0.9 * gain / gain.max())).reshape(len(of), 6).sum(axis=1)
    covered = []
    for seed in range(60):
        chosen = np.random.default_rng(seed).choice(len(of), 40, replace=False) if drawn else np.arange(40)
        queries = of.take(chosen)
        log = simulate(queries, queries.features[:, 0], sessions=800, random_state=seed)
        number = {qid: q for q, qid in enumerate(of.qids.tolist())}
        asked = [number[qid] for qid in log.queries.qids.tolist()]
        truth = value.mean() if drawn else np.average(value[asked], weights=log.n_sessions)
        interval = "queries" if drawn else "sessions"
        found = evaluate(log, log.queries.features[:, 1], bias=log.truth, interval=interval)
        low, high = found.interval["dcg@10"]
        covered.append(low <= truth <= high)
    assert 0.85 <= np.mean(covered) <= 1.0  # 95 % less 3.5 standard deviations
    assert np.ptp(found.interval["dcg@10"]) < (0.5 if drawn else 0.25)


def test_documents_shown_once_have_wide_intervals() -> None:
    once = podium.Clicks(None, [1, 0], qid=[1, 2], position=[2, 1], document=["x", "y"], session=[1, 2])
    e = evaluate(once, [1.0, 1.0], bias=THETA, interval="sessions")
    assert e.mean["dcg@10"] == 1.0
    assert np.isnan(e.interval["dcg@10"]).all()  # one session per query: nothing tells chance
    twice = podium.Clicks(
        None, [1, 0, 0], qid=[1, 1, 1], position=[2, 1, 1], document=["x", "y", "y"], session=[1, 1, 2]
    )
    low, high = evaluate(twice, [2.0, 1.0], bias=THETA, interval="sessions").interval["dcg@10"]
    assert high - low > 2 * 12.7 * 2.0 * 0.99 / 2  # the one click on x, of weight 2/½, over two sessions


def test_bad_input_is_refused(simulated: podium.Clicks) -> None:
    class Cascade:
        propensities_ = np.ones(20)
        alpha_ = beta_ = None

    scores = simulated.queries.features[:, 0]
    for message, given in (
        ("ndcg@10 .* cannot be told from clicks", {"metrics": "ndcg@10"}),
        ("cannot be told from clicks", {"metrics": "dcg@10 (letor)"}),
        ("metrics is empty", {"metrics": []}),
        ("no metric is called", {"metrics": "dgc@10"}),
        ("estimator must be one of", {"estimator": "direct"}),
        ("interval must be one of", {"interval": "users"}),
        ("clip must be", {"clip": 0.5}),
        ("depends on the place alone", {"bias": Cascade()}),
        ("the log has 12 places, and the bias knows only 2", {"bias": THETA}),
        ("bias must be fitted", {"bias": "position"}),
        ("bias must be fitted", {"bias": -np.ones(20)}),
        ("candidates have no ids", {"candidates": podium.make_queries(n_queries=3, n_documents=3)}),
    ):
        with pytest.raises(ValueError, match=message):
            evaluate(simulated, scores, **({"bias": simulated.truth} | given))
    with pytest.raises(ValueError, match="one number for each"):
        evaluate(simulated, scores[1:], bias=simulated.truth)
    with pytest.raises(ValueError, match=r"score of row 3 \(from 0\) is NaN"):
        evaluate(simulated, np.where(np.arange(len(scores)) == 3, np.nan, scores), bias=simulated.truth)
    with pytest.raises(TypeError, match=r"podium\.Clicks"):
        evaluate(simulated.queries, scores, bias=simulated.truth)
    elsewhere = podium.Queries([[0.0]], qid=["elsewhere"], document_ids=["x"])
    with pytest.raises(ValueError, match="none of the candidates' queries is in the log"):
        evaluate(simulated, [1.0], elsewhere, bias=simulated.truth)
