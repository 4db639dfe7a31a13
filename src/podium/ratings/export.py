"""Factors for other programs: tables in Parquet, and matrices whose inner products are the scores."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from podium.core.atomic import atomic_write
from podium.core.later import polars as pl
from podium.ratings.recommendation_files import id_column
from podium.ratings.recommender import Recommender

__all__ = ["export_factors"]

MANIFEST = "factors.json"
"""Says what is in a folder of factors, and that it is one."""
TOLERANCE = 2e-7
"""Scores by the matrices differ from the model's by at most this share of Σ |W_uk H_ik| + |b_i|, but for rounding in
the sum: two factors are rounded to 24 bits each, half a unit in the last place being 6e-8."""


def export_factors(ranker: Recommender, folder: str | os.PathLike[str]) -> list[Path]:
    """Write the factors of a ranker of ratings to a folder, for retrieval by inner products.

    ====================  ==========================================================================================
    ``items.parquet``     ``item``, ``bias`` and ``factors``, a list of float64, one row per item
    ``users.parquet``     ``user`` and ``factors``
    ``items.npy``         (n_items, n_factors + 1) float32: the factors, and the bias as the last column
    ``users.npy``         (n_users, n_factors + 1) float32: the factors, and 1
    ``item_ids.json``     the ids of the matrices' rows; ``user_ids.json`` likewise
    ``factors.json``      what is in the folder
    ====================  ==========================================================================================

    The inner product of a row of ``users.npy`` and one of ``items.npy`` is the score that ``predict`` returns, within
    the precision of float32: an index for inner products, such as HNSW's, ranks as the model does. The
    folder is there completely or not at all; one that was exported before is replaced.

    Parameters
    ----------
    ranker : RatingRanker
        Fitted.
    folder : path
        Where they go: a folder that does not exist, is empty, or was written by this function.

    Returns
    -------
    list of pathlib.Path
        The files.

    Examples
    --------
    >>> import numpy as np, podium, tempfile
    >>> ranker = podium.PMF(n_factors=2, random_state=0).fit(podium.make_ratings(40, 30, 800))
    >>> folder = tempfile.mkdtemp()
    >>> [path.name for path in podium.export_factors(ranker, folder)][:2]
    ['items.parquet', 'users.parquet']
    >>> users, items = np.load(f"{folder}/users.npy"), np.load(f"{folder}/items.npy")
    >>> bool(np.allclose(users[:3] @ items.T, ranker.predict(ranker.user_ids_[:3, None], ranker.item_ids_), atol=1e-5))
    True
    """
    ranker._require_fitted()
    model, users, items = ranker.model_, ranker.user_ids_, ranker.item_ids_
    with _whole_folder(Path(folder)) as written:
        tables = {
            "items.parquet": _table("item", items, model.item_factors, bias=model.item_bias),
            "users.parquet": _table("user", users, model.user_factors),
        }
        for name, table in tables.items():
            with atomic_write(written / name, "wb") as file:  # makes an OSError of one that polars words in its own way
                table.write_parquet(file)
        np.save(written / "items.npy", _joined(model.item_factors, model.item_bias))
        np.save(written / "users.npy", _joined(model.user_factors, np.ones(len(users))))
        _write_json(written / "item_ids.json", id_column("item", items).to_list())
        _write_json(written / "user_ids.json", id_column("user", users).to_list())
        facts = {
            "model": type(ranker).__name__,
            "users": len(users),
            "items": len(items),
            "factors": model.item_factors.shape[1],
            "dimensions": model.item_factors.shape[1] + 1,
            "score": "inner product of a row of users.npy and a row of items.npy; the last column of items.npy is the "
            "item's bias, that of users.npy is 1",
            "metric of an index": "inner product, not cosine or Euclidean distance",
        }
        _write_json(written / MANIFEST, facts)
    names = ("items.parquet", "users.parquet", "items.npy", "users.npy", "item_ids.json", "user_ids.json", MANIFEST)
    return [Path(folder) / name for name in names]


def require_replaceable(folder: Path) -> None:
    """Raise ValueError if the folder holds something else than factors that were exported before."""
    if folder.is_dir() and any(folder.iterdir()) and not (folder / MANIFEST).is_file():
        raise ValueError(f"{folder} holds other files, which would be lost: name a new folder")
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder} is a file: factors are exported to a folder, whose name is given")


@contextmanager
def _whole_folder(folder: Path) -> Iterator[Path]:
    """Yield a new folder beside ``folder``, which takes its place when the block succeeds."""
    require_replaceable(folder)
    folder = folder.absolute()
    folder.parent.mkdir(parents=True, exist_ok=True)
    beside = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name[:100]}.", suffix=".part"))
    new, old = beside / "new", beside / "old"
    try:
        new.mkdir()
        yield new
        if folder.exists():
            folder.rename(old)
        new.rename(folder)
    except OSError as error:
        if old.exists() and not folder.exists():
            old.rename(folder)
        if error.filename is None or str(error.filename).startswith(str(beside)):
            error.filename = str(folder)
        raise
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def _table(name: str, ids: np.ndarray, factors: np.ndarray, **columns: np.ndarray) -> Any:
    listed = pl.Series("factors", list(factors), dtype=pl.List(pl.Float64))
    return pl.DataFrame([id_column(name, ids), *(pl.Series(key, value) for key, value in columns.items()), listed])


def _joined(factors: np.ndarray, last: np.ndarray) -> np.ndarray:
    return np.column_stack((factors, last)).astype(np.float32)


def _write_json(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, ensure_ascii=False, indent=1 if isinstance(value, dict) else None), "utf-8")
