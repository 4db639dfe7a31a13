"""Conventions named after a package, against that package: random lists with ties, short ones, and nothing to find."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import kendalltau

from podium.metrics import evaluate, metric


def random_queries(seed: int, n_queries: int = 80, n_grades: int = 4):
    """Lists of 1 to 40 documents; half have tied scores, every eighth nothing relevant."""
    generator = np.random.default_rng(seed)
    for q in range(n_queries):
        n = int(generator.integers(1, 41))
        labels = generator.integers(0, n_grades, n) * (q % 8 != 0)
        scores = generator.integers(0, 6, n) / 4 if q % 2 else generator.normal(size=n)
        yield labels.astype(float), scores


def concatenate(lists):
    labels, scores = (np.concatenate(column) for column in zip(*lists, strict=True))
    return scores, labels, np.cumsum([0, *(len(one[0]) for one in lists)])


def test_scikit_learn() -> None:
    from sklearn.metrics import dcg_score, ndcg_score

    lists = [one for one in random_queries(0) if len(one[0]) > 1]  # scikit-learn refuses lists of one document
    data = concatenate(lists)
    for k in (None, 1, 3, 10, 50):
        at = "" if k is None else f"@{k}"
        for name, function in (("ndcg", ndcg_score), ("dcg", dcg_score)):
            wanted = [function([y], [s], k=k) for y, s in lists]
            np.testing.assert_allclose(metric(name + at, "sklearn").per_query(*data), wanted, rtol=1e-12)


def test_lightgbm() -> None:
    import lightgbm

    lists = list(random_queries(1))
    scores, labels, offsets = concatenate(lists)
    # A booster that has not been trained predicts the initial scores.
    data = lightgbm.Dataset(
        np.zeros((len(labels), 1)), labels, group=np.diff(offsets), init_score=scores, params={"verbose": -1}
    )
    for name in ("ndcg", "map"):
        parameters = {"objective": "none", "metric": name, "eval_at": [1, 3, 5, 10, 100], "verbose": -1}
        for _, printed, value, _ in lightgbm.Booster(parameters, data).eval_train():
            ours = metric(printed, "lightgbm").per_query(scores, labels, offsets)
            assert ours.mean() == pytest.approx(value, rel=1e-12), printed


TREC_NAMES = {
    "map": "map",
    "ap@5": "map_cut_5",
    "mrr": "recip_rank",
    "p@1": "P_1",
    "p@5": "P_5",
    "p@30": "P_30",
    "r@5": "recall_5",
    "r@100": "recall_100",
    "ndcg": "ndcg",
    "ndcg@1": "ndcg_cut_1",
    "ndcg@5": "ndcg_cut_5",
    "ndcg@30": "ndcg_cut_30",
    "bpref": "bpref",
    "rprec": "Rprec",
    "hit@1": "success_1",
    "hit@5": "success_5",
    "f1": "set_F",
}


def test_trec_eval_of_qrels_and_run() -> None:
    """Judgments and a run of which each has documents and queries that the other does not have."""
    import pytrec_eval

    from podium.data.io.trec import Qrels, Run

    generator = np.random.default_rng(6)
    qrels, run = {}, {}
    for q in range(30):
        documents = [f"doc{i}" for i in generator.permutation(1000)[:40]]
        if q > 1:
            qrels[str(q)] = {d: int(generator.integers(-1, 3)) for d in documents if generator.random() < 0.5}
        if q != 9:
            run[str(q)] = {d: float(generator.integers(0, 15)) for d in documents if generator.random() < 0.7}
    columns = [
        [[q, d, value] for q, documents in part.items() for d, value in documents.items()] for part in (qrels, run)
    ]
    judgments, retrieved = ([np.array(column) for column in zip(*rows, strict=True)] for rows in columns)
    wanted = pytrec_eval.RelevanceEvaluator(qrels, set(TREC_NAMES.values())).evaluate(run)
    found = evaluate(Qrels(*judgments), Run(*retrieved, tag="x"), metrics=list(TREC_NAMES), convention="trec")
    assert found.qids.tolist() == list(wanted)
    for ours, theirs in TREC_NAMES.items():
        per_query = [one[theirs] for one in wanted.values()]
        np.testing.assert_allclose(found.per_query[ours], per_query, rtol=1e-12, err_msg=theirs)
    notes = str(found).splitlines()[-2:]
    assert notes == [
        "left out: 1 judged queries that are not in the run",
        "left out: 2 queries of the run that have no judgments",
    ]


@pytest.mark.parametrize("close_scores", [False, True])
def test_trec_eval(close_scores: bool) -> None:
    import pytrec_eval

    generator = np.random.default_rng(2)
    qrels, run, labels, scores, ids, qid = {}, {}, [], [], [], []
    for q, (y, s) in enumerate(random_queries(3)):
        documents = [f"doc{i}" for i in generator.permutation(1000)[: len(y)]]
        if close_scores:  # trec_eval keeps scores in single precision: these are tied there
            s = s + 1e-10 * generator.random(len(s))
        retrieved = generator.random(len(y)) < 0.8
        retrieved[0] = True  # a query without any result is no query to trec_eval
        y = np.where(generator.random(len(y)) < 0.1, -1, y)  # judged with a negative grade: worth nothing
        qrels[str(q)] = {d: int(grade) for d, grade in zip(documents, y, strict=True)}
        run[str(q)] = {d: float(x) for d, x, r in zip(documents, s, retrieved, strict=True) if r}
        labels.extend(y)
        scores.extend(np.where(retrieved, s, -np.inf))
        ids.extend(documents)
        qid.extend([str(q)] * len(y))
    wanted = pytrec_eval.RelevanceEvaluator(qrels, set(TREC_NAMES.values())).evaluate(run)
    judged = np.array(labels) >= 0  # trec_eval's bpref takes documents of negative grades for not judged
    found = evaluate(
        labels, scores, qid=qid, metrics=list(TREC_NAMES), convention="trec", document_ids=ids, judged=judged
    )
    for ours, theirs in TREC_NAMES.items():
        per_query = [wanted[q][theirs] for q in found.qids]
        np.testing.assert_allclose(found.per_query[ours], per_query, rtol=1e-12, err_msg=theirs)


def test_kendall_tau_is_that_of_scipy() -> None:
    lists = [one for one in random_queries(4) if len(set(one[0])) > 1 and len(set(one[1])) > 1]
    wanted = [kendalltau(y, s).statistic for y, s in lists]
    np.testing.assert_allclose(metric("tau").per_query(*concatenate(lists)), wanted, rtol=1e-12)


def test_pairwise_accuracy_by_counting_pairs() -> None:
    lists = [one for one in random_queries(5) if len(set(one[0])) > 1]
    wanted = []
    for y, s in lists:
        better = y[:, None] > y[None, :]
        wanted.append(((s[:, None] > s[None, :]) + 0.5 * (s[:, None] == s[None, :]))[better].mean())
    np.testing.assert_allclose(metric("accuracy").per_query(*concatenate(lists)), wanted, rtol=1e-12)


# Lists with ties, of one document, of fewer than the cutoff, and (the first and the seventh) without a relevant one.
LISTS_OF_GRADES = "0 1 010 00310 10000220 001110111030 000000 201010200"
LISTS_OF_SCORES = "2 3 234 01441 12310001 414200341022 210124 344321301"  # times 2
SIZES = [len(digits) for digits in LISTS_OF_GRADES.split()]
GRADES = np.array([int(digit) for digit in LISTS_OF_GRADES.replace(" ", "")])
SCORES = np.array([int(digit) for digit in LISTS_OF_SCORES.replace(" ", "")]) / 2

# xgboost-cpu 3.2.0: the evaluation of a booster without trees whose base margins are the scores. map and pre take
# binary labels there: grades of 1 and above count as 1. A name that ends in "-" gives 0 where nothing is to be found.
XGBOOST = {
    "ndcg": 0.7791313508047746,
    "ndcg@1": 0.5,
    "ndcg@3": 0.6572350328293249,
    "ndcg@10": 0.7791313508047746,
    "map": 0.7677579365079366,
    "ap@3": 0.6736111111111112,
    "ap@10": 0.7677579365079366,
    "p@1": 0.25,
    "p@3": 0.4583333333333333,
    "p@10": 0.4065972222222223,
}
XGBOOST_MINUS = {"ndcg@3": 0.407235032829325, "ap@3": 0.4236111111111111}

# catboost 1.2.10: catboost.utils.eval_metric; NDCG and DCG of the grades, MAP, RecallAt, PrecisionAt and MRR of binary
# labels as above (PrecisionAt and RecallAt with all scores raised above their border), ERR of the grades divided by 4.
CATBOOST = {
    "ndcg": 0.7649628112373937,
    "ndcg@1": 0.4166666666666667,
    "ndcg@3": 0.6086407618099767,
    "ndcg@10": 0.7589713654295887,
    "dcg@3": 0.7856973151785931,
    "ap@3": 0.3819444444444444,
    "ap@10": 0.4899872448979592,
    "r@3": 0.6919642857142857,
    "r@10": 0.9821428571428571,
    "mrr": 0.4625,
    "mrr@3": 0.4375,
    "p@3": 0.375,
    "p@10": 0.3940972222222222,
}
CATBOOST_ERR = {"err": 0.19686121259416856, "err@3": 0.15234375}


def test_xgboost() -> None:
    found = evaluate(GRADES, SCORES, sizes=SIZES, metrics=list(XGBOOST), convention="xgboost")
    assert found.mean == pytest.approx(XGBOOST, rel=1e-12)
    rules = "xgboost+no_relevant=zero"
    found = evaluate(GRADES, SCORES, sizes=SIZES, metrics=list(XGBOOST_MINUS), convention=rules)
    assert found.mean == pytest.approx(XGBOOST_MINUS, rel=1e-12)


def test_catboost() -> None:
    found = evaluate(GRADES, SCORES, sizes=SIZES, metrics=list(CATBOOST), convention="catboost")
    assert found.mean == pytest.approx(CATBOOST, rel=1e-12)
    found = evaluate(GRADES, SCORES, sizes=SIZES, metrics="ndcg@3", convention="catboost+gain=exponential")
    assert found.mean["ndcg@3"] == pytest.approx(0.5746030510798964, rel=1e-12)  # NDCG:top=3;type=Exp
    found = evaluate(GRADES / 4, SCORES, sizes=SIZES, metrics=list(CATBOOST_ERR), convention="catboost")
    assert found.mean == pytest.approx(CATBOOST_ERR, rel=1e-12)
