"""Parts of the user's own: losses, metrics, scorers and rankers that are defined in a module outside Podium.

The module and the calls are those of docs/extending.md, so the page's code is what is tested here. The PyTorch loss is
in test_extension_points_torch.py.
"""

from __future__ import annotations

import re
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import podium
from podium.cli.main import main
from podium.scorers import MLP, Linear, Trees

PAGE = (Path(__file__).parents[1] / "docs" / "extending.md").read_text("utf-8")
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", PAGE, re.DOTALL)


def module_text(name: str) -> str:
    """Return the source of a module: the page's blocks that start with a comment that names it."""
    head = f"# {name}\n"
    return "\n\n".join(code.removeprefix(head) for kind, code in BLOCKS if kind == "python" and code.startswith(head))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The user's folder, with mine.py in it; also the current one, as for somebody who works there."""
    path = tmp_path_factory.mktemp("user")
    (path / "mine.py").write_text(module_text("mine.py"), "utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(path)
        patch.syspath_prepend(str(path))
        yield path
        sys.modules.pop("mine", None)


@pytest.fixture(scope="module")
def mine(folder: Path) -> ModuleType:
    import mine

    return mine


@pytest.fixture(scope="module")
def queries() -> podium.Queries:
    return podium.make_queries(n_queries=40, n_documents=12, n_features=5, random_state=0)


@pytest.fixture(scope="module")
def files(folder: Path, queries: podium.Queries) -> Path:
    """The folder with train.txt, test.txt and scores.txt, as on the page's command lines."""
    train, test = podium.train_test_split(queries, random_state=0)
    podium.write_letor(train, folder / "train.txt")
    podium.write_letor(test, folder / "test.txt")
    np.savetxt(folder / "scores.txt", test.features[:, 0])
    return folder


def test_the_page_runs(mine: ModuleType, folder: Path) -> None:
    session: dict[str, object] = {}
    examples = [code for kind, code in BLOCKS if kind == "python" and not code.startswith("# mine")]
    assert len(examples) >= 6
    for code in examples:
        exec(compile(code, "extending.md", "exec"), session)
    comparison = session["comparison"]
    assert {"gain-softmax", "polynomial", "centroid", "listnet", "random"} <= set(comparison.methods)
    assert "first-is-best" in comparison.metrics


def test_the_page_shows_short_examples() -> None:
    for kind, code in BLOCKS:
        if code.startswith("# mine") and kind == "python":
            assert len([line for line in code.splitlines()[1:] if line.strip()]) <= 15


@pytest.mark.parametrize("command", [line for kind, code in BLOCKS if kind == "sh" for line in code.splitlines()])
def test_the_page_s_commands_run(command: str, mine: ModuleType, files: Path, capsys: pytest.CaptureFixture) -> None:
    program, *arguments = command.split()
    assert program == "podium"
    if arguments[0] == "compare":
        arguments += ["--folds", "3", "--jobs", "1", "--out", "run", "--quiet"]
    assert main(arguments) == 0, capsys.readouterr().err
    shown = capsys.readouterr().out
    for metric in ("first-is-best", "misses@3"):
        assert metric in shown or metric.partition("@")[0] not in command.replace("mine:missed", "misses")


# ---- losses


@pytest.mark.parametrize("name", ["loss", "fast_loss"])
@pytest.mark.parametrize("scorer", [Linear(l2=0.01), MLP(hidden=(3,)), Trees(n_trees=10, n_leaves=4)], ids=repr)
def test_an_own_loss_trains_every_scorer(name: str, scorer: object, mine: ModuleType, queries: podium.Queries) -> None:
    ranker = podium.Ranker(getattr(mine, name), scorer, random_state=0).fit(queries)
    untrained = podium.RandomRanker(random_state=0).fit(queries)
    assert ranker.score(queries) > untrained.score(queries) + 0.1


def test_both_forms_of_an_own_loss_are_the_same_function(mine: ModuleType, queries: podium.Queries) -> None:
    scores = np.random.default_rng(0).normal(size=queries.n_documents)
    plain = mine.loss.value_and_gradient(scores, queries.labels, queries.offsets)
    fast = mine.fast_loss.value_and_gradient(scores, queries.labels, queries.offsets)
    assert plain.value == pytest.approx(fast.value, rel=1e-12)
    np.testing.assert_allclose(plain.d_scores, fast.d_scores, rtol=1e-10, atol=1e-15)
    lists = [slice(*pair) for pair in zip(queries.offsets, queries.offsets[1:], strict=False)]
    values = [mine.gain_softmax(scores[part], queries.labels[part])[0] for part in lists]
    assert plain.value == pytest.approx(np.mean(values), rel=1e-12)


def test_an_error_in_an_own_loss_reaches_the_user_with_the_query(queries: podium.Queries) -> None:
    def broken(scores: np.ndarray, labels: np.ndarray) -> tuple[float, np.ndarray]:
        if labels.sum() == longest:
            raise RuntimeError("as it was written")
        return 0.0, np.zeros(len(scores))

    qid = np.array([f"weather in town {q}" for q in queries.query_of_document])
    named = podium.Queries(queries.features, queries.labels, qid=qid)
    totals = np.add.reduceat(named.labels, named.offsets[:-1])
    longest, number = totals.max(), int(totals.argmax())
    with pytest.raises(RuntimeError, match="as it was written") as raised:
        podium.Ranker(podium.losses.FunctionLoss(broken), Linear()).fit(named)
    told = "\n".join([str(raised.value), *getattr(raised.value, "__notes__", [])])
    assert str(named.qids[number]) in told
    shown = "".join(traceback.format_exception(raised.value))
    assert ", in broken" in shown


@pytest.mark.parametrize(
    ("result", "message"),
    [((0.0, np.zeros(2)), "shape"), ((np.nan, None), "finite"), ((0.0, np.inf), "finite"), (None, "value, gradient")],
)
def test_what_is_no_loss_is_an_error(result: object, message: str, queries: podium.Queries) -> None:
    def wrong(scores: np.ndarray, labels: np.ndarray) -> object:
        if result is None:
            return None
        value, gradient = result
        return value, gradient if isinstance(gradient, np.ndarray) else np.full(len(scores), gradient or 0.0)

    with pytest.raises((ValueError, TypeError), match=message):
        podium.Ranker(podium.losses.FunctionLoss(wrong), Linear()).fit(queries)


# ---- metrics


def test_an_own_metric_is_a_metric_everywhere(mine: ModuleType, queries: podium.Queries) -> None:
    scores = queries.features[:, 0]
    best = [
        labels[np.argmax(part)] == labels.max()
        for labels, part in zip(
            np.split(queries.labels, queries.offsets[1:-1]), np.split(scores, queries.offsets[1:-1]), strict=True
        )
    ]
    assert podium.evaluate(queries, scores, metrics=mine.first).mean["first-is-best"] == pytest.approx(np.mean(best))
    assert podium.metric("first-is-best") == mine.first
    fitted = podium.LambdaMART(n_trees=15, n_leaves=4, patience=5, random_state=0)
    fitted.fit(queries, eval_set=queries, eval_metric=mine.first)
    watched = fitted.convergence_.validation
    kept = podium.evaluate(queries, fitted.predict(queries), metrics=mine.first).mean["first-is-best"]
    assert kept == pytest.approx(max(watched))


def test_an_own_metric_chooses_in_a_comparison(mine: ModuleType, queries: podium.Queries) -> None:
    options = {"metrics": [mine.first, "misses@3"], "primary": "first-is-best", "folds": 3, "jobs": 1}
    comparison = podium.compare(queries, ["listnet"], **options)
    assert comparison.primary == "first-is-best"
    assert comparison.per_query.height > 0


# ---- scorers


@pytest.mark.parametrize("loss", [podium.losses.ListNetLoss(), podium.losses.LambdaRankLoss()], ids=repr)
def test_an_own_scorer_learns_from_every_loss(loss: object, mine: ModuleType, queries: podium.Queries) -> None:
    ranker = podium.Ranker(loss, mine.Polynomial(degree=2), random_state=0).fit(queries)
    linear = podium.Ranker(loss, Linear(), random_state=0).fit(queries)
    assert ranker.score(queries) > linear.score(queries) - 0.03


def test_an_own_scorer_learns_from_an_own_loss(mine: ModuleType, queries: podium.Queries) -> None:
    plain = podium.Ranker(mine.loss, mine.Polynomial(degree=1), random_state=0).fit(queries)
    built_in = podium.Ranker(mine.loss, Linear(l2=0.0), random_state=0).fit(queries)
    assert plain.score(queries) == pytest.approx(built_in.score(queries), abs=0.02)


# ---- rankers


def test_an_own_ranker_is_told_the_lists(queries: podium.Queries) -> None:
    from sklearn.base import BaseEstimator

    class Recorder(BaseEstimator):
        def fit(self, X: np.ndarray, y: np.ndarray, qid: object = None) -> Recorder:
            self.seen_ = X.shape, np.array(y), np.array(qid)
            return self

        def predict(self, X: np.ndarray) -> np.ndarray:
            return X[:, 0]

    ranker = podium.adapt(Recorder()).fit(queries)
    shape, labels, qid = ranker.estimator_.seen_
    assert shape == queries.features.shape
    np.testing.assert_array_equal(labels, queries.labels)
    np.testing.assert_array_equal(np.diff(np.flatnonzero(np.diff(qid)) + 1), queries.sizes[1:-1])


# ---- saving


def test_a_file_names_own_parts_and_takes_them_from_the_caller(
    mine: ModuleType, queries: podium.Queries, folder: Path
) -> None:
    parts = {
        "mine:gain_softmax": mine.gain_softmax,
        "mine:fast_gain_softmax": mine.fast_gain_softmax,
        "mine:Polynomial": mine.Polynomial,
    }
    for loss in (mine.loss, mine.fast_loss):
        ranker = podium.Ranker(loss, mine.Polynomial(degree=2), random_state=0).fit(queries)
        ranker.save(folder / "own.podium")
        with pytest.raises(ValueError, match=r"podium\.load\(path, parts=\{.*mine:Polynomial") as raised:
            podium.load(folder / "own.podium")
        assert "softmax" in str(raised.value)
        same = podium.load(folder / "own.podium", parts=parts)
        np.testing.assert_array_equal(same.predict(queries), ranker.predict(queries))


def test_loading_imports_nothing(mine: ModuleType, queries: podium.Queries, folder: Path) -> None:
    podium.Ranker(mine.loss, Linear()).fit(queries).save(folder / "named.podium")
    module = sys.modules.pop("mine")
    try:
        with pytest.raises(ValueError, match="mine:gain_softmax"):
            podium.load(folder / "named.podium")
        assert "mine" not in sys.modules
    finally:
        sys.modules["mine"] = module


def test_what_cannot_be_named_or_is_not_podium_s_is_not_saved(
    mine: ModuleType, queries: podium.Queries, folder: Path
) -> None:
    nameless = podium.losses.FunctionLoss(lambda scores, labels: mine.gain_softmax(scores, labels))
    with pytest.raises(ValueError, match="lambda"):
        podium.Ranker(nameless, Linear()).fit(queries).save(folder / "no.podium")
    with pytest.raises(ValueError, match="estimator_"):
        mine.centroid.fit(queries).save(folder / "no.podium")
    assert not (folder / "no.podium").exists()


# ---- processes


def test_own_parts_reach_worker_processes(mine: ModuleType, queries: podium.Queries) -> None:
    methods = {
        "softmax": (podium.Ranker(mine.fast_loss, Linear()), {"scorer__l2": [1e-3, 1e-1]}),
        "centroid": mine.centroid,
    }
    options = {"metrics": ["ndcg@10", mine.first], "folds": 3}
    alone, together = (podium.compare(queries, methods, jobs=jobs, **options) for jobs in (1, 2))
    assert alone.per_query.equals(together.per_query)
