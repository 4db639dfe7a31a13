"""Contributions of features to differences of scores: sums, symmetry, and enumeration of orders on small models."""

from __future__ import annotations

import json
from itertools import permutations

import numpy as np
import pytest
from scipy import sparse

import podium
from podium.numerics.shapley import exact_shapley, sampled_shapley
from podium.rankers.explaining import contributions as algorithms


def lists_of_eight(n_features):
    made = podium.make_queries(n_queries=30, n_documents=8, n_features=n_features, random_state=3)
    return podium.Queries(made.features[:96], made.labels[:96], sizes=[8] * 12)


QUERIES, WIDE = lists_of_eight(4), lists_of_eight(15)


class Squares(podium.scorers.FunctionScorer):
    """A scorer of the user's own, whose scores depend on the list."""

    listwise = True

    def n_parameters(self, n_features):
        return n_features

    def forward(self, theta, queries):
        first = queries.offsets[:-1][queries.query_of_document]
        values = queries.features**2 - queries.features[first]
        return values @ theta, lambda d_scores: values.T @ d_scores


def network(**options):
    trainer = podium.training.Stochastic(epochs=3)
    scorer = podium.scorers.MLP(hidden=3)
    return podium.Ranker(podium.losses.RankNetLoss(), scorer, trainer, random_state=0, **options)


RANKERS = {
    "linear": podium.ListNet(),
    "linear, rescaled": podium.ListNet(normalize="minmax"),
    "trees": podium.LambdaMART(n_trees=8, n_leaves=5, min_documents_in_leaf=5),
    "rules": podium.RankBoost(n_rounds=10),
    "adarank": podium.AdaRank(n_rounds=10),
    "network": network(),
    "network, rescaled": network(normalize="zscore"),
    "potentials": podium.BoltzRank(pairwise=True, epochs=2, restarts=1, random_state=0),
    "kernel": podium.StructRank(epochs=2, restarts=1, random_state=0),
    "blend": podium.Blend([podium.ListNet(), podium.LambdaMART(n_trees=3, min_documents_in_leaf=5)]),
    "own": podium.Ranker(podium.losses.ListNetLoss(), Squares(), random_state=0),
    "chance": podium.RandomRanker(random_state=0),
}


@pytest.fixture(scope="module")
def fitted():
    made = {}

    def fit(name, queries=QUERIES):
        key = name, queries.n_features
        if key not in made:
            import warnings

            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the fits are as short as can be
                made[key] = _clone(RANKERS[name]).fit(queries)
        return made[key]

    return fit


def _clone(ranker):
    from sklearn.base import clone

    return clone(ranker)


def as_array(explanation, n_features=4):
    values = np.zeros(n_features)
    for c in explanation.contributions:
        values[c.feature] = c.contribution
    return values


@pytest.mark.parametrize("name", RANKERS)
@pytest.mark.parametrize("queries", [QUERIES, WIDE], ids=["4 features", "15 features"])
def test_contributions_add_up_are_antisymmetric_and_sorted(fitted, name, queries):
    ranker, (a, b) = fitted(name, queries), (queries.offsets[2] + 3, queries.offsets[2] + 1)
    scores = ranker.predict(queries)
    why, converse = ranker.explain(queries, documents=(a, b)), ranker.explain(queries, documents=(b, a))
    assert why.difference == pytest.approx(scores[a] - scores[b], abs=1e-6)  # float32
    values = as_array(why, queries.n_features)
    size = np.abs(values).sum()
    assert values.sum() == pytest.approx(why.difference, abs=1e-12 * size + 1e-15)
    sizes = [abs(c.contribution) for c in why.contributions]
    assert sizes == sorted(sizes, reverse=True)
    assert len(sizes) == queries.n_features
    np.testing.assert_allclose(as_array(converse, queries.n_features), -values, atol=2e-6 * size + 1e-12)
    assert [why.contributions[0].values[0]] == [queries.features[a, why.contributions[0].feature]]
    assert why.query == str(queries.qids[2])
    assert (why.first.row, why.second.row) == (a, b)


