"""Comparisons on logs of clicks: hand-dealt folds, what chooses and what judges, resuming, refusals, words."""

import json

import numpy as np
import pytest
from sklearn.base import BaseEstimator

import podium
from podium.clicks import PositionBias, compare, evaluate, simulate
from podium.clicks.comparing.biases import given_bias
from podium.clicks.comparing.folds import LogFolds
from podium.clicks.comparing.metrics import LogMetric, log_metrics
from podium.data.clicked import ClickedQueries
from podium.data.splits import k_folds
from podium.experiments.plan.protocol import KFold
from podium.experiments.run.seal import seal
from podium.experiments.run.shared_folds import SharedFold
from podium.metrics.significance import holm

PENALTIES = (0.001, 3.0)


class OnClicks(BaseEstimator):
    """ListNet as anybody's ranker: it sees the log and its bias, and no validation part."""

    def __init__(self, l2=0.1):
        self.l2 = l2

    def fit(self, X, bias=None):
        self.inner = podium.ListNet(l2=self.l2, random_state=0).fit(X, bias=bias)
        return self

    def predict(self, queries):
        return self.inner.predict(queries)


class Listener:
    """Keeps how many trials there are, and how many an earlier run finished."""

    started = None

    def note(self, text):
        pass

    warn = note

    def start(self, total, done):
        self.started = (total, done)

    def finished(self, text, seconds_left=None):
        pass


@pytest.fixture(scope="module")
def log() -> podium.Clicks:
    queries = podium.make_queries(n_queries=45, n_documents=8, n_features=4, random_state=1)
    queries = queries.with_document_ids(np.arange(queries.n_documents))
    return simulate(queries, queries.features[:, 0], top=6, sessions=3000, random_state=1)


@pytest.fixture(scope="module")
def bias(log) -> PositionBias:
    return PositionBias(bootstrap=0).fit(log)


def run(log, methods=None, **how):
    methods = {"mine": (OnClicks(), {"l2": PENALTIES}), "strong": OnClicks(l2=100.0)} if methods is None else methods
    return compare(log, methods, **{"folds": 3, "jobs": 1, "progress": False, **how})


@pytest.fixture(scope="module")
def compared(log, bias, tmp_path_factory):
    """A comparison with a folder; tests do not change it."""
    return run(log, bias=bias, metrics=["dcg@3", "p@1"], out=tmp_path_factory.mktemp("runs") / "run")


def by_hand(log, bias, l2s, primary, **how):
    """Deal, learn, choose and score fold by fold: scores of all documents by models that have not seen their query."""
    scores, chosen = np.full(log.queries.n_documents, np.nan), []
    for train, valid, test in k_folds(len(log.queries), 3, random_state=0):
        models = [podium.ListNet(l2=l2, random_state=0).fit(log.take(train), bias=bias) for l2 in l2s]
        watched = log.take(valid)
        values = [evaluate(watched, model, metrics=[primary], bias=bias, **how).mean[primary] for model in models]
        best = int(np.argmax(values))
        chosen.append((l2s[best], values[best]))
        tested = np.isin(log.queries.query_of_document, test)
        scores[tested] = models[best].predict(log.queries.take(test))
    return scores, chosen


