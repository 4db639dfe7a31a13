"""Train on one part, choose on another, test on a third: and nothing else."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

from podium import Queries, make_queries
from podium.experiments.plan.methods import CloneOf, Setting, StudyMethod
from podium.experiments.run.outcomes import Trial
from podium.experiments.run.seal import SealError, VisibleFold, seal, select_trial
from podium.experiments.run.shared_folds import SharedFold
from podium.experiments.run.trial import mean, run_trial, sample
from podium.metrics import metric

MAP = metric("map")


class FirstFeature:
    """Scores by the first feature times ``sign``; nothing to learn."""

    def __init__(self, sign: float, complain: bool = False, interrupted: bool = False) -> None:
        self.sign, self.complain = sign, complain
        self.convergence_ = SimpleNamespace(interrupted=interrupted)

    def fit(self, queries, eval_set, eval_metric):
        assert queries.has_labels
        assert eval_set.has_labels
        if self.complain:
            import warnings

            warnings.warn("not converged", UserWarning, stacklevel=1)
        return self

    def predict(self, queries):
        return self.sign * np.asarray(queries.features[:, 0])


def method(name, **grid):
    return StudyMethod(name, FirstFeature, grid)


def trials(method, fold):
    settings = method.settings(list(method.combinations()), seed=0)
    return [run_trial(method, setting, fold, MAP) for setting in settings]


def chosen(method, fold):
    done = trials(method, fold)
    return select_trial((method.name, fold.name, 0), done, len(done)).trial


def scored(values, fold="f"):
    """A choice with these test scores."""
    return select_trial(("m", fold, 0), [Trial("m", fold, {}, 0, test_scores=np.asarray(values, float))], 1)


def toy(labels_agree: bool = True) -> Queries:
    features = np.array([[3.0], [2.0], [1.0], [1.0], [3.0], [2.0]])
    labels = [2, 1, 0, 0, 2, 1] if labels_agree else [0, 1, 2, 2, 0, 1]
    return Queries(features, labels, sizes=[3, 3])


@pytest.fixture
def fold():
    return seal("f", toy(), toy(), toy())[0]


def test_the_visible_test_part_has_no_labels():
    visible, _ = seal("f", toy(), toy(), toy())
    assert visible.train.has_labels
    assert visible.validation.has_labels
    assert not visible.test.has_labels
    with pytest.raises(ValueError, match="no labels"):
        _ = visible.test.labels


def test_the_best_on_validation_is_chosen(fold):
    of_three = trials(method("a", sign=[-1.0, 0.0, 1.0]), fold)
    assert [trial.parameters["sign"] for trial in of_three] == [-1.0, 0.0, 1.0]
    best = select_trial(("a", "f", 0), of_three[::-1], 3).trial  # in whichever order they ended
    assert best.parameters == {"sign": 1.0}
    assert best.validation == 1.0  # by hand: the feature sorts every list as its labels do
    assert best.test_scores.tolist() == best.validation_scores.tolist() == [3, 2, 1, 1, 3, 2]


def test_of_equals_the_first_is_chosen(fold):
    assert chosen(method("b", sign=[2.0, 1.0, 3.0]), fold).parameters == {"sign": 2.0}


def test_a_trial_without_a_value_is_never_chosen_over_one_that_has_it():
    without, failed, good = (
        Trial("m", "f", {"n": 0}, 0, 0),
        Trial("m", "f", {"n": 1}, 0, 1, validation=0.9, error="ValueError: no"),
        Trial("m", "f", {"n": 2}, 0, 2, validation=0.1),
    )
    assert select_trial(("m", "f", 0), [without, failed, good], 3).trial is good
    with pytest.raises(ValueError, match="no"):
        select_trial(("m", "f", 0), [failed], 1)


def test_an_empty_grid_is_one_setting(fold):
    only = trials(StudyMethod("c", CloneOf(_Clonable())), fold)
    assert [trial.parameters for trial in only] == [{}]


class _Clonable:
    def __sklearn_clone__(self):
        return FirstFeature(1.0)


def test_test_labels_change_neither_choice_nor_scores():
    one = seal("f", toy(), toy(), toy())[0]
    other = seal("f", toy(), toy(), toy(labels_agree=False))[0]
    a, b = (chosen(method("d", sign=[-1.0, 1.0]), fold) for fold in (one, other))
    assert a.parameters == b.parameters
    assert a.test_scores.tolist() == b.test_scores.tolist()


def test_a_test_part_is_opened_once():
    _, sealed = seal("f", toy(), toy(), toy())
    sealed.judge(scored([3, 2, 1, 1, 3, 2]), [MAP])
    with pytest.raises(SealError, match="judged already"):
        sealed.judge(scored([1, 2, 3, 3, 1, 2]), [MAP])  # other scores make no other choice


def test_a_test_part_is_not_opened_before_the_selection_has_ended(fold):
    done = trials(method("h", sign=[-1.0, 1.0]), fold)
    with pytest.raises(SealError, match="has not ended: 1 of 2"):
        select_trial(("h", "f", 0), done[:1], 2)
    _, sealed = seal("f", toy(), toy(), toy())
    for not_selected in (done[0], done[0].test_scores, scored([1, 2, 3, 3, 1, 2], fold="another")):
        with pytest.raises(SealError, match="test labels are for a trial selected"):
            sealed.judge(not_selected, [MAP])


def test_the_labels_are_not_lying_about():
    _, sealed = seal("f", toy(), toy(), toy())
    public = [getattr(sealed, name) for name in dir(sealed) if not name.startswith("_")]
    assert not any(isinstance(value, np.ndarray | Queries) for value in public)


def test_warnings_of_a_fit_are_kept(fold):
    assert chosen(method("e", sign=[1.0, -1.0], complain=[True]), fold).warnings == ["UserWarning: not converged"]


def test_a_fit_that_was_interrupted_is_no_result(fold):
    with pytest.raises(KeyboardInterrupt):
        trials(method("g", sign=[1.0], interrupted=[True]), fold)


def test_judging_is_evaluating():
    from podium import evaluate

    queries = make_queries(n_queries=6, n_documents=8, n_features=3, random_state=1)
    _, sealed = seal("f", queries, queries, queries)
    scores = np.asarray(queries.features[:, 0], float)
    metrics = [metric(name, "letor") for name in ("ndcg@3", "map", "p@2")]
    expected = evaluate(queries, scores, metrics=metrics).per_query
    judged, parts = sealed.judge(scored(scores), metrics)
    assert list(judged) == ["ndcg@3", "map", "p@2"]
    for name, values in judged.items():
        assert values.tolist() == expected[name].tolist()
    assert parts.qids.tolist() == queries.qids.tolist()


def test_err_knows_the_highest_grade_of_the_whole_fold():
    high = Queries([[1.0], [0.0]], [4, 0], sizes=[2])
    low = Queries([[1.0], [0.0]], [1, 0], sizes=[2])
    _, sealed = seal("f", high, high, low)
    # by hand: stop at rank 1 with probability (2^1 − 1) / 2^4
    assert sealed.judge(scored([1.0, 0.0]), [metric("err")])[0]["err"].tolist() == [1 / 16]


def test_the_test_parts_top_grade_is_not_known_before_it_is_opened():
    low = Queries([[1.0], [0.0]], [1, 0], sizes=[2])
    high = Queries([[1.0], [0.0]], [4, 0], sizes=[2])
    fold, sealed = seal("f", low, low, high)
    assert fold.top_grade == 1.0
    only = run_trial(method("err", sign=[1.0]), Setting({"sign": 1.0}, None), fold, metric("err"))
    assert only.validation == 1 / 2  # by hand: (2^1 − 1) / 2^1, whatever the test part has
    # judged on its own scale: (2^4 − 1) / 2^4, where a top grade of 1 would give 15 / 2
    assert sealed.judge(scored([1.0, 0.0]), [metric("err")])[0]["err"].tolist() == [15 / 16]


def test_scores_that_are_not_finite_are_refused():
    _, sealed = seal("f", toy(), toy(), toy())
    with pytest.raises(ValueError, match="not finite"):
        sealed.judge(scored(np.full(6, np.nan)), [MAP])


def test_an_empty_part_is_named():
    with pytest.raises(ValueError, match="f: the validation part has no queries"):
        seal("f", toy(), toy().take([]), toy())


def test_queries_without_a_value_are_left_out_of_validation():
    values = metric("map", no_relevant="skip").per_query([1.0, 0.0, 1.0, 0.0], [1, 0, 0, 0], [0, 2, 4])
    assert mean(values) == 1.0


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_staged_folds_come_back_the_same(tmp_path, kind, dtype):
    features = np.array([[0.0, 2.0], [1.0, 0.0], [0.0, 0.0]], dtype)
    queries = Queries(kind(features), [0, 1, 2], qid=["b", "a", "b"])
    fold, _ = seal("f", queries, queries, queries)
    staged = SharedFold.write(fold, tmp_path / "x")
    back = staged.view()
    for part in ("train", "validation", "test"):
        before, after = getattr(fold, part), getattr(back, part)
        assert type(after.features) is type(before.features)
        assert after.features.dtype == dtype
        assert (after.features != before.features).sum() == 0
        assert after.offsets.tolist() == before.offsets.tolist()
        assert after.has_labels == before.has_labels
    assert back.train.labels.tolist() == fold.train.labels.tolist()
    assert not list((tmp_path / "x" / "test").glob("labels*"))  # workers could not read them if they tried
    dense = back.train.features if kind is np.asarray else back.train.features.data
    assert dense.flags.writeable  # kernels are compiled anew for read-only arrays


def test_a_staged_part_without_any_entry(tmp_path):
    queries = Queries(sparse.csr_matrix((2, 3)), [0, 1], sizes=[2])
    fold, _ = seal("f", queries, queries, queries)
    assert SharedFold.write(fold, tmp_path).view().train.features.shape == (2, 3)


def test_a_sample_is_small_and_of_the_same_types():
    queries = make_queries(n_queries=20, n_documents=50, n_features=4)
    fold, _ = seal("f", queries, queries, queries)
    small = sample(fold)
    assert isinstance(small, VisibleFold)
    assert small.train.n_documents <= 60
    assert small.train.features.dtype == queries.features.dtype
    assert len(np.unique(small.train.labels)) == 3
    assert not small.test.has_labels
