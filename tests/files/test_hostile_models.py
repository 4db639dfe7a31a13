"""Model files made to do harm: they end in ModelFileError, quickly and within the memory that their size justifies."""

from __future__ import annotations

import importlib
import io
import json
import struct
import tracemalloc
import zipfile

import numpy as np
import pytest

import podium
import podium.serving
from podium.files.archive import ModelFileError, write_archive
from podium.numerics.trees.forest import read_forest
from podium.numerics.trees.lightgbm_text import END, constant_text
from podium.scorers.trees.model import TreesModel

ENOUGH = 60_000_000
"""Bytes that reading a file of a few kilobytes may take."""


def make(path, cls, parameters, arrays, n_features=2, **fitted) -> None:
    """Write a file as save does, with whatever is given."""
    facts = {"n_features": n_features, "feature_names": None, "n_queries": 1, "n_documents": 1}
    facts |= {"convergence": {"converged": True, "message": "", "n_iter": 1}, **fitted}
    header = {"format": "podium model", "version": 1, "class": cls, "parameters": parameters, "fitted": facts}
    write_archive(path, header, {"loss_parameters": np.empty(0), **arrays})


def refused(path, match=".", load=podium.load) -> None:
    """Loading raises ModelFileError that names the file, and takes little memory."""
    importlib.import_module("podium.ratings")  # loading imports all rooms, which is not what is measured
    tracemalloc.start()
    try:
        with pytest.raises(ModelFileError, match=match) as caught:
            load(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert str(path) in str(caught.value)
    assert peak < ENOUGH


MLP = {"kind": "mlp", "activation": "tanh", "output": "tanh"}
NETWORK = {"model.weights": np.zeros(9), "model.mean": np.zeros(2), "model.inverse_scale": np.ones(2)}


@pytest.mark.parametrize(
    ("parameters", "scoring"),
    [
        ({"hidden": 300_000_000}, {**MLP, "layers": [2, 300_000_000, 1]}),
        ({"hidden": 10**30}, {**MLP, "layers": [2, 10**30, 1]}),
        (
            {"pairwise": True, "hidden": 3, "pair_hidden": 200_000_000},
            {"kind": "potentials", "hidden": 3, "pair_hidden": 200_000_000, "pool": "mean"},
        ),
    ],
)
def test_networks_larger_than_their_weights(tmp_path, parameters, scoring) -> None:
    path = tmp_path / "bomb.podium"
    make(path, "BoltzRank", parameters, NETWORK, chosen={}, scoring={**scoring, "normalize": None})
    refused(path)
    refused(path, load=podium.serving.load)


def test_a_product_of_lists_is_not_multiplied_out(tmp_path) -> None:
    path = tmp_path / "bomb.podium"
    lists = {"hidden": list(range(1, 3000)), "weight": [k / 3000 for k in range(3000)], "l2": list(range(3000))}
    make(path, "BoltzRank", lists, NETWORK, chosen={"hidden": 1, "weight": 2.0, "l2": 3})
    refused(path, "was not among the choices")


def test_one_long_id_does_not_widen_the_others(tmp_path) -> None:
    path = tmp_path / "bomb.podium"
    users = ["u" * 100_000, *map(str, range(5000))]
    arrays = {
        "users": json.dumps(["U", users]),
        "items": json.dumps(["U", ["x"]]),
        "seen.offsets": np.repeat([0, 1], [5001, 1]),
        "seen.items": np.zeros(1, np.int64),
        "seen.values": np.ones(1),
        "model.user_factors": np.zeros((5001, 1)),
        "model.item_factors": np.zeros((1, 1)),
        "model.item_bias": np.array([1e300]),
    }
    make(path, "ItemMean", {}, arrays)
    refused(path, "at most 1e")


def test_members_that_share_their_bytes(tmp_path) -> None:
    path = tmp_path / "overlapping.podium"
    body = io.BytesIO()
    np.save(body, np.zeros(100_000))
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("model.json", "{}")
        archive.writestr("arrays/a.npy", body.getvalue())
    data = path.read_bytes()
    start = data.rindex(b"PK\x01\x02")
    end = data.index(b"PK\x05\x06")
    entry = data[start:end]
    copies = b"".join(entry.replace(b"arrays/a.npy", b"arrays/%c.npy" % letter) for letter in b"bcdefghij")
    directory = data[data.index(b"PK\x01\x02") : end] + copies
    tail = struct.pack("<4sHHHHIIH", b"PK\x05\x06", 0, 0, 11, 11, len(directory), data.index(b"PK\x01\x02"), 0)
    path.write_bytes(data[: data.index(b"PK\x01\x02")] + directory + tail)
    refused(path, "claim")


HEADERS = [
    b"{'descr': '<f8', 'fortran_order': False, 'shape': (2",  # TokenError within NumPy
    b"{'descr': '<f8', 'fortran_order': False, 'shape': (-1, -2), }",
    b"{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999999999999,), }",
    b"{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (2,), }",
    b"{'descr': '|O', 'fortran_order': False, 'shape': (2,), }",
    b"(" * 5000 + b")" * 5000,
]


@pytest.mark.parametrize("header", HEADERS, ids=range(len(HEADERS)))
def test_headers_of_arrays(tmp_path, header) -> None:
    path = tmp_path / "model.podium"
    member = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + bytes(16)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("model.json", "{}")
        archive.writestr("arrays/coef.npy", member)
    refused(path, "not an array|declares|not allowed|not a proper")


LINEAR = {"model.coef": np.array([1.0, 2.0]), "model.intercept": np.array(0.0)}
STRUCTURES = [
    {"class": ["ListNet"]},
    {"class": "Ranker", "parameters": {"loss": 3, "scorer": {"class": "Linear", "parameters": []}}},
    {"fitted": {"n_features": 1e300}},
    {"fitted": {"n_features": "2", "feature_names": 7}},
    {"fitted": []},
    {"provenance": 1},
    {"parameters": {"x": {"dict": [[[], 1]]}}},
    {"parameters": {"x": {"array": [[1], [2, 3]], "dtype": "<f8"}}},
    {"parameters": {"x": {"array": 1, "dtype": 5}}},
    {"parameters": {"x": {"metric": {}}}},
    {"parameters": {"x": {"part": []}}},
]


@pytest.mark.parametrize("changes", STRUCTURES, ids=range(len(STRUCTURES)))
def test_json_of_another_structure(tmp_path, changes) -> None:
    path = tmp_path / "model.podium"
    make(path, "ListNet", {}, LINEAR, scoring={"kind": "linear", "normalize": None})
    podium.load(path)  # this one is fine
    with zipfile.ZipFile(path) as archive:
        contents = {name: archive.read(name) for name in archive.namelist()}
    header = json.loads(contents["model.json"]) | changes
    contents["model.json"] = json.dumps(header).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in contents.items():
            archive.writestr(name, data)
    refused(path)


def test_scores_that_are_not_finite_are_errors(tmp_path) -> None:
    path = tmp_path / "model.podium"
    large = {"model.coef": np.array([1e100, 1e100]), "model.intercept": np.array(0.0)}
    make(path, "ListNet", {}, large, scoring={"kind": "linear", "normalize": None})
    rows = np.array([[0.1, 0.2], [1e300, 1e300]])
    with pytest.raises(ValueError, match="document 1: the score is not a finite number"), np.errstate(over="ignore"):
        podium.load(path).predict(rows)
    scorer = podium.serving.load(path)
    with pytest.raises(ValueError, match="row 1: the score is not a finite number"), np.errstate(over="ignore"):
        scorer.score(rows)
    with pytest.raises(ValueError, match="row 0, feature 2 is nan"):
        scorer.score([[0.0, np.nan]])


POTENTIALS = {"kind": "potentials", "hidden": 1, "pair_hidden": 1, "pool": "sum", "normalize": None}
HUGE = np.where(np.arange(12) == 10, 6e307, 0.5)
"""Weights of potentials: times 1.7159 twice, as one way of computing them does, and by no more, as another does, this
is infinite or not."""
TWO_LEAVES = (
    "num_leaves=2\nnum_cat=0\nsplit_feature=0\nsplit_gain=1\nthreshold=inf\ndecision_type=2\nleft_child=-1\nright_child=-2\n"
    "leaf_value=0.5 {}\nleaf_weight=1 1\nleaf_count=1 1\ninternal_value=0\ninternal_weight=0\ninternal_count=2\n"
    "is_linear=0\nshrinkage=0.1\n\n\n"
)


@pytest.mark.parametrize("load", [podium.load, podium.serving.load])
@pytest.mark.parametrize("large", [False, True])
def test_parameters_of_which_sums_may_overflow(tmp_path, large, load) -> None:
    """Scores would depend on who computes them; without the huge number the same files are loaded."""
    networks, trees = tmp_path / "potentials.podium", tmp_path / "trees.podium"
    parameters = {"pairwise": True, "hidden": 1, "pair_hidden": 1, "pool": "sum"}
    weights = {**NETWORK, "model.weights": HUGE if large else np.minimum(HUGE, 1.0)}
    make(networks, "BoltzRank", parameters, weights, scoring=POTENTIALS, chosen={})
    head, _, _ = constant_text(2, 0.25).partition("Tree=0\n")
    text = f"{head}Tree=0\n{TWO_LEAVES.format('1e101' if large else '1e99')}{END}"
    make(trees, "LambdaMART", {}, {"model.trees": text}, scoring={"kind": "trees", "normalize": None})
    for path, what in ((networks, "'weights' holds 6e"), (trees, "'tree 0 of the model: leaf_value' holds 1e")):
        if large:
            refused(path, what, load)
        else:
            load(path)


def test_a_model_that_could_not_be_loaded_is_not_saved(tmp_path) -> None:
    """Features of 1e-120 have weights of 1e120. Rescaled by a power of two they can be saved."""
    path, queries = tmp_path / "model.podium", podium.make_queries(10, 5, 3, random_state=0)
    tiny = queries.with_features(queries.features.astype(float) * 2.0**-400, queries.feature_names)
    ranker = podium.RankRegress(l2=0.0, normalize="standard").fit(tiny)
    with pytest.raises(ValueError, match=r"cannot be saved, since no file like it is loaded: .*'model.coef' holds"):
        ranker.save(path)
    assert not list(tmp_path.iterdir())


def _chain(depth: int) -> str:
    """The text of one tree in which every left child is a leaf."""
    n = depth
    numbers = {
        "num_leaves": str(n + 1),
        "num_cat": "0",
        "split_feature": " ".join(["0"] * n),
        "threshold": " ".join(f"{k}.5" for k in range(n)),
        "left_child": " ".join(str(-k) for k in range(1, n + 1)),
        "right_child": " ".join([*map(str, range(1, n)), str(-n - 1)]),
        "leaf_value": " ".join(map(str, range(n + 1))),
    }
    for name in ("split_gain", "decision_type", "internal_value", "internal_weight", "internal_count"):
        numbers[name] = " ".join(["0"] * n)
    for name in ("leaf_weight", "leaf_count"):
        numbers[name] = " ".join(["0"] * (n + 1))
    head = constant_text(1, 0.0).partition("Tree=0\n")[0]
    return head + "Tree=0\n" + "\n".join(f"{key}={value}" for key, value in numbers.items()) + "\n\n\n" + END


def test_a_tree_that_is_a_chain() -> None:
    assert not read_forest(_chain(5)).is_deeper_than(5)
    assert read_forest(_chain(6)).is_deeper_than(5)
    model = TreesModel(_chain(40_000))
    with pytest.raises(ValueError, match="more than 1000 nodes deep"):
        model.contributions(podium.Queries([[1.0]], [0], qid=[1]))


def test_a_clock_that_is_not_set(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(zipfile.time, "localtime", lambda *_: (1970, 1, 1, 0, 0, 0, 3, 1, 0))
    monkeypatch.setattr(zipfile.time, "time", lambda: 0.0)
    make(tmp_path / "model.podium", "ListNet", {}, LINEAR)
    assert podium.load(tmp_path / "model.podium").coef_.tolist() == [1.0, 2.0]


def test_a_folder_or_a_pipe_is_no_model(tmp_path) -> None:
    refused(tmp_path, "a model is a file")