@pytest.mark.parametrize("name", ["network", "network, rescaled", "potentials", "kernel", "blend", "own", "chance"])
def test_shapley_values_by_enumeration(fitted, name):
    """The mean, over all orders, of what switching a feature changes: switched in the list, all else as it is."""
    ranker, (a, b) = fitted(name), (2, 5)
    listed = QUERIES.take([1])
    seen = ranker._as_trained(listed)  # where features are rescaled within the list, they are switched after it

    def lead(features):
        scores = ranker.model_.scores(seen.with_features(features))
        return scores[a] - scores[b]

    totals, orders = np.zeros(4), list(permutations(range(4)))
    for order in orders:
        for changed, other in ((a, b), (b, a)):  # the one becomes the other, or the other the one
            features, before = seen.features.copy(), lead(seen.features)
            for j in order:
                features[changed, j] = features[other, j]
                after = lead(features)
                totals[j] += before - after
                before = after
    why = ranker.explain(QUERIES, documents=(QUERIES.offsets[1] + a, QUERIES.offsets[1] + b))
    assert why.method.startswith("exact Shapley values")
    np.testing.assert_allclose(as_array(why), totals / (2 * len(orders)), atol=1e-6)


def test_linear_contributions_are_weights_times_differences(fitted):
    ranker = fitted("linear")
    why = ranker.explain(QUERIES, documents=(0, 1))
    np.testing.assert_allclose(as_array(why), ranker.coef_ * (QUERIES.features[0] - QUERIES.features[1]), rtol=1e-6)


def test_trees_use_shap_values(fitted):
    ranker = fitted("trees")
    shap = ranker.contributions(QUERIES)
    np.testing.assert_allclose(as_array(ranker.explain(QUERIES, documents=(0, 1))), (shap[0] - shap[1])[:-1])


def test_rules_that_hold_for_one_of_the_two(fitted):
    ranker = fitted("rules")
    why = ranker.explain(QUERIES, documents=(0, 4))
    expected = {}
    for rule in ranker.rules():
        holds = QUERIES.features[[0, 4], rule.feature] > rule.threshold
        if holds[0] != holds[1]:
            expected[rule.condition] = rule.weight * (1 if holds[0] else -1), holds[0]
    assert {rule: (weight, first) for rule, weight, first in why.rules} == expected
    assert expected
    assert sum(weight for _, weight, _ in why.rules) == pytest.approx(why.difference)
    assert "rules that hold for one of the two" in str(why)


def test_integrated_gradients_of_a_network(fitted):
    """Against the trapezoidal rule on numerical derivatives along the path."""
    ranker = fitted("network", WIDE)
    why = ranker.explain(WIDE, documents=(0, 3))
    assert why.method == "integrated gradients"
    start, stop = WIDE.features[3].astype(float), WIDE.features[0].astype(float)
    steps = np.linspace(0, 1, 201)
    path = start + steps[:, None] * (stop - start)
    gradients = np.empty_like(path)
    for j in range(15):
        bump = np.zeros(15)
        bump[j] = 1e-5
        gradients[:, j] = (ranker.predict(path + bump) - ranker.predict(path - bump)) / 2e-5
    expected = np.trapezoid(gradients, steps, axis=0) * (stop - start)
    np.testing.assert_allclose(as_array(why, 15), expected, atol=1e-5)


@pytest.mark.parametrize("activation", ["tanh", "relu"])
@pytest.mark.parametrize("output", ["linear", "tanh"])
def test_gradients_by_features(activation, output):
    scorer = podium.scorers.MLP(hidden=(3, 2), activation=activation, output=output)
    model = scorer.start(QUERIES, np.random.default_rng(0))
    features = QUERIES.features[:5].astype(np.float64)
    gradients = model.input_gradients(features)
    for j in range(4):
        bump = np.zeros(4)
        bump[j] = 1e-6
        up, down = (model.scores(podium.Queries(features + s * bump, sizes=[5])) for s in (1, -1))
        np.testing.assert_allclose(gradients[:, j], (up - down) / 2e-6, atol=1e-6)


