"""Saved models served without the packages that trained them."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile

import numpy as np
import pytest

import podium
import podium.serving
from podium.cli.main import main
from podium.files.archive import ModelFileError, read_archive, write_archive
from podium.losses import ListNetLoss
from podium.scorers import MLP, FunctionScorer, Kernel, Linear, Potentials

ONE_EPOCH = podium.training.Stochastic(epochs=1)
RANKERS = {
    "linear": podium.ListNet(),
    "linear, minmax": podium.ListNet(normalize="minmax"),
    "linear, zscore": podium.ListNet(normalize="zscore"),
    "linear, plain": podium.Ranker(ListNetLoss(), Linear(), normalize=None),
    "intercept": podium.Regression(),
    "adarank": podium.AdaRank(n_rounds=5),
    "rankboost": podium.RankBoost(n_rounds=5),
    "frank": podium.FRank(n_rounds=5),
    "best feature": podium.BestFeature(),
    "random": podium.RandomRanker(),
    "mlp": podium.Ranker(ListNetLoss(), MLP(hidden=(4, 3)), ONE_EPOCH),
    "mlp, relu": podium.Ranker(ListNetLoss(), MLP(hidden=4, activation="relu"), ONE_EPOCH, normalize="zscore"),
    "mlp, tanh output": podium.Ranker(ListNetLoss(), MLP(output="tanh"), ONE_EPOCH),
    "potentials": podium.Ranker(ListNetLoss(), Potentials(), ONE_EPOCH),
    "potentials, mean": podium.Ranker(ListNetLoss(), Potentials(pool="mean", hidden=2), ONE_EPOCH, normalize=None),
    "kernel regression": podium.Ranker(ListNetLoss(), Kernel(n_landmarks=20), podium.training.LBFGS(max_iter=1)),
    "trees": podium.LambdaMART(n_trees=4, min_documents_in_leaf=5),
    "trees, minmax": podium.LambdaMART(n_trees=3, min_documents_in_leaf=5, normalize="minmax"),
    "blend": podium.Blend([podium.ListNet(normalize="zscore"), podium.GBDT(n_trees=3), podium.RankBoost(n_rounds=3)]),
}


@pytest.fixture(scope="module")
def queries():
    return podium.make_queries(n_queries=12, n_documents=15, n_features=5, random_state=0)


@pytest.fixture(scope="module")
def saved(queries, tmp_path_factory):
    """Return a function that saves the named ranker, once."""
    folder, paths = tmp_path_factory.mktemp("models"), {}

    def save(name):
        if name not in paths:
            ranker = RANKERS[name]
            if "random_state" in ranker.get_params():
                ranker.set_params(random_state=0)
            paths[name] = folder / f"{name}.podium"
            ranker.fit(queries).save(paths[name])
        return paths[name]

    return save


def lists(queries, dtype):
    for start, stop in zip(queries.offsets[:-1], queries.offsets[1:], strict=True):
        yield queries.features[start:stop].astype(dtype)


@pytest.mark.filterwarnings("ignore:.*did not converge")
@pytest.mark.parametrize("name", RANKERS)
def test_scores_are_those_of_the_loaded_ranker(name, queries, saved) -> None:
    ranker, scorer = podium.load(saved(name)), podium.serving.load(saved(name))
    assert scorer.n_features == 5
    for dtype in (np.float64, np.float32):
        for rows in lists(queries, dtype):
            expected, scores = ranker.predict(rows, qid=np.zeros(len(rows))), scorer.score(rows)
            assert scores.dtype == np.float64
            if name == "trees":
                np.testing.assert_array_equal(scores, expected)
                continue
            single = dtype == np.float32 and not name.startswith(("linear", "blend"))  # predict computes in float32
            tolerance = 1e-4 if single else 1e-5 if dtype == np.float32 else 1e-12
            np.testing.assert_allclose(scores, expected, rtol=tolerance, atol=tolerance * np.abs(expected).max())


def test_any_array_of_numbers(saved) -> None:
    scorer = podium.serving.load(saved("trees"))
    rows = np.arange(20.0).reshape(4, 5) / 10
    expected = scorer.score(rows)
    frozen = rows.copy()
    frozen.flags.writeable = False
    for given in (rows.tolist(), np.asfortranarray(rows), frozen, np.hstack([rows, rows])[:, :5]):
        np.testing.assert_array_equal(scorer.score(given), expected)
    assert scorer.score(np.ones((1, 5), int)).shape == (1,)
    assert scorer.score(np.empty((0, 5))).shape == (0,)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (np.zeros((3, 4)), r"\(n, 5\) numbers; got the shape \(3, 4\)"),
        (np.zeros(5), r"got the shape \(5,\)"),
        (np.full((2, 5), "a"), "must hold numbers"),
        (np.full((2, 5), np.nan), "row 0, feature 1 is nan"),
    ],
)
def test_wrong_rows(given, message, saved) -> None:
    with pytest.raises(ValueError, match=message):
        podium.serving.load(saved("linear")).score(given)


def test_columns_of_a_frame_are_checked(queries, tmp_path) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(queries.features, columns=list("abcde"))
    path = tmp_path / "m.podium"
    podium.ListNet().fit(frame, queries.labels, qid=queries.query_of_document).save(path)
    scorer = podium.serving.load(path)
    assert scorer.feature_names == tuple("abcde")
    scorer.score(frame[:3])
    with pytest.raises(ValueError, match="columns must be a, b, c"):
        scorer.score(frame[["b", "a", "c", "d", "e"]][:3])


HEAVY = ("scipy", "sklearn", "pandas", "lightgbm", "polars", "narwhals", "rich", "torch", "threadpoolctl")


@pytest.mark.parametrize(("name", "numba"), [("linear", False), ("mlp", False), ("rankboost", False), ("trees", True)])
def test_nothing_that_trains_is_needed(name, numba, saved) -> None:
    code = (
        f"import sys; sys.modules.update(dict.fromkeys({HEAVY}));"  # importing these raises ImportError
        "import podium.serving; scorer = podium.serving.load(sys.argv[1]);"
        "scorer.score([[0.1] * 5, [0.2] * 5]); print('numba' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code, saved(name)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(numba)


class Own(FunctionScorer):
    def n_parameters(self, n_features):
        return n_features

    def forward(self, theta, queries):
        return queries.features @ theta, lambda d_scores: queries.features.T @ d_scores


def test_what_cannot_be_served_says_so(queries, tmp_path) -> None:
    path = tmp_path / "own.podium"
    podium.Ranker(ListNetLoss(), Own(), random_state=0).fit(queries).save(path)
    with pytest.raises(ModelFileError, match=r"own\.podium: a Ranker made of FunctionModel cannot be served"):
        podium.serving.load(path)
    ratings = podium.Ratings([1, 1, 2, 2], [1, 2, 1, 2], [1.0, 2.0, 3.0, 4.0])
    path = tmp_path / "ratings.podium"
    podium.ItemMean().fit(ratings).save(path)
    with pytest.raises(ModelFileError, match="a model of ratings"):
        podium.serving.load(path)


def change(source, target, header=None, arrays=None) -> None:
    """Write a copy of a model file with parts replaced; those replaced by None are left out."""
    old_header, old_arrays = read_archive(source)
    old_header["fitted"] |= header or {}
    new = {**old_arrays, **(arrays or {})}
    write_archive(target, old_header, {name: value for name, value in new.items() if value is not None})


@pytest.mark.parametrize(
    ("name", "header", "arrays"),
    [
        ("linear", {"scoring": None}, {}),
        ("linear", {"scoring": {"kind": "mlp"}}, {}),
        ("linear", {"scoring": {"kind": "os.system"}}, {}),
        ("linear", {"scoring": {"kind": ["linear"]}}, {}),
        ("linear", {"scoring": {"kind": "linear", "normalize": "__import__"}}, {}),
        ("linear", {"scoring": {"kind": "linear", "normalize": []}}, {}),
        ("linear", {"n_features": 10**12}, {}),
        ("linear", {"n_features": "5"}, {}),
        ("linear", {"feature_names": ["a"]}, {}),
        ("linear", {}, {"model.coef": np.zeros(4)}),
        ("linear", {}, {"model.coef": np.full(5, np.nan)}),
        ("linear", {}, {"model.coef": None}),
        ("mlp", {"scoring": {"kind": "mlp", "layers": [5, 10**9, 1], "activation": "tanh", "output": "linear"}}, {}),
        ("mlp", {"scoring": {"kind": "mlp", "layers": [5, -1, 1], "activation": "tanh", "output": "linear"}}, {}),
        ("mlp", {"scoring": {"kind": "mlp", "layers": [5, 4, 3, 1], "activation": "x", "output": "linear"}}, {}),
        ("potentials", {"scoring": {"kind": "potentials", "hidden": 3, "pair_hidden": 10**9, "pool": "sum"}}, {}),
        ("potentials", {"scoring": {"kind": "potentials", "hidden": True, "pair_hidden": 5, "pool": "sum"}}, {}),
        ("rankboost", {}, {"model.feature": np.array([7.0])}),
        ("trees", {}, {"model.trees": "tree\n"}),
        ("trees", {"n_features": 6}, {}),
        ("blend", {"members": []}, {}),
        ("blend", {"members": [{}] * 3}, {}),
        ("blend", {}, {"model.weights": np.zeros(2)}),
    ],
)
def test_hostile_files(name, header, arrays, saved, tmp_path) -> None:
    path = tmp_path / "hostile.podium"
    change(saved(name), path, header, arrays)
    with pytest.raises(ModelFileError, match=r"hostile\.podium"):
        podium.serving.load(path)


def test_not_a_model(tmp_path) -> None:
    path = tmp_path / "x.podium"
    path.write_text("hello")
    with pytest.raises(ModelFileError, match="not a model file"):
        podium.serving.load(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("model.json", json.dumps({"format": "other"}))
    with pytest.raises(ModelFileError, match="not that of a Podium model"):
        podium.serving.load(path)
    with pytest.raises(FileNotFoundError):
        podium.serving.load(tmp_path / "none")


def test_blends_of_blends(queries, tmp_path) -> None:
    path = tmp_path / "nested.podium"
    inner = podium.Blend([podium.ListNet(), podium.RankBoost(n_rounds=2)])
    ranker = podium.Blend([inner, podium.RandomRanker()], weights=[0.7, 0.3]).fit(queries)
    ranker.save(path)
    scorer = podium.serving.load(path)
    for rows in lists(queries, np.float64):
        expected = ranker.predict(rows, qid=np.zeros(len(rows)))
        np.testing.assert_allclose(scorer.score(rows), expected, rtol=1e-12)


def test_compile_command(saved, capsys) -> None:
    assert main(["compile", str(saved("linear"))]) == 0
    assert "ready for float32 rows" in capsys.readouterr().out
    assert main(["compile", __file__]) == 2
    assert "not a model file" in capsys.readouterr().err


def test_scipy_is_whole_after_a_start_without_it(saved) -> None:
    code = (
        "import sys, numpy, podium.serving; scorer = podium.serving.load(sys.argv[1]); scorer.score([[0.1] * 5]);"
        "print('scipy.linalg' in sys.modules, 'lightgbm' in sys.modules);"
        "import numba, scipy.linalg, scipy.linalg.cython_blas; print(scipy.linalg.det(numpy.eye(2)));"
        "print(numba.njit(lambda a: numpy.dot(a, a))(numpy.eye(2)).tolist()); import podium; podium.load(sys.argv[1])"
    )
    done = subprocess.run([sys.executable, "-c", code, saved("trees")], capture_output=True, text=True)
    assert done.stdout.split("\n")[:3] == ["False False", "1.0", "[[1.0, 0.0], [0.0, 1.0]]"], done.stderr
    assert done.returncode == 0, done.stderr
