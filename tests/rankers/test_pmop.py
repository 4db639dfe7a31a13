"""What a PMOP ranker says of a list, and likelihoods of rankers that have one."""

from __future__ import annotations

import numpy as np
import pytest

import podium
from podium.losses import PMOPLoss


@pytest.fixture(scope="module")
def queries() -> podium.Queries:
    return podium.make_queries(n_queries=25, n_documents=6, n_features=4, random_state=1)


@pytest.mark.parametrize("potential", ["arithmetic", "geometric"])
def test_log_likelihood_is_the_losss_with_its_constants(queries: podium.Queries, potential: str) -> None:
    ranker = podium.PMOP(potential=potential, l2=0.15).fit(queries)
    loss = PMOPLoss(potential).value_and_gradient(ranker.predict(queries), queries.labels, queries.offsets)
    assert ranker.log_likelihood(queries) == pytest.approx(-loss.value)
    untrained = PMOPLoss(potential).value_and_gradient(np.zeros(queries.n_documents), queries.labels, queries.offsets)
    assert ranker.log_likelihood(queries) > -untrained.value


def test_samplers_report_the_exact_likelihood(queries: podium.Queries) -> None:
    ranker = podium.PMOP("geometric", "gibbs", l2=0.15, random_state=0).fit(queries)
    exact = PMOPLoss("geometric").value_and_gradient(ranker.predict(queries), queries.labels, queries.offsets)
    assert ranker.log_likelihood(queries) == pytest.approx(-exact.value)
    # Contrastive divergence comes near the optimum that L-BFGS finds.
    best = podium.PMOP("geometric", l2=0.15).fit(queries).log_likelihood(queries)
    assert best - 0.5 < ranker.log_likelihood(queries) <= best + 0.05


def test_samplers_run_as_many_epochs_as_asked_for(queries: podium.Queries) -> None:
    few = queries.take(range(3))
    assert podium.PMOP("geometric", "mh", random_state=0).fit(few).n_iter_ == 100
    printed = {"max_iter": 130, "learning_rate": 0.1, "schedule": "constant", "l2": 0.0, "proposal_correction": False}
    ranker = podium.PMOP("geometric", "mh", random_state=0, **printed).fit(few)
    assert ranker.n_iter_ == 130
    assert {ranker._trainer().rate(k) for k in range(130)} == {0.1}


def test_samplers_that_diverge_are_an_error(queries: podium.Queries) -> None:
    with pytest.raises(ValueError, match=r"diverged in epoch \d+: a parameter reached .*lower learning_rate"):
        podium.PMOP("geometric", "gibbs", l2=0.0, learning_rate=1e120, random_state=0).fit(queries)


def test_backward_learns_and_refuses_probabilities_of_the_forward_model(queries: podium.Queries) -> None:
    ranker = podium.PMOP(factorization="backward", l2=0.01).fit(queries)
    assert ranker.score(queries) > 0.8
    assert ranker.log_likelihood(queries) < 0
    with pytest.raises(ValueError, match="factorization"):
        ranker.top_probability(queries)


def test_only_likelihoods_have_one(queries: podium.Queries) -> None:
    assert podium.ListMLE().fit(queries).log_likelihood(queries) < 0
    assert podium.PairTies().fit(queries).log_likelihood(queries) < 0
    with pytest.raises(ValueError, match="RankNet does not model probabilities"):
        podium.RankNet().fit(queries).log_likelihood(queries)


@pytest.mark.parametrize("potential", ["arithmetic", "geometric"])
def test_probabilities_are_consistent(queries: podium.Queries, potential: str) -> None:
    ranker = podium.PMOP(potential=potential, l2=0.15, random_state=0).fit(queries)
    qid = np.repeat(queries.qids, queries.sizes)
    shuffled = np.random.default_rng(0).permutation(queries.n_documents)
    top = ranker.top_probability(queries.features[shuffled], qid=qid[shuffled])
    np.testing.assert_allclose(top, ranker.top_probability(queries)[shuffled])  # the caller's order

    first = queries.take([0])
    n = first.n_documents
    pairs = np.array([(i, j) for i in range(n) for j in range(n) if i != j])
    p = ranker.pair_probabilities(first, pairs[:, 0], pairs[:, 1])
    np.testing.assert_allclose(p.above + p.tied + p.below, 1)
    scores = ranker.predict(first)
    clear = scores[pairs[:, 0]] > scores[pairs[:, 1]] + 0.3
    assert clear.any()
    assert (p.above[clear] > p.below[clear]).all()


def test_pair_probabilities_of_two_documents_by_hand() -> None:
    # Two documents, geometric: e^a : e^b : e^((a+b)/2) for above, below, tied.
    x = np.array([[1.0], [0.0]] * 10)
    y, qid = np.tile([1, 0], 10), np.repeat(np.arange(10), 2)
    ranker = podium.PMOP("geometric", l2=0.15, random_state=3).fit(x, y, qid=qid)
    a, b = ranker.predict(x[:2])
    weights = np.exp([a, b, (a + b) / 2])
    p = ranker.pair_probabilities(x[:2], 0, 1, qid=[0, 0], n_samples=40_000)
    expected = weights / weights.sum()
    np.testing.assert_allclose([p.above[0], p.below[0], p.tied[0]], expected, atol=4 / (2 * 200))
    with pytest.raises(ValueError, match="same lists"):
        ranker.pair_probabilities(x[:4], 0, 2, qid=[0, 0, 1, 1])