@pytest.mark.parametrize(
    ("estimator", "interval", "clip"),
    [("ips", "queries", None), ("ips", "sessions", None), ("snips", "queries", None), ("dr", "sessions", None)],
)
def test_figures_are_those_of_evaluate_on_hand_dealt_folds(log, bias, estimator, interval, clip) -> None:
    how = {"estimator": estimator, "interval": interval}
    comparison = run(log, bias=bias, metrics=["dcg@3", "p@1"], **how)
    by_name = {row.method: row for row in comparison.rows}
    judged = {}
    for name, l2s in {"mine": PENALTIES, "strong": (100.0,)}.items():
        scores, chosen = by_hand(log, bias, l2s, "dcg@3", **how)
        judged[name] = evaluate(log, scores, metrics=["dcg@3", "p@1"], bias=bias, **how)
        if name == "mine":
            assert [result.parameters["l2"] for result in by_name[name].results] == [l2 for l2, _ in chosen]
        assert [r.validation for r in by_name[name].results] == pytest.approx([value for _, value in chosen])
        for metric in ("dcg@3", "p@1"):
            found = by_name[name].estimates[metric]
            assert found.mean == pytest.approx(judged[name].mean[metric])
            assert (found.low, found.high) == pytest.approx(judged[name].interval[metric])
            assert comparison.inference.sizes[metric][name] == pytest.approx(judged[name].effective_size[metric])
    difference = judged["strong"].compare(judged["mine"], "dcg@3")
    pair = comparison.against("mine")["strong"]
    assert pair.difference == pytest.approx(difference.mean)
    assert (pair.low, pair.high) == pytest.approx(difference.interval)
    # All p-values against the same method, corrected together; those of the others follow from what the run keeps.
    inference, values = comparison.inference, {m: comparison.figure(m, "dcg@3") for m in comparison.methods}
    others = [m for m in values if m != "mine"]
    again = [comparison.against(m)["mine"] for m in others]
    assert [-p.difference for p in again] == pytest.approx([values[m] - values["mine"] for m in others])
    alone = evaluate(log, np.zeros(log.queries.n_documents), metrics=["dcg@3"], bias=bias, **how)
    assert alone.estimates["dcg@3"].freedom == inference.freedom["dcg@3"]


def test_p_values_are_paired_and_corrected(log, bias) -> None:
    comparison = run(log, bias=bias, metrics=["dcg@3"])
    raw = {}
    for metric, by_pair in comparison.inference.differences.items():
        for one, errors in by_pair.items():
            for other, error in errors.items():
                t = (comparison.figure(one, metric) - comparison.figure(other, metric)) / error
                raw[frozenset((one, other))] = 2 * podium_t_tail(abs(t), comparison.inference.freedom[metric])
    others = [row.method for row in comparison.rows[1:]]
    expected = holm([raw[frozenset((comparison.best, other))] for other in others])
    assert [row.p_value for row in comparison.rows[1:]] == pytest.approx(expected.tolist())


def podium_t_tail(t: float, freedom: int) -> float:
    from scipy.stats import t as student

    return float(student.sf(t, freedom))


def test_production_is_worth_what_was_shown(log, bias, compared) -> None:
    """Mean over sessions of Σ λ(place) γ̂, in a loop: nothing is ranked again."""
    gained, looks = np.zeros((2, log.queries.n_documents))
    for row, place, click in zip(log.row, log.position, log.clicks, strict=True):
        gained[row] += click
        looks[row] += bias.alpha_[place - 1]
    total = 0.0
    for row, place in zip(log.row, log.position, strict=True):
        total += (place <= 3) / np.log2(1 + place) * gained[row] / looks[row]
    assert compared.figure("production", "dcg@3") == pytest.approx(total / log.n_sessions.sum())
    assert np.isnan(next(row for row in compared.rows if row.method == "production").seconds)
    assert compared.pick in ("mine", "strong")


def test_test_parts_choose_nothing(log) -> None:
    """The clicks of the first fold's test queries, turned over: what was chosen and how it scores stay, figures not."""
    propensities = [1.0, 0.5, 1 / 3, 0.25, 0.2, 1 / 6]
    _, _, test = next(iter(k_folds(len(log.queries), 3, random_state=0)))
    tested = np.isin(log.query, test)
    clicks = np.where(tested, 1 - log.clicks, log.clicks)
    turned = podium.Clicks.of_rows(log.queries, log.row, log.position, clicks, log.impressions, log.session)
    one, other = (run(which, bias=propensities) for which in (log, turned))
    for method in ("mine", "best-feature", "random"):
        first, second = one.results_of(method)[0], other.results_of(method)[0]
        assert first.fold == "fold 1"
        assert (first.parameters, first.validation) == (second.parameters, second.validation)
        assert np.array_equal(one.arrays(first).scores, other.arrays(second).scores)
        assert first.per_query != second.per_query


