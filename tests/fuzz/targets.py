"""The readers that are tried: sound files, how to damage them, and what must hold whatever they hold."""

from __future__ import annotations

import gzip
import io
import json
import random
import warnings
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

import podium
import podium.serving
from podium.cli.evaluate import read_scores
from podium.data.io.letor.reader import read_letor
from podium.data.io.tables import read_table
from podium.data.io.trec import read_qrels, read_run
from podium.files.archive import write_archive
from podium.numerics.trees.lightgbm_text import constant_text

if __package__:
    from . import oracles
    from .mutations import damaged, restructured
    from .parquet_files import CHECKSUM_ERRORS, arrow_columns, parquet_maker
else:
    import oracles
    from mutations import damaged, restructured
    from parquet_files import CHECKSUM_ERRORS, arrow_columns, parquet_maker


ALONE = "read alone"
"""A damaged Parquet file without checksums that polars reads and Arrow refuses: nobody knows what its values were."""
ACCEPTED = ("read", "refused", ALONE)


class WrongValueError(AssertionError):
    """A file was read, but not as what it says."""


@dataclass(frozen=True)
class Target:
    """One reader."""

    name: str
    suffix: str
    make: Callable[[random.Random], bytes]
    """A damaged file."""
    read: Callable[[Path], str | None]
    """Read it: return, perhaps a remark, or raise ValueError, with the file's name, or WrongValueError."""


def _require(condition: bool, what: str) -> None:
    if not condition:
        raise WrongValueError(what)


# ---- LETOR

LETOR = [
    b"1 qid:1 1:0.5 2:-13.106251 10:1e-3 #docid = a\n0 qid:1 1:2 3:123456789.123 4:nan\n2 qid:22 2:1 1:inf 136:1e-6\n",
    b"2 qid:a 1:1\n0 qid:a 1:0 # some comment\n\n# only a comment\n1 qid:007 2:3.14159265358979 #docid=x y\n",
    b"0.5 qid:-3 1:1e22 2:1.7976931348623157e308 3:4.9e-324\r\n1 qid:7 5:0.1 6:0.30000000000000004\r\n",
]


def _letor(rng: random.Random) -> bytes:
    text = damaged(rng.choice(LETOR) * rng.choice((1, 1, 2, 40)), rng)
    if rng.random() < 0.05:
        packed = gzip.compress(text, 1)
        return damaged(packed, rng) if rng.random() < 0.5 else packed
    return text


def _read_letor(path: Path) -> None:
    text = path.read_bytes()
    if text.startswith(b"\x1f\x8b"):
        read_letor(path, sparse=True)
        return
    expected = oracles.letor(text.removeprefix(b"\xef\xbb\xbf"))
    queries = read_letor(path, dtype=np.float64, sparse=True)
    _require(expected is not None, "read, but the oracle refuses it")
    assert expected is not None
    order = range(queries.n_documents) if queries.order is None else queries.order.tolist()
    _require(queries.labels.tolist() == [expected[row][0] for row in order], "other grades")
    matrix = queries.features
    for i, row in enumerate(order):
        part = slice(matrix.indptr[i], matrix.indptr[i + 1])
        found = sorted(zip((matrix.indices[part] + 1).tolist(), matrix.data[part].tolist(), strict=True))
        _require(repr(found) == repr(sorted(expected[row][1].items())), "other features")
    dense = read_letor(path, dtype=np.float64).features  # refused if it is too large
    _require(np.array_equal(dense, matrix.toarray(), equal_nan=True), "dense and sparse differ")


# ---- tables

CSV = [
    b"qid,label,document_id,a,b\n1,0,x,0.5,1\n1,2,y,-1e3,2\n2,1,z,,3\n",
    b'label,qid,"f,1",f2\n1,007,1,2\n0,7,3,4\n0,7,"5",6\n',
    b"qid,label,a\r\nq1,1,1\r\nq2,0,2\r\n",
]


def _csv(rng: random.Random) -> bytes:
    text = damaged(rng.choice(CSV), rng)
    return gzip.compress(text, 1) if rng.random() < 0.03 else text