@pytest.mark.parametrize("name", RANKERS)
def test_one_document_against_its_list(fitted, name):
    ranker, rows = fitted(name), slice(*QUERIES.offsets[1:3])
    a = QUERIES.offsets[1] + 2
    why = ranker.explain(QUERIES, documents=(a,))
    scores = ranker.predict(QUERIES)
    assert why.difference == pytest.approx(scores[a] - scores[rows].mean(), abs=1e-6)
    assert as_array(why).sum() == pytest.approx(why.difference, abs=1e-12 * np.abs(as_array(why)).sum() + 1e-15)
    others = [ranker.explain(QUERIES, documents=(a, b)) for b in range(rows.start, rows.stop) if b != a]
    expected = np.sum([as_array(other) for other in others], axis=0) / 8
    np.testing.assert_allclose(as_array(why), expected, atol=1e-5)
    if name == "linear":
        j = why.contributions[0].feature
        assert why.contributions[0].values[1] == pytest.approx(QUERIES.features[rows, j].mean(), rel=1e-6)


def test_sampled_orders_agree_with_all_orders(fitted, monkeypatch):
    exact = fitted("potentials").explain(QUERIES, documents=(0, 1))
    monkeypatch.setattr(algorithms, "MOST_EXACT", 1)
    sampled = fitted("potentials").explain(QUERIES, documents=(0, 1))
    assert sampled.method == "Shapley values of 128 sampled orders, the other documents of the list held fixed"
    assert np.abs(as_array(sampled) - as_array(exact)).max() <= 5 * sampled.standard_error + 1e-9
    assert 0 < sampled.standard_error < 0.1 * abs(exact.contributions[0].contribution)
    assert "standard error at most" in str(sampled)
    again = fitted("potentials").explain(QUERIES, documents=(0, 1))
    assert as_array(again).tolist() == as_array(sampled).tolist()


@pytest.mark.parametrize("name", ["potentials", "kernel"])
def test_long_lists_are_compared_with_some_of_their_documents(fitted, name, monkeypatch):
    ranker = fitted(name)
    listed = podium.Queries(QUERIES.features[:40], sizes=[40])
    exact = ranker.explain(listed, documents=(3,))
    monkeypatch.setattr(algorithms, "_MOST_ROWS", 500)
    why = ranker.explain(listed, documents=(3,))
    assert why.method.endswith("compared with 8 of the 39 others")
    assert as_array(why).sum() == pytest.approx(why.difference)
    assert why.difference == pytest.approx(exact.difference)
    largest = why.contributions[0]
    assert largest.contribution == pytest.approx(as_array(exact)[largest.feature], rel=0.5)


def test_shapley_values_of_a_known_game():
    """Three players of a glove market: one left glove, two right ones; (4, 1, 1) / 6."""

    def game(coalitions):
        return (coalitions[:, 0] & (coalitions[:, 1] | coalitions[:, 2])).astype(float)

    np.testing.assert_allclose(exact_shapley(game, 3), np.array([4, 1, 1]) / 6)
    values, error = sampled_shapley(game, 3, 2000, np.random.default_rng(0))
    assert np.abs(values - np.array([4, 1, 1]) / 6).max() < 5 * error.max() < 0.1
    assert values.sum() == pytest.approx(1)


@pytest.mark.parametrize("name", ["linear", "trees", "network", "rules"])
def test_sparse_features_give_the_same(fitted, name):
    queries = QUERIES.with_features(np.where(np.abs(QUERIES.features) < 0.4, 0, QUERIES.features).astype(np.float64))
    ranker = fitted(name)
    dense = as_array(ranker.explain(queries, documents=(0, 1)))
    packed = queries.with_features(sparse.csr_matrix(queries.features))
    np.testing.assert_allclose(as_array(ranker.explain(packed, documents=(0, 1))), dense, atol=1e-9)
    np.testing.assert_allclose(
        as_array(ranker.explain(packed, documents=[1])), as_array(ranker.explain(queries, documents=[1])), atol=1e-9
    )