def test_a_run_goes_on_and_computes_nothing_twice(log, bias, compared) -> None:
    listener, out = Listener(), compared.folder
    again = run(log, bias=bias, metrics=["dcg@3", "p@1"], out=out, progress=listener)
    assert listener.started is None  # there is nothing left to start
    assert str(again) == str(compared)
    listener = Listener()
    by_sessions = run(log, bias=bias, metrics=["dcg@3", "p@1"], interval="sessions", out=out, progress=listener)
    assert listener.started is None  # intervals are no part of trials
    assert by_sessions.figure("mine", "dcg@3") == compared.figure("mine", "dcg@3")
    assert by_sessions.rows[0].estimates["dcg@3"] != compared.rows[0].estimates["dcg@3"]
    for changed in ({"estimator": "snips"}, {"bias": "naive"}, {"clip": 2.0}):
        listener = Listener()
        how = {"bias": bias, "metrics": ["dcg@3", "p@1"], "out": out, **changed}
        run(log, {"strong": OnClicks(l2=100.0)}, **how, progress=listener)
        assert listener.started == (12, 0), changed  # each is another question
    run(log, bias=bias, metrics=["dcg@3", "p@1"], out=out)  # as the other tests find it


def test_the_estimator_is_named_wherever_figures_are(compared) -> None:
    folder = compared.folder
    table, page = str(compared), (folder / "report.html").read_text("utf-8")
    assert table.startswith("log: 5 methods, 3 folds, estimated from clicks (ips)")
    for text in (table, (folder / "table.md").read_text("utf-8"), page):
        assert "dcg@3 (ips)" in text
        assert "p@1 (ips)" in text
        assert "bias: PositionBias, given" in text
        assert "95 % interval by queries" in text
    assert "dcg@3 (ips)" in (folder / "table.tex").read_text("utf-8")
    assert (folder / "results.csv").read_text("utf-8").splitlines()[1].split(",")[1] == "ips"
    assert "convention" not in page.partition("<main>")[0].partition("<header>")[2]
    assert "convention standard" not in page
    content = json.loads(json.dumps(compared.to_dict()))
    assert content["configuration"]["estimated"]["estimator"] == "ips"
    row = next(row for row in content["rows"] if row["method"] == "mine")
    assert row["metrics"]["dcg@3"]["estimator"] == "ips"
    assert row["metrics"]["dcg@3"]["effective_size"] > 100


def test_self_normalized_figures_are_per_unit_of_relevance(log, bias, tmp_path) -> None:
    comparison = run(log, {"strong": OnClicks(l2=100.0)}, bias=bias, estimator="snips", out=tmp_path)
    assert "dcg@10 (per unit of relevance, snips)" in str(comparison)
    assert "dcg@10 (per unit of relevance, snips)" in (tmp_path / "report.html").read_text("utf-8")


def test_loaded_again_it_says_the_same_without_the_log(compared) -> None:
    loaded = podium.experiments.Comparison.load(compared.folder)
    assert str(loaded) == str(compared)
    assert loaded.against("random") == compared.against("random")
    assert loaded.fold_mean("mine", "dcg@3", "fold 1") == compared.fold_mean("mine", "dcg@3", "fold 1")
    with pytest.raises(ValueError, match="a model is trained on the log itself"):
        loaded.train("mine")


def test_fold_means_are_over_sessions(log, bias, compared) -> None:
    result = compared.results_of("mine")[0]
    sessions = dict(zip(map(str, log.queries.qids.tolist()), log.n_sessions.tolist(), strict=True))
    weights = [sessions[qid] for qid in result.qids]
    expected = np.average(result.per_query["dcg@3"], weights=weights)
    assert compared.fold_mean("mine", "dcg@3", "fold 1") == pytest.approx(expected)


def test_a_bias_that_is_not_fitted_is_estimated_on_training_parts(log) -> None:
    for asked in ("swaps", PositionBias(bootstrap=0)):
        folds = LogFolds(log, given_bias(asked), "ips", None, KFold(3), 0, None, "log")
        train, *_ = next(iter(k_folds(len(log.queries), 3, random_state=0)))
        expected = PositionBias(bootstrap=0).fit(log.take(train))
        assert folds.bias_of("fold 1").alpha.tolist() == expected.alpha_.tolist()
        assert folds.bias.words == "PositionBias (swaps), estimated on the training part of each fold"
        assert np.array_equal(folds.load("fold 1")[0].log()[1].of_documents, expected.attractiveness(log.take(train)))


