"""Model files: round trips, and every way a file can be wrong."""

from __future__ import annotations

import importlib
import io
import json
import subprocess
import sys
import zipfile

import numpy as np
import pytest

import podium
from podium.files.models import MissingPartsError, ModelFileError
from podium.losses import ListNetLoss
from podium.losses.ties import DavidsonLoss
from podium.scorers import Linear
from podium.training import LBFGS, Stochastic


@pytest.fixture(scope="module")
def ranker():
    return podium.ListNet(l2=0.01, temperature=0.5, random_state=3).fit(podium.make_queries(20, 8, 4))


@pytest.fixture
def path(ranker, tmp_path):
    file = tmp_path / "model.podium"
    ranker.save(file)
    return file


def rewrite(path, *, json_changes=None, members=None, drop=(), compression=zipfile.ZIP_STORED) -> None:
    """The file again, with entries of its JSON or whole members changed."""
    with zipfile.ZipFile(path) as archive:
        contents = {name: archive.read(name) for name in archive.namelist()}
    header = json.loads(contents["model.json"])
    header.update(json_changes or {})
    contents["model.json"] = json.dumps(header).encode()
    contents.update(members or {})
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, data in contents.items():
            if name not in drop:
                archive.writestr(name, data)


def npy(array) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=True)
    return buffer.getvalue()


# ---- what must work


def test_a_ranker_of_parts_comes_back_as_it_was(tmp_path) -> None:
    queries = podium.make_queries(20, 8, 4)
    queries = queries.with_features(queries.features, ["a", "b", "ü", "with space"])
    ranker = podium.Ranker(
        loss=DavidsonLoss(),
        scorer=Linear(l1=1e-3, l2=0.0),
        trainer=Stochastic(epochs=5, optimizer="sgd"),
        normalize="zscore",
        random_state=1,
    ).fit(queries, eval_set=queries)
    ranker.save(tmp_path / "model.podium")
    again = podium.load(tmp_path / "model.podium")
    assert again.get_params() == ranker.get_params()
    assert isinstance(again.loss, DavidsonLoss)
    np.testing.assert_array_equal(again.predict(queries), ranker.predict(queries))
    np.testing.assert_array_equal(again.loss_parameters_, ranker.loss_parameters_)
    np.testing.assert_array_equal(again.coef_, ranker.coef_)
    assert again.feature_names_in_.tolist() == ["a", "b", "ü", "with space"]
    assert again.convergence_ == ranker.convergence_
    assert (again.n_queries_, again.n_documents_, again.n_features_in_) == (20, queries.n_documents, 4)


def test_the_file_says_how_it_came_about(path, ranker) -> None:
    with zipfile.ZipFile(path) as archive:
        header = json.loads(archive.read("model.json"))
    assert header["format"] == "podium model"
    assert header["class"] == "ListNet"
    assert header["parameters"]["temperature"] == 0.5
    assert header["provenance"]["podium"] == podium.__version__
    assert header["provenance"]["numpy"] == np.__version__
    assert header["fitted"]["n_queries"] == 20
    assert podium.load(path).provenance_ == header["provenance"]
    assert header["fitted"]["convergence"]["converged"] is True
    ranker.save(path, dataset="synthetic, seed 0")
    assert podium.load(path).provenance_["dataset"] == "synthetic, seed 0"


def test_arrays_are_plain_npy_files(path, ranker) -> None:
    with zipfile.ZipFile(path) as archive:
        coef = np.load(io.BytesIO(archive.read("arrays/model.coef.npy")), allow_pickle=False)
    np.testing.assert_array_equal(coef, ranker.coef_)


def test_a_loaded_ranker_can_be_saved_and_fitted_again(path, ranker, tmp_path) -> None:
    again = podium.load(path)
    again.save(tmp_path / "copy.podium")
    queries = podium.make_queries(20, 8, 4)
    expected = ranker.predict(queries)
    np.testing.assert_array_equal(podium.load(tmp_path / "copy.podium").predict(queries), expected)
    np.testing.assert_array_equal(again.fit(queries).predict(queries), expected)


