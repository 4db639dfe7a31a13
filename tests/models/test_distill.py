"""Students that learn the ranking of a teacher, and the figures that come with them."""

from __future__ import annotations

import numpy as np
import pytest

import podium
from podium.models.distill import teacher_grades


class FirstFeature:
    """A teacher that is no estimator: it knows only how to predict."""

    def predict(self, queries):
        return queries.features[:, 0]


@pytest.fixture(scope="module")
def queries():
    return podium.make_queries(n_queries=40, n_documents=8, n_features=4, random_state=1)


@pytest.fixture(scope="module")
def parts(queries):
    return podium.train_test_split(queries, 0.25, random_state=0)


def linear():
    return podium.ListNet(normalize="minmax")


def test_grades_fall_with_the_logarithm_of_the_rank():
    q = podium.Queries(np.array([[3.0], [2.0], [1.0], [1.0], [9.0]]), [0, 0, 1, 1, 0], qid=[1, 1, 1, 1, 2])
    expected = [4.0, 4 * (1 - np.log(2) / np.log(4)), *[4 * (1 - np.log(3.5) / np.log(4))] * 2, 4.0]
    np.testing.assert_allclose(teacher_grades(FirstFeature(), q), expected)


def test_a_student_ranks_as_its_teacher(parts):
    train, test = parts
    student = podium.distill(
        FirstFeature(), train, podium.LambdaMART(n_trees=30, n_leaves=7, random_state=0), eval_set=test
    )
    first = test.take([0])
    assert student.rank(first.features, qid=np.zeros(first.n_documents)).argmin() == first.features[:, 0].argmax()
    judged = podium.evaluate(test, student.predict(test), metrics=["ndcg@10"]).mean["ndcg@10"]
    taught = podium.evaluate(test, test.features[:, 0], metrics=["ndcg@10"]).mean["ndcg@10"]
    found = student.distillation_
    assert (found["student"], found["teacher"]) == (pytest.approx(judged), pytest.approx(taught))
    assert found["kept"] == pytest.approx(judged / taught)
    assert (found["metric"], found["queries"]) == ("ndcg@10 (standard)", len(test))


def test_the_labels_are_not_looked_at(parts):
    train, test = parts
    shuffled = train.with_labels(np.random.default_rng(0).permutation(train.labels))
    settings = {"student": podium.Regression(), "eval_set": test}
    one, other = (podium.distill(FirstFeature(), q, **settings) for q in (train, shuffled))
    assert one.coef_.tolist() == other.coef_.tolist()
    blank = podium.Queries(train.features, sizes=train.sizes)
    assert podium.distill(FirstFeature(), blank, **settings).coef_.tolist() == one.coef_.tolist()


def test_cross_fitting_by_hand(queries):
    student = podium.Regression()
    found = podium.distill(linear().fit(queries), queries, student, folds=4, random_state=7).distillation_
    part = np.arange(len(queries)) % 4
    np.random.default_rng(7).shuffle(part)
    taught, learned = [], []
    for fold in range(4):
        rest, held_out = queries.take(part != fold), queries.take(part == fold)
        teacher = linear().fit(rest)
        pupil = podium.Regression().fit(rest.with_labels(teacher_grades(teacher, rest)))
        for values, ranker in ((taught, teacher), (learned, pupil)):
            values.extend(podium.evaluate(held_out, ranker.predict(held_out), metrics=["ndcg@10"]).per_query["ndcg@10"])
    assert found["teacher"] == pytest.approx(np.mean(taught))
    assert found["student"] == pytest.approx(np.mean(learned))
    assert found["queries"] == 40


def test_rows_in_any_order_and_an_unfitted_teacher(queries):
    rows = np.random.default_rng(3).permutation(queries.n_documents)
    qid = queries.query_of_document
    shuffled = podium.Queries(queries.features[rows], queries.labels[rows], qid=qid[rows])
    ordered = podium.Queries(
        shuffled.features, shuffled.labels, qid=shuffled.qids[shuffled.query_of_document]
    )  # the same, grouped
    settings = {"student": podium.Regression(), "folds": 0}
    one, other = (podium.distill(linear(), q, **settings) for q in (shuffled, ordered))
    np.testing.assert_allclose(one.coef_, other.coef_, rtol=1e-6)
    assert not hasattr(one, "distillation_")


def test_the_figures_are_saved_and_forgotten_when_fitted_anew(parts, tmp_path):
    train, test = parts
    given = podium.Regression()
    student = podium.distill(podium.Blend([linear(), podium.RankSVM()]), train, given, eval_set=test)
    assert not hasattr(given, "model_")
    student.save(tmp_path / "student.podium")
    again = podium.load(tmp_path / "student.podium")
    assert again.distillation_ == student.distillation_
    assert "distillation_" not in vars(again.fit(train))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"teacher": 3}, "the teacher must be a ranker"),
        ({"student": 3}, "the student must be a ranker"),
        ({"folds": 1}, "cannot be dealt into 1 folds"),
        ({"folds": 50}, "cannot be dealt into 50 folds"),
        ({"teacher": FirstFeature()}, "needs a teacher that can be fitted"),
        ({"queries": podium.Queries(np.eye(4), sizes=[2, 2]), "folds": 2}, "measuring the student needs labels"),
        ({"queries": np.eye(4)}, "distill takes Queries"),
    ],
)
def test_what_cannot_be_distilled(queries, arguments, message):
    with pytest.raises(ValueError, match=message):
        podium.distill(**({"teacher": linear(), "queries": queries, "student": podium.Regression()} | arguments))