def test_documents_never_shown_are_refused_in_the_row(log, bias) -> None:
    shown = log.queries
    # As many documents again as were shown, which the first feature puts first; the second puts them last.
    first, second = shown.features.copy(), shown.features.copy()
    first[:, :2] = 1e3, -1e3
    features = np.concatenate((second, first))
    ids = np.concatenate((shown.document_ids, -1 - shown.document_ids))
    candidates = podium.Queries(features, qid=np.tile(shown.qids[shown.query_of_document], 2), document_ids=ids)
    methods = {"up": Feature(0), "down": Feature(1)}
    comparison = run(log, methods, bias=bias, candidates=candidates)
    rows = {row.method: row for row in comparison.rows}
    assert comparison.failed == ["up", "random"] or set(comparison.failed) >= {"up"}
    assert "documents that the log never showed hold" in rows["up"].failures[0].error
    assert "% of the weight of dcg@10" in rows["up"].failures[0].error
    # Shown documents alone are ranked by the other, which the log can judge.
    expected = evaluate(log, shown.features[:, 1], metrics=["dcg@3"], bias=bias)
    few = run(log, {"down": Feature(1)}, bias=bias, candidates=candidates, metrics=["dcg@3"])
    assert few.figure("down", "dcg@3") == pytest.approx(expected.mean["dcg@3"])
    # Queries without candidates are left out, and a line says so.
    half = run(log, {"down": Feature(1)}, bias=bias, candidates=candidates.take(np.arange(30)), metrics=["dcg@3"])
    assert half.n_queries == 30
    assert "15 queries of the log have no candidates and are left out" in str(half)


class Feature(BaseEstimator):
    """The documents by one feature."""

    def __init__(self, column=0):
        self.column = column

    def fit(self, X, bias=None):
        return self

    def predict(self, queries):
        return queries.features[:, self.column]


def test_trees_stop_by_clicks_even_if_relevance_is_negative(log) -> None:
    queries = podium.make_queries(n_queries=30, n_documents=6, n_features=3, random_state=2)
    trusting = simulate(queries, queries.features[:, 0], trust=(0.9, 0.3), sessions=900, random_state=2)
    comparison = run(trusting, {"trees": podium.LambdaMART(n_trees=4, n_leaves=3)}, bias=trusting.truth, folds=3)
    assert comparison.failed == []
    assert min(min(comparison.arrays(result).part.labels) for result in comparison.results) < 0


def test_methods_that_cannot_learn_from_clicks_say_why(log, bias) -> None:
    comparison = run(log, {"adarank-map": None, "own": podium.adapt(Feature()), "none": Deaf()}, bias=bias)
    errors = {row.method: row.failures[0].error for row in comparison.rows if row.failures}
    assert "is not trained on a loss, and cannot learn from clicks" in errors["adarank-map"]
    assert "is not trained on a loss" in errors["own"]
    assert errors["none"] == "ValueError: Deaf cannot learn from clicks: its fit has no parameter bias"
    assert {row.method for row in comparison.rows if row.estimates} == {"best-feature", "production", "random"}


class Deaf(Feature):
    """A ranker that does not know of clicks."""

    def fit(self, X):
        return self


def test_a_fold_reaches_other_processes_with_its_log(log, bias, tmp_path) -> None:
    folds = LogFolds(log, given_bias(bias), "ips", None, KFold(3), 0, None, "log")
    fold, _ = seal("fold 1", *folds.load("fold 1"))
    again = SharedFold.write(fold, tmp_path / "0").view()
    assert isinstance(again.train, ClickedQueries)
    clicks, answers = again.train.log()
    before, known = fold.train.log()
    assert np.array_equal(clicks.n_sessions, before.n_sessions)
    assert np.array_equal(answers.of_clicks, known.of_clicks)
    one, other = (podium.ListNet(random_state=0).fit(c, bias=b).coef_ for c, b in ((clicks, answers), (before, known)))
    assert np.array_equal(one, other)
    assert type(again.train.take([0, 1])) is podium.Queries