def test_unusual_parameters_survive(tmp_path) -> None:
    queries = podium.make_queries(10, 6, 3)
    metric = podium.metric("ndcg@5", convention="letor")
    ranker = podium.BestFeature(metric=metric).fit(queries)
    ranker.save(tmp_path / "a")
    assert podium.load(tmp_path / "a").metric == metric
    trainer = LBFGS(max_iter=np.int64(50), tolerance=np.float64(1e-6))
    ranker = podium.Ranker(ListNetLoss(), trainer=trainer, random_state=np.random.RandomState(0)).fit(queries)
    ranker.save(tmp_path / "b")
    again = podium.load(tmp_path / "b")
    assert again.trainer.max_iter == 50
    assert again.random_state is None  # a generator's state is not part of a model


def test_an_unfitted_ranker_has_nothing_to_save(tmp_path) -> None:
    with pytest.raises(ValueError, match="not fitted"):
        podium.ListNet().save(tmp_path / "x")
    assert not list(tmp_path.iterdir())


# ---- parts of the user's own

MINE = """
import podium

class Loss(podium.losses.ListNetLoss):
    pass

class Scorer(podium.scorers.Linear):
    slope: float = 2.0

class Ranker(podium.ListNet):
    pass

def function(x):
    return x
"""


@pytest.fixture
def mine(tmp_path, monkeypatch):
    """Return a module that a user might write."""
    (tmp_path / "mine_for_saving.py").write_text(MINE)
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module("mine_for_saving")
    sys.modules.pop("mine_for_saving", None)


def test_parts_of_the_users_own_are_named_and_have_to_be_supplied(mine, tmp_path, monkeypatch) -> None:
    queries = podium.make_queries(10, 6, 3)
    ranker = podium.Ranker(mine.Loss(k=2), mine.Scorer(slope=3.0, l2=0.1)).fit(queries)
    path = tmp_path / "model.podium"
    ranker.save(path)
    monkeypatch.delitem(sys.modules, "mine_for_saving")
    with pytest.raises(MissingPartsError) as caught:
        podium.load(path)
    assert str(path) in str(caught.value)
    assert "podium.load(path, parts={'mine_for_saving:Loss': Loss, 'mine_for_saving:Scorer': Scorer})" in str(
        caught.value
    )
    assert caught.value.names == ["mine_for_saving:Loss", "mine_for_saving:Scorer"]
    assert "mine_for_saving" not in sys.modules  # nothing was imported
    with pytest.raises(MissingPartsError, match="'mine_for_saving:Scorer': Scorer}") as caught:
        podium.load(path, parts={"mine_for_saving:Loss": mine.Loss})
    assert caught.value.names == ["mine_for_saving:Scorer"]
    again = podium.load(path, parts={"mine_for_saving:Loss": mine.Loss, "mine_for_saving:Scorer": mine.Scorer})
    assert type(again.loss) is mine.Loss
    assert again.loss.k == 2
    assert again.scorer == mine.Scorer(slope=3.0, l2=0.1)
    np.testing.assert_array_equal(again.predict(queries), ranker.predict(queries))


def test_a_ranker_of_the_users_own(mine, tmp_path) -> None:
    queries = podium.make_queries(10, 6, 3)
    ranker = mine.Ranker(l2=0.1).fit(queries)
    ranker.save(tmp_path / "model")
    again = podium.load(tmp_path / "model", parts={"mine_for_saving:Ranker": mine.Ranker})
    assert type(again) is mine.Ranker
    assert again.get_params() == ranker.get_params()
    np.testing.assert_array_equal(again.predict(queries), ranker.predict(queries))


def test_the_same_name_does_not_make_it_the_same_class(tmp_path) -> None:
    class ListNet(podium.ListNet):
        pass

    with pytest.raises(ValueError, match=r"this ranker cannot be saved: .*ListNet is defined inside a function"):
        ListNet().fit(podium.make_queries(10, 6, 3)).save(tmp_path / "x")
    assert not list(tmp_path.iterdir())


def test_parts_without_a_name_cannot_be_saved_and_leave_no_file(mine, tmp_path) -> None:
    class Local(ListNetLoss):
        pass

    class Holder(ListNetLoss):
        function: object = None

    Holder.__module__, Holder.__qualname__ = "mine_for_saving", "Holder"
    mine.Holder = Holder
    folder = tmp_path / "out"
    folder.mkdir()

    def refuse(loss, match: str) -> None:
        ranker = podium.Ranker(loss).fit(podium.make_queries(10, 6, 3))
        with pytest.raises(ValueError, match=match):
            ranker.save(folder / "x")
        assert not list(folder.iterdir())

    refuse(Local(), "the parameter loss cannot be saved: .*Local is defined inside a function.*top level of a module")
    refuse(Holder(lambda s: s), "the parameter loss.function cannot be saved: .* is a lambda.*top level of a module")
    refuse(Holder(object()), "the parameter loss.function is <object object")
    shadowed, mine.function = mine.function, None
    refuse(Holder(shadowed), "is another object")
    shadowed.__module__ = "__main__"
    refuse(Holder(shadowed), "script or notebook")