def _read_csv(path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        queries = read_table(path)
    text = path.read_bytes()
    header = text.partition(b"\n")[0]
    if b'"' in text and b"\r" in text.replace(b"\r\n", b""):  # in quotes; not by the same rules as Python's module
        return
    if text.startswith(b"\x1f\x8b") or any(header.count(s) >= header.count(b",") for s in (b"\t", b";", b"|")):
        return
    found = oracles.table(text)
    _require(found is not None, "read, but the oracle finds no header")
    assert found is not None
    names, rows = found
    _require(len(rows) == queries.n_documents, f"{queries.n_documents} documents, not {len(rows)}")
    order = list(range(queries.n_documents)) if queries.order is None else queries.order.tolist()
    qids = [str(queries.qids[q]) for q in queries.query_of_document.tolist()]
    _require(qids == [rows[row][names.index("qid")] for row in order], "other queries")
    wanted = [oracles.number(rows[row][names.index("label")]) for row in order]
    _require(all(map(oracles.same, queries.labels.tolist(), wanted)), "other grades")
    assert queries.feature_names is not None
    for j, name in enumerate(queries.feature_names):
        values = [oracles.number(rows[row][names.index(name)]) for row in order]
        _require(all(map(oracles.same, queries.features[:, j].tolist(), values)), f"other values of {name}")


# ---- Parquet


def _read_parquet(path: Path) -> str | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        queries = read_table(path)
    expected = arrow_columns(path.read_bytes())
    if isinstance(expected, str):
        _require(not any(word in expected for word in CHECKSUM_ERRORS), f"against its checksum: {expected}")
        return ALONE
    _require(all(len(column) == queries.n_documents for column in expected.values()), "another number of rows")
    order = list(range(queries.n_documents)) if queries.order is None else queries.order.tolist()
    qids = [str(queries.qids[q]) for q in queries.query_of_document.tolist()]
    _require(qids == [str(expected["qid"][row]) for row in order], "other queries")
    wanted = [oracles.plain(expected["label"][row]) for row in order]
    _require(all(map(oracles.same, queries.labels.tolist(), wanted)), "other grades")
    assert queries.feature_names is not None
    for j, name in enumerate(queries.feature_names):
        values = [oracles.plain(expected[name][row]) for row in order]
        _require(all(map(oracles.same, queries.features[:, j].tolist(), values)), f"other values of {name}")
    return None


# ---- TREC, scores, ratings

QRELS = [b"1 0 a 1\n1 0 b 0\n2 0 a -1\n", b"q1\t0\tdoc-1\t3\r\nq1 0  doc-2 0.5\r\n"]
RUNS = [b"1 Q0 a 1 3.5 tag\n1 Q0 b 2 3.25 tag\n2 Q0 a 1 -1e3 tag\n"]
SCORES = [b"0.5\n-1\n1e-3\n\n7\n", b"1\r\n2\r\n"]
RATINGS = [
    b"1\t10\t3\t881250949\n1\t11\t4.5\t881250950\n2\t10\t1\t881250951\n",
    b"1::10::5\n2::11::3\n",
    b"user,item,rating\nann,film,5\nbob,film,3\n",
]


def _text_of(files: list[bytes]) -> Callable[[random.Random], bytes]:
    return lambda rng: damaged(rng.choice(files), rng)


def _read_trec(path: Path, read: Callable[[Path], object], n: int, place: int, attribute: str) -> None:
    lines = read(path)
    rows = oracles.columns(path.read_bytes(), n) if not path.read_bytes().startswith(b"\x1f\x8b") else None
    _require(rows is not None, "read, but the oracle refuses it")
    assert rows is not None
    _require(lines.qids.tolist() == [row[0] for row in rows], "other queries")  # type: ignore[attr-defined]
    _require(lines.document_ids.tolist() == [row[2] for row in rows], "other documents")  # type: ignore[attr-defined]
    _require(getattr(lines, attribute).tolist() == [float(row[place]) for row in rows], "other numbers")


def _read_scores(path: Path) -> None:
    found = read_scores(str(path))
    expected = oracles.scores(path.read_bytes())
    _require(expected is not None and len(found) == len(expected), "other scores")
    assert expected is not None
    _require(all(map(oracles.same, found, expected)), "other scores")


def _read_ratings(path: Path) -> None:
    ratings = podium.read_ratings(path, duplicates="error")
    text = path.read_bytes().decode("utf-8").removeprefix("\ufeff")
    if text.startswith("\x1f\x8b") or '"' in text:
        return
    expected = oracles.ratings(text)
    columns = ratings.users.tolist(), ratings.items.tolist(), ratings.values.tolist()
    found = sorted((str(user), str(item), value) for user, item, value in zip(*columns, strict=True))
    _require(found == expected, f"{len(found)} ratings, not these {len(expected)}")


# ---- models

N_FEATURES = 3
ROWS = np.linspace(-1.0, 1.0, 4 * N_FEATURES).reshape(4, N_FEATURES)


def _facts(**further: object) -> dict[str, object]:
    facts: dict[str, object] = {
        "n_features": N_FEATURES,
        "feature_names": ["a", "b", "c"],
        "n_queries": 2,
        "n_documents": 4,
    }
    return facts | {"convergence": {"converged": True, "message": "", "n_iter": 1}, **further}


@cache
def models() -> list[tuple[dict[str, object], dict[str, np.ndarray | str]]]:
    """Header and content of sound model files of every kind, made by hand: training would take long."""
    rng = np.random.default_rng(0)
    scale = {"mean": rng.normal(size=3), "inverse_scale": np.ones(3)}
    kinds: list[tuple[str, dict[str, object], dict[str, object], dict[str, np.ndarray | str]]] = []
    linear = {"model.coef": rng.normal(size=3), "model.intercept": np.array(0.5)}
    kinds.append(("ListNet", {"l2": 0.1}, {"scoring": {"kind": "linear", "normalize": None}}, dict(linear)))
    mlp = {"kind": "mlp", "layers": [3, 2, 1], "activation": "tanh", "output": "tanh", "normalize": None}
    arrays: dict[str, np.ndarray | str] = {"model.weights": rng.normal(size=11)}
    arrays |= {f"model.{name}": value for name, value in scale.items()}
    kinds.append(("BoltzRank", {"hidden": [2, 5]}, {"scoring": mlp, "chosen": {"hidden": 2}}, arrays))
    potentials = {"kind": "potentials", "hidden": 2, "pair_hidden": 1, "pool": "sum", "normalize": None}
    more = {**arrays, "model.weights": rng.normal(size=5 * 2 + 1 + 2 * 4 + 1)}
    kinds.append(
        (
            "BoltzRank",
            {"pairwise": True, "hidden": 2, "pair_hidden": 1, "pool": "sum"},
            {"scoring": potentials, "chosen": {}},
            more,
        )
    )
    trees = {"scoring": {"kind": "trees", "normalize": None}}
    kinds.append(("LambdaMART", {"n_trees": 2}, trees, {"model.trees": _trees()}))
    steps: dict[str, np.ndarray | str] = {
        "model.n_features": np.array(3.0),
        "model.feature": np.array([0.0, 2.0]),
        "model.threshold": np.array([0.1, -0.2]),
        "model.weight": np.array([1.0, 0.5]),
        "feature_importances": np.ones(3) / 3,
    }
    kinds.append(("RankBoost", {}, {"scoring": {"kind": "steps", "normalize": None}}, steps))
    made = []
    for cls, parameters, fitted, content in kinds:
        header = {
            "format": "podium model",
            "version": 1,
            "class": cls,
            "parameters": parameters,
            "fitted": _facts(**fitted),
        }
        made.append((header, {"loss_parameters": np.empty(0), **content}))
    users: dict[str, np.ndarray | str] = {
        "users": json.dumps(["U", ["ann", "bob"]]),
        "items": np.arange(3),
        "seen.offsets": np.array([0, 1, 2]),
        "seen.items": np.array([0, 2]),
        "seen.values": np.array([1.0, 2.0]),
        "model.user_factors": rng.normal(size=(2, 2)),
        "model.item_factors": rng.normal(size=(3, 2)),
        "model.item_bias": rng.normal(size=3),
        "loss_parameters": np.empty(0),
    }
    fitted_ratings = {"convergence": {"converged": True, "message": "", "n_iter": 1}}
    made.append(
        (
            {"format": "podium model", "version": 1, "class": "ItemMean", "parameters": {}, "fitted": fitted_ratings},
            users,
        )
    )
    return made


def _trees() -> str:
    head, _, end = constant_text(N_FEATURES, 0.25).partition("Tree=0\n")
    tree = (
        "num_leaves=3\nnum_cat=0\nsplit_feature=0 2\nsplit_gain=2 1\nthreshold=0.5 -0.25\ndecision_type=2 2\n"
        "left_child=1 -1\nright_child=-2 -3\nleaf_value=0.1 0.2 -0.3\nleaf_weight=1 1 1\nleaf_count=1 1 1\n"
        "internal_value=0 0\ninternal_weight=0 0\ninternal_count=3 2\nis_linear=0\nshrinkage=0.1\n\n\n"
    )
    return f"{head}Tree=0\n{tree}Tree=1\n{end}"


def _archive(header: object, content: dict[str, np.ndarray | str], folder: Path) -> bytes:
    path = folder / "made.podium"
    write_archive(path, header, content)  # type: ignore[arg-type]
    return path.read_bytes()


def model_maker(folder: Path) -> Callable[[random.Random], bytes]:
    """Return what makes damaged model files, with a folder for sound ones."""
    sound = [_archive(header, content, folder) for header, content in models()]

    def make(rng: random.Random) -> bytes:
        k = rng.randrange(len(sound))
        if rng.random() < 0.25:
            return damaged(sound[k], rng)
        header, _ = models()[k]
        members = {"model.json": json.dumps(header).encode()}
        with zipfile.ZipFile(io.BytesIO(sound[k])) as archive:
            members |= {name: archive.read(name) for name in archive.namelist()}
        chance = rng.random()
        if chance < 0.55:
            members["model.json"] = json.dumps(restructured(header, rng)).encode()
        elif chance < 0.65:
            members["model.json"] = damaged(members["model.json"], rng)
        else:
            name = rng.choice(sorted(members))
            members[name] = _other_array(rng) if rng.random() < 0.4 else damaged(members[name], rng)
        if rng.random() < 0.05:
            members.pop(rng.choice(sorted(members)), None)
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            for name, data in members.items():
                archive.writestr(zipfile.ZipInfo(name), data)
        return buffer.getvalue()

    return make


def _other_array(rng: random.Random) -> bytes:
    shape = rng.choice([(), (0,), (1,), (3,), (2, 3), (0, 3), (11,)])
    values = np.full(shape, rng.choice([0.0, -1.0, 1e308, np.nan, np.inf, 2.5, 1e18]))
    buffer = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        np.save(buffer, values.astype(rng.choice(["<f8", ">f8", "<f4", "<i8", "<f2", "<c16", "?"])))
    return buffer.getvalue()


def model_reader(predict: bool) -> Callable[[Path], None]:
    """Return what loads a model with podium.load and podium.serving.load; ``predict`` scores rows with the former."""

    def read(path: Path) -> None:
        served = scored = None
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                served = _scores(podium.serving.load(path).score, path)
            except ValueError as error:
                _require(str(path) in str(error), f"no file name: {error}")
            ranker = podium.load(path)
            if predict:
                scored = _predicted(ranker, path)
        if served is not None and scored is not None:
            _require(np.allclose(served, scored, rtol=1e-6, atol=1e-9), "served scores differ")

    return read


def _scores(function: Callable[[np.ndarray], np.ndarray], path: Path) -> np.ndarray | None:
    try:
        scores = function(ROWS)
    except ValueError:  # the rows do not fit this model, or its scores would not be finite
        return None
    _require(bool(np.isfinite(scores).all()), f"{path}: scores {scores}")
    return scores


def _predicted(ranker: object, path: Path) -> np.ndarray | None:
    if hasattr(ranker, "recommend"):
        _scores(lambda _: ranker.predict(["ann", "eve"], [0, 1]), path)  # type: ignore[attr-defined]
        return None
    return _scores(lambda rows: ranker.predict(rows, qid=[1] * len(rows)), path)  # type: ignore[attr-defined]


def targets(folder: Path, predict: bool = True) -> dict[str, Target]:
    """Return all targets by name. ``predict`` scores with loaded models, which compiles."""
    return {
        target.name: target
        for target in (
            Target("letor", ".txt", _letor, _read_letor),
            Target("csv", ".csv", _csv, _read_csv),
            Target("parquet", ".parquet", parquet_maker(), _read_parquet),
            Target("qrels", ".txt", _text_of(QRELS), lambda path: _read_trec(path, read_qrels, 4, 3, "grades")),
            Target("run", ".txt", _text_of(RUNS), lambda path: _read_trec(path, read_run, 6, 4, "scores")),
            Target("scores", ".txt", _text_of(SCORES), _read_scores),
            Target("ratings", ".tsv", _text_of(RATINGS), _read_ratings),
            Target("model", ".podium", model_maker(folder), model_reader(predict)),
        )
    }


def outcome(target: Target, path: Path) -> str:
    """Return what became of reading a file: one of ACCEPTED, or what is wrong about it."""
    try:
        return target.read(path) or "read"
    except WrongValueError as error:
        return f"wrong: {error}"
    except MemoryError:
        return "memory"
    except ValueError as error:
        if "asks for more memory" in str(error):
            return "memory"
        return "refused" if str(path) in str(error) else f"no file name: {error!r}"[:300]
    except Exception as error:
        return f"{type(error).__name__}: {error}"[:300]
