"""Exported factors: parity with the model, and folders that are there completely or not at all."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars
import pytest

import podium
from podium.ratings.export import TOLERANCE


@pytest.fixture(scope="module")
def ranker() -> podium.PMF:
    ratings = podium.make_ratings(30, 20, 400, min_ratings=5, random_state=1)
    named = podium.Ratings([f"u{user}" for user in ratings.users], ratings.items, ratings.values)
    return podium.PMF(n_factors=4, l2=1.0, random_state=0).fit(named)


def test_inner_products_are_scores(ranker: podium.PMF, tmp_path: Path) -> None:
    files = podium.export_factors(ranker, tmp_path / "factors")
    assert sorted(path.name for path in (tmp_path / "factors").iterdir()) == sorted(path.name for path in files)
    users, items = (np.load(tmp_path / "factors" / f"{side}.npy") for side in ("users", "items"))
    assert users.dtype == items.dtype == np.float32
    user_ids, item_ids = (json.loads((tmp_path / "factors" / f"{s}_ids.json").read_text()) for s in ("user", "item"))
    expected = ranker.predict(np.array(user_ids)[:, None], np.array(item_ids))
    found = users.astype(np.float64) @ items.astype(np.float64).T
    model = ranker.model_
    size = np.abs(model.user_factors) @ np.abs(model.item_factors).T + np.abs(model.item_bias)
    assert (np.abs(found - expected) <= TOLERANCE * size).all()
    assert (np.abs(found - expected) > 0).any()  # float32 is coarser
    best = np.argsort(-found, axis=1)[:, 0]
    alone = ranker.recommend(user_ids, 1, exclude_seen=False)
    assert [item_ids[k] for k in best] == [r.items[0] for r in alone]


def test_tables(ranker: podium.PMF, tmp_path: Path) -> None:
    podium.export_factors(ranker, tmp_path)  # an empty folder
    items, users = (polars.read_parquet(tmp_path / f"{side}.parquet") for side in ("items", "users"))
    assert items.columns == ["item", "bias", "factors"]
    assert users.columns == ["user", "factors"]
    np.testing.assert_array_equal(np.array(items["factors"].to_list()), ranker.model_.item_factors)
    np.testing.assert_array_equal(items["bias"].to_numpy(), ranker.model_.item_bias)
    np.testing.assert_array_equal(np.array(users["factors"].to_list()), ranker.model_.user_factors)
    assert users["user"].to_list() == ranker.user_ids_.tolist()
    facts = json.loads((tmp_path / "factors.json").read_text())
    assert (facts["users"], facts["items"], facts["factors"], facts["dimensions"]) == (30, 20, 5, 6)


def test_without_factors_the_bias_is_all(tmp_path: Path) -> None:
    ranker = podium.ItemMean().fit((["a", "b"], ["x", "y"], [5, 3]))
    podium.export_factors(ranker, tmp_path / "f")
    assert np.load(tmp_path / "f" / "items.npy").ravel() == pytest.approx(ranker.predict("a", ["x", "y"]))


def test_folders_are_replaced_whole(ranker: podium.PMF, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "f"
    podium.export_factors(podium.ItemMean().fit((["a"], ["x"], [5])), folder)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    def full_in_rust(*_: object) -> None:
        raise polars.exceptions.ComputeError("underlying IO error: No space left on device (os error 28)")

    for where, name, fault in ((np, "save", full), (polars.DataFrame, "write_parquet", full_in_rust)):
        with monkeypatch.context() as patched:
            patched.setattr(where, name, fault)
            with pytest.raises(OSError, match="No space left") as error:
                podium.export_factors(ranker, folder)
        assert error.value.filename == str(folder)
        assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    podium.export_factors(ranker, folder)
    assert np.load(folder / "users.npy").shape == (30, 6)
    assert [path.name for path in tmp_path.iterdir()] == ["f"]  # nothing beside it
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "diary").touch()
    with pytest.raises(ValueError, match="holds other files"):
        podium.export_factors(ranker, tmp_path / "mine")
    with pytest.raises(ValueError, match="is a file"):
        podium.export_factors(ranker, tmp_path / "mine" / "diary")