def test_functions_are_named(mine, tmp_path) -> None:
    class Holder(ListNetLoss):
        function: object = None

    Holder.__module__, Holder.__qualname__ = "mine_for_saving", "Holder"
    mine.Holder = Holder
    podium.Ranker(Holder(mine.function)).fit(podium.make_queries(10, 6, 3)).save(tmp_path / "model")
    with pytest.raises(MissingPartsError) as caught:
        podium.load(tmp_path / "model")
    assert caught.value.names == ["mine_for_saving:Holder", "mine_for_saving:function"]
    parts = {"mine_for_saving:Holder": Holder, "mine_for_saving:function": mine.function}
    assert podium.load(tmp_path / "model", parts=parts).loss.function is mine.function


def test_a_metric_of_the_users_own_has_to_be_defined_before_loading(tmp_path) -> None:
    name = "mine_for_saving"
    metric = podium.metrics.define(name, lambda labels: float(labels[0]))
    podium.BestFeature(metric=metric).fit(podium.make_queries(10, 6, 3)).save(tmp_path / "model")
    assert podium.load(tmp_path / "model").metric == metric
    code = f"import podium; podium.load({str(tmp_path / 'model')!r})"
    failed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert f"its metric {name} (standard) is not Podium's: define it before loading" in failed.stderr


def test_a_fresh_process_finds_the_classes_it_needs(path) -> None:
    code = f"import podium; print(type(podium.load({str(path)!r})).__name__)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "ListNet\n"


# ---- what must be refused, always with the file's name


def refused(path, match: str) -> None:
    with pytest.raises(ModelFileError, match=match) as caught:
        podium.load(path)
    assert str(path) in str(caught.value)


def test_no_such_file(tmp_path) -> None:
    with pytest.raises(FileNotFoundError):
        podium.load(tmp_path / "missing.podium")


@pytest.mark.parametrize("content", [b"", b"hello", b"PK\x03\x04 and then nothing", bytes(1000)])
def test_not_a_zip_file(path, content) -> None:
    path.write_bytes(content)
    refused(path, "not a model file")


def test_truncated_anywhere(path) -> None:
    whole = path.read_bytes()
    for length in range(0, len(whole), max(1, len(whole) // 40)):
        path.write_bytes(whole[:length])
        refused(path, "not a model file|damaged")


def test_flipped_bytes_are_noticed_or_harmless(path, ranker) -> None:
    whole = bytearray(path.read_bytes())
    queries = podium.make_queries(5, 6, 4)
    expected = ranker.predict(queries)
    rng = np.random.default_rng(0)
    for position in rng.integers(0, len(whole), 150):
        damaged = whole.copy()
        damaged[position] ^= 0xFF
        path.write_bytes(damaged)
        try:
            loaded = podium.load(path)
        except ModelFileError:
            continue
        # Otherwise the byte was one that nobody reads, such as a time stamp of the zip file.
        np.testing.assert_array_equal(loaded.predict(queries), expected)


@pytest.mark.parametrize("member", ["model.json", "arrays/model.coef.npy", "arrays/loss_parameters.npy"])
def test_missing_members(path, member) -> None:
    rewrite(path, drop=[member])
    refused(path, "model.json|missing")


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"format": "something else"}, "not that of a Podium model"),
        ({"version": 99}, "made by a newer Podium"),
        ({"version": "1"}, "version"),
        ({"version": 0}, "version"),
        ({"class": "Popen"}, "class 'Popen'"),
        ({"class": "os.system"}, "os.system"),
        ({"class": "os:system"}, "os:system"),
        ({"class": ["ListNet"]}, "class"),
        ({"class": "LBFGS"}, "LBFGS|_restore"),
        ({"parameters": None}, "parameters"),
        ({"parameters": {"no_such": 1}}, "no_such"),
        ({"parameters": {"l2": {"class": "NoSuchLoss", "parameters": {}}}}, "NoSuchLoss"),
        ({"parameters": {"l2": {"part": "os:system"}}}, "'os:system': system"),
        ({"parameters": {"l2": {"python": "os.system('true')"}}}, "unknown kind"),
        ({"fitted": {}}, "lacks"),
        ({"fitted": []}, "fitted"),
    ],
    ids=str,
)
def test_wrong_json(path, changes, match) -> None:
    rewrite(path, json_changes=changes)
    refused(path, match)


