"""``podium ratings train --item-features … --user-features …``."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars
import pytest

import podium


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Ratings of 20 items by 30 users, of which the first ten are of one kind; two items have no ratings."""
    rng = np.random.default_rng(0)
    rows = [(u, i) for u in range(30) for i in rng.permutation(20)[:8]]
    lines = [f"{u},{i},{5 if (i < 10) == (u < 15) else 2}" for u, i in rows]
    (tmp_path / "ratings.csv").write_text("user,item,rating\n" + "\n".join(lines))
    kinds = [f"{i},{'good; long' if i < 10 or i == 20 else 'bad'}" for i in range(22)]
    (tmp_path / "items.csv").write_text("item,kind\n" + "\n".join(kinds))
    polars.DataFrame({"user": range(31), "young": [u < 15 for u in range(31)]}).write_parquet(
        tmp_path / "users.parquet"
    )
    return tmp_path


def test_features_of_items_and_users(podium_command, files, monkeypatch):
    monkeypatch.chdir(files)
    done = podium_command(
        *("ratings", "train", "ratings.csv", "--method", "pmop-factors", "--set", "n_factors=2", "-o", "m.podium"),
        *("--item-features", "items.csv", "--user-features", "users.parquet", "--separator", ";"),
    )
    assert done.code == 0, done.err
    ranker = podium.load("m.podium")
    assert ranker.encodings_["items"].names() == ["kind=bad", "kind=good", "kind=long"]
    assert ranker.predict(0, 20) > ranker.predict(0, 21)  # neither has ratings; user 0 likes the first kind
    assert ranker.predict(20, 20) < ranker.predict(20, 21)
    assert ranker.predict(30, 20) < ranker.predict(30, 21)  # and user 30, who has no ratings, is of the other age
    done = podium_command("ratings", "recommend", "m.podium", "--users", "all", "-n", "22", "-o", "recs.csv")
    assert done.code == 0, done.err
    assert set(polars.read_csv("recs.csv").filter(polars.col("user") == 30)["item"]) == set(range(22))


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["--method", "pmf", "--item-features", "items.csv"], "PMF takes no features"),
        (["--method", "pmop-factors", "--tune", "--user-features", "users.parquet"], "leave out --user-features"),
        (["--method", "pmop-factors", "--item-features", "none.csv"], "none.csv"),
    ],
)
def test_refused(podium_command, files, monkeypatch, arguments, error):
    monkeypatch.chdir(files)
    done = podium_command("ratings", "train", "ratings.csv", *arguments, "-o", "m.podium")
    assert done.code == 2
    assert error in done.err
    assert not Path("m.podium").exists()