def test_a_metric_that_tells_nothing_is_passed_over(log, bias) -> None:
    with pytest.warns(UserWarning, match="p@50 cannot tell methods apart"):
        comparison = run(log, {"down": Feature(1)}, bias=bias, metrics=["p@50", "dcg@2"])
    assert comparison.primary == "dcg@2"
    with pytest.raises(ValueError, match="p@50 cannot tell methods apart"):
        run(log, bias=bias, metrics=["p@50", "dcg@2"], primary="p@50")


def test_metrics_by_labels_are_those_of_the_log() -> None:
    (metric,), primary = log_metrics("dcg@2", None, "ips")
    assert metric is primary
    assert isinstance(metric, LogMetric)
    assert str(metric) == "dcg@2 (ips)"
    # Two lists; in the second, tied documents share 1 and 1/log2(3).
    values = metric.per_query([3.0, 2.0, 1.0, 5.0, 5.0], [1.0, -1.0, 9.0, 2.0, 0.0], [0, 3, 5])
    second = 1 / np.log2(3)
    assert values == pytest.approx([1.0 - second, 2 * (1 + second) / 2])


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"bias": None}, "bias= is missing"),
        ({"bias": "guess"}, "method"),
        ({"metrics": ["ndcg@10"]}, "cannot be told from clicks"),
        ({"metrics": ["arp"]}, "arp is lower for better rankings"),
        ({"metrics": []}, "give at least one metric"),
        ({"folds": None, "protocol": "holdout:3"}, "every query is tested once"),
        ({"folds": None, "protocol": "time:day"}, "a log has no column of times"),
        ({"methods": "listnet,blend"}, "leave it out of a comparison on clicks"),
        ({"methods": "production"}, "is what the log showed"),
        ({"estimator": "best"}, "estimator"),
        ({"seeds": []}, "give at least one seed"),
    ],
)
def test_what_makes_no_sense_is_refused(log, bias, how, message) -> None:
    with pytest.raises(ValueError, match=message):
        run(log, **{"bias": bias, **how})


def test_logs_that_teach_nothing_are_refused(log, bias) -> None:
    bare = podium.Clicks(None, [1, 0], qid=[1, 1], position=[1, 2], document=["x", "y"])
    with pytest.raises(ValueError, match="the log has no features to learn from"):
        run(bare, bias=[1.0, 0.5])
    silent = podium.Clicks.of_rows(log.queries, log.row, log.position, 0 * log.clicks, log.impressions, log.session)
    with pytest.raises(ValueError, match="no clicks to learn from"):
        run(silent, bias=bias)
    with pytest.raises(TypeError, match=r"clicks must be a podium\.Clicks"):
        run(log.queries, bias=bias)
    with pytest.raises(ValueError, match="depends on the place alone"):
        run(log, bias=podium.clicks.Cascade(bootstrap=0).fit(log))


def test_all_are_those_that_learn_from_clicks() -> None:
    from podium.clicks.comparing.compare import _learning

    named, left_out = _learning("all")
    assert {"listnet", "pmop", "lambdamart", "structrank"} <= set(named)
    assert {"adarank-map", "rankboost", "coordinate-ascent"} <= set(left_out)


def test_trees_that_learn_the_bias_themselves_take_part(log, bias) -> None:
    comparison = run(log, {"debiased": podium.LambdaMART(n_trees=3, n_leaves=3, debias="pairwise")}, bias=bias)
    assert comparison.failed == []


def test_later_queries_test_earlier_ones_train(log, bias) -> None:
    comparison = run(log, {"down": Feature(1)}, bias=bias, folds=None, protocol="time:,0.2,0.2", metrics=["dcg@3"])
    assert comparison.qids == [str(qid) for qid in log.queries.qids[36:]]
    late = log.take(np.arange(36, 45))
    assert comparison.figure("down", "dcg@3") == pytest.approx(
        evaluate(late, late.queries.features[:, 1], metrics=["dcg@3"], bias=bias).mean["dcg@3"]
    )


def test_where_a_log_hardly_tells_the_bias_it_is_said(log) -> None:
    still = log.take(np.arange(12))
    with pytest.warns(UserWarning, match="bias: the log hardly tells the propensities"):
        comparison = run(still, {"down": Feature(1)}, bias="swaps", metrics=["dcg@3"])
    assert "bias: the log hardly tells the propensities" in " ".join(comparison.notes)