@pytest.mark.parametrize(
    ("text", "match"),
    [
        (b"{", "cannot be read"),
        (b"[1, 2]", "not that of a Podium model"),
        (b"\xff\xfe", "cannot be read"),
        (b'{"format": NaN}', "NaN"),
        (b'{"format": Infinity}', "Infinity"),
        (b'{"format": 1e999}', "too large"),
        (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, "cannot be read"),
    ],
    ids=["cut", "list", "not text", "NaN", "Infinity", "1e999", "nested"],
)
def test_json_that_is_not_what_it_should_be(path, text, match) -> None:
    rewrite(path, members={"model.json": text})
    refused(path, match)


def _declares(shape, dtype="<f8", extra=b"") -> bytes:
    """An npy file whose header promises more than follows."""
    header = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}".encode()
    header += b" " * (-(10 + len(header) + 1) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + extra


@pytest.mark.parametrize(
    ("coef", "match"),
    [
        (npy(np.array([{"a": 1}], dtype=object)), "object"),
        (npy(np.array(["a"])), "not allowed"),
        (npy(np.zeros(4, dtype=[("x", float)])), "not allowed"),
        (npy(np.zeros(4, dtype=complex)), "not allowed"),
        (npy(np.zeros((2, 2))), "shape"),
        (npy(np.zeros(5)), r"\(4,\); expected \(5,\)"),
        (npy(np.zeros(4, np.float32)), "float64"),
        (npy(np.full(4, np.nan)), "finite"),
        (npy(np.full(4, np.inf)), "finite"),
        (
            npy(np.array([0.0, -1.1e100, 0.0, 0.0])),
            r"'coef' holds -1.1e\+100; parameters are finite and at most 1e\+100",
        ),
        (_declares("(1000000000000,)"), "declares"),
        (_declares("(4,)", extra=bytes(31)), "declares"),
        (_declares("(-4,)", extra=bytes(32)), "declares|not an array"),
        (b"not an npy file", "not an array"),
        (b"", "not an array"),
    ],
    ids=str.split("object strings records complex square long float32 nan inf large huge short negative text empty"),
)
def test_wrong_arrays(path, coef, match) -> None:
    rewrite(path, members={"arrays/model.coef.npy": coef})
    refused(path, match)


def test_wrong_loss_parameters_and_feature_names(path) -> None:
    rewrite(path, members={"arrays/loss_parameters.npy": npy(np.zeros(3))})
    refused(path, "loss_parameters")
    rewrite(path, members={"arrays/loss_parameters.npy": npy(np.zeros(0))})
    with zipfile.ZipFile(path) as archive:
        fitted = json.loads(archive.read("model.json"))["fitted"]
    rewrite(path, json_changes={"fitted": fitted | {"feature_names": ["a"]}})
    refused(path, "1 feature names for 4")
    rewrite(path, json_changes={"fitted": fitted | {"n_features": -4}})
    refused(path, "features")
    rewrite(path, json_changes={"fitted": fitted | {"convergence": {"converged": True, "surprise": 1}}})
    refused(path, "surprise")


@pytest.mark.parametrize(
    "name", ["../../evil.npy", "/etc/passwd", "arrays/../x.npy", "arrays/x.exe", "C:\\x.npy", "arrays/"]
)
def test_strange_member_names(path, name) -> None:
    rewrite(path, members={name: b"x"})
    refused(path, "which no model file has")


def test_compressed_members_are_refused_before_they_are_unpacked(path) -> None:
    rewrite(path, compression=zipfile.ZIP_DEFLATED)
    refused(path, "compressed")
    rewrite(path, members={"arrays/bomb.npy": bytes(50_000_000)}, compression=zipfile.ZIP_DEFLATED)
    assert path.stat().st_size < 1_000_000
    refused(path, "compressed")


def test_two_members_of_one_name(path) -> None:
    with zipfile.ZipFile(path, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("model.json", b"{}")
    refused(path, "two members")


def test_encrypted_members(path) -> None:
    data = bytearray(path.read_bytes())
    directory = data.rindex(b"PK\x01\x02")  # the last entry of the directory; bit 0 of its flags means encryption
    data[directory + 8] |= 1
    path.write_bytes(data)
    refused(path, "damaged|encrypted")