def test_sparse_lists(fitted):
    """A listwise scorer over sparse features: a blend of members that take them."""
    blend = podium.Blend([podium.ListNet(), network()])
    queries = QUERIES.with_features(sparse.csr_matrix(np.where(QUERIES.features > 0, QUERIES.features, 0)))
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        blend.fit(queries)
    dense = queries.with_features(queries.features.toarray())
    np.testing.assert_allclose(
        as_array(blend.explain(queries, documents=(0, 1))), as_array(blend.explain(dense, documents=(0, 1)))
    )


def test_rows_are_those_given_in_any_order(fitted):
    ranker, order = fitted("linear"), np.random.default_rng(0).permutation(QUERIES.n_documents)
    X, qid = QUERIES.features[order], QUERIES.qids[QUERIES.query_of_document][order]
    a, b = np.flatnonzero(qid == qid[7])[:2]
    why = ranker.explain(X, qid, documents=(a, b))
    np.testing.assert_allclose(as_array(why), ranker.coef_ * (X[a] - X[b]), rtol=1e-6)
    assert why.first.name == f"row {a}"


def test_by_default_the_first_two_of_the_ranking(fitted):
    ranker = fitted("linear")
    why = ranker.explain(QUERIES, query=QUERIES.qids[3])
    assert (why.first.place, why.second.place) == (1, 2)
    assert why.difference >= 0
    ranks = ranker.rank(QUERIES)
    assert ranks[[why.first.row, why.second.row]].tolist() == [1, 2]
    alone = ranker.explain(QUERIES.features[:6])  # one list without a name
    assert alone.query is None
    assert alone.n_documents == 6
    assert "against the mean of its 1 documents" in str(ranker.explain(QUERIES.features[:1]))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "there are 12 queries: name one with query="),
        ({"query": "zebra"}, "there is no query 'zebra'; there are"),
        ({"documents": (0, 0)}, "two different rows"),
        ({"documents": (0, 1, 2)}, "two different rows"),
        ({"documents": (0, 96)}, "there is no row 96: rows are numbered 0 to 95"),
        ({"documents": (0, 20)}, "must be of one query; row 0 to query"),
        ({"documents": (0, 1), "query": QUERIES.qids[4]}, "must be of one query"),
    ],
)
def test_errors(fitted, options, message):
    with pytest.raises(ValueError, match=message):
        fitted("linear").explain(QUERIES, **options)


def test_tables_and_pages(fitted):
    named = podium.Queries(
        QUERIES.features,
        QUERIES.labels,
        sizes=QUERIES.sizes,
        document_ids=[f"<d{i}>" for i in range(96)],
        feature_names=["bm25", "<b>", "age", "clicks"],
    )
    why = podium.ListNet().fit(named).explain(named, documents=(0, 3))
    text = str(why)
    assert text.startswith("Query 0: <d0> (place ")
    assert "Exact: the model is linear." in text
    assert {line.split()[0] for line in text.splitlines() if line} >= {"bm25", "<b>", "age", "clicks", "difference"}
    assert "2 others" in why.to_text(2)
    page = why.to_html()
    assert "<b>" not in page.replace("<body>", "")
    assert "&lt;b&gt;" in page
    assert "http" not in page.replace("http-equiv", "")
    assert page.count("<rect") == 4
    assert why._repr_html_() in page
    plain = json.loads(json.dumps(why.to_dict()))
    assert plain["contributions"][0]["name"] == why.contributions[0].name
    assert plain["documents"][0] == {"name": "<d0>", "row": 0, "score": why.first.score, "place": why.first.place}


def test_features_without_names_count_from_one(fitted):
    assert {c.name for c in fitted("linear").explain(QUERIES, documents=(0, 1)).contributions} == {
        f"feature {j}" for j in (1, 2, 3, 4)
    }
    assert {rule.name for rule in fitted("adarank").rules()} <= {f"feature {j}" for j in (1, 2, 3, 4)}


def test_missing_values(fitted):
    queries = QUERIES.with_features(np.where(QUERIES.features > 1, np.nan, QUERIES.features))
    why = fitted("trees").explain(queries, documents=(0, 1))
    assert as_array(why).sum() == pytest.approx(why.difference)
    why = fitted("trees").explain(queries, documents=(0,))
    assert as_array(why).sum() == pytest.approx(why.difference)
